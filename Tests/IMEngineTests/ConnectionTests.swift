import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// How connections begin and end, and what sequence numbers may do.
@Suite struct ConnectionTests {
  // MARK: Beginning

  @Test func handshake() throws {
    let run = Run(
      Scene.talk { talk in
        talk.spacing = 7_000_000
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(30))
        talk.close(.fin(by: .serverToClient), at: Scene.ms(100))
      })
    let report = try #require(run.heard.reports.first)
    #expect(run.heard.reports.count == 1)
    #expect(report.serverHandshake == .milliseconds(7))
    #expect(report.clientHandshake == .milliseconds(7))
    #expect(report.establishedAt == Scene.ms(14))
    #expect(report.info.client == Talk.phone)
    #expect(report.reason == .fin)
    #expect(report.synCount == 1)
    #expect(report.streamBytes[0] == UInt64(Scene.text(1).count))
    #expect(run.ledger.connectionAttempts == 1)
    #expect(run.ledger.connectionSuccesses == 1)
    run.expectLedgerAddsUp()
  }

  /// What the SYNs of a connection make of it.
  @Test func synRetransmitted() {
    let run = Run(
      Scene.talk { talk in
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Scene.ms(0))
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Scene.ms(1_000))
        talk.open(at: Scene.ms(3_000))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(3_100))
      })
    #expect(run.ledger.connectionAttempts == 1)
    #expect(run.heard.reports.map(\.synCount) == [3])
    #expect(run.ledger.connections == 1)
    #expect(run.sequences == [1])
    run.expectLedgerAddsUp()
  }

  @Test func refused() {
    let run = Run(
      Scene.talk { talk in
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Scene.ms(0))
        talk.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 1_001, at: Scene.ms(1))
      })
    #expect(run.ledger.connectionsRefused == 1)
    #expect(run.heard.reports.map(\.reason) == [.refused])
    #expect(run.ledger.connectionSuccesses == 0)
    run.expectLedgerAddsUp()
  }

  /// Nothing answers: after 30 s of the capture's time, or after four SYNs at its end.
  @Test(arguments: [([0], 31_000, 1), ([0], 29_000, 0), ([0, 1_000, 3_000, 7_000], 8_000, 1)])
  func timedOut(_ syns: [Int64], _ end: Int64, _ expected: UInt64) {
    var packets = Scene.talk { talk in
      for syn in syns { talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Scene.ms(syn)) }
    }
    packets.append(TimedPacket(OnePacket.timed(OnePacket.bytes(PacketBuilder(), isIPv6: true)), at: Scene.ms(end)))
    let run = Run(packets)
    #expect(run.ledger.connectionsTimedOut == expected)
    #expect(run.heard.reports.first?.reason == (expected == 1 ? .timeout : .open))
    run.expectLedgerAddsUp()
  }

  /// Only one side is captured: everything comes out; a hole is given up after five seconds, when nobody can tell more.
  @Test func oneSided() {
    for missing in [false, true] {
      var packets = Scene.talk { talk in
        talk.acknowledges = false
        talk.open(at: Scene.ms(0))
        for i in 1...10 { talk.send(Scene.text(UInt32(i)), .clientToServer, at: Scene.ms(Int64(i) * 1_000)) }
      }
      packets.remove(at: 1)
      if missing { packets.remove(at: 4) }
      let run = Run(packets)
      let wanted: [UInt64] = missing ? [1, 2, 4, 5, 6, 7, 8, 9, 10] : Array(1...10)
      #expect(run.sequences == wanted)
      #expect(run.gaps.map(\.details) == (missing ? [.gap(.unseen)] : []))
      run.expectLedgerAddsUp()
    }
  }

  /// Data on the SYN itself (RFC 7413), and data before the handshake's last packet.
  @Test func earlyData() {
    let run = Run(
      Scene.talk { talk in
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, payload: Scene.text(1), at: Scene.ms(0))
        talk.append(
          .serverToClient, [.syn, .ack], sequence: 5_000, acknowledgment: 1_001 + UInt32(Scene.text(1).count),
          at: Scene.ms(1))
        talk.append(
          .clientToServer, .ack, sequence: 1_001 + UInt32(Scene.text(1).count), acknowledgment: 5_001,
          payload: Scene.text(2),
          at: Scene.ms(2))
      })
    #expect(run.sequences == [1, 2])
    run.expectLedgerAddsUp()
  }

  // MARK: Reuse and resets

  /// The same ports with a new initial number are a new connection, whatever became of the old one.
  @Test(arguments: ["open", "fin", "reset"]) func portReuse(_ ending: String) {
    var packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      if ending == "fin" { talk.close(.fin(by: .clientToServer), at: Scene.ms(20)) }
      if ending == "reset" { talk.close(.reset(by: .clientToServer), at: Scene.ms(20)) }
    }
    packets += Scene.talk(initial: (900_000, 4)) { talk in
      talk.open(at: Scene.ms(500))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(510))
      talk.send(Scene.text(9), .serverToClient, at: Scene.ms(520))
    }
    let run = Run(packets)
    #expect(run.sequences == [1, 2, 9])
    #expect(run.frames.map(\.connection) == [1, 2, 2])
    #expect(run.heard.reports.map(\.reason) == [ending == "open" ? .reused : ending == "fin" ? .fin : .reset, .open])
    #expect(run.gaps.isEmpty)
    run.expectLedgerAddsUp()
  }

  /// A reset at `distance` from what its sender sends next.
  @Test(arguments: [
    (0, true), (-1, true), (1, true), (65_535, true), (-2_000, false), (1 << 22, false), (-(1 << 30), false),
  ])
  func reset(_ distance: Int, _ ends: Bool) {
    let run = Run(
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
        let at = UInt32(truncatingIfNeeded: Int(talk.next[0]) + distance)
        talk.append(.clientToServer, .rst, sequence: at, acknowledgment: 0, at: Scene.ms(20))
        talk.send(Scene.text(2), .clientToServer, at: Scene.ms(30))
      })
    #expect(run.heard.reports.map(\.reason) == [ends ? .reset : .open])
    #expect(run.reassembly.ignoredResets == (ends ? 0 : 1))
    #expect(run.issues.count { $0.kind == .ignoredReset } == (ends ? 0 : 1))
    #expect(run.sequences == [1, 2])
    run.expectLedgerAddsUp()
  }

  /// A reset may carry a text that explains it; it is no part of the stream.
  @Test func resetWithPayload() {
    let run = Run(
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
        talk.append(
          .clientToServer, .rst, sequence: talk.next[0], acknowledgment: 0, payload: [1, 2, 3], at: Scene.ms(20))
      })
    #expect(run.reassembly.ignoredBytes == 3)
    run.expectLedgerAddsUp()
  }

  /// Segments behind the end of a connection, in order and beyond a hole, are accounted for when it is forgotten.
  @Test func stragglers() {
    var packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      let at = talk.next[0]
      talk.close(.reset(by: .serverToClient), at: Scene.ms(20))
      talk.append(
        .clientToServer, [.psh, .ack], sequence: at, acknowledgment: 5_001, payload: Scene.text(2), at: Scene.ms(30))
      talk.append(
        .clientToServer, [.psh, .ack], sequence: at + 1_000, acknowledgment: 5_001, payload: Scene.text(3),
        at: Scene.ms(40))
    }
    // An hour later the connection is forgotten long since; then the clock jumps by two centuries.
    for time in [Scene.ms(3_600_000), Timestamp(nanoseconds: .max - 1), .distantFuture] {
      packets.append(TimedPacket(OnePacket.timed(OnePacket.bytes(PacketBuilder(), isIPv6: true)), at: time))
    }
    let run = Run(packets)
    #expect(run.frames.filter { $0.connection == 1 }.map(\.sequence) == [1, 2, 3])
    #expect(run.gaps.map(\.details) == [.gap(.unseen)])
    run.expectLedgerAddsUp()
  }
}
