import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// One conversation that a capture shows twice, before and after a NAT, is counted once; conversations that are alike are not one.
@Suite struct TranslationTests {
  private static let outside = Endpoint(address: IPAddress(v4: 0xc633_6401), port: 61_000)

  /// A conversation of three messages. `hops` is what is left of the hop limit of the client's packets, and of the server's.
  private static func talk(
    client: Endpoint = Talk.phone, server: Endpoint = Talk.server(8_080), initial: (UInt32, UInt32) = (77_001, 88_001),
    hops: (UInt8, UInt8) = (64, 57), shift: (Int64, Int64) = (0, 0), session: UInt16 = 1
  ) -> [TimedPacket] {
    var talk = ConversationBuilder(client: client, server: server, initial: initial)
    talk.open(at: Scene.ms(0))
    for n in UInt32(1)...3 {
      let text = TJPFrameBuilder(text: "text \(n)", sequence: n, session: session)
      talk.send(text.bytes, .clientToServer, at: Scene.ms(10 * Int64(n)))
      talk.send(
        TJPFrameBuilder.echoACK(of: n, session: session).bytes, .serverToClient, at: Scene.ms(10 * Int64(n) + 5))
    }
    talk.close(.fin(by: .clientToServer), at: Scene.ms(50))
    return talk.packets.map { packet in
      var moved = packet
      let isIPv6 = packet.bytes[12] == 0x86
      let isClients =
        packet.bytes[(isIPv6 ? 54 : 34)...].prefix(2) == [UInt8(client.port >> 8), UInt8(client.port & 255)]
      moved.timestamp = moved.timestamp.advanced(by: isClients ? shift.0 : shift.1)
      moved.bytes[isIPv6 ? 21 : 22] = isClients ? hops.0 : hops.1
      if !isIPv6 { moved.bytes.refreshIPv4Checksum() }
      return moved
    }
  }

  private static func run(_ talks: [TimedPacket]...) -> Run {
    Run(talks.joined().sorted { $0.timestamp < $1.timestamp }, plans: [Plans.tjp])
  }

  private static let v6 = (
    Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0001, v6Low: 5), port: 40_001),
    Endpoint(address: IPAddress(v6High: 0x0064_ff9b_0000_0000, v6Low: 0xcb00_710a), port: 8_080)
  )

  /// Another source address and port, another destination, both, and another family; the server's answers are captured on the outer
  /// side first.
  @Test(arguments: [0, 1, 2, 3]) func countedOnce(_ kind: Int) {
    let client = kind == 3 ? Self.v6.0 : kind == 1 ? Talk.phone : Self.outside
    let server =
      kind == 3
      ? Self.v6.1
      : kind == 0 ? Talk.server(8_080) : Endpoint(address: IPAddress(v4: 0x0a60_0001), port: 31_080)
    let inner = Self.talk(shift: (0, 40_000))
    let outer = Self.talk(client: client, server: server, hops: (63, 58), shift: (30_000, 0))
    let run = Self.run(inner, outer)
    #expect(run.heard.finished.map(\.fate) == [.acked, .acked, .acked])
    #expect(run.ledger.connections == 1 && run.ledger.connectionAttempts == 1)
    #expect(run.ledger.connectionSuccesses == 1 && run.ledger.translatedConnections == 1)
    #expect(run.heard.reports.filter(\.isFinal).map(\.info.client) == [Talk.phone])
    #expect(run.heard.opened.count == 1)
    #expect(run.reassembly.copies == UInt64(outer.count))
    #expect(run.reassembly.retransmissions == 0)
    run.expectLedgerAddsUp()
  }

  /// What is alike, and no conversation that passed a NAT: the same packets without a hop in between, another number of the
  /// server's, and one that comes later than any NAT takes.
  @Test func conversationsOfTheirOwn() {
    let others: [(String, [TimedPacket])] = [
      ("no hop", Self.talk(client: Self.outside, shift: (30_000, 30_000), session: 2)),
      (
        "another server",
        Self.talk(
          client: Self.outside, initial: (77_001, 99_001), hops: (63, 58), shift: (30_000, 30_000), session: 2)
      ),
      (
        "another client",
        Self.talk(
          client: Self.outside, initial: (77_002, 88_001), hops: (63, 58), shift: (30_000, 30_000), session: 2)
      ),
      ("later", Self.talk(client: Self.outside, hops: (63, 58), shift: (25_000_000, 25_000_000), session: 2)),
    ]
    for (what, other) in others {
      let run = Self.run(Self.talk(), other)
      #expect(run.heard.finished.count == 6, "\(what)")
      #expect(run.ledger.connections == 2 && run.ledger.translatedConnections == 0, "\(what)")
      #expect(run.heard.opened.count == 2, "\(what)")
      #expect(run.heard.reports.filter(\.isFinal).count == 2, "\(what)")
      run.expectLedgerAddsUp("\(what)")
    }
  }

  /// The next connection of the translated ends is one of its own.
  @Test func theNextConnection() {
    let outer = Self.talk(client: Self.outside, hops: (63, 58), shift: (30_000, 0))
    let next = Self.talk(client: Self.outside, initial: (1_234_567, 7_654_321), hops: (63, 58), session: 2).map {
      TimedPacket($0, at: $0.timestamp.advanced(by: 1_000_000_000))
    }
    let run = Self.run(Self.talk(shift: (0, 40_000)), outer, next)
    #expect(run.heard.finished.count == 6)
    #expect(run.ledger.connections == 2 && run.ledger.translatedConnections == 1)
    #expect(run.heard.reports.filter(\.isFinal).count == 2)
    run.expectLedgerAddsUp()
  }
}
