import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// The metrics of a store over time: at most the requested number of steps, with every message counted once.
@Suite struct StorePeriodTests {
  private static func seconds(_ value: Int64) -> Timestamp { Timestamp(seconds: value, fraction: 0) }

  /// The first and the last second and the maximum number of steps; then the expected width, beginning and number of steps.
  @Test(
    arguments: [
      (0, 0, 1, 1, 0, 1), (0, 399, 400, 1, 0, 400), (0, 400, 400, 2, 0, 201), (7, 406, 400, 1, 7, 400),
      (0, 399, 399, 2, 0, 200), (1, 400, 200, 5, 0, 81), (0, 59, 1, 60, 0, 1), (59, 60, 1, 120, 0, 1),
      (0, 86_399, 1, 86_400, 0, 1), (0, 86_400, 1, 172_800, 0, 1), (-1, 0, 2, 1, -1, 2), (-5, 3, 3, 5, -5, 2),
      (0, 34_560_000, 400, 172_800, 0, 201), (5, 5, 0, 1, 5, 1), (5, 5, -3, 1, 5, 1),
    ] as [(Int64, Int64, Int, Int64, Int64, Int)])
  func stepsAreBounded(_ first: Int64, _ last: Int64, _ limit: Int, _ width: Int64, _ start: Int64, _ count: Int) throws
  {
    let store = try MadeStore([Sent(0, at: first * 1_000_000), Sent(1, at: last * 1_000_000)])
    let found = try #require(try store.reader.periods(limit: limit))
    #expect(found.width == width && found.start == start && found.periods.count == count)
    #expect(found.periods.count <= max(1, limit))
    #expect(found.periods.reduce(0) { $0 + $1.messages } == 2)
    #expect(found.periods.first?.messages ?? 0 > 0 && found.periods.last?.messages ?? 0 > 0)
    let times = found.times(0..<found.periods.count)
    #expect(times.lowerBound <= Self.seconds(first) && times.upperBound > Self.seconds(last))
  }

  @Test func nothingHasNoSteps() throws {
    let reader = try MadeStore([]).reader
    #expect(try reader.periods(limit: 400) == nil)
    #expect(try reader.periods(Self.seconds(0)..<Self.seconds(9), limit: 400) == nil)
  }

  @Test func aStepCountsItsMessages() throws {
    let store = try MadeStore([
      Sent(0, at: 10_000_000) { $0.answerAfter = 900 }, Sent(1, at: 10_900_000) { $0.answerAfter = 100 },
      Sent(2, at: 12_000_000) { ($0.fate, $0.retries) = (.unanswered, 3) },
      Sent(3, at: 12_500_000) { $0.fate = .damaged },
      Sent(4, at: 12_500_000) { ($0.fate, $0.answerAfter, $0.direction) = (.rejected, 300, .serverToClient) },
      Sent(5, at: 12_600_000) { ($0.kind, $0.fate) = (.heartbeat, .unanswered) },
      Sent(6, at: 12_700_000) { ($0.kind, $0.answerAfter) = (.heartbeat, 1) },
      Sent(7, at: 12_800_000) { $0.fate = .unacknowledged },
    ])
    let found = try #require(try store.reader.periods(limit: 400))
    var (first, last) = (StoredPeriod(), StoredPeriod())
    (first.messages, first.roundTrip95ToServer) = (2, 900)
    (last.messages, last.lost, last.rejected, last.retries, last.oneWay) = (3, 2, 1, 3, 1)
    (last.heartbeats, last.lostHeartbeats, last.roundTrip95ToClient) = (2, 1, 300)
    #expect(found == StoredPeriods(start: 10, width: 1, periods: [first, StoredPeriod(), last]) && found.hasHeartbeats)
    // Two seconds together have the higher of their two percentiles.
    let coarse = try #require(try store.reader.periods(limit: 2))
    #expect(
      coarse.width == 2 && coarse.periods.map(\.messages) == [2, 3] && coarse.periods[0].roundTrip95ToServer == 900)
  }

  /// A time range has all of its seconds, with or without messages, and includes the whole second in which it ends.
  @Test(
    arguments: [
      (0, 0, 3, 0, [0, 0, 0]), (9, 0, 12, 0, [0, 1, 1]), (10, 0, 10, 0, [1]), (10, 0, 10, 500_000_000, [1]),
      (10, 500_000_000, 11, 1, [1, 1]), (11, 0, 11, 999_999_999, [1]), (14, 0, 17, 0, [0, 0, 0]),
    ] as [(Int64, Int64, Int64, Int64, [Int64])])
  func aTimeHasItsSeconds(_ from: Int64, _ fraction: Int64, _ to: Int64, _ end: Int64, _ expected: [Int64]) throws {
    let store = try MadeStore([Sent(0, at: 10_000_000), Sent(1, at: 11_999_999)])
    let times = Timestamp(seconds: from, fraction: fraction)..<Timestamp(seconds: to, fraction: end)
    let found = try #require(try store.reader.periods(times, limit: 400))
    #expect(found.start == from && found.width == 1 && found.periods.map(\.messages) == expected)
  }

  /// Extreme times do not produce more steps than requested.
  @Test(arguments: [1, 2, 3, 400]) func theEndsOfTimeAreBounded(_ limit: Int) throws {
    let store = try MadeStore([Sent(0, at: 0), Sent(1, at: 1_000_000)])
    try store.run(
      "UPDATE bucket SET start_s = \(Int64.min) WHERE start_s = 0; UPDATE bucket SET start_s = \(Int64.max) WHERE start_s = 1"
    )
    let reader = try store.reader
    let all = try #require(try reader.periods(limit: limit))
    // One more step is possible at 1970, however wide steps are.
    #expect(all.periods.count <= max(2, limit) && all.width > 0)
    let times = try #require(try reader.periods(.distantPast ..< .distantFuture, limit: limit))
    #expect(times.periods.count <= max(2, limit))
  }
}
