import IMTestSupport
import IMWire
import Testing

/// Conversations to be damaged: three protocols, four shapes.
enum Chat: String, CaseIterable, CustomTestStringConvertible {
  case tjp, mqtt, mqtt5

  /// How messages and segments relate.
  enum Shape: String, CaseIterable {
    /// A message a segment.
    case small
    /// Messages of 5 to 20 KiB over many segments, between small ones.
    case large
    /// Several messages a segment.
    case several
    /// Several messages in one go, cut into segments without regard to them.
    case across
  }

  var testDescription: String { rawValue }

  /// All protocols in all shapes.
  static var all: [(Chat, Shape)] { Chat.allCases.flatMap { chat in Shape.allCases.map { (chat, $0) } } }

  func talk(_ shape: Shape, rounds: Int = 5) -> Talk {
    var talk = Talk(port: self == .tjp ? 8_080 : 1_883, segmentSize: shape == .across ? 61 : 1_448)
    switch self {
    case .tjp: Self.tjp(&talk, shape, rounds)
    case .mqtt: Self.mqtt(&talk, shape, rounds)
    case .mqtt5: Self.mqtt5(&talk, shape, rounds)
    }
    talk.close()
    return talk
  }

  private static func tjp(_ talk: inout Talk, _ shape: Shape, _ rounds: Int) {
    var random = SeededRandom(7)
    var client: UInt32 = 100
    var server: UInt32 = 9_000
    let hello = TLVBuilder().field(1, [1, 0, 0, 11]).bytes
    talk.say(.clientToServer, TJPFrameBuilder(type: TJPType.control, sequence: 0x0200_0001, body: hello).bytes)
    talk.say(.serverToClient, TJPFrameBuilder.echoACK(of: 0x0200_0001).bytes)
    func text(_ sequence: UInt32) -> [UInt8] {
      let isLarge = shape == .large && sequence % 2 == 0
      let body =
        isLarge
        ? TLVBuilder().field(0x1002, random.bytes(5_000 + Int(random.next() % 15_000))).bytes
        : TLVBuilder().text("message \(sequence)").bytes
      return TJPFrameBuilder(type: TJPType.data, sequence: sequence, body: body).bytes
    }
    for round in 0..<rounds {
      let count = shape == .small || shape == .large ? 1 : 4
      var up: [[UInt8]] = []
      var acks: [[UInt8]] = []
      for _ in 0..<count {
        up.append(text(client))
        acks.append(TJPFrameBuilder.echoACK(of: client).bytes)
        client += 1
      }
      talk.say(.clientToServer, up)
      talk.say(.serverToClient, acks)
      talk.say(.serverToClient, text(server))
      talk.say(.clientToServer, TJPFrameBuilder.bodyACK(of: server, sequence: client).bytes)
      server += 1
      client += 1
      let beat = 0x0100_0000 + UInt32(round)
      talk.say(.clientToServer, TJPFrameBuilder.heartbeat(sequence: beat).bytes)
      talk.say(.serverToClient, TJPFrameBuilder.echoACK(of: beat).bytes)
    }
  }

  private static func mqtt(_ talk: inout Talk, _ shape: Shape, _ rounds: Int) {
    typealias M = MQTTPacketBuilder
    var random = SeededRandom(11)
    talk.say(.clientToServer, M.connect(clientID: "phone-21"))
    talk.say(.serverToClient, M.connack())
    talk.say(.clientToServer, M.subscribe(1, [("chat/room/7", 1)]))
    talk.say(.serverToClient, M.suback(1, [1]))
    func publish(_ id: UInt16, qos: UInt8) -> [UInt8] {
      let isLarge = shape == .large && id % 2 == 0
      let payload = isLarge ? random.bytes(5_000 + Int(random.next() % 15_000)) : [UInt8]("text number \(id)".utf8)
      return M.publish("chat/room/7", payload, qos: qos, packetID: id)
    }
    var id: UInt16 = 10
    for _ in 0..<rounds {
      if shape == .small || shape == .large {
        talk.say(.clientToServer, publish(id, qos: 1))
        talk.say(.serverToClient, M.puback(id))
      } else {
        talk.say(.clientToServer, publish(id, qos: 1), publish(id + 1, qos: 0), publish(id + 2, qos: 1))
        talk.say(.serverToClient, M.puback(id), M.puback(id + 2), publish(id + 9, qos: 0))
      }
      talk.say(.serverToClient, publish(id + 3, qos: 2))
      talk.say(.clientToServer, M.pubrec(id + 3))
      talk.say(.serverToClient, M.pubrel(id + 3))
      talk.say(.clientToServer, M.pubcomp(id + 3))
      talk.say(.clientToServer, M.pingreq)
      talk.say(.serverToClient, M.pingresp)
      id += 20
    }
    talk.say(.clientToServer, M.disconnect)
  }

  /// The same of version 5: with properties, and with answers that have reasons.
  private static func mqtt5(_ talk: inout Talk, _ shape: Shape, _ rounds: Int) {
    typealias M = MQTT5PacketBuilder
    var random = SeededRandom(13)
    talk.say(.clientToServer, M.connect(clientID: "phone-21", [.two(0x21, 20)], will: [.four(0x18, 5)]))
    talk.say(.serverToClient, M.connack([.two(0x22, 10), .two(0x13, 30)]))
    talk.say(.clientToServer, M.subscribe(1, ["chat/room/7"], [.varint(0x0B, 300)]))
    talk.say(.serverToClient, M.reasons(9, 1, [1]))
    func publish(_ id: UInt16, qos: UInt8) -> [UInt8] {
      let isLarge = shape == .large && id % 2 == 0
      let payload = isLarge ? random.bytes(5_000 + Int(random.next() % 15_000)) : [UInt8]("text number \(id)".utf8)
      return M.publish(
        "chat/room/7", payload, qos: qos, packetID: id, [.text(0x03, "text/plain"), .pair(0x26, "number", "\(id)")])
    }
    var id: UInt16 = 10
    for round in 0..<rounds {
      // With and without a reason: both mean success.
      let puback = round % 2 == 0 ? MQTTPacketBuilder.puback(id) : M.answer(4, id, reason: 0x10, [])
      if shape == .small || shape == .large {
        talk.say(.clientToServer, publish(id, qos: 1))
        talk.say(.serverToClient, puback)
      } else {
        talk.say(.clientToServer, publish(id, qos: 1), publish(id + 1, qos: 0), publish(id + 2, qos: 1))
        talk.say(.serverToClient, puback, M.answer(4, id + 2, reason: 0), publish(id + 9, qos: 0))
      }
      talk.say(.serverToClient, publish(id + 3, qos: 2))
      talk.say(.clientToServer, M.answer(5, id + 3, reason: 0, [.text(0x1F, "fine")]))
      talk.say(.serverToClient, MQTTPacketBuilder.pubrel(id + 3))
      talk.say(.clientToServer, MQTTPacketBuilder.pubcomp(id + 3))
      talk.say(.clientToServer, MQTTPacketBuilder.pingreq)
      talk.say(.serverToClient, MQTTPacketBuilder.pingresp)
      id += 20
    }
    talk.say(.clientToServer, M.bare(14, reason: 4, [.four(0x11, 0)]))
  }
}
