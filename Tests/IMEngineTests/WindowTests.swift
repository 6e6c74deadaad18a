import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Payload that no window of its connection allows: an event with its numbers, a count, and no part of the stream.
@Suite struct WindowTests {
  /// How far it is from what comes next, and whether it is taken for the stream's.
  @Test(
    arguments: [
      (1 << 30 + 1, true), (1 << 30 + 1_000, true), (-(1 << 30) - 1, true), (Int(Int32.max), true),
      (-(1 << 30), false), (-20, false),
    ] as [(Int, Bool)])
  func farFromTheRest(_ distance: Int, _ isFar: Bool) throws {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      let sequence = talk.next[0] &+ UInt32(truncatingIfNeeded: distance)
      talk.append(
        .clientToServer, [.psh, .ack], sequence: sequence, acknowledgment: talk.next[1], payload: [1, 2, 3, 4],
        at: Scene.ms(20))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(30))
    }
    let run = Run(packets)
    let next = UInt32(1_001 + Scene.text(1).count)
    let events = run.issues.filter { $0.kind == .outOfWindow }
    #expect(events.count == (isFar ? 1 : 0))
    #expect(run.reassembly.outOfWindow == (isFar ? 1 : 0))
    if isFar {
      let event = try #require(events.first)
      #expect(event.byteCount == 4 && event.timestamp == Scene.ms(20) && event.direction == .clientToServer)
      #expect(
        event.details == .outOfWindow(sequence: next &+ UInt32(truncatingIfNeeded: distance), expected: next))
      #expect(run.reassembly.ignoredBytes == 4)
    }
    #expect(run.sequences == [1, 2] && run.gaps.isEmpty)
    run.expectLedgerAddsUp()
  }
}
