import IMEngine
import IMWire

/// What is counted of messages, by session, connection and period alike: the columns that these tables share.
///
/// They add up: what a batch brings is added to what the table has, so the writer holds nothing of what it has written.
struct Figures {
  private var fates: InlineArray<8, Int64> = InlineArray(repeating: 0)
  private var messages: Int64 = 0
  private var retries: Int64 = 0
  private var late: Int64 = 0
  private var roundTrips: Int64 = 0
  private var roundTripSum: Int64 = 0
  private var shortest: Int64?
  private var longest: Int64?
  private var first: Int64?
  private var last: Int64?

  /// The columns of fates, in the order of `Fate`.
  private static var fateColumns: [String] { Fate.allCases.map(\.name) }
  private static var sums: [String] {
    ["messages"] + fateColumns + ["retries", "late", "rtt_count", "rtt_sum_us"]
  }
  private static let ends = ["rtt_min_us": "min", "rtt_max_us": "max", "first_us": "min", "last_us": "max"]
  private static let endColumns = ["rtt_min_us", "rtt_max_us", "first_us", "last_us"]
  private static var columns: [String] { sums + endColumns }

  /// The columns as a table declares them.
  static var declaration: String {
    (sums.map { "\($0) INTEGER NOT NULL" } + endColumns.map { "\($0) INTEGER" }).joined(separator: ", ")
  }

  /// A statement that adds figures to the row of `table` with `key`, or makes it. Parameters are the key, `others`, and the
  /// figures; `updates` are what becomes of the others.
  static func upsert(_ table: String, key: [String], others: [String], updates: [String]) -> String {
    let names = key + others + columns
    let places = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
    let sets =
      updates + sums.map { "\($0) = \($0) + excluded.\($0)" }
      + endColumns.map { column in
        "\(column) = \(ends[column] ?? "min")(ifnull(\(column), excluded.\(column)), ifnull(excluded.\(column), \(column)))"
      }
    return "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(places)) "
      + "ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(sets.joined(separator: ", "))"
  }

  /// Counts a message, by the definitions of `SessionMetrics`; `instead` of what it was counted as before, if it was.
  mutating func count(_ exchange: Exchange, instead old: CountedMessage? = nil) {
    if let old { take(back: old, exchange) } else { messages += 1 }
    fates[Int(exchange.fate.rawValue)] += 1
    retries += Int64(exchange.repeats)
    if exchange.flags.contains(.late) { late += 1 }
    if let roundTrip = exchange.roundTrip, roundTrip != old?.roundTrip {
      roundTrips += 1
      roundTripSum &+= roundTrip
      shortest = min(shortest ?? roundTrip, roundTrip)
      longest = max(longest ?? roundTrip, roundTrip)
    }
    let (begun, ended) = (exchange.firstAt.microseconds, max(exchange.lastAt, exchange.ackedAt).microseconds)
    first = min(first ?? begun, begun)
    last = max(last ?? ended, ended)
  }

  /// Takes back what a message was counted as, but for what is the same now. The shortest and the longest round trip stay: a
  /// message whose answer is known does not lose it.
  private mutating func take(back old: CountedMessage, _ exchange: Exchange) {
    if old.fate < fates.count { fates[old.fate] -= 1 }
    retries -= old.retries
    if old.isLate { late -= 1 }
    if let roundTrip = old.roundTrip, roundTrip != exchange.roundTrip {
      roundTrips -= 1
      roundTripSum &-= roundTrip
    }
  }

  /// Binds the figures to the parameters behind `place`.
  func bind(to statement: inout Statement, behind place: Int32) {
    var place = place
    func add(_ value: Int64?, _ statement: inout Statement) {
      place += 1
      statement.bind(place, value)
    }
    add(messages, &statement)
    for fate in Fate.allCases { add(fates[Int(fate.rawValue)], &statement) }
    for value in [retries, late, roundTrips, roundTripSum] { add(value, &statement) }
    for value in [shortest, longest, first, last] { add(value, &statement) }
  }
}
