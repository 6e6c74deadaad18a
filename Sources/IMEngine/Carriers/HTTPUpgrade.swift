/// The exchange of HTTP/1.1 by which a connection becomes one of WebSocket frames (RFC 6455, section 4).
struct HTTPUpgrade: Equatable {
  /// What stands at the beginning of a stream.
  enum Outcome: Equatable {
    /// Neither a request nor an answer that asks for WebSocket.
    case none
    /// As far as it goes, one.
    case needMore
    /// A request or an answer of so many bytes that does.
    case upgrade(HTTPUpgrade, count: Int)
  }

  /// The most bytes of a request or an answer.
  static let longest = 16 << 10

  /// Whether it is the server's answer.
  var isAnswer: Bool
  /// Whether `permessage-deflate` is offered, or agreed to.
  var hasDeflate = false
  /// Whether both sides keep their windows from message to message; the client's side first.
  var keepsWindow: [Bool] = [true, true]
  /// The first protocol that is offered, or the one that is chosen, in lower case.
  var subprotocol: String?

  private static let request = [UInt8]("GET ".utf8)
  private static let answer = [UInt8]("HTTP/1.1 101".utf8)

  /// Reads what stands between `start` and `end`, the beginning of one side's stream.
  static func read(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Outcome {
    let isAnswer = start < end && bytes.u8(start) == answer[0]
    let name = isAnswer ? answer : request
    for i in 0..<min(name.count, end - start) where bytes.u8(start + i) != name[i] { return .none }
    guard end - start >= name.count else { return .needMore }
    let limit = min(end, start + longest)
    var at = start + name.count
    while at + 4 <= limit, bytes.u32(at) != 0x0d0a_0d0a { at += 1 }
    guard at + 4 <= limit else { return end - start < longest ? .needMore : .none }
    var text: [UInt8] = []
    for i in start..<at { text.append(bytes.u8(i)) }
    var upgrade = HTTPUpgrade(isAnswer: isAnswer)
    guard upgrade.take(text) else { return .none }
    return .upgrade(upgrade, count: at + 4 - start)
  }

  /// Takes the header's fields; false when they do not ask for WebSocket.
  private mutating func take(_ text: [UInt8]) -> Bool {
    var isWebSocket = false
    for line in text.split(separator: 0x0a).dropFirst() {
      guard let colon = line.firstIndex(of: 0x3a) else { continue }
      let name = Self.lower(line[..<colon])
      let value = Self.lower(line[(colon + 1)...])
      switch name {
      case "upgrade": isWebSocket = isWebSocket || Self.words(value, ",").contains("websocket")
      case "sec-websocket-protocol": subprotocol = subprotocol ?? Self.words(value, ",").first
      case "sec-websocket-extensions": takeExtensions(value)
      default: break
      }
    }
    return isWebSocket
  }

  private mutating func takeExtensions(_ value: String) {
    for offer in Self.words(value, ",") {
      let parts = Self.words(offer, ";")
      guard parts.first == "permessage-deflate", !hasDeflate else { continue }
      hasDeflate = true
      if parts.contains("client_no_context_takeover") { keepsWindow[0] = false }
      if parts.contains("server_no_context_takeover") { keepsWindow[1] = false }
    }
  }

  private static func lower(_ text: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    for byte in text where byte != 0x0d { bytes.append((0x41...0x5a).contains(byte) ? byte | 0x20 : byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The parts of a list, without the blanks around them.
  private static func words(_ text: String, _ separator: Character) -> [String] {
    text.split(separator: separator).map { part in
      var part = part
      while let last = part.last, last == " " || last == "\t" { part.removeLast() }
      return String(part.drop { $0 == " " || $0 == "\t" })
    }
  }
}
