import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What TCP's sequence numbers may do: wrap, jump, come twice with other bytes, come backwards.
@Suite struct SequenceNumberTests {
  /// Both directions cross 2³² in the middle of everything.
  @Test(arguments: [1, 7, 28, 100, 1_000] as [UInt32]) func wrapAround(_ before: UInt32) {
    let packets = Scene.talk(initial: (.max - before, .max - before / 2)) { talk in
      talk.open(at: Scene.ms(0))
      talk.segmentSize = 17
      for i in 1...40 {
        talk.send(Scene.text(UInt32(i)), i % 2 == 0 ? .clientToServer : .serverToClient, at: Scene.ms(Int64(i) * 20))
      }
    }
    let whole = Run(packets)
    #expect(whole.sequences == (1...40).map { UInt64($0) })
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
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
        let at = UInt32(truncatingIfNeeded: Int(talk.next[0]) + distance)
        talk.append(
          .clientToServer, [.psh, .ack], sequence: at, acknowledgment: 5_001, payload: Scene.text(7), at: Scene.ms(20))
        talk.send(Scene.text(2), .clientToServer, at: Scene.ms(30))
      })
    #expect(run.sequences == [1, 2])
    #expect(run.reassembly.outOfWindow == 1)
    #expect(run.reassembly.ignoredBytes == UInt64(Scene.text(7).count))
    #expect(run.gaps.isEmpty)
    run.expectLedgerAddsUp()
  }

  /// A retransmission with other bytes: the first copy counts, and the issue has a hash of each.
  @Test(arguments: [false, true]) func inconsistent(_ isHeld: Bool) throws {
    let first = Scene.text(2)
    var other = first
    other[other.count - 1] ^= 0x20
    let run = Run(
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        let one = talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
        let at = talk.next[0]
        talk.acknowledges = false
        talk.send(first, .clientToServer, at: Scene.ms(20))
        talk.append(
          .clientToServer, [.psh, .ack], sequence: at, acknowledgment: 5_001, payload: other, at: Scene.ms(30))
        // Behind a hole both copies meet in the queue; else the first is gone when the second comes.
        if isHeld {
          talk.duplicate(one[0], at: Scene.ms(35))
          talk.drop(one[0])
        }
      })
    #expect(run.sequences == [1, 2])
    #expect(run.frames.last?.bytes == first)
    let issue = try #require(run.issues.first { $0.kind == .inconsistentRetransmission })
    guard case .inconsistentRetransmission(let kept, let other) = issue.details else { return }
    #expect(kept != other && kept != 0 && other != 0)
    #expect(issue.byteCount == UInt64(first.count))
    #expect(issue.streamOffset == UInt64(Scene.text(1).count))
    #expect(run.reassembly.conflicts == 1)
    run.expectLedgerAddsUp()
  }

  /// Twenty thousand holes, and segments of one byte in reverse order: bounded work, nothing lost that came.
  @Test func reverseBytes() {
    let stream = (1...300).flatMap { Scene.text(UInt32($0)) }
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      for (i, byte) in stream.enumerated().reversed() {
        talk.append(
          .clientToServer, [.psh, .ack], sequence: 1_001 + UInt32(i), acknowledgment: 5_001, payload: [byte],
          at: Timestamp(microseconds: 1_700_000_000_001_000 + Int64(stream.count - i)))
      }
    }
    let run = Run(packets)
    #expect(run.sequences == (1...300).map { UInt64($0) })
    run.expectLedgerAddsUp()
    let few = Run(packets) { $0.reassembly.segmentsPerDirection = 500 }
    #expect(few.heldBytes == 0)
    few.expectLedgerAddsUp()
  }

  /// A reset counts by its number; where its sender knows of no connection, which has no numbers, by what it acknowledges
  /// (RFC 9293, section 3.5.2). One that hits neither is another's.
  @Test(arguments: [(0, 0, true), (0, 1, false), (1, 0, false), (7, 0, false)])
  func resetOfTheUnknown(_ sequence: UInt32, _ distance: UInt32, _ ends: Bool) throws {
    // The client's bytes begin at 1001, the server's in the middle of all numbers.
    let run = Run(
      Scene.talk(initial: (1_000, 0x8000_0000)) { talk in
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
        talk.append(
          .serverToClient, [.rst, .ack], sequence: sequence, acknowledgment: talk.next[0] &- distance, at: Scene.ms(20))
        talk.send(Scene.text(2), .clientToServer, at: Scene.ms(30))
      })
    let report = try #require(run.heard.reports.last)
    #expect(report.reason == (ends ? .reset : .open))
    #expect(run.reassembly.ignoredResets == (ends ? 0 : 1))
    run.expectLedgerAddsUp()
  }

  /// Without its beginning a direction is held for a moment, but not more than may be held.
  @Test(arguments: [10, 100]) func heldBeyondTheLimit(_ segments: Int) {
    let packets = Scene.talk { talk in
      talk.acknowledges = false
      for n in 1...UInt32(segments) { talk.send(Scene.text(n), .clientToServer, at: Scene.ms(10 + Int64(n) / 8)) }
    }
    let run = Run(packets) { $0.reassembly.segmentsPerDirection = 40 }
    #expect(run.sequences == (1...UInt64(segments)).map { $0 })
    run.expectLedgerAddsUp()
  }
}
