import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Packets cut by the snaplen: a frame whose header was captured is a message with its type, number and round trip; of its
/// body nothing is judged.
@Suite struct SnaplenTests {
  /// Ethernet, IPv4 and TCP headers, and 42 bytes of payload.
  private static let limit = 96

  /// Messages of so many bytes each, and their answers 20 ms later.
  private static let sizes = [0, 14, 15, 60, 400, 1_390, 3_000, 20_000]

  private static func talk(_ port: UInt16, _ ask: (Int, UInt16) -> [UInt8], _ answer: (UInt16) -> [UInt8])
    -> [TimedPacket]
  {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(port))
    talk.open(at: Scene.ms(0))
    for (i, size) in sizes.enumerated() {
      let number = UInt16(i + 1)
      talk.send(ask(size, number), .clientToServer, at: Scene.ms(100 * Int64(number)))
      talk.send(answer(number), .serverToClient, at: Scene.ms(100 * Int64(number) + 20))
    }
    talk.close(.fin(by: .clientToServer), at: Scene.ms(100 * Int64(sizes.count + 1)))
    return talk.packets
  }

  private static func expect(_ run: Run, type: UInt64, answer: UInt64) {
    let numbers = sizes.indices.map { UInt64($0 + 1) }
    let asked = run.frames.filter { $0.direction == .clientToServer }
    #expect(asked.map(\.sequence) == numbers)
    #expect(asked.map(\.type) == numbers.map { _ in type })
    #expect(run.frames.filter { $0.direction == .serverToClient }.map(\.type) == numbers.map { _ in answer })
    #expect(run.frames.allSatisfy { $0.status != .bad && !$0.flags.contains(.malformed) })
    let exchanges = run.heard.finished
    #expect(exchanges.map(\.sequence) == numbers)
    #expect(exchanges.map(\.fate) == numbers.map { _ in .acked })
    // From the packet that had the header.
    #expect(exchanges.map { $0.roundTrip?.milliseconds } == numbers.map { _ in 20 })
    #expect(run.ledger.checksums[Int(ChecksumStatus.bad.rawValue)] == 0)
    run.expectLedgerAddsUp()
  }

  @Test func tjp() {
    let packets = Self.talk(8_080) { size, number in
      TJPFrameBuilder(
        type: TJPType.data, sequence: UInt32(number),
        body: TLVBuilder().field(0x1001, [UInt8](repeating: 0x61, count: size)).bytes
      ).bytes
    } _: {
      TJPFrameBuilder.echoACK(of: UInt32($0)).bytes
    }
    Self.expect(Run(packets, snapLength: Self.limit), type: 0, answer: 2)
  }

  @Test func mqtt() {
    let packets = Self.talk(1_883) { size, number in
      MQTTPacketBuilder.publish("chat/7", [UInt8](repeating: 0x61, count: size), qos: 1, packetID: number)
    } _: {
      MQTTPacketBuilder.puback($0)
    }
    Self.expect(Run(packets, snapLength: Self.limit), type: 3, answer: 4)
  }

  /// A header that the snaplen cuts as well is no message, and the frame behind it is found all the same.
  @Test(arguments: [54, 60, 81]) func noHeader(_ limit: Int) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Scene.ms(0))
    talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
    var whole = CaptureBuilder(talk).packets
    let opening = whole.count
    talk.send(Scene.text(2), .clientToServer, at: Scene.ms(20))
    talk.send(Scene.text(3), .clientToServer, at: Scene.ms(30))
    whole = CaptureBuilder(talk).packets
    // Only the second message is cut: its record says how long it was.
    whole[opening].originalLength = UInt32(whole[opening].bytes.count)
    whole[opening].bytes = [UInt8](whole[opening].bytes.prefix(limit))
    let run = Run(whole)
    #expect(run.sequences == [1, 3])
    #expect(run.gaps.map(\.details) == [.gap(.snaplen)])
    run.expectLedgerAddsUp()
  }
}
