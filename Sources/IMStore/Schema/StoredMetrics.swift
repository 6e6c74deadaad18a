import IMEngine
import IMMetrics
import IMWire

/// What is counted of messages, heartbeats and other frames, by session, connection and period alike: the columns that these tables share.
///
/// They add up: what a batch brings is added to what the table has, so the writer holds nothing of what it has written.
struct StoredMetrics {
  // There are many of them, each touched for a message and then not for a while: so they are small. Counts are of the messages between
  // two writings, of which there are far fewer than 2³¹.

  /// Round trips of one direction.
  private struct Trips {
    var count: Int32 = 0
    /// Microseconds.
    var sum: Int64 = 0
    /// Microseconds.
    var shortest = Int64.max
    /// Microseconds.
    var longest = Int64.min
  }

  /// Messages by fate; together they are all messages.
  private var fates: InlineArray<8, Int32> = InlineArray(repeating: 0)
  /// Heartbeats.
  private var heartbeats: Int32 = 0
  /// Heartbeats without an answer.
  private var lostHeartbeats: Int32 = 0
  /// Control frames, receipts and whatever else is neither a message nor a heartbeat.
  private var others: Int32 = 0
  /// Messages that were answered after their timeout.
  private var late: Int32 = 0
  /// Copies of messages after the first, up to the answer.
  private var retries: Int32 = 0
  /// Round trips of everything but heartbeats, by direction.
  private var trips: InlineArray<2, Trips> = [Trips(), Trips()]
  /// When the first copy of anything came, in microseconds.
  private var first = Int64.max
  /// When the last copy or answer of anything came, in microseconds.
  private var last = Int64.min

  /// Places of fates, in the order of their columns.
  private static let fates = Fate.allCases.map { Int($0.rawValue) }
  /// The columns of fates, in the order of `Fate`.
  private static var fateColumns: [String] { Fate.allCases.map(\.name) }
  /// The prefixes of the columns of round trips, by direction.
  private static let trips = ["rtt_c2s", "rtt_s2c"]
  private static var sums: [String] {
    ["messages"] + fateColumns + ["retries", "late", "heartbeats", "heartbeats_lost", "others"]
      + trips.flatMap { ["\($0)_count", "\($0)_sum_us"] }
  }
  private static let ends =
    trips.flatMap { [("\($0)_min_us", "min"), ("\($0)_max_us", "max")] } + [("first_us", "min"), ("last_us", "max")]
  private static var columns: [String] { sums + ends.map(\.0) }

  /// SQL that says whether a row has nothing to count left.
  static let isEmpty = "messages + \(Fate.unacknowledged.name) + heartbeats + others <= 0"
  /// The column of a percentile of round trips in one direction.
  static func percentile(_ percent: Int, _ direction: Direction) -> String {
    "\(trips[Int(direction.rawValue)])_p\(percent)_us"
  }
  /// The columns of some percentiles, of the clients' messages and then of the server's.
  static func percentiles(_ percents: [Int]) -> [String] {
    [Direction.clientToServer, .serverToClient].flatMap { way in percents.map { percentile($0, way) } }
  }

  /// What the messages of rows add up to, as columns and SQL over rows of `message` that are joined with `type`.
  static var sumsOfRows: [(column: String, value: String)] {
    let isMessage = "type.role = 'message'", isHeartbeat = "type.role = 'heartbeat'"
    let lost = "fate IN (\(Fate.unanswered.rawValue), \(Fate.damaged.rawValue))"
    return [("messages", "sum(\(isMessage) AND fate <> \(Fate.unacknowledged.rawValue))")]
      + Fate.allCases.map { ($0.name, "sum(\(isMessage) AND fate = \($0.rawValue))") } + [
        ("retries", "sum(iif(\(isMessage), retries, 0))"),
        ("late", "sum(\(isMessage) AND (problems & \(ProblemKinds.late.rawValue)) <> 0)"),
        ("heartbeats", "sum(\(isHeartbeat))"), ("heartbeats_lost", "sum(\(isHeartbeat) AND \(lost))"),
        ("others", "sum(NOT \(isMessage) AND NOT \(isHeartbeat))"),
      ]
      + trips.enumerated().flatMap { way, name in
        let trip = "iif(direction = \(way) AND NOT \(isHeartbeat) AND \(CountedMessage.karn()), rtt_us, NULL)"
        return [("\(name)_count", "count(\(trip))"), ("\(name)_sum_us", "ifnull(sum(\(trip)), 0)")]
      }
  }

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
    (sums.map { "\($0) INTEGER NOT NULL DEFAULT 0" } + ends.map { "\($0.0) INTEGER" }).joined(separator: ", ")
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

  /// What a message brings, by the definitions of `GroupMetrics`: found once, and counted several times.
  struct Sample {
    /// What its type is for.
    let role: FrameRole
    let direction: Direction
    let fate: Int
    let retries: Int64
    let late: Int32
    /// In microseconds; below 0 where there is none, and of a heartbeat.
    let roundTrip: Int64
    /// The times of the first copy and of the last copy or answer, in microseconds.
    let begun: Int64, ended: Int64

    init(_ exchange: Exchange, role: FrameRole) {
      self.role = role
      direction = exchange.direction
      fate = Int(exchange.fate.rawValue)
      retries = Int64(exchange.repeats)
      late = exchange.flags.rawValue & Exchange.Flags.late.rawValue == 0 ? 0 : 1
      roundTrip = role == .heartbeat ? -1 : exchange.roundTrip?.microseconds ?? -1
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
    if let old { take(back: old, sample) }
    count(sample)
  }

  /// Counts a message.
  @inline(__always)
  private mutating func count(_ sample: Sample) {
    first = min(first, sample.begun)
    last = max(last, sample.ended)
    switch sample.role {
    case .message:
      fates[sample.fate] &+= 1
      retries &+= Int32(truncatingIfNeeded: sample.retries)
      late &+= sample.late
    case .heartbeat:
      heartbeats &+= 1
      lostHeartbeats &+= Self.isLost(sample.fate) ? 1 : 0
    case .acknowledgment, .control, .receipt, .other: others &+= 1
    }
    guard sample.roundTrip >= 0 else { return }
    let way = Int(sample.direction.rawValue)
    trips[way].count &+= 1
    trips[way].sum &+= sample.roundTrip
    trips[way].shortest = min(trips[way].shortest, sample.roundTrip)
    trips[way].longest = max(trips[way].longest, sample.roundTrip)
  }

  private static func isLost(_ fate: Int) -> Bool {
    fate == Int(Fate.unanswered.rawValue) || fate == Int(Fate.damaged.rawValue)
  }

  /// Takes back what the message of `sample` was counted as. Extremes stay: they cannot be taken back, and a message whose answer is
  /// known does not lose it.
  private mutating func take(back old: Counted, _ sample: Sample) {
    switch sample.role {
    case .message:
      if old.fate < fates.count { fates[old.fate] &-= 1 }
      retries &-= Int32(truncatingIfNeeded: old.retries)
      late &-= old.late
    case .heartbeat:
      heartbeats &-= 1
      lostHeartbeats &-= Self.isLost(old.fate) ? 1 : 0
    case .acknowledgment, .control, .receipt, .other: others &-= 1
    }
    guard old.roundTrip >= 0, sample.role != .heartbeat else { return }
    let way = Int(sample.direction.rawValue)
    trips[way].count &-= 1
    trips[way].sum &-= old.roundTrip
  }

  /// Binds the figures to the parameters behind `place`.
  func bind(to statement: inout Statement, behind place: Int32) {
    var place = place
    func add(_ value: Int64?, _ statement: inout Statement) {
      place += 1
      statement.bind(place, value)
    }
    var messages: Int64 = 0
    for i in fates.indices where i != Int(Fate.unacknowledged.rawValue) { messages += Int64(fates[i]) }
    add(messages, &statement)
    for fate in Self.fates { add(Int64(fates[fate]), &statement) }
    for count in [retries, late, heartbeats, lostHeartbeats, others] { add(Int64(count), &statement) }
    for way in 0...1 {
      add(Int64(trips[way].count), &statement)
      add(trips[way].sum, &statement)
    }
    for way in 0...1 {
      add(trips[way].shortest == .max ? nil : trips[way].shortest, &statement)
      add(trips[way].longest == .min ? nil : trips[way].longest, &statement)
    }
    add(first == .max ? nil : first, &statement)
    add(last == .min ? nil : last, &statement)
  }
}
