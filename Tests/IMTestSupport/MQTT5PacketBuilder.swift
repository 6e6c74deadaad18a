/// MQTT 5 control packets as bytes; those that are the same in 3.1.1 stand in `MQTTPacketBuilder`.
///
///      identifier (1)    value, in one of seven forms
///     +----------------+---------------------------------+
///     | of a property  | number, varint, text, bytes ... |     a list has its length in front, as a varint
///     +----------------+---------------------------------+
///
/// Source: OASIS MQTT 5.0, sections 2.2.2 and 3.
package enum MQTT5PacketBuilder {
  /// A property.
  package enum Property {
    case byte(UInt8, UInt8), two(UInt8, UInt16), four(UInt8, UInt32), varint(UInt8, Int)
    case text(UInt8, String), binary(UInt8, [UInt8]), pair(UInt8, String, String)

    /// The property's bytes.
    package var bytes: [UInt8] {
      var bytes: [UInt8] = []
      switch self {
      case .byte(let id, let value): bytes = [id, value]
      case .two(let id, let value):
        bytes = [id]
        bytes.append(big: value)
      case .four(let id, let value):
        bytes = [id]
        bytes.append(big: value)
      case .varint(let id, let value): bytes = [id] + MQTTPacketBuilder.remainingLength(value)
      case .text(let id, let value): bytes = [id] + string([UInt8](value.utf8))
      case .binary(let id, let value): bytes = [id] + string(value)
      case .pair(let id, let key, let value): bytes = [id] + string([UInt8](key.utf8)) + string([UInt8](value.utf8))
      }
      return bytes
    }
  }

  /// Every property of the standard, in the order of its table, with some value.
  package static let all: [Property] = [
    .byte(0x01, 1), .four(0x02, 60), .text(0x03, "text/plain"), .text(0x08, "answers"), .binary(0x09, [0, 1, 0xff]),
    .varint(0x0B, 300), .four(0x11, 60), .text(0x12, "auto-1"), .two(0x13, 30), .text(0x15, "SCRAM-SHA-1"),
    .binary(0x16, [1, 2, 3]), .byte(0x17, 1), .four(0x18, 5), .byte(0x19, 1), .text(0x1A, "info"),
    .text(0x1C, "other.example"), .text(0x1F, "because"), .two(0x21, 20), .two(0x22, 10), .two(0x23, 3), .byte(0x24, 1),
    .byte(0x25, 1), .pair(0x26, "key", "value"), .four(0x27, 65_536), .byte(0x28, 1), .byte(0x29, 1), .byte(0x2A, 1),
  ]

  /// A list of properties with its length in front.
  package static func list(_ properties: [Property]) -> [UInt8] {
    let bytes = properties.flatMap(\.bytes)
    return MQTTPacketBuilder.remainingLength(bytes.count) + bytes
  }

  /// Opens a session; with `will` properties it has a will as well.
  package static func connect(
    clientID: String, keepAlive: UInt16 = 60, _ properties: [Property] = [], will: [Property]? = nil
  ) -> [UInt8] {
    var body = string([UInt8]("MQTT".utf8)) + [5, will == nil ? 2 : 6]
    body.append(big: keepAlive)
    body += list(properties) + string([UInt8](clientID.utf8))
    if let will { body += list(will) + string([UInt8]("will".utf8)) + string([UInt8]("gone".utf8)) }
    return MQTTPacketBuilder.packet(1, body)
  }

  /// The answer to CONNECT.
  package static func connack(reason: UInt8 = 0, present: Bool = false, _ properties: [Property] = []) -> [UInt8] {
    MQTTPacketBuilder.packet(2, [present ? 1 : 0, reason] + list(properties))
  }

  /// A message.
  package static func publish(
    _ topic: String, _ payload: [UInt8], qos: UInt8 = 0, packetID: UInt16 = 0, _ properties: [Property] = []
  ) -> [UInt8] {
    var body = string([UInt8](topic.utf8))
    if qos > 0 { body.append(big: packetID) }
    return MQTTPacketBuilder.packet(3, flags: qos << 1, body + list(properties) + payload)
  }

  /// PUBACK (4), PUBREC (5), PUBREL (6) or PUBCOMP (7) with a reason, and properties if there are any.
  package static func answer(
    _ type: UInt8, _ packetID: UInt16, reason: UInt8, _ properties: [Property]? = nil
  ) -> [UInt8] {
    numbered(type, packetID, flags: type == 6 ? 2 : 0, [reason] + (properties.map(list) ?? []))
  }

  /// Asks for topics.
  package static func subscribe(_ packetID: UInt16, _ topics: [String], _ properties: [Property] = []) -> [UInt8] {
    numbered(8, packetID, flags: 2, list(properties) + topics.flatMap { string([UInt8]($0.utf8)) + [1] })
  }

  /// Gives topics back.
  package static func unsubscribe(_ packetID: UInt16, _ topics: [String], _ properties: [Property] = []) -> [UInt8] {
    numbered(10, packetID, flags: 2, list(properties) + topics.flatMap { string([UInt8]($0.utf8)) })
  }

  /// The answer to SUBSCRIBE (9) or UNSUBSCRIBE (11): one reason a topic.
  package static func reasons(
    _ type: UInt8, _ packetID: UInt16, _ reasons: [UInt8], _ properties: [Property] = []
  ) -> [UInt8] {
    numbered(type, packetID, list(properties) + reasons)
  }

  /// DISCONNECT (14) or AUTH (15) with a reason and properties, as far as they are given.
  package static func bare(_ type: UInt8, reason: UInt8? = nil, _ properties: [Property]? = nil) -> [UInt8] {
    MQTTPacketBuilder.packet(type, (reason.map { [$0] } ?? []) + (properties.map(list) ?? []))
  }

  private static func numbered(_ type: UInt8, _ packetID: UInt16, flags: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: packetID)
    return MQTTPacketBuilder.packet(type, flags: flags, bytes + body)
  }

  private static func string(_ text: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt16(text.count))
    return bytes + text
  }
}
