import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Openings, ends and times that are out of the ordinary.
@Suite struct CrossingTests {
  /// Both sides' SYNs cross, as figure 8 of RFC 9293 has it; `order` is that of the two answers.
  @Test(arguments: [Direction.serverToClient, .clientToServer], [0, 1]) func simultaneousOpen(
    _ first: Direction, _ synsAgain: Int
  ) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    let (client, server) = (talk.next[0], talk.next[1])
    func syn(_ direction: Direction, at: Timestamp) {
      talk.append(
        direction, .syn, sequence: (direction == .clientToServer ? client : server) &- 1, acknowledgment: 0, at: at)
    }
    func answer(_ direction: Direction, at: Timestamp) {
      let (own, other) = direction == .clientToServer ? (client, server) : (server, client)
      talk.append(direction, [.syn, .ack], sequence: own &- 1, acknowledgment: other, at: at)
    }
    syn(.clientToServer, at: Scene.ms(0))
    syn(.serverToClient, at: Scene.ms(5))
    if synsAgain > 0 { syn(.serverToClient, at: Scene.ms(1_005)) }
    answer(first, at: Scene.ms(1_010))
    answer(first.reversed, at: Scene.ms(1_020))
    talk.acknowledge(.clientToServer, at: Scene.ms(1_025))
    talk.send(Scene.text(1), .clientToServer, at: Scene.ms(1_030))
    talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(1_040))
    let run = Run(talk.packets, plans: [Plans.tjp])
    #expect(run.ledger.connections == 1)
    #expect(run.ledger.connectionAttempts == 1 && run.ledger.connectionSuccesses == 1)
    #expect(run.reassembly.retransmissions == UInt64(synsAgain))
    #expect(run.heard.finished.map(\.fate) == [.acked])
    #expect(run.heard.reports.map(\.info.client) == [Talk.phone])
    #expect(run.heard.reports.map(\.phase) == [.established])
    #expect(run.heard.reports.map(\.synCount) == [1])
    run.expectLedgerAddsUp()
  }

  /// A closed socket answers three segments by three resets that are alike and have no identification; the same reset captured
  /// twice on a path where everything is, is a copy.
  @Test func resetsOfAClosedSocket() {
    func packets(isEverythingTwice: Bool) -> [TimedPacket] {
      var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      let sequence = talk.next[0]
      let resets = (0..<3).map { i in
        talk.append(
          .clientToServer, .rst, sequence: sequence, acknowledgment: 0,
          at: Scene.ms(20).advanced(by: isEverythingTwice ? Int64(i) * 10_000_000 : Int64(i) * 300_000))
      }
      var all = talk.packets
      for i in all.indices.suffix(resets.count) {
        all[i].bytes.replaceSubrange(18..<20, with: [0, 0])
        all[i].bytes.refreshIPv4Checksum()
      }
      return isEverythingTwice
        ? all.flatMap { [$0, TimedPacket($0, at: $0.timestamp.advanced(by: 20_000))] } : all
    }
    #expect(Run(packets(isEverythingTwice: false)).reassembly.copies == 0)
    let twice = packets(isEverythingTwice: true)
    #expect(Run(twice.sorted { $0.timestamp < $1.timestamp }).reassembly.copies == UInt64(twice.count / 2))
  }

  /// A byte sent into a closed window is answered when the window opens, which is no round trip.
  @Test func zeroWindowProbe() {
    func run(window: UInt16) -> Run {
      var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
      talk.acknowledges = false
      talk.open(at: Scene.ms(0))
      var packets = talk.packets
      var other = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
      other.acknowledges = false
      other.acknowledge(.serverToClient, at: Scene.ms(5))
      other.send([0x7a], .clientToServer, at: Scene.ms(10))
      other.acknowledge(.serverToClient, at: Scene.ms(3_010))
      var rest = other.packets
      rest[0].setWindow(window)
      packets += rest
      return Run(packets)
    }
    let (open, closed) = (run(window: 500), run(window: 0))
    #expect(open.heard.reports.first?.segments[0].roundTrips.count == 1)
    #expect(closed.heard.reports.first?.segments[0].roundTrips.count == 0)
  }

  /// Packets whose times nobody knows give no round trip, of TCP or of messages, and their fates are what they are.
  @Test func withoutTimes() {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(20))
    }.map { TimedPacket($0, at: Timestamp(nanoseconds: 0)) }
    let run = Run(packets, plans: [Plans.tjp], hasTimes: false)
    #expect(run.heard.finished.map(\.fate) == [.acked])
    #expect(run.heard.finished.allSatisfy { $0.roundTrip == nil && $0.latency == nil && $0.acks == 1 })
    #expect(run.frames.allSatisfy { $0.roundTrip == nil })
    #expect(run.heard.reports.allSatisfy { $0.serverHandshake == nil && $0.clientHandshake == nil })
    #expect(run.heard.reports.allSatisfy { $0.segments[0].roundTrips.count == 0 })
    run.expectLedgerAddsUp()
  }

  /// Subflows of Multipath TCP are counted by the server's answers: RFC 8684's MP_CAPABLE and MP_JOIN.
  @Test func multipath() {
    func talk(_ port: UInt16, _ subtype: UInt8) -> [TimedPacket] {
      var talk = ConversationBuilder(
        client: Endpoint(address: Talk.phone.address, port: port), server: Talk.server(8_080))
      let option: [UInt8] = [30, 12, subtype << 4 | 1, 0, 1, 2, 3, 4, 5, 6, 7, 8]
      let (client, server) = (talk.next[0], talk.next[1])
      talk.append(
        .clientToServer, .syn, sequence: client &- 1, acknowledgment: 0, options: option, at: Scene.ms(Int64(port)))
      talk.append(
        .serverToClient, [.syn, .ack], sequence: server &- 1, acknowledgment: client, options: option,
        at: Scene.ms(Int64(port) + 1))
      return talk.packets
    }
    let run = Run(talk(40_001, 0) + talk(40_002, 1) + talk(40_003, 1))
    #expect(run.ledger.multipathConnections == 1 && run.ledger.multipathJoins == 2)
  }
}

extension TimedPacket {
  /// Sets the window of an IPv4 packet without IP options on Ethernet, and mends its checksum.
  fileprivate mutating func setWindow(_ window: UInt16) {
    let old = UInt32(bytes[48]) << 8 | UInt32(bytes[49])
    let sum = UInt32(bytes[50]) << 8 | UInt32(bytes[51])
    (bytes[48], bytes[49]) = (UInt8(window >> 8), UInt8(window & 255))
    // RFC 1624, equation 3.
    var new = (~sum & 0xffff) + (~old & 0xffff) + UInt32(window)
    while new > 0xffff { new = (new & 0xffff) + new >> 16 }
    let recomputed = ~new & 0xffff
    (bytes[50], bytes[51]) = (UInt8(recomputed >> 8), UInt8(recomputed & 255))
  }
}
