import Foundation
import Testing

/// SMPP, Diameter, goim, JT/T 808 and the relatives of tjp against other decoders of the same captures: tshark, and those in
/// `Tests/Witnesses`.
@Suite struct RequestTruthTests {
  private struct Truth: Decodable {
    struct Message: Decodable {
      var timeUs: Int
      var dir: String
      var type: UInt64
      var id: UInt64
      var length: Int
      var status: UInt64?
      var avps: Int?
      var sum: String?
      var items: Int?
    }
    var pairs: [[Int]]
    var messages: [Message]
  }

  private struct Frame: Decodable {
    var ts: Int
    var dir: String
    var type: String
    var seq: UInt64
    var len: Int
    var tlv: Int?
    var crc: String?
    var rttUs: Int?
  }

  private static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return decoder
  }

  /// The capture, the header's length, and how many messages the other decoder leaves out, because it does not know their
  /// type.
  static let captures = [
    ("smpp-gateway.pcap", 16, 1), ("diameter-charging.pcap", 20, 0), ("goim-room.pcap", 16, 0),
    ("jt808-terminals.pcap", 0, 0), ("tjp-v2-chat.pcap", 20, 0), ("tjp-article-chat.pcap", 28, 0),
  ]

  /// The relatives of tjp have its magic number, so they are asked for.
  private static func options(_ name: String) -> [String] {
    ["tjp-v2", "tjp-article"].first { name.hasPrefix($0) }.map { ["--profile", $0] } ?? []
  }

  @Test(arguments: captures) func everyMessage(_ name: String, _ header: Int, _ unknown: Int) throws {
    let data = try Data(contentsOf: Command.folder.appending(path: "Samples/\(name).truth.json"))
    let truth = try Self.decoder.decode(Truth.self, from: data)
    let output = try Command.run(["-q", "--format", "json", "-r", "Samples/\(name)"] + Self.options(name)).output
    var frames = try output.split(separator: "\n").map { try Self.decoder.decode(Frame.self, from: Data($0.utf8)) }
    #expect(truth.messages.count > 30)
    let known = frames.count
    if unknown > 0 { frames.removeAll { $0.type.hasPrefix("type_") } }
    #expect(known - frames.count == unknown)
    #expect(frames.map(\.ts) == truth.messages.map(\.timeUs))
    #expect(frames.map(\.dir) == truth.messages.map(\.dir))
    #expect(frames.map(\.seq) == truth.messages.map(\.id))
    #expect(frames.map { $0.len + header } == truth.messages.map(\.length))
    if truth.messages.contains(where: { $0.sum != nil }) { #expect(frames.map(\.crc) == truth.messages.map(\.sum)) }
    if truth.messages.contains(where: { $0.avps != nil }) {
      #expect(frames.map { $0.tlv ?? 0 } == truth.messages.map { $0.avps ?? 0 })
    }
    for (message, frame) in zip(truth.messages, frames) {
      if let items = message.items { #expect(frame.tlv ?? 0 == items) }
    }
    // One name for each type and one type for each name, and what is unknown to imdump has its number.
    let names = Set(zip(truth.messages.map(\.type), frames.map(\.type)).map { "\($0) \($1)" })
    #expect(Set(truth.messages.map(\.type)).count == names.count)
    #expect(Set(frames.map(\.type)).count == names.count)
    for (message, frame) in zip(truth.messages, frames) where frame.type.hasPrefix("type_") {
      #expect(frame.type == "type_\(message.type)")
    }
    try pairs(truth, frames)
  }

  /// A pair has a round trip, unless its request was sent twice.
  private func pairs(_ truth: Truth, _ frames: [Frame]) throws {
    var requests: [String: Int] = [:]
    for frame in frames where frame.rttUs == nil {
      requests["\(frame.dir) \(frame.type) \(frame.seq)", default: 0] += 1
    }
    for pair in truth.pairs {
      let request = frames[pair[1]]
      let isRepeated = requests["\(request.dir) \(request.type) \(request.seq)", default: 0] > 1
      if !isRepeated, !request.type.hasPrefix("type_") { #expect(frames[pair[0]].rttUs == pair[2]) }
    }
    #expect(frames.count { $0.rttUs != nil } <= truth.pairs.count)
  }

  /// What an answer's status says is what becomes of its request.
  @Test(arguments: captures) func rejections(_ name: String, _ header: Int, _ unknown: Int) throws {
    let data = try Data(contentsOf: Command.folder.appending(path: "Samples/\(name).truth.json"))
    let truth = try Self.decoder.decode(Truth.self, from: data)
    let output = try Command.run(["messages", "-q", "--json", "Samples/\(name)"] + Self.options(name)).output
    let rejected = output.split(separator: "\n").count { $0.contains("\"fate\":\"rejected\"") }
    let isDiameter = name.hasPrefix("diameter")
    let wanted = truth.pairs.count { pair in
      guard let status = truth.messages[pair[0]].status else { return false }
      if name.hasPrefix("jt808") { return status != 0 && status != 4 }
      // An unknown command has no fate.
      return isDiameter ? !(2_000...2_999).contains(status) && status != 3_001 : status != 0
    }
    #expect(rejected == wanted)
    #expect(wanted > 0 || name.hasPrefix("goim") || name.hasPrefix("tjp"))
  }

  /// `--profile auto` is what there is without the option, and others can be put in front of it.
  @Test func auto() throws {
    let smpp = ["-q", "--print", "-r", "Samples/smpp-gateway.pcap"]
    #expect(try Command.run(smpp + ["--profile", "auto"]).output == Command.run(smpp).output)
    let v2 = ["-q", "--print", "-r", "Samples/tjp-v2-chat.pcap", "--profile", "tjp-v2"]
    #expect(try Command.run(v2 + ["--profile", "auto"]).output == Command.run(v2).output)
    #expect(try Command.run(smpp + ["--profile", "tjp-v2", "--profile", "auto"]).output == Command.run(smpp).output)
  }
}
