import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// A window over the last seconds, compared with a list of all samples.
@Suite struct SlidingWindowTests {
  private static let second: Int64 = 1_000_000_000

  private static func at(_ seconds: Int64, _ nanoseconds: Int64 = 0) -> Timestamp {
    Timestamp(seconds: seconds, fraction: nanoseconds)
  }

  private static func affected(_ serial: UInt32, _ time: Timestamp) -> SlidingWindow.Affected {
    SlidingWindow.Affected(
      connection: ConnectionInfo(told: serial, client: MadeReport.client, server: MadeReport.server), at: time)
  }

  /// Samples at random times, some of them in the past; each window contains exactly those within its range.
  @Test(arguments: [(1, 5), (10, 6), (60, 1)] as [(Int64, Int64)]) func drawn(_ step: Int64, _ count: Int64) {
    var random = SeededRandom(UInt64(step))
    var window = SlidingWindow(step: step * Self.second, count: count)
    var samples: [(time: Int64, value: Double, isAffected: Bool)] = []
    for boundary in stride(from: step, through: 40 * step, by: Int(step)) {
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        // At most as old as the window that is requested next.
        let time = max(0, boundary - 1 - Int64.random(in: 0..<step * count, using: &random))
        let isAffected = random.once(in: 3), value = Double(random.next() % 100)
        samples.append((time, value, isAffected))
        window[Self.at(time)].add(value, affected: isAffected ? Self.affected(1, Self.at(time)) : nil)
      }
      let here = samples.filter { $0.time < boundary && $0.time >= boundary - step * count }
      let counts = window.counts(before: Self.at(boundary))
      #expect(counts.samples == UInt64(here.count), "\(boundary)")
      #expect(counts.affected == UInt64(here.count { $0.isAffected }))
      #expect(counts.sum == here.reduce(0) { $0 + $1.value })
      #expect(counts.maximum == here.map(\.value).max() ?? 0)
      #expect(counts.first?.at == here.filter(\.isAffected).map(\.time).min().map { Self.at($0) })
      #expect(counts.last?.at == here.filter(\.isAffected).map(\.time).max().map { Self.at($0) })
      #expect(window.isEmpty == here.isEmpty)
    }
  }

  @Test func stepsBeginAtWholeMultiples() {
    let cases: [(time: Timestamp, boundary: Timestamp)] = [
      (Self.at(0), Self.at(10)), (Self.at(9, 999_999_999), Self.at(10)), (Self.at(10), Self.at(20)),
      (Self.at(-1), Self.at(0)), (Self.at(-10), Self.at(0)), (Self.at(-10, -1), Self.at(-10)),
      (.distantFuture, .distantFuture),
    ]
    for (time, boundary) in cases {
      #expect(SlidingWindow.boundary(after: time, step: 10 * Self.second) == boundary, "\(time)")
    }
    // The end of a window is exclusive, also before 1970.
    for base in [0, -1_000] as [Int64] {
      var window = SlidingWindow(step: 10 * Self.second, count: 2)
      for second in [0, 9, 10, 19, 20] as [Int64] { window[Self.at(base + second)].add() }
      #expect(window.counts(before: Self.at(base + 20)).samples == 4)
      #expect(window.counts(before: Self.at(base + 30)).samples == 3)
      #expect(window.entries.map(\.number) == [base / 10 + 1, base / 10 + 2])
    }
  }

  @Test func aWindowOfNothingHasOneStep() {
    let window = SlidingWindow(step: 0, count: -5)
    #expect(window.step == 1 && window.count == 1 && window.isEmpty)
    #expect(window.nextBoundary(after: Self.at(5)) == nil && window[Self.at(5)].samples == 0)
  }

  /// The times at which a window changes without a new sample: at each step until it is empty, and when the window reaches a sample that
  /// lies far ahead.
  @Test func nextBoundaries() {
    var window = SlidingWindow(step: 10 * Self.second, count: 3)
    window[Self.at(5)].add()
    for (boundary, next) in [(10, 20), (20, 30), (30, 40)] as [(Int64, Int64)] {
      #expect(window.nextBoundary(after: Self.at(boundary)) == Self.at(next))
    }
    #expect(window.nextBoundary(after: Self.at(40)) == nil)
    window[Self.at(205)].add()
    #expect(window.nextBoundary(after: Self.at(40)) == Self.at(210))
    #expect(window.nextBoundary(after: Self.at(210)) == Self.at(220))
    // A step number invented by a file.
    let far = SlidingWindow(step: Self.second, count: 3, entries: [(.max, SlidingWindow.Counts())])
    #expect(far.nextBoundary(after: Self.at(40)) == .distantFuture)
  }

  /// A late success is subtracted from the step that counted the failure last, and counts stay at 0 or above.
  @Test func forgiveAndLearn() {
    var window = SlidingWindow(step: Self.second, count: 10)
    let affected = Self.affected(1, Self.at(1))
    #expect(window.forgive() == false)
    window[Self.at(1)].add(affected: affected)
    window[Self.at(3)].add(4.0, affected: affected)
    window[Self.at(3)].unknown = 1
    window[Self.at(5)].add()
    #expect(window.forgive() == true)
    #expect(window[Self.at(3)].affected == 0 && window[Self.at(1)].affected == 1)
    #expect(window[Self.at(3)].samples == 1)
    window.learn()
    window.learn()
    #expect(window[Self.at(3)].unknown == 0)
    #expect(window.forgive() == true)
    #expect(window.forgive() == false)
    #expect(window.counts(before: Self.at(10)).affected == 0)
  }

  @Test func severalSamplesAtOnce() {
    var counts = SlidingWindow.Counts()
    counts.add(7, affected: Self.affected(1, Self.at(20)))
    counts.add(5, affected: Self.affected(2, Self.at(10)))
    counts.add(1, affected: Self.affected(3, Self.at(20)))
    // Of equal times, `first` is the one that was added first, and `last` the one that was added last.
    #expect(counts.samples == 13 && counts.affected == 13)
    #expect(counts.first == Self.affected(2, Self.at(10)) && counts.last == Self.affected(3, Self.at(20)))
    #expect(Self.affected(1, Self.at(1)) != Self.affected(2, Self.at(1)))
    counts.add(.max, affected: Self.affected(4, Self.at(30)))
    #expect(counts.samples == 12)
  }

  /// The values that rules read from a window: ratios, times in milliseconds, counts. A ratio without samples is `nil`.
  @Test func ruleValues() {
    var counts = SlidingWindow.Counts()
    (counts.samples, counts.affected, counts.unknown) = (8, 2, 1)
    (counts.sum, counts.maximum) = (20, 9)
    for microseconds in [1_000, 2_000, 3_000, 4_000] as [Int64] { counts.roundTrips.record(microseconds: microseconds) }
    let cases: [(samples: RuleSamples, value: Double?, none: Double?)] = [
      (.fates(.success), 0.75, nil), (.attempts, 0.75, nil), (.fates(.loss), 0.25, nil), (.fates(.retry), 0.25, nil),
      (.fates(.rejected), 0.25, nil), (.fates(.unknown), 0.25, nil), (.checksums, 0.25, nil), (.packets, 0.25, nil),
      (.roundTrips(percent: 50), 2, nil), (.roundTrips(percent: 100), 4, nil), (.missedHeartbeats, 9, 0), (.ages, 9, 0),
      (.heartbeatChanges, 2.5, nil), (.failedConnections, 8, 0), (.refusedConnections, 8, 0), (.reconnects, 8, 0),
      (.refusedHandshakes, 8, 0), (.lateAnswers, 8, 0), (.messages, 8, 0), (.reports, 8, 0),
    ]
    for (samples, value, none) in cases {
      // Within the width of a histogram bucket, two microseconds.
      let found = samples.value(counts)
      #expect(found == nil ? value == nil : abs((found ?? 0) - (value ?? -1)) < 0.002, "\(samples)")
      #expect(samples.value(SlidingWindow.Counts()) == none, "\(samples)")
    }
    // More affected than samples, as a file may claim: a ratio is never negative.
    (counts.samples, counts.affected) = (1, 5)
    #expect(RuleSamples.fates(.success).value(counts) == 0)
  }
}
