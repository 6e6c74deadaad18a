import Foundation
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct MessageTests {
  static let messages: [Message] = [
    Message(.text("See you at eight, the usual place?"), to: "maria"),
    Message(.text("那我们明天早上在地铁站见面吧"), to: "wei", from: "lin"),
    Message(.text(""), to: "maria"),
    Message(
      .image(
        .init(
          (0..<600).map { UInt8(truncatingIfNeeded: $0 &* 37) }, name: "beach.jpg", mediaType: "image/jpeg",
          dimensions: .init(width: 1_024, height: 768))), to: "maria"),
    Message(.audio(.init([1, 2, 3, 4], mediaType: "audio/opus", duration: 4_200)), to: "maria"),
    Message(.video(.init([UInt8](repeating: 3, count: 900), duration: 90_000)), group: "hikers"),
    Message(.file(.init([UInt8]("a,b\n1,2\n".utf8), name: "table.csv", mediaType: "text/csv")), to: "maria"),
    Message(.fileOffer(name: "film.mp4", byteCount: 5_000_000_000), to: "maria"),
    Message(.location(.init(latitude: 525_200_066, longitude: -134_049_540, name: "Alexanderplatz")), to: "maria"),
    Message(.location(.init(latitude: -1, longitude: 1)), to: "maria"),
    Message(.custom([0, 255, 7]), to: "maria"),
    Message(.typing(true), to: "maria"),
    Message(.typing(false), group: "hikers"),
    Message(.status(.away, "back at five")),
  ]

  @Test(arguments: messages) func whatIsEncodedIsDecoded(_ message: Message) throws {
    #expect(try Message(decoding: message.encoded) == message)
  }

  @Test(arguments: messages) func everyPrefixIsAnErrorOrAShorterMessage(_ message: Message) {
    let body = message.encoded
    for count in 0..<body.count {
      if let shorter = try? Message(decoding: Array(body.prefix(count))) { #expect(shorter != message) }
    }
  }

  @Test func mutatedBodiesNeverTrap() {
    var random = TestGenerator(5)
    for message in Self.messages {
      let body = message.encoded
      for _ in 0..<400 {
        var changed = body
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        _ = try? Message(decoding: changed)
      }
    }
  }

  @Test func errorsSayWhere() {
    func error(_ body: [UInt8]) -> TLVError? {
      do {
        _ = try TLV.elements(of: body.span.bytes)
        return nil
      } catch { return error }
    }
    #expect(error([0x10]) == .incompleteTag(offset: 0))
    #expect(error([0x10, 1, 0, 0]) == .incompleteLength(offset: 2))
    #expect(error([0x10, 1, 0, 0, 0, 5, 1, 2]) == .incompleteValue(offset: 6, wanted: 5, available: 2))
    #expect(error([0x10, 1, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0]) == .duplicateTag(.text, offset: 6))
    #expect(error([0x10, 1, 0xff, 0xff, 0xff, 0xff]) == .incompleteValue(offset: 6, wanted: 0xffff_ffff, available: 0))
    func nested(_ depth: Int) -> [UInt8] {
      (0..<depth).reduce([]) { inner, _ in [0xff, 0xff] + TLV.bigEndian(UInt32(inner.count)) + inner }
    }
    #expect(error(nested(4)) == nil)
    #expect(error(nested(5)) == .nestedTooDeep(offset: 24))
  }

  /// The same messages as a JSON protocol would carry them: the fields of the header by name, bytes in base64, a newline.
  private func json(_ message: Message, sequence: UInt32) throws -> Int {
    var object: [String: Any] = [
      "v": "1.0", "type": "data", "seq": sequence, "ts": 1_700_000_000, "session": 48_879, "crc": "cbf43926",
    ]
    object["to"] = message.recipient
    object["from"] = message.sender
    object["group"] = message.group
    func media(_ kind: String, _ media: MessageContent.Media) {
      var fields: [String: Any] = ["data": Data(media.bytes).base64EncodedString()]
      fields["name"] = media.name
      fields["mime"] = media.mediaType
      fields["width"] = media.dimensions?.width
      fields["height"] = media.dimensions?.height
      fields["duration"] = media.duration
      object[kind] = fields
    }
    switch message.content {
    case .text(let text): object["text"] = text
    case .image(let image): media("image", image)
    case .audio(let audio): media("audio", audio)
    case .video(let video): media("video", video)
    case .file(let file): media("file", file)
    case .fileOffer(let name, let count): object["offer"] = ["name": name, "size": count]
    case .location(let place):
      var fields: [String: Any] = ["lat": Double(place.latitude) / 1e7, "lon": Double(place.longitude) / 1e7]
      fields["name"] = place.name
      object["location"] = fields
    case .custom(let bytes): object["custom"] = Data(bytes).base64EncodedString()
    case .typing(let isTyping): object["typing"] = isTyping
    case .status(let status, let words): object["status"] = ["state": "\(status)", "text": words]
    }
    return try JSONSerialization.data(withJSONObject: object).count + 1
  }

  @Test func aThirdFewerBytesThanJSON() throws {
    var (ours, theirs) = (0, 0)
    for (index, message) in Self.messages.enumerated() {
      let frame = FrameHeader.byteCount + (Deflate.compressed(message.encoded)?.count ?? message.encoded.count)
      let other = try json(message, sequence: UInt32(3_000_000 + index))
      ours += frame
      theirs += other
    }
    // The short ones alone, too: a large body would hide what a header costs.
    let short = Self.messages.filter { $0.encoded.count < 100 }
    let shortOurs = short.reduce(0) { $0 + FrameHeader.byteCount + $1.encoded.count }
    let shortTheirs = try short.reduce(0) { try $0 + json($1, sequence: 3_000_000) }
    #expect(Double(ours) <= 0.7 * Double(theirs), "\(ours) against \(theirs)")
    #expect(Double(shortOurs) <= 0.7 * Double(shortTheirs), "\(shortOurs) against \(shortTheirs)")
  }

  @Test func compressionSavesOrIsLeftOut() {
    let text = [UInt8](String(repeating: "we will be there in ten minutes. ", count: 20).utf8)
    guard let small = Deflate.compressed(text) else {
      Issue.record("text was not compressed")
      return
    }
    #expect(small.count < text.count / 4)
    #expect(Deflate.inflated(small.span.bytes) == text)
    #expect(Deflate.inflated(small.span.bytes, limit: text.count - 1) == nil)
    var random = TestGenerator(9)
    let noise = (0..<500).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(Deflate.compressed(noise) == nil)
    #expect(Deflate.inflated(noise.span.bytes) == nil)
    #expect(Deflate.compressed([1, 2, 3]) == nil)
  }
}
