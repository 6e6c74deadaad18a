import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Segments that are remembered, compared with a list of all of them.
@Suite struct RecentSegmentsTests {
  private static func segment(_ side: Int, at time: Nanoseconds, sum: UInt32, identification: UInt16) -> Segment {
    var segment = Segment()
    segment.sender = UInt8(side)
    segment.timestamp = Timestamp(nanoseconds: 1_700_000_000_000_000_000 + time.count)
    segment.payloadSum = sum
    segment.identification = identification
    return segment
  }

  /// What others send between a segment and its copy changes nothing, within the lifetime; after it nothing is remembered.
  @Test(arguments: [0, 10, 5_000, 100_000]) func othersDoNotMatter(_ others: Int) throws {
    var recent = RecentSegments(memory: 256 << 20)
    let name = RecentSegments.Name.payload(1_000, 40)
    var first = Self.segment(0, at: .zero, sum: 7, identification: 5)
    recent.remember(1, &first, name)
    for number in 0..<others {
      var other = Self.segment(number & 1, at: Nanoseconds(Int64(number) * 30_000), sum: 9, identification: 6)
      recent.remember(2 + UInt32(number % 50), &other, .payload(UInt32(number) &* 77, 40))
    }
    var late = Self.segment(0, at: .seconds(3), sum: 7, identification: 5)
    let memory = try #require(recent.recall(1, &late, name))
    #expect(memory.sum == 7 && memory.hasSameLength && abs(memory.age.count - 3_000_000_000) < 70_000)
    // In other pieces it is known as sent, and compared with nothing.
    let shorter = try #require(recent.recall(1, &late, .payload(1_000, 20)))
    #expect(!shorter.hasSameLength && !shorter.isCopy(of: &late))
    var tooLate = Self.segment(0, at: .seconds(5), sum: 7, identification: 5)
    #expect(recent.recall(1, &tooLate, name) == nil)
  }

  /// Drawn segments: what is remembered is what a list of all says, whatever the capacity was when they came.
  @Test(arguments: 1...UInt64(LongRun.times(2, of: 6))) func asAList(_ seed: UInt64) {
    struct Sent {
      var serial: UInt32, side: Int, sequence: UInt32, count: Int
      var time: Nanoseconds, sum: UInt32
    }
    var random = SeededRandom(seed)
    var recent = RecentSegments(memory: 256 << 20)
    var sent: [Sent] = []
    var now = Nanoseconds.zero
    for step in 0..<30_000 {
      now = now + Nanoseconds(Int64(random.next() % (step % 9_000 < 6_000 ? 40_000 : 4_000_000)))
      let next = Sent(
        serial: 1 + UInt32(random.next() % 40), side: Int(random.next() % 2),
        sequence: UInt32(random.next() % 500) * 10,
        count: 10 * Int(1 + random.next() % 2), time: now, sum: 1 + UInt32(random.next() % 1_000))
      var segment = Self.segment(next.side, at: now, sum: next.sum, identification: 1)
      if step % 7 == 0 {
        let name = RecentSegments.Name.payload(next.sequence, next.count)
        var told: [Sent] = []
        for old in sent.reversed() {
          if now.count - old.time.count > RecentSegments.lifetime.count + 70_000 { break }
          guard (old.serial, old.side, old.sequence) == (next.serial, next.side, next.sequence) else { continue }
          told.append(old)
        }
        let expected = told.first { $0.count == next.count } ?? told.first
        let memory = recent.recall(next.serial, &segment, name)
        // At the edge of the lifetime either is right: times are kept to 0.07 ms. Chains end after 16 entries.
        if let expected, now.count - expected.time.count < RecentSegments.lifetime.count - 70_000, told.count < 8 {
          #expect(
            memory?.sum == expected.sum && memory?.hasSameLength == (expected.count == next.count), "step \(step)")
        }
        if expected == nil { #expect(memory == nil, "step \(step)") }
      }
      recent.remember(next.serial, &segment, .payload(next.sequence, next.count))
      sent.append(next)
    }
  }
}
