import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// Heartbeats, their answers and their intervals.
@Suite struct HeartbeatCountsTests {
  private typealias Made = MadeResolution

  private static let cases: [(name: String, resolutions: [Resolution], counts: [UInt64])] = [
    // Answered, missed, unknown, no answer requested.
    ("answered", [Made.make(.acked), Made.make(.ackedAfterRetry, copies: 2), Made.make(.rejected)], [3, 0, 0, 0]),
    ("missed", [Made.make(.unanswered), Made.make(.damaged)], [0, 2, 0, 0]),
    ("unknown", [Made.make(.unknown)], [0, 0, 1, 0]),
    ("no answer is asked for", [Made.make(.unacknowledged)], [0, 0, 0, 1]),
    ("open", [Made.make(.pending)], [0, 0, 0, 0]),
    ("missed, then answered", [Made.make(.unanswered), Made.late(.acked, after: .unanswered)], [1, 0, 0, 0]),
    ("unknown, then answered", [Made.make(.unknown), Made.late(.acked, after: .unknown)], [1, 0, 0, 0]),
    ("damaged, then refused", [Made.make(.damaged), Made.late(.rejected, after: .damaged)], [1, 0, 0, 0]),
    ("a late answer to what was not counted goes not below 0", [Made.late(.acked, after: .unanswered)], [1, 0, 0, 0]),
  ]

  @Test(arguments: 0..<9) func fates(_ place: Int) {
    let (name, resolutions, counts) = Self.cases[place]
    var beats = HeartbeatCounts()
    for resolution in resolutions { beats.resolved(resolution) }
    #expect([beats.answered, beats.missed, beats.unknown, beats.unacknowledged] == counts, "\(name)")
    #expect(beats.isEmpty == counts.allSatisfy { $0 == 0 }, "\(name)")
  }

  /// If an earlier period counted a heartbeat as missed, the period of its late answer does not subtract it.
  @Test func answersOfAnEarlierPeriod() {
    var beats = HeartbeatCounts()
    beats.resolved(Made.make(.unanswered))
    beats.resolved(Made.late(.acked, after: .unanswered), elsewhere: true)
    #expect(beats.answered == 1 && beats.missed == 1)
  }

  @Test func onlyAnswersInTimeHaveARoundTrip() {
    var beats = HeartbeatCounts()
    for microseconds: Int64 in [3_000, 1_000, 2_000] { beats.resolved(Made.make(.acked, after: microseconds)) }
    beats.resolved(Made.make(.ackedAfterRetry, after: 9_000, copies: 2))
    beats.resolved(Made.make(.unanswered, after: 6_000_000))
    #expect(beats.roundTrips.count == 3 && beats.roundTrips.minimum == 1_000 && beats.roundTrips.maximum == 3_000)
  }

  /// Heartbeats after 30, 33 and 29 s: the mean interval is 30.667 s, and intervals differ by 3 and 4 s.
  @Test func cadence() throws {
    var beats = HeartbeatCounts()
    #expect(beats.interval == nil && beats.jitter == nil && beats.expected == nil)
    beats.sent(after: nil, change: nil)
    beats.sent(after: .seconds(30), change: nil)
    #expect(beats.interval == 30_000_000 && beats.jitter == nil)
    beats.sent(after: .seconds(33), change: .seconds(3))
    beats.sent(after: .seconds(29), change: .seconds(4))
    #expect(beats.sent == 4 && beats.intervals == 3 && beats.changes == 2)
    #expect(beats.intervalSum == 92_000_000 && beats.jitter == 3_500_000)
    #expect(try abs(#require(beats.interval) - 30_666_666.667) < 1)
  }

  /// The mean of the promised intervals is weighted by heartbeats; a promise of any length causes no trap.
  @Test func promises() {
    var beats = HeartbeatCounts()
    for seconds: UInt64 in [60, 60, 30] { beats.expect(seconds: seconds) }
    #expect(beats.expected == 50_000_000 && beats.expectations == 3)
    beats.expect(seconds: .max)
    #expect(beats.expectations == 4)
  }

  /// The cadence of a connection comes from its report; the answers come from resolutions.
  @Test func cadenceOfAReport() {
    var figures = HeartbeatMetrics()
    for second: Int64 in [100, 130, 163, 192] { figures.sent(at: Timestamp(seconds: second, fraction: 0)) }
    figures.answered(after: .milliseconds(20))
    var beats = HeartbeatCounts()
    beats.addCadence(figures)
    #expect(beats.sent == 4 && beats.intervals == 3 && beats.intervalSum == 92_000_000)
    #expect(beats.changes == 2 && beats.changeSum == 7_000_000 && beats.answered == 0)
  }

  /// Counts of several connections can be added in any order; adding answers alone does not change the cadence.
  @Test func additionHasNoOrder() {
    func part(_ seed: UInt64) -> HeartbeatCounts {
      var random = SeededRandom(seed)
      var beats = HeartbeatCounts()
      for _ in 0..<20 {
        let interval = Nanoseconds.microseconds(Int64.random(in: 0...90_000_000, using: &random))
        beats.sent(after: interval, change: random.once(in: 2) ? interval : nil)
        for resolution in MadeResolution.history(&random) { beats.resolved(resolution) }
        beats.spacing.record(interval)
      }
      beats.addPings(PingCounts(sent: 5, answered: 3, missed: 1))
      beats.expect(seconds: 60)
      return beats
    }
    func numbers(_ beats: HeartbeatCounts) -> [Int64] {
      let counts = [
        beats.sent, beats.answered, beats.missed, beats.unknown, beats.unacknowledged, beats.absent, beats.intervals,
        beats.changes, beats.expectations, beats.roundTrips.count, beats.pings.sent, beats.spacing.count,
      ]
      return counts.map { Int64($0) } + [beats.intervalSum, beats.changeSum, beats.expectedSum, beats.spacing.sum]
    }
    let (one, other) = (part(1), part(2))
    var first = one, second = other
    first.add(other)
    second.add(one)
    #expect(numbers(first) == numbers(second))
    #expect(numbers(first) == zip(numbers(one), numbers(other)).map(+))
    #expect(first.roundTrips == second.roundTrips)

    var answers = one
    answers.addAnswers(other)
    #expect(answers.sent == one.sent && answers.intervalSum == one.intervalSum && answers.changes == one.changes)
    #expect(answers.answered == one.answered + other.answered - 3 && answers.missed == one.missed + other.missed - 1)
    #expect(answers.pings == one.pings)
  }

  @Test func pingsHaveWhatIsLeftPending() {
    let cases: [(sent: UInt64, answered: UInt64, missed: UInt64, pending: UInt64)] = [
      (0, 0, 0, 0), (3, 1, 1, 1), (3, 2, 1, 0), (2, 3, 0, 0), (.max, 0, 0, .max), (0, .max, 0, 0),
    ]
    for (sent, answered, missed, pending) in cases {
      #expect(PingCounts(sent: sent, answered: answered, missed: missed).pending == pending)
    }
    let steps: [PingStep] = [.sent, .answered, .missed, .sent]
    var sum = PingCounts()
    for step in steps { sum.add(PingCounts(step)) }
    #expect(sum == PingCounts(sent: 2, answered: 1, missed: 1))
  }
}
