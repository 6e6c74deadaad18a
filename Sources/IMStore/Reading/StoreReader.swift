import CSQLite
import IMEngine
import IMWire

/// Reads a store page by page, while it is written or afterwards.
///
/// A page begins behind a message or ends in front of one, by its number: what it costs does not grow with what lies before it, and
/// rows that come meanwhile move nothing. Each call sees the store as it is then. Of one thread.
package final class StoreReader {
  /// The most rows of a page.
  package static let maximumPage = 1_000

  let database: Connection
  /// Whether nobody wants the answer to the call that is running.
  var isStale: () -> Bool = { false }
  /// Prepared statements by their SQL: there are as many as shapes of a choice.
  private var statements: [String: Prepared] = [:]
  private var types: [Int64: StoredType] = [:]
  /// The numbers of the messages of a time, as they were found last.
  var timeBounds: (times: Range<Timestamp>, ids: ClosedRange<Int64>)?

  private final class Prepared {
    var statement: Statement
    init(_ statement: consuming Statement) { self.statement = statement }
  }

  /// Reads through a connection that somebody else has: what both do is then one thing after the other.
  init(_ database: Connection) { self.database = database }

  /// Opens the store at `path`.
  package init(_ path: String) throws(StoreError) {
    database = try Connection(store: path, .reading)
  }

  deinit { sqlite3_progress_handler(database.handle, 0, nil, nil) }

  /// Runs a statement with one parameter, and gives what `read` makes of its first row; `nil` without a row.
  func withStatement<Value>(_ sql: String, _ value: Int64, _ read: (Row) -> Value) throws(StoreError) -> Value? {
    let prepared = try prepared(sql)
    defer { prepared.statement.reset() }
    prepared.statement.bind(1, value)
    return try prepared.statement.step() ? read(prepared.statement.row) : nil
  }

  /// Runs `body` in one transaction, so that all it reads is of one moment. As transactions of their own, its statements would each
  /// take SQLite's locks, which a writer in the same process shares, and read pages again after each commit.
  package func atOnce<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    guard !database.isInTransaction else { return try body() }
    try database.run("BEGIN", "read messages")
    let value: Value
    do throws(StoreError) { value = try body() } catch {
      try? database.run("COMMIT", "read messages")
      throw error
    }
    try database.run("COMMIT", "read messages")
    return value
  }

  /// A number that is another one when somebody else has changed the store since the last call.
  package func changeNumber() throws(StoreError) -> Int64 {
    try database.number("PRAGMA data_version", "look for changes") ?? 0
  }

  /// Whether the store's captures were read to their end.
  package func isWhole() throws(StoreError) -> Bool {
    try database.number("SELECT value FROM info WHERE key = 'whole'", "read the store") == 1
  }

  // MARK: Messages

  /// The messages behind the one with number `id`, 0 for the first ones; at most `count`, in order.
  package func messages(
    after id: Int64, _ choice: PageChoice = PageChoice(), count: Int
  ) throws(StoreError) -> [StoredMessage] {
    let choice = try bounded(choice)
    return try page("id > ?1\(choice.conditions) ORDER BY id", id, choice, count)
  }

  /// The messages in front of the one with number `id`, `Int64.max` for the last ones; at most `count`, in order.
  package func messages(
    before id: Int64, _ choice: PageChoice = PageChoice(), count: Int
  ) throws(StoreError) -> [StoredMessage] {
    let choice = try bounded(choice)
    return try page("id < ?1\(choice.conditions) ORDER BY id DESC", id, choice, count).reversed()
  }

  /// The message with number `id`; `nil` where there is none.
  package func message(_ id: Int64) throws(StoreError) -> StoredMessage? {
    try page("id = ?1", id, PageChoice(), 1).first
  }

  /// The next message behind `id` that has one of `kinds`, all kinds where it is empty; `nil` where there is none.
  package func problem(
    after id: Int64, _ kinds: ProblemKinds = [], session: Int64? = nil
  ) throws(StoreError) -> StoredMessage? {
    try messages(after: id, Self.choice(kinds, session), count: 1).first
  }

  /// The last message in front of `id` that has one of `kinds`, all kinds where it is empty; `nil` where there is none.
  package func problem(
    before id: Int64, _ kinds: ProblemKinds = [], session: Int64? = nil
  ) throws(StoreError) -> StoredMessage? {
    try messages(before: id, Self.choice(kinds, session), count: 1).first
  }

  private static func choice(_ kinds: ProblemKinds, _ session: Int64?) -> PageChoice {
    PageChoice(session: session, problems: kinds == [] ? .all : kinds)
  }

  private func page(
    _ condition: String, _ id: Int64, _ choice: PageChoice, _ count: Int
  ) throws(StoreError) -> [StoredMessage] {
    let prepared = try prepared(
      "SELECT \(StoredMessage.columns), \(StoredMessage.statusColumn) FROM message WHERE \(condition) LIMIT ?2")
    defer { prepared.statement.reset() }
    prepared.statement.bind(1, id)
    prepared.statement.bind(2, Int64(min(max(count, 0), Self.maximumPage)))
    choice.bind(to: &prepared.statement)
    var messages: [StoredMessage] = []
    while try prepared.statement.step() {
      let row = prepared.statement.row
      var message = StoredMessage(row, types: try typeNames(with: row.number(5)))
      message.status = row.number(StoredMessage.columnCount).map { "\($0)" } ?? row.text(StoredMessage.columnCount)
      messages.append(message)
    }
    return messages
  }

  /// The types' names, which are read again for a type that came since they were read.
  func typeNames(with type: Int64?) throws(StoreError) -> [Int64: StoredType] {
    if let type, types[type] == nil { try readTypes() }
    return types
  }

  private func readTypes() throws(StoreError) {
    var statement = try database.prepare("SELECT id, name, role, answers FROM type", "read names")
    while try statement.step() {
      if let id = statement.row.number(0) {
        let role = statement.row.text(2)
        types[id] = StoredType(
          name: statement.row.text(1) ?? "", role: FrameRole.allCases.first { $0.name == role },
          answers: statement.row.text(3) ?? "")
      }
    }
  }

  private func prepared(_ sql: String) throws(StoreError) -> Prepared {
    if let known = statements[sql] { return known }
    let made = Prepared(try database.prepare(sql, "read messages"))
    statements[sql] = made
    return made
  }

  /// How SQLite finds the messages of a choice, as `EXPLAIN QUERY PLAN` tells: for tests, which hold that nothing is scanned.
  func plan(of choice: PageChoice) throws(StoreError) -> String {
    let sql = "SELECT \(StoredMessage.columns) FROM message WHERE id > ?1\(choice.conditions) ORDER BY id LIMIT ?2"
    var statement = try database.prepare("EXPLAIN QUERY PLAN " + sql, "explain")
    var lines: [String] = []
    while try statement.step() { lines.append(statement.row.text(3) ?? "") }
    return lines.joined(separator: "; ")
  }
}
