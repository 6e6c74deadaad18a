import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// How connections begin and end, and what sequence numbers may do.
@Suite struct ConnectionTests {
  private static func ms(_ value: Int64) -> Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + value) }

  private static func text(_ number: UInt32) -> [UInt8] {
    TJPFrameBuilder(text: "text \(number)", sequence: number).bytes
  }

  private func talk(initial: (UInt32, UInt32) = (1_000, 5_000), _ steps: (inout ConversationBuilder) -> Void)
    -> [TimedPacket]
  {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080), initial: initial)
    steps(&talk)
    return talk.packets
  }

  private func texts(_ run: Run) -> [UInt64?] { run.frames.map(\.sequence) }

  // MARK: Beginning

  @Test func handshake() throws {
    let run = Run(
      talk { talk in
        talk.spacing = 7_000_000
        talk.open(at: Self.ms(0))
        talk.send(Self.text(1), .clientToServer, at: Self.ms(30))
        talk.close(.fin(by: .serverToClient), at: Self.ms(100))
      })
    let report = try #require(run.heard.reports.first)
    #expect(run.heard.reports.count == 1)
    #expect(report.serverHandshake == 7_000_000)
    #expect(report.clientHandshake == 7_000_000)
    #expect(report.establishedAt == Self.ms(14))
    #expect(report.info.client == Talk.phone)
    #expect(report.reason == .fin)
    #expect(report.synCount == 1)
    #expect(report.streamBytes[0] == UInt64(Self.text(1).count))
    #expect(run.ledger.connectionAttempts == 1)
    #expect(run.ledger.connectionSuccesses == 1)
    run.expectLedgerAddsUp()
  }

  /// What the SYNs of a connection make of it.
  @Test func synRetransmitted() {
    let run = Run(
      talk { talk in
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Self.ms(0))
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Self.ms(1_000))
        talk.open(at: Self.ms(3_000))
        talk.send(Self.text(1), .clientToServer, at: Self.ms(3_100))
      })
    #expect(run.ledger.connectionAttempts == 1)
    #expect(run.heard.reports.map(\.synCount) == [3])
    #expect(run.ledger.connections == 1)
    #expect(texts(run) == [1])
    run.expectLedgerAddsUp()
  }

  @Test func refused() {
    let run = Run(
      talk { talk in
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Self.ms(0))
        talk.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 1_001, at: Self.ms(1))
      })
    #expect(run.ledger.connectionsRefused == 1)
    #expect(run.heard.reports.map(\.reason) == [.refused])
    #expect(run.ledger.connectionSuccesses == 0)
    run.expectLedgerAddsUp()
  }

  /// Nothing answers: after 30 s of the capture's time, or after four SYNs at its end.
  @Test(arguments: [([0], 31_000, 1), ([0], 29_000, 0), ([0, 1_000, 3_000, 7_000], 8_000, 1)])
  func timedOut(_ syns: [Int64], _ end: Int64, _ expected: UInt64) {
    var packets = talk { talk in
      for syn in syns { talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Self.ms(syn)) }
    }
    packets.append(TimedPacket(OnePacket.timed(OnePacket.bytes(PacketBuilder(), isIPv6: true)), at: Self.ms(end)))
    let run = Run(packets)
    #expect(run.ledger.connectionsTimedOut == expected)
    #expect(run.heard.reports.first?.reason == (expected == 1 ? .timeout : .open))
    run.expectLedgerAddsUp()
  }

  /// Only one side is captured: everything comes out; a hole is given up after five seconds, when nobody can tell more.
  @Test func oneSided() {
    for missing in [false, true] {
      var packets = talk { talk in
        talk.acknowledges = false
        talk.open(at: Self.ms(0))
        for i in 1...10 { talk.send(Self.text(UInt32(i)), .clientToServer, at: Self.ms(Int64(i) * 1_000)) }
      }
      packets.remove(at: 1)
      if missing { packets.remove(at: 4) }
      let run = Run(packets)
      #expect(texts(run) == (1...10).filter { !missing || $0 != 3 }.map { UInt64($0) })
      #expect(run.gaps.map(\.gap) == (missing ? [.unseen] : []))
      run.expectLedgerAddsUp()
    }
  }

  /// Data on the SYN itself (RFC 7413), and data before the handshake's last packet.
  @Test func earlyData() {
    let run = Run(
      talk { talk in
        talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, payload: Self.text(1), at: Self.ms(0))
        talk.append(
          .serverToClient, [.syn, .ack], sequence: 5_000, acknowledgment: 1_001 + UInt32(Self.text(1).count),
          at: Self.ms(1))
        talk.append(
          .clientToServer, .ack, sequence: 1_001 + UInt32(Self.text(1).count), acknowledgment: 5_001,
          payload: Self.text(2),
          at: Self.ms(2))
      })
    #expect(texts(run) == [1, 2])
    run.expectLedgerAddsUp()
  }

  // MARK: Reuse and resets

  /// The same ports with a new initial number are a new connection, whatever became of the old one.
  @Test(arguments: ["open", "fin", "reset"]) func portReuse(_ ending: String) {
    var packets = talk { talk in
      talk.open(at: Self.ms(0))
      talk.send(Self.text(1), .clientToServer, at: Self.ms(10))
      if ending == "fin" { talk.close(.fin(by: .clientToServer), at: Self.ms(20)) }
      if ending == "reset" { talk.close(.reset(by: .clientToServer), at: Self.ms(20)) }
    }
    packets += talk(initial: (900_000, 4)) { talk in
      talk.open(at: Self.ms(500))
      talk.send(Self.text(2), .clientToServer, at: Self.ms(510))
      talk.send(Self.text(9), .serverToClient, at: Self.ms(520))
    }
    let run = Run(packets)
    #expect(texts(run) == [1, 2, 9])
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
      talk { talk in
        talk.open(at: Self.ms(0))
        talk.send(Self.text(1), .clientToServer, at: Self.ms(10))
        let at = UInt32(truncatingIfNeeded: Int(talk.next[0]) + distance)
        talk.append(.clientToServer, .rst, sequence: at, acknowledgment: 0, at: Self.ms(20))
        talk.send(Self.text(2), .clientToServer, at: Self.ms(30))
      })
    #expect(run.heard.reports.map(\.reason) == [ends ? .reset : .open])
    #expect(run.reassembly.ignoredResets == (ends ? 0 : 1))
    #expect(run.issues.count { $0.kind == .ignoredReset } == (ends ? 0 : 1))
    #expect(texts(run) == [1, 2])
    run.expectLedgerAddsUp()
  }

  /// A reset may carry a text that explains it; it is no part of the stream.
  @Test func resetWithPayload() {
    let run = Run(
      talk { talk in
        talk.open(at: Self.ms(0))
        talk.send(Self.text(1), .clientToServer, at: Self.ms(10))
        talk.append(
          .clientToServer, .rst, sequence: talk.next[0], acknowledgment: 0, payload: [1, 2, 3], at: Self.ms(20))
      })
    #expect(run.reassembly.ignoredBytes == 3)
    run.expectLedgerAddsUp()
  }

  // MARK: Sequence numbers

  /// Both directions cross 2³² in the middle of everything.
  @Test(arguments: [1, 7, 28, 100, 1_000] as [UInt32]) func wrapAround(_ before: UInt32) {
    let packets = talk(initial: (.max - before, .max - before / 2)) { talk in
      talk.open(at: Self.ms(0))
      talk.segmentSize = 17
      for i in 1...40 {
        talk.send(Self.text(UInt32(i)), i % 2 == 0 ? .clientToServer : .serverToClient, at: Self.ms(Int64(i) * 20))
      }
    }
    let whole = Run(packets)
    #expect(texts(whole) == (1...40).map { UInt64($0) })
    // The same with each segment near the wrap missing: only its own message goes.
    for missing in 3..<min(packets.count, 120) {
      var left = packets
      left.remove(at: missing)
      let run = Run(left)
      #expect(run.frames.count >= 38, "without packet \(missing)")
      run.expectLedgerAddsUp("without packet \(missing)")
    }
    whole.expectLedgerAddsUp()
  }

  /// A segment whose number cannot belong to the connection is ignored, and the stream goes on.
  @Test(arguments: [1 << 31, (1 << 31) - 1, (1 << 30) + 1, -(1 << 30) - 1, -(1 << 31) + 1])
  func hostileJump(_ distance: Int) {
    let run = Run(
      talk { talk in
        talk.open(at: Self.ms(0))
        talk.send(Self.text(1), .clientToServer, at: Self.ms(10))
        let at = UInt32(truncatingIfNeeded: Int(talk.next[0]) + distance)
        talk.append(
          .clientToServer, [.psh, .ack], sequence: at, acknowledgment: 5_001, payload: Self.text(7), at: Self.ms(20))
        talk.send(Self.text(2), .clientToServer, at: Self.ms(30))
      })
    #expect(texts(run) == [1, 2])
    #expect(run.reassembly.outOfWindow == 1)
    #expect(run.reassembly.ignoredBytes == UInt64(Self.text(7).count))
    #expect(run.gaps.isEmpty)
    run.expectLedgerAddsUp()
  }

  /// A retransmission with other bytes: the first copy counts, and the issue has a hash of each.
  @Test(arguments: [false, true]) func inconsistent(_ isHeld: Bool) throws {
    let first = Self.text(2)
    var other = first
    other[other.count - 1] ^= 0x20
    let run = Run(
      talk { talk in
        talk.open(at: Self.ms(0))
        let one = talk.send(Self.text(1), .clientToServer, at: Self.ms(10))
        let at = talk.next[0]
        talk.acknowledges = false
        talk.send(first, .clientToServer, at: Self.ms(20))
        talk.append(
          .clientToServer, [.psh, .ack], sequence: at, acknowledgment: 5_001, payload: other, at: Self.ms(30))
        // Behind a hole both copies meet in the queue; else the first is gone when the second comes.
        if isHeld {
          talk.duplicate(one[0], at: Self.ms(35))
          talk.drop(one[0])
        }
      })
    #expect(texts(run) == [1, 2])
    #expect(run.frames.last?.bytes == first)
    let issue = try #require(run.issues.first { $0.kind == .inconsistentRetransmission })
    #expect(issue.a != issue.b && issue.a != 0 && issue.b != 0)
    #expect(issue.byteCount == UInt64(first.count))
    #expect(issue.streamOffset == UInt64(Self.text(1).count))
    #expect(run.reassembly.conflicts == 1)
    run.expectLedgerAddsUp()
  }

  /// Twenty thousand holes, and segments of one byte in reverse order: bounded work, nothing lost that came.
  @Test func reverseBytes() {
    let stream = (1...300).flatMap { Self.text(UInt32($0)) }
    let packets = talk { talk in
      talk.open(at: Self.ms(0))
      for (i, byte) in stream.enumerated().reversed() {
        talk.append(
          .clientToServer, [.psh, .ack], sequence: 1_001 + UInt32(i), acknowledgment: 5_001, payload: [byte],
          at: Timestamp(microseconds: 1_700_000_000_001_000 + Int64(stream.count - i)))
      }
    }
    let run = Run(packets)
    #expect(texts(run) == (1...300).map { UInt64($0) })
    run.expectLedgerAddsUp()
    let few = Run(packets) { $0.reassembly.segmentsPerDirection = 500 }
    #expect(few.heldBytes == 0)
    few.expectLedgerAddsUp()
  }
}
