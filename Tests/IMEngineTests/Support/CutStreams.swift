import IMTestSupport
import IMWire

@testable import IMEngine

/// Short streams with every kind of frame, and connections that carry them in given pieces.
enum CutStreams {
  /// What client `number` says, message by message; each client is a session of its own.
  static func messages(_ chat: Chat, _ number: Int = 0) -> [[UInt8]] {
    let session = UInt16(number + 1)
    switch chat {
    case .tjp:
      let nested = TLVBuilder().text("hi").nested { $0.text("in") }.bytes
      var zipped = TJPFrameBuilder(type: TJPType.data, sequence: 8, session: session, body: zlib)
      zipped.compression = 1
      zipped.checksum = .littleEndian
      return [
        TJPFrameBuilder(
          type: TJPType.control, sequence: 0x0200_0001, session: session,
          body: TLVBuilder().field(1, [1, 0, 0, 11]).bytes
        ).bytes,
        TJPFrameBuilder(type: TJPType.data, sequence: 7, session: session, body: nested).bytes, zipped.bytes,
        TJPFrameBuilder.heartbeat(sequence: 0x0100_0001, session: session).bytes,
        TJPFrameBuilder(
          type: TJPType.receipt, sequence: 9, session: session, body: TLVBuilder().field(0x10, [0, 0, 0, 7]).bytes
        ).bytes,
      ]
    case .mqtt:
      return [
        MQTTPacketBuilder.connect(clientID: "\(10_000 + number)"),
        MQTTPacketBuilder.subscribe(1, [("a/b", 1)]),
        MQTTPacketBuilder.publish("a/b", [UInt8]("zero".utf8)),
        MQTTPacketBuilder.publish("a/b", [UInt8]("one".utf8), qos: 1, packetID: 2),
        MQTTPacketBuilder.publish("a/b", [UInt8](repeating: 0x30, count: 130), qos: 2, packetID: 3),
        MQTTPacketBuilder.pubrel(3),
        MQTTPacketBuilder.pingreq,
      ]
    case .mqtt5:
      typealias M = MQTT5PacketBuilder
      return [
        M.connect(clientID: "\(10_000 + number)", [.two(0x21, 20)], will: [.four(0x18, 5)]),
        M.subscribe(1, ["a/b"], [.varint(0x0B, 300)]),
        M.publish("a/b", [UInt8]("zero".utf8)),
        M.publish("a/b", [UInt8]("one".utf8), qos: 1, packetID: 2, [.byte(0x01, 1), .pair(0x26, "k", "v")]),
        M.publish("a/b", [UInt8](repeating: 0x30, count: 110), qos: 2, packetID: 3, [.text(0x03, "x")]),
        M.answer(6, 3, reason: 0, []),
        MQTTPacketBuilder.pingreq,
      ]
    }
  }

  /// What becomes of them when the server answers everything; a message of quality 0 asks for nothing.
  static func fates(_ chat: Chat) -> [Fate] {
    chat == .tjp
      ? [.acked, .acked, .acked, .acked, .acked] : [.acked, .acked, .unacknowledged, .acked, .acked, .acked, .acked]
  }

  private static func answers(_ chat: Chat, _ number: Int) -> [UInt8] {
    switch chat {
    case .tjp:
      [0x0200_0001, 7, 8, 0x0100_0001, 9].flatMap { TJPFrameBuilder.echoACK(of: $0, session: UInt16(number + 1)).bytes }
    case .mqtt:
      MQTTPacketBuilder.connack() + MQTTPacketBuilder.suback(1, [1]) + MQTTPacketBuilder.puback(2)
        + MQTTPacketBuilder.pubrec(3) + MQTTPacketBuilder.pubcomp(3) + MQTTPacketBuilder.pingresp
    case .mqtt5:
      MQTT5PacketBuilder.connack([.two(0x13, 30)]) + MQTT5PacketBuilder.reasons(9, 1, [1])
        + MQTT5PacketBuilder.answer(4, 2, reason: 0x10) + MQTT5PacketBuilder.answer(5, 3, reason: 0, [])
        + MQTTPacketBuilder.pubcomp(3) + MQTTPacketBuilder.pingresp
    }
  }

  /// Tag 1001 with twelve "z", by Python's `zlib.compress`.
  private static let zlib = [UInt8](hex: "789c1360646060e0a9420200270b05d6")

  /// When segment `segment` of connection `connection` passes.
  static func time(_ connection: Int, _ segment: Int) -> Timestamp {
    Timestamp(microseconds: 1_700_000_000_000_000 + Int64(connection) * 10_000 + Int64(segment + 1) * 10)
  }

  /// A connection whose client says `stream`, cut at `cuts`; then the server answers everything. Checksums are zero.
  static func connection(_ number: Int, _ chat: Chat, _ stream: [UInt8], cuts: [Int], answers: Bool = true)
    -> [TimedPacket]
  {
    let port: UInt16 = chat == .tjp ? 8_080 : 1_883
    var packets: [TimedPacket] = []
    func add(_ fromClient: Bool, _ flags: UInt8, _ sequence: UInt32, _ payload: [UInt8], _ at: Timestamp) {
      var bytes: [UInt8] = [0x45, 0]
      bytes.append(big: UInt16(40 + payload.count))
      bytes += [0, 0, 0x40, 0, 64, 6, 0, 0]
      let client: UInt32 = 0x0a00_0000 + UInt32(number)
      bytes.append(big: fromClient ? client : 0xcb00_710a)
      bytes.append(big: fromClient ? 0xcb00_710a : client)
      bytes.append(big: fromClient ? 40_000 : port)
      bytes.append(big: fromClient ? port : 40_000)
      bytes.append(big: sequence)
      bytes.append(big: UInt32(fromClient ? 0 : 1_000))
      bytes += [0x50, flags, 0xff, 0xff, 0, 0, 0, 0]
      packets.append(TimedPacket(timestamp: at, bytes: bytes + payload, linkType: 101))
    }
    add(true, 2, 999, [], time(number, -1))
    var start = 0
    for (i, end) in (cuts + [stream.count]).enumerated() {
      add(true, 8, 1_000 + UInt32(start), [UInt8](stream[start..<end]), time(number, i))
      start = end
    }
    if answers {
      let last = time(number, cuts.count + 1)
      add(false, 0x12, 4_999, [], last)
      add(false, 8, 5_000, self.answers(chat, number), last.advanced(by: 1_000))
    }
    return packets
  }
}
