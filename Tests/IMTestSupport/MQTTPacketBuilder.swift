/// MQTT 3.1.1 control packets as bytes.
///
///      0                    1                 1..4 bytes more
///     +----------+---------+------------------+----------------------------+
///     | type (4) |flags (4)| remaining length | variable header and payload|
///     +----------+---------+------------------+----------------------------+
///
/// The remaining length has seven bits a byte, the lowest first, and bit 7 where another byte follows.
/// Source: OASIS MQTT 3.1.1, sections 2 and 3.
package enum MQTTPacketBuilder {
  /// Opens a session; the keep-alive is in seconds.
  package static func connect(clientID: String, keepAlive: UInt16 = 60, cleanSession: Bool = true) -> [UInt8] {
    var body = string("MQTT") + [4, cleanSession ? 2 : 0]
    body.append(big: keepAlive)
    return packet(1, body + string(clientID))
  }

  /// The answer to CONNECT.
  package static func connack(sessionPresent: Bool = false, code: UInt8 = 0) -> [UInt8] {
    packet(2, [sessionPresent ? 1 : 0, code])
  }

  /// A message. `packetID` travels only with a quality of service above 0.
  package static func publish(
    _ topic: String, _ payload: [UInt8], qos: UInt8 = 0, packetID: UInt16 = 0, duplicate: Bool = false,
    retain: Bool = false
  ) -> [UInt8] {
    var body = string(topic)
    if qos > 0 { body.append(big: packetID) }
    return packet(3, flags: (duplicate ? 8 : 0) | qos << 1 | (retain ? 1 : 0), body + payload)
  }

  /// The answer to a message of quality 1.
  package static func puback(_ packetID: UInt16) -> [UInt8] { numbered(4, packetID) }
  /// The first answer to a message of quality 2.
  package static func pubrec(_ packetID: UInt16) -> [UInt8] { numbered(5, packetID) }
  /// The sender's release of a message of quality 2.
  package static func pubrel(_ packetID: UInt16) -> [UInt8] { numbered(6, packetID, flags: 2) }
  /// The last answer to a message of quality 2.
  package static func pubcomp(_ packetID: UInt16) -> [UInt8] { numbered(7, packetID) }

  /// Asks for topics, each with its highest quality of service.
  package static func subscribe(_ packetID: UInt16, _ topics: [(String, UInt8)]) -> [UInt8] {
    numbered(8, packetID, flags: 2, topics.flatMap { string($0.0) + [$0.1] })
  }

  /// The answer to SUBSCRIBE: one granted quality a topic, `80` for a refusal.
  package static func suback(_ packetID: UInt16, _ codes: [UInt8]) -> [UInt8] { numbered(9, packetID, codes) }

  /// Gives topics back.
  package static func unsubscribe(_ packetID: UInt16, _ topics: [String]) -> [UInt8] {
    numbered(10, packetID, flags: 2, topics.flatMap { string($0) })
  }

  /// The answer to UNSUBSCRIBE.
  package static func unsuback(_ packetID: UInt16) -> [UInt8] { numbered(11, packetID) }

  /// A sign of life.
  package static let pingreq: [UInt8] = packet(12, [])
  /// The answer to PINGREQ.
  package static let pingresp: [UInt8] = packet(13, [])
  /// The end of a session.
  package static let disconnect: [UInt8] = packet(14, [])

  /// A packet of any type; `claimedLength` is what its remaining length says, where it is to lie.
  package static func packet(_ type: UInt8, flags: UInt8 = 0, _ body: [UInt8], claimedLength: Int? = nil) -> [UInt8] {
    [type << 4 | flags] + remainingLength(claimedLength ?? body.count) + body
  }

  /// A remaining length in its one to four bytes.
  package static func remainingLength(_ length: Int) -> [UInt8] {
    precondition((0..<1 << 28).contains(length), "a remaining length has at most 28 bits")
    var rest = length
    var bytes: [UInt8] = []
    repeat {
      bytes.append(UInt8(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
      rest >>= 7
    } while rest > 0
    return bytes
  }

  private static func numbered(_ type: UInt8, _ packetID: UInt16, flags: UInt8 = 0, _ body: [UInt8] = []) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: packetID)
    return packet(type, flags: flags, bytes + body)
  }

  private static func string(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt16(text.utf8.count))
    return bytes + text.utf8
  }
}
