import IMEngine
import IMMetrics
import IMWire

/// Rows of `bucket`: messages by the second, the ten seconds and the minute in which their first copies came. What they bring is
/// gathered, and added to the table now and then.
struct PeriodRows: ~Copyable {
  private struct Key: Hashable {
    let width: Int64
    /// Seconds since 1970 at which the period begins, a multiple of `width`.
    let start: Int64
  }

  private struct Gathered {
    var figures = StoredMetrics()
    /// Round trips of the whole period, for percentiles.
    var roundTrips = RTTByDirection()
    /// Whether figures wait to be written.
    var isFresh = false
  }

  /// The percentiles of round trips that a period has, of each direction.
  static let percents = [50, 95, 99]
  /// The lengths of periods, in seconds.
  static let widths: [Int64] = [1, 10, 60]
  /// Periods whose round trips are kept for their percentiles, at most: 2 to 5 KB each without what `room` bounds. Messages end up to a minute behind
  /// their beginning, and later where they stay open; so half an hour of seconds is far more than is needed.
  static let limit = 4_096

  private var periods: [Key: Gathered] = [:]
  private var room = FineBucketRoom(bytes: 16 << 20)
  /// The period of each width that the last message fell into, which the next one does as a rule; it is not in `periods`.
  private var current: [(key: Key, row: Gathered)] = []
  /// The latest start of a period, by width, whose round trips were forgotten: those up to it have no percentiles any more
  /// when a message comes to them.
  private var forgotten: [Int64: Int64] = [:]
  private var upsert: Statement

  init(_ database: Connection) throws(StoreError) {
    let percentiles = StoredMetrics.percentiles(Self.percents)
    upsert = try database.prepare(
      StoredMetrics.upsert(
        "bucket", key: ["width_s", "start_s"], others: percentiles,
        updates: percentiles.map { "\($0) = excluded.\($0)" }),
      "write periods")
  }

  /// Counts a message, `instead` of what it was counted as before, if it was.
  mutating func count(_ sample: StoredMetrics.Sample, instead old: StoredMetrics.Counted? = nil) {
    let second = Self.floor(sample.begun, 1_000_000)
    for place in 0..<Self.widths.count {
      let width = Self.widths[place]
      if place >= current.count {
        let key = Key(width: width, start: Self.floor(second, width) * width)
        current.append((key, periods.removeValue(forKey: key) ?? Gathered()))
      }
      let ahead = second - current[place].key.start
      if ahead < 0 || ahead >= width { change(place, to: Key(width: width, start: Self.floor(second, width) * width)) }
      current[place].row.isFresh = true
      current[place].row.figures.count(sample, instead: old)
      if sample.roundTrip >= 0, old?.roundTrip ?? -1 < 0 {
        room.record(into: &current[place].row.roundTrips) {
          $0.record(microseconds: sample.roundTrip, sample.direction)
        }
      }
    }
  }

  static func floor(_ value: Int64, _ width: Int64) -> Int64 {
    value / width - (value % width < 0 ? 1 : 0)
  }

  @inline(never)
  private mutating func change(_ place: Int, to key: Key) {
    periods[current[place].key] = current[place].row
    current[place] = (key, periods.removeValue(forKey: key) ?? Gathered())
  }

  /// Periods of which something is kept.
  var count: Int { periods.count }

  /// Writes what was gathered, in the order of the table; then forgets the oldest periods where there are too many.
  mutating func flush() throws(StoreError) {
    for (key, row) in current { periods[key] = row }
    current = []
    for key in periods.keys.sorted(by: { ($0.width, $0.start) < ($1.width, $1.start) }) {
      guard let row = periods[key], row.isFresh else { continue }
      let isKnown = forgotten[key.width].map { key.start > $0 } ?? true
      let histogram = isKnown ? row.roundTrips : nil
      upsert.bind(1, key.width)
      upsert.bind(2, key.start)
      Self.bind(histogram, to: &upsert, behind: 2)
      row.figures.bind(to: &upsert, behind: 2 + Int32(2 * Self.percents.count))
      try upsert.run()
      periods[key]?.figures = StoredMetrics()
      periods[key]?.isFresh = false
    }
    forget()
  }

  /// Binds the percentiles of both directions to the parameters after `place`.
  static func bind(_ trips: RTTByDirection?, to statement: inout Statement, behind place: Int32) {
    var place = place
    for way in 0...1 {
      for percent in percents {
        place += 1
        statement.bind(place, trips?[way].percentile(Double(percent)))
      }
    }
  }

  private mutating func forget() {
    guard periods.count > Self.limit else { return }
    for key in periods.keys.sorted(by: { $0.start < $1.start }).prefix(periods.count - Self.limit / 2) {
      if let row = periods.removeValue(forKey: key) { room.release(row.roundTrips) }
      forgotten[key.width] = max(forgotten[key.width] ?? key.start, key.start)
    }
  }
}
