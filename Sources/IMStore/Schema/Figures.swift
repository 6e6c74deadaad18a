import IMEngine
import IMMetrics
import IMWire

/// What is counted of messages, by session, connection and period alike: the columns that these tables share.
///
/// They add up: what a batch brings is added to what the table has, so the writer holds nothing of what it has written.
struct Figures {
  // There are many of them, each touched for a message and then not for a while: so they are small. Counts are of the messages between
  // two writings, of which there are far fewer than 2³¹.

  /// Messages by fate; together they are all messages.
  private var fates: InlineArray<8, Int32> = InlineArray(repeating: 0)
  private var late: Int32 = 0
  private var roundTrips: Int32 = 0
  private var retries: Int32 = 0
  private var roundTripSum: Int64 = 0
  private var shortest = Int64.max, longest = Int64.min
  private var first = Int64.max, last = Int64.min

  /// Places of fates, in the order of their columns.
  private static let fates = Fate.allCases.map { Int($0.rawValue) }
  /// The columns of fates, in the order of `Fate`.
  private static var fateColumns: [String] { Fate.allCases.map(\.name) }
  private static var sums: [String] {
    ["messages"] + fateColumns + ["retries", "late", "rtt_count", "rtt_sum_us"]
  }
  private static let ends = [("rtt_min_us", "min"), ("rtt_max_us", "max"), ("first_us", "min"), ("last_us", "max")]
  private static var columns: [String] { sums + ends.map(\.0) }

  /// What becomes of each column of `table` when the figures of a row called `new` are added to it, in SQL.
  static func additions(_ table: String, _ new: String) -> [(column: String, value: String)] {
    sums.map { ($0, "\(table).\($0) + \(new).\($0)") }
      + ends.map { column, end in
        let (mine, other) = ("\(table).\(column)", "\(new).\(column)")
        return (column, "\(end)(ifnull(\(mine), \(other)), ifnull(\(other), \(mine)))")
      }
  }

  /// The columns as a table declares them.
  static var declaration: String {
    (sums.map { "\($0) INTEGER NOT NULL" } + ends.map { "\($0.0) INTEGER" }).joined(separator: ", ")
  }

  /// A statement that adds figures to the row of `table` with `key`, or makes it. Parameters are the key, `others`, and the
  /// figures; `updates` are what becomes of the others.
  static func upsert(_ table: String, key: [String], others: [String], updates: [String]) -> String {
    let names = key + others + columns
    let places = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
    let sets = updates + additions(table, "excluded").map { "\($0.column) = \($0.value)" }
    return "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(places)) "
      + "ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(sets.joined(separator: ", "))"
  }

  /// A statement that adds figures to the row of `table` whose `key` is the first parameter; the figures are the others.
  static func update(_ table: String, key: String) -> String {
    let places = columns.enumerated().map { "?\($0 + 2) AS \($1)" }.joined(separator: ", ")
    let sets = additions(table, "new").map { "\($0.column) = \($0.value)" }
    return "UPDATE \(table) SET \(sets.joined(separator: ", ")) FROM (SELECT \(places)) AS new "
      + "WHERE \(table).\(key) = ?1"
  }

  /// What a message brings, by the definitions of `SessionMetrics`: found once, and counted several times.
  struct Sample {
    let fate: Int
    let retries: Int64
    let late: Int32
    /// In microseconds, and its bucket; below 0 where there is none.
    let roundTrip: Int64
    let roundTripBucket: Int
    /// The times of the first copy and of the last copy or answer, in microseconds.
    let begun: Int64, ended: Int64

    init(_ exchange: Exchange) {
      fate = Int(exchange.fate.rawValue)
      retries = Int64(exchange.repeats)
      late = exchange.flags.rawValue & Exchange.Flags.late.rawValue == 0 ? 0 : 1
      roundTrip = exchange.roundTrip?.microseconds ?? -1
      roundTripBucket = roundTrip >= 0 ? RTTBuckets.index(ofMicroseconds: roundTrip) : 0
      begun = exchange.firstAt.microseconds
      ended = max(exchange.lastAt, exchange.ackedAt).microseconds
    }
  }

  /// What a message has brought before: of a `CountedMessage` the numbers, which are handed about without its texts.
  struct Counted {
    let fate: Int
    let retries: Int64
    let late: Int32
    /// In microseconds; below 0 where there is none.
    let roundTrip: Int64

    init(_ old: CountedMessage) {
      fate = old.fate
      retries = old.retries
      late = old.isLate ? 1 : 0
      roundTrip = old.roundTrip ?? -1
    }
  }

  /// Counts a message, `instead` of what it was counted as before, if it was.
  @inline(__always)
  mutating func count(_ sample: Sample, instead old: Counted?) {
    if let old { take(back: old) }
    count(sample)
  }

  /// Counts a message.
  @inline(__always)
  private mutating func count(_ sample: Sample) {
    fates[sample.fate] &+= 1
    retries &+= Int32(truncatingIfNeeded: sample.retries)
    late &+= sample.late
    first = min(first, sample.begun)
    last = max(last, sample.ended)
    guard sample.roundTrip >= 0 else { return }
    roundTrips &+= 1
    roundTripSum &+= sample.roundTrip
    shortest = min(shortest, sample.roundTrip)
    longest = max(longest, sample.roundTrip)
  }

  /// Takes back what a message was counted as. Extremes stay: they cannot be taken back, and a message whose answer is known does not
  /// lose it.
  private mutating func take(back old: Counted) {
    if old.fate < fates.count { fates[old.fate] &-= 1 }
    retries &-= Int32(truncatingIfNeeded: old.retries)
    late &-= old.late
    guard old.roundTrip >= 0 else { return }
    roundTrips &-= 1
    roundTripSum &-= old.roundTrip
  }

  /// Binds the figures to the parameters behind `place`.
  func bind(to statement: inout Statement, behind place: Int32) {
    var place = place
    func add(_ value: Int64?, _ statement: inout Statement) {
      place += 1
      statement.bind(place, value)
    }
    var messages: Int64 = 0
    for i in fates.indices { messages += Int64(fates[i]) }
    add(messages, &statement)
    for fate in Self.fates { add(Int64(fates[fate]), &statement) }
    add(Int64(retries), &statement)
    add(Int64(late), &statement)
    add(Int64(roundTrips), &statement)
    add(roundTripSum, &statement)
    add(shortest == .max ? nil : shortest, &statement)
    add(longest == .min ? nil : longest, &statement)
    add(first == .max ? nil : first, &statement)
    add(last == .min ? nil : last, &statement)
  }
}
