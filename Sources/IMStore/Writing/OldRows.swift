import IMEngine

/// Removes the oldest messages of a store that has become as large as it may be, with what was said of them.
///
/// Counts and sums of sessions, connections and periods lose what the messages brought, so they stay those of the rows that are there;
/// extremes and percentiles cannot be taken back, and are of all messages that a row has had. Whoever has no message left goes. Pages
/// that become free are used again, so the file does not grow.
struct OldRows: ~Copyable {
  /// Messages that are removed in one go, at least and at most.
  static let least: Int64 = 200, most: Int64 = 10_000
  /// Connections that are looked through in one go: with each removal the next ones.
  private static let sweptAtOnce: Int64 = 20_000

  private final class Step {
    var statement: Statement
    init(_ statement: consuming Statement) { self.statement = statement }
  }

  private let database: Connection
  private let steps: [Step]
  private var cutoff: Statement
  private var texts: Statement
  private var forget: Statement
  private var sweep: Statement
  /// The number up to which connections were looked through.
  private var swept: Int64 = 0
  /// The number of the last message that was removed; 0 before the first.
  private(set) var last: Int64 = 0

  /// For the store of `database`, which has its tables.
  init(_ database: Connection) throws(StoreError) {
    let attempt = "remove old messages"
    let cutoff = try database.prepare(
      "SELECT max(id), count(*) FROM (SELECT id FROM message ORDER BY id LIMIT ?1)", attempt)
    let texts = try database.prepare("SELECT id, \(SearchText.columns) FROM message_text WHERE id <= ?1", attempt)
    let forget = try database.prepare(
      "INSERT INTO message_search (message_search, rowid, text) VALUES ('delete', ?1, ?2)", attempt)
    let sweep = try database.prepare(
      "DELETE FROM connection WHERE id > ?1 AND id <= ?2 AND \(Self.idle) AND ifnull(end_us, last_us) <= ?3", attempt)
    var steps: [Step] = []
    for sql in Self.statements { steps.append(Step(try database.prepare(sql, attempt))) }
    self.database = database
    self.steps = steps
    self.cutoff = cutoff
    self.texts = texts
    self.forget = forget
    self.sweep = sweep
  }

  /// What is done, in this order, with the messages up to the one with number ?1.
  private static var statements: [String] {
    [
      subtract("session", on: "session"), subtract("connection", on: "connection"),
    ]
      + PeriodRows.widths.map { width in
        subtract(
          "bucket", on: "(time_us - ((time_us % \(width)000000) + \(width)000000) % \(width)000000) / 1000000",
          key: "start_s", where: " AND bucket.width_s = \(width)")
      } + [
        """
        DELETE FROM bucket WHERE width_s IN (1, 10, 60) AND \(StoredMetrics.isEmpty)
          AND start_s <= (SELECT time_us / 1000000 FROM message WHERE id = ?1)
        """,
        "UPDATE session SET last_message = NULL WHERE last_message <= ?1 AND id IN (\(gone("session")))",
        "DELETE FROM session_connection WHERE session IN (\(gone("session"))) "
          + "AND (SELECT \(StoredMetrics.isEmpty) FROM session WHERE id = session_connection.session)",
        "DELETE FROM session WHERE id IN (\(gone("session"))) AND \(StoredMetrics.isEmpty)",
        // By the connection's index: a message knows its connection and its time.
        """
        DELETE FROM problem WHERE id IN (SELECT p.id FROM message AS m
          JOIN problem AS p ON p.connection = m.connection AND p.time_us = m.time_us AND p.message = m.id
          WHERE m.id <= ?1 AND m.problems <> 0)
        """,
        // Issues of streams, the oldest of which stand first.
        """
        DELETE FROM problem WHERE id IN (SELECT id FROM problem ORDER BY id LIMIT 10000) AND message IS NULL
          AND time_us <= (SELECT time_us FROM message WHERE id = ?1)
        """,
        "DELETE FROM receipt WHERE message <= ?1",
        "DELETE FROM message_text WHERE id <= ?1",
        "DELETE FROM message WHERE id <= ?1",
      ]
  }

  /// SQL that says whether nothing refers to a connection.
  private static let idle =
    "\(StoredMetrics.isEmpty) AND NOT EXISTS (SELECT 1 FROM problem WHERE problem.connection = connection.id)"

  private static func gone(_ column: String) -> String { "SELECT \(column) FROM message WHERE id <= ?1" }

  /// Takes from the rows of `table` what the messages have brought, which belong to them by `place`.
  private static func subtract(_ table: String, on place: String, key: String = "id", where condition: String = "")
    -> String
  {
    let sums = StoredMetrics.sumsOfRows.map { ($0.column, $0.value) }
    let sets = sums.map { "\($0.0) = \(table).\($0.0) - old.\($0.0)" }.joined(separator: ", ")
    let columns = sums.map { "\($0.1) AS \($0.0)" }.joined(separator: ", ")
    return
      "UPDATE \(table) SET \(sets) FROM (SELECT \(place) AS place, \(columns) FROM message JOIN type ON type.id = message.type WHERE message.id <= ?1 GROUP BY 1) AS old "
      + "WHERE \(table).\(key) = old.place\(condition)"
  }

  /// Removes connections without messages and problems that ended before a time, in microseconds, of the next ones. Those that are open get a
  /// row again when more is known of them.
  private mutating func sweepConnections(before time: Int64) throws(StoreError) {
    let end = swept + Self.sweptAtOnce
    sweep.bind(1, swept)
    sweep.bind(2, end)
    sweep.bind(3, time)
    try sweep.run()
    swept = end < (try database.number("SELECT max(id) FROM connection", "remove old connections") ?? 0) ? end : 0
  }

  /// Removes `count` connections without messages and problems, those that were seen first. Gives how many there were.
  func removeConnections(_ count: Int64) throws(StoreError) -> Int64 {
    try database.run(
      """
      DELETE FROM connection WHERE id IN (
        SELECT id FROM connection WHERE \(Self.idle) ORDER BY id LIMIT \(min(max(count, Self.least), Self.most)))
      """, "remove old connections")
    return Int64(database.changes)
  }

  /// Removes the `count` oldest messages, but never all; sums are in their tables. Gives how many there were.
  mutating func remove(_ count: Int64) throws(StoreError) -> Int64 {
    cutoff.bind(1, min(max(count, Self.least), Self.most))
    guard try cutoff.step(), let last = cutoff.row.number(0), let found = cutoff.row.number(1) else {
      cutoff.reset()
      return 0
    }
    cutoff.reset()
    let newest = try database.number("SELECT max(id) FROM message", "remove old messages") ?? last
    guard last < newest else { return 0 }
    // The index of texts has no texts of its own: it forgets what it is told.
    var indexed: [(Int64, String)] = []
    texts.bind(1, last)
    while try texts.step() { indexed.append((texts.row.number(0) ?? 0, SearchText.indexed(texts.row, from: 1))) }
    texts.reset()
    for (id, text) in indexed {
      forget.bind(1, id)
      forget.bind(2, text)
      try forget.run()
    }
    let time = try database.number("SELECT time_us FROM message WHERE id = \(last)", "remove old messages") ?? 0
    for step in steps {
      step.statement.bind(1, last)
      try step.statement.run()
    }
    try sweepConnections(before: time)
    self.last = last
    return found
  }
}
