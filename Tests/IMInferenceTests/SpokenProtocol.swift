import IMInference
import IMTestSupport

/// A conversation of requests, answers and pushes; each test encodes it differently.
struct SpokenProtocol {
  /// One message.
  struct Message {
    var name: String
    /// The number that an answer repeats; 0 for a push, which has none.
    var number: Int
    /// The result code of an answer; `nil` for requests and pushes.
    var code: Int?
    var text: String
  }

  /// The messages of three connections: 60 requests each, nine in ten of them answered, and pushes.
  static func messages(seed: UInt64) -> [(connection: Int, direction: Int, message: Message)] {
    var random = SeededRandom(seed)
    var all: [(Int, Int, Message)] = []
    func text(_ most: Int) -> String { String(repeating: "x", count: Int.random(in: 1...most, using: &random)) }
    for connection in 0..<3 {
      var number = Int.random(in: 0...100, using: &random)
      for turn in 0..<60 {
        number += 1
        let name = turn < 2 ? "login" : turn % 7 == 3 ? "ping" : "send"
        all.append((connection, 0, Message(name: name, number: number, code: nil, text: text(90))))
        if turn % 10 != 9 {
          let code = turn % 8 == 5 ? 17 : 0
          all.append((connection, 1, Message(name: name + "_ack", number: number, code: code, text: "")))
        }
        if turn % 5 == 4 { all.append((connection, 1, Message(name: "push", number: 0, code: nil, text: text(50)))) }
      }
    }
    return all
  }

  /// The message as JSON.
  static func json(_ message: Message) -> [UInt8] {
    var text = "{\"cmd\":\"\(message.name)\""
    if message.number > 0 { text += ",\"seq\":\(message.number)" }
    if let code = message.code { text += ",\"code\":\(code)" } else { text += ",\"text\":\"\(message.text)\"" }
    return Array((text + "}").utf8)
  }

  /// The samples of both directions, with one segment for each message.
  static func samples(seed: UInt64 = 1, _ bytes: (Message) -> [UInt8]) -> [StreamSample] {
    var streams = [[UInt8]](repeating: [], count: 6)
    var starts = [[SegmentStart]](repeating: [], count: 6)
    for (packet, one) in messages(seed: seed).enumerated() {
      let index = one.connection * 2 + one.direction
      let start = streams[index].count
      streams[index] += bytes(one.message)
      if streams[index].count > start { starts[index].append(SegmentStart(offset: start, packet: UInt64(packet + 1))) }
    }
    return (0..<6).map { index in
      StreamSample(
        connection: index / 2, direction: index % 2, isFromStart: true, bytes: streams[index],
        runs: [0..<streams[index].count], starts: starts[index])
    }
  }
}
