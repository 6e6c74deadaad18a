import Foundation
@testable import IMBrowser
@testable import IMCapture
import IMEngine
import IMIndexing
import IMOutput
@testable import IMBrowse
import IMPipeline
import IMProfile
import IMStore
import IMSystem
import IMTestSupport
import IMWire
import Testing
@testable import IMRun

/// Messages are found in their captures by the offsets that a store has.
@Suite struct FrameSearchTests {
  /// A store of captures, and what it was made with.
  private struct Indexed {
    let reader: StoreReader
    let input: InputOptions
    let plans: [ProtocolPlan]
    private let folder: URL

    init(_ paths: [String]) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "frames-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      var input = InputOptions()
      input.files = paths
      self.input = input
      plans = try loadProfiles([])
      var report = ReportOptions()
      report.isQuiet = true
      report.showsProgress = false
      var choices = StoreChoices()
      choices.path = folder.appending(path: "a.db").path
      let loading = StoreLoading {}
      let run = Run(embedded: input, plans: try loadProfiles([]), decode: DecodeOptions(), report: report)
      let thread = try loading.start(run, choices, storingFeatures)
      thread.join()
      #expect(loading.state.error == nil)
      reader = try StoreReader(choices.path)
      // Nothing is written any more, and an open file stays.
      try FileManager.default.removeItem(at: folder)
    }

    func search() -> FrameSearch { FrameSearch(input, plans, DecodeOptions()) { false } }

    func request(_ message: StoredMessage) -> FrameRequest {
      FrameRequest(
        message: message.id, files: Array(input.files.prefix(Int(message.capture))), packet: UInt64(message.packet),
        streamOffset: UInt64(message.streamOffset), direction: message.direction)
    }
  }

  /// Where each packet of a pcap file of 32-bit words in little endian stands.
  private static func packets(_ bytes: [UInt8]) -> [Range<Int>] {
    func word(_ at: Int) -> Int { bytes[at..<at + 4].reversed().reduce(0) { $0 << 8 | Int($1) } }
    var packets: [Range<Int>] = []
    var at = 24
    while at + 16 <= bytes.count {
      packets.append(at + 16..<at + 16 + word(at + 8))
      at = packets[packets.count - 1].upperBound
    }
    return packets
  }

  /// Fields mean what the frames before have said: of MQTT 5 the properties are no part of what is published.
  @Test func fieldsAreThoseOfTheirConnection() throws {
    let store = try Indexed([Samples.path("mqtt5-mosquitto.pcap")])
    let search = store.search()
    var texts: [String] = []
    for message in try store.reader.messages(after: 0, count: 200) where message.type == "publish" {
      guard case .found(let frame) = search.find(store.request(message), try store.reader.place(ofMessage: message.id))
      else {
        Issue.record("\(message.id) was not found")
        continue
      }
      texts += frame.parts.filter { $0.name == "payload" }.map(\.value)
    }
    // Three copies each: from the writer, and to two readers, one of which speaks MQTT 3.1.1.
    for text in ["你好", "在地铁上 🚇", "收到请回复", "by alias"] { #expect(texts.count { $0 == text } == 3, "\(texts)") }
  }

  /// The bytes lie in the packet that the store names, whoever reads the file.
  @Test(arguments: ["tjp-clean-chat.pcap", "tjp-weak-network.pcap", "tjp-damage.pcap"])
  func offsetsLieInTheirPackets(_ sample: String) throws {
    let bytes = try Samples.bytes(sample)
    let packets = Self.packets(bytes)
    let store = try Indexed([Samples.path(sample)])
    var found = 0
    for message in try store.reader.messages(after: 0, count: 1_000) {
      let place = try #require(try store.reader.place(ofMessage: message.id))
      #expect(place.captureByteCount == UInt64(bytes.count) && place.type == message.type)
      guard let offset = place.offset.map({ Int($0) }) else { continue }
      found += 1
      let packet = packets[Int(message.packet) - 1]
      #expect(packet.lowerBound <= offset && offset + place.byteCount <= packet.upperBound)
      // Headers begin alike, and have the number at 8: Samples/README.md, "tjp".
      #expect(bytes[offset..<offset + 4].elementsEqual([0xde, 0xca, 0xfb, 0xad]))
      if let sequence = message.sequence {
        #expect("\(bytes[(offset + 8)..<(offset + 12)].reduce(0) { $0 << 8 | Int($1) })" == sequence)
      }
    }
    #expect(found > 20)
  }

  /// What is read in place is what decoding the whole capture gives, or nothing; and what decoding one connection gives.
  @Test(arguments: try Samples.captures()) func everyWayFindsTheSame(_ sample: String) throws {
    let store = try Indexed([Samples.path(sample)])
    let search = store.search()
    let messages = try store.reader.messages(after: 0, count: 1_000)
    for message in messages where message.id % Int64(1 + messages.count / 8) == 0 {
      let (wanted, place) = (store.request(message), try #require(try store.reader.place(ofMessage: message.id)))
      let (whole, errors) = search.decoded(wanted, place, nil)
      #expect(errors.isEmpty && whole != nil, "\(message)")
      if let filter = FrameSearch.filter(place), let one = search.decoded(wanted, place, filter).0 {
        #expect(one == whole)
      }
      if let frame = try search.inPlace(place, place.capture ?? "", message.direction) {
        #expect(frame == whole, "\(message)")
      }
      guard case .found(let found) = search.find(wanted, place) else {
        Issue.record("\(message) is not found")
        continue
      }
      #expect(found == whole)
    }
  }

  /// Of a plain protocol in whole packets, each message is read in place: no packet in front of it is decoded.
  @Test func aPlainMessageIsReadInPlace() throws {
    let store = try Indexed([Samples.path("tjp-clean-chat.pcap")])
    let search = store.search()
    for message in try store.reader.messages(after: 0, count: 1_000) {
      let place = try #require(try store.reader.place(ofMessage: message.id))
      guard place.offset != nil else { continue }
      #expect(try search.inPlace(place, place.capture ?? "", message.direction) != nil, "\(message)")
    }
  }

  /// A packed capture gives the same bytes, by offsets of what it unpacks to.
  @Test func aPackedCaptureIsUnpackedUpToTheMessage() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "packed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let plain = folder.appending(path: "a.pcap").path
    try Data(Samples.bytes("tjp-clean-chat.pcap")).write(to: URL(filePath: plain))
    #expect(try Program.run("/bin/gzip", ["-k", plain]).ending == .exit(0))
    let store = try Indexed([plain + ".gz"])
    let bytes = try Samples.bytes("tjp-clean-chat.pcap")
    var found = 0
    for message in try store.reader.messages(after: 0, count: 10) {
      let place = try #require(try store.reader.place(ofMessage: message.id))
      guard let offset = place.offset else { continue }
      found += 1
      let read = try CaptureBytes.read(plain + ".gz", at: offset, count: place.byteCount)
      #expect(read == Array(bytes[Int(offset)..<Int(offset) + place.byteCount]))
    }
    #expect(found > 0)
    #expect(try CaptureBytes.read(plain + ".gz", at: UInt64(bytes.count) - 2, count: 10).count == 2)
    #expect(try CaptureBytes.read(plain, at: UInt64(bytes.count) - 2, count: 10).count == 2)
  }

  /// A capture that is not what it was is no message's.
  @Test func aChangedCaptureIsNoticed() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "changed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "a.pcap").path
    let bytes = try Samples.bytes("tjp-clean-chat.pcap")
    try Data(bytes).write(to: URL(filePath: path))
    let store = try Indexed([path])
    let message = try #require(try store.reader.messages(after: 20, count: 1).first)
    let place = try #require(try store.reader.place(ofMessage: message.id))
    func reason() -> String {
      if case .failed(let reason) = store.search().find(store.request(message), place) { reason } else { "" }
    }
    #expect(reason().isEmpty)
    try Data(bytes.prefix(bytes.count / 2)).write(to: URL(filePath: path))
    #expect(reason().contains("is shorter than when it was indexed"))
    try Data(Samples.bytes("tjp-damage.pcap") + bytes).write(to: URL(filePath: path))
    #expect(
      reason().contains("has changed") || reason().contains("damaged") || reason().contains("offset"), "\(reason())")
    try FileManager.default.removeItem(atPath: path)
    #expect(reason().contains("is gone"))
  }
}
