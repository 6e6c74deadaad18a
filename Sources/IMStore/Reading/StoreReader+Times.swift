package import IMWire

/// A stretch of time, and what was counted of the messages that began in it.
package struct StoredPeriod: Equatable, Sendable {
  /// Messages that ask for an answer, and those that ask for none.
  package var messages: Int64 = 0, oneWay: Int64 = 0
  /// Messages that were lost: without an answer, or damaged.
  package var lost: Int64 = 0
  /// Messages that were refused.
  package var rejected: Int64 = 0
  /// Copies of messages after the first ones.
  package var retries: Int64 = 0
  /// The 95th percentile of the round trips of the clients' messages, in microseconds: of several rows of the table the highest;
  /// `nil` where there were none.
  package var roundTrip95ToServer: Int64?
  /// The same of the servers' messages.
  package var roundTrip95ToClient: Int64?
  /// Heartbeats.
  package var heartbeats: Int64 = 0
  /// Heartbeats without an answer.
  package var lostHeartbeats: Int64 = 0

  /// Nothing counted.
  package init() {}
}

/// Metrics over time: periods of equal length, without a hole between the first and the last.
package struct StoredPeriods: Equatable, Sendable {
  /// When the first one begins, in seconds since 1970, and seconds of each.
  package var start: Int64, width: Int64
  /// The stretches.
  package var periods: [StoredPeriod]
  /// Whether there are heartbeats.
  package var hasHeartbeats: Bool { periods.contains { $0.heartbeats > 0 } }

  /// Metrics made of their parts.
  package init(start: Int64, width: Int64, periods: [StoredPeriod]) {
    self.start = start
    self.width = width
    self.periods = periods
  }

  /// The time of some of the stretches.
  package func times(_ range: Range<Int>) -> Range<Timestamp> {
    let begin = start + Int64(range.lowerBound) * width, end = start + Int64(range.upperBound) * width
    return Timestamp(seconds: begin, fraction: 0)..<Timestamp(seconds: max(begin, end), fraction: 0)
  }
}

/// Metrics over time, and messages of a time range.
extension StoreReader {
  /// The lengths that a stretch may have, in seconds; behind the last one they double.
  private static let lengths: [Int64] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 86_400]

  /// The metrics of a time range, or of all that the store has, in at most `limit` periods. `nil` if there are none.
  package func periods(_ times: Range<Timestamp>? = nil, limit: Int) throws(StoreError) -> StoredPeriods? {
    guard
      let first = try seconds("SELECT start_s FROM bucket WHERE width_s = 1 ORDER BY start_s LIMIT 1"),
      let last = try seconds("SELECT start_s FROM bucket WHERE width_s = 1 ORDER BY start_s DESC LIMIT 1")
    else { return nil }
    let begin = times?.lowerBound.seconds ?? first
    let end =
      times.map { max(begin + 1, $0.upperBound.seconds + ($0.upperBound.nanoseconds % 1_000_000_000 > 0 ? 1 : 0)) }
      ?? last + 1
    let limit = Int64(max(1, limit))
    var width = Self.lengths.first { Self.count(begin, end, $0) <= limit } ?? 86_400
    // Two meet at 1970, however long they are.
    while Self.count(begin, end, width) > limit, width < Row.mostSeconds { width *= 2 }
    let start = Self.floor(begin, width)
    let count = Int(Self.count(begin, end, width))
    var found = StoredPeriods(
      start: start, width: width, periods: Array(repeating: StoredPeriod(), count: count))
    try read(&found)
    return found
  }

  /// The seconds in the first row of a statement; `nil` without a row.
  private func seconds(_ sql: String) throws(StoreError) -> Int64? {
    var statement = try database.prepare(sql, "read periods")
    return try statement.step() ? statement.row.seconds(0) : nil
  }

  private static func floor(_ value: Int64, _ width: Int64) -> Int64 {
    (value / width - (value % width < 0 ? 1 : 0)) * width
  }

  private static func count(_ begin: Int64, _ end: Int64, _ width: Int64) -> Int64 {
    (floor(end - 1, width) - floor(begin, width)) / width + 1
  }

  private func read(_ found: inout StoredPeriods) throws(StoreError) {
    // The longest rows that fit: a percentile of a minute says more than the highest of sixty seconds.
    let rowWidth: Int64 = found.width % 60 == 0 ? 60 : found.width % 10 == 0 ? 10 : 1
    var statement = try database.prepare(
      """
      SELECT start_s, messages, unanswered + damaged, rejected, retries, heartbeats, heartbeats_lost, rtt_c2s_p95_us, rtt_s2c_p95_us, \
      unacknowledged
      FROM bucket
      WHERE width_s = ?1 AND start_s >= ?2 AND start_s < ?3
      """, "read periods")
    statement.bind(1, rowWidth)
    statement.bind(2, found.start)
    statement.bind(3, found.start + Int64(found.periods.count) * found.width)
    while try statement.step() {
      let row = statement.row
      let place = Int(((row.seconds(0) ?? 0) - found.start) / found.width)
      guard found.periods.indices.contains(place) else { continue }
      found.periods[place].messages &+= row.counted(1) ?? 0
      found.periods[place].oneWay &+= row.counted(9) ?? 0
      found.periods[place].lost &+= row.counted(2) ?? 0
      found.periods[place].rejected &+= row.counted(3) ?? 0
      found.periods[place].retries &+= row.counted(4) ?? 0
      found.periods[place].heartbeats &+= row.counted(5) ?? 0
      found.periods[place].lostHeartbeats &+= row.counted(6) ?? 0
      if let roundTrip = row.microseconds(7) {
        found.periods[place].roundTrip95ToServer = max(found.periods[place].roundTrip95ToServer ?? 0, roundTrip)
      }
      if let roundTrip = row.microseconds(8) {
        found.periods[place].roundTrip95ToClient = max(found.periods[place].roundTrip95ToClient ?? 0, roundTrip)
      }
    }
  }

  /// A choice by time as one by numbers as well, where the store grows no more: then a page looks at no message outside of it.
  func bounded(_ choice: PageChoice) throws(StoreError) -> PageChoice {
    guard let times = choice.times else { return choice }
    var choice = choice
    if let timeBounds, timeBounds.times == times {
      choice.ids = timeBounds.ids
    } else if try isWhole() {
      var statement = try database.prepare(
        "SELECT min(id), max(id) FROM message WHERE time_us >= ?1 AND time_us < ?2", "read messages")
      statement.bind(1, times.lowerBound.microseconds)
      statement.bind(2, times.upperBound.microseconds)
      _ = try statement.step()
      let ids = (statement.row.number(0) ?? 1)...(statement.row.number(1) ?? 1)
      timeBounds = (times, ids)
      choice.ids = ids
    }
    return choice
  }
}
