import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// MQTT on its port of which a part was captured only: the server's side, or nothing of the beginning.
@Suite struct OneSidedTests {
  typealias M = MQTTPacketBuilder

  private static let large = SeededRandom(5).bytes(of: 200_000)

  /// What the server says behind its SYN+ACK: CONNACK, a large message early, answers and small messages.
  private static let said: [[UInt8]] = {
    var said = [M.connack(), M.publish("news/large", large, qos: 0)]
    for n in UInt16(1)...10 {
      said += [M.puback(n), M.publish("news/\(n)", [UInt8]("text \(n)".utf8), qos: 1, packetID: n), M.pingresp]
    }
    return said
  }()

  /// The server's packets of a whole conversation, from its SYN+ACK, its first acknowledgment or its CONNACK on.
  private static func packets(from first: Int) -> [TimedPacket] {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    talk.open(at: Scene.ms(0))
    talk.send(M.connect(clientID: "phone"), .clientToServer, at: Scene.ms(10))
    for (i, bytes) in said.enumerated() {
      let now = 100 + 1_000 * Int64(i)
      talk.send(bytes, .serverToClient, at: Scene.ms(now))
      // The client answers, and asks for the last answer; that is not captured.
      let isNumbered = bytes[0] == 0x32
      talk.send(isNumbered ? M.puback(UInt16(i / 3)) : M.pingreq, .clientToServer, at: Scene.ms(now + 500))
    }
    talk.send(M.disconnect, .clientToServer, at: Scene.ms(200_000))
    let isServers = talk.packets.filter { [UInt8]($0.bytes[34..<36]) == [0x07, 0x5b] }
    return [TimedPacket](isServers.dropFirst(first))
  }

  @Test(arguments: 0...2) func theServersSide(_ first: Int) throws {
    let run = Run(Self.packets(from: first), plans: Plans.usual)
    #expect(run.frames.map(\.bytes) == Self.said)
    #expect(run.frames.allSatisfy { $0.direction == .serverToClient })
    let report = try #require(run.heard.reports.first)
    #expect(report.info.server == Talk.server(1_883) && report.info.client == Talk.phone)
    // Whoever answers the messages was not captured: nobody can know.
    let messages = run.heard.finished.filter { $0.fate != .unacknowledged }
    #expect(messages.map(\.fate) == (1...10).map { _ in .unknown })
    #expect(messages.map(\.cause) == (1...10).map { _ in .capture })
    run.expectLedgerAddsUp()
  }

  /// Nothing of the beginning, and then a message that is longer than any search holds: decoded, and answered.
  @Test(arguments: [false, true], [UInt8(0), 1, 2]) func aLargeMessageFirst(_ hasHandshake: Bool, _ qos: UInt8) throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    if hasHandshake { talk.open(at: Scene.ms(0)) }
    var said = [(Direction.clientToServer, M.publish("pictures/7", Self.large, qos: qos, packetID: 7))]
    if qos == 1 { said.append((.serverToClient, M.puback(7))) }
    if qos == 2 {
      said += [(.serverToClient, M.pubrec(7)), (.clientToServer, M.pubrel(7)), (.serverToClient, M.pubcomp(7))]
    }
    said += [(.clientToServer, M.pingreq), (.serverToClient, M.pingresp)]
    for (i, one) in said.enumerated() { talk.send(one.1, one.0, at: Scene.ms(100 + 500 * Int64(i))) }
    let run = Run(talk.packets, plans: Plans.usual)
    for direction in [Direction.clientToServer, .serverToClient] {
      #expect(
        run.frames.filter { $0.direction == direction }.map(\.bytes) == said.filter { $0.0 == direction }.map(\.1))
    }
    #expect(
      run.heard.finished.filter { $0.bodyCount > 200_000 }.map(\.fate) == [qos == 0 ? .unacknowledged : .acked])
    #expect(run.gaps.isEmpty && run.ledger.strayBytes == 0)
    run.expectLedgerAddsUp()
  }
}

extension SeededRandom {
  /// `count` bytes of a generator of its own.
  fileprivate func bytes(of count: Int) -> [UInt8] {
    var random = self
    return random.bytes(count)
  }
}
