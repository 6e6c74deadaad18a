import CSQLite

/// Statements that somebody else has written, over a store that may be somebody else's as well: they read, and do nothing else.
package final class StoreQuery {
  /// Bytes that a statement may take of memory.
  private static let memoryLimit: Int64 = 512 << 20
  /// Steps of SQLite's machine between two looks at whether it is to end: some 50 µs.
  private static let stepsBetweenLooks: Int32 = 10_000

  private let database: Connection
  private let isStopped: @Sendable () -> Bool

  /// Limits the memory of this process, before anything else of SQLite is used in it.
  package static func prepare() { Connection.limitMemory(to: memoryLimit) }

  /// Opens the store at `path`, which errors call `name`. A statement ends soon when `isStopped` says so.
  package init(
    _ path: String, called name: String? = nil, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws(StoreError) {
    Self.prepare()
    database = try Connection(store: path, called: name, .asking)
    self.isStopped = isStopped
    let code = sqlite3_create_function_v2(
      database.handle, "imdump_search", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
      { context, _, values in
        guard let value = values?[0], let text = sqlite3_value_text(value) else { return sqlite3_result_null(context) }
        let bytes = UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
        guard var query = SearchText.query(String(decoding: bytes, as: UTF8.self)) else {
          // A query that is met by nothing.
          return imdump_sqlite_result_text(context, "\"\"", 2)
        }
        query.withUTF8 { utf8 in
          utf8.withMemoryRebound(to: CChar.self) { imdump_sqlite_result_text(context, $0.baseAddress, $0.count) }
        }
      }, nil, nil, nil)
    guard code == SQLITE_OK else { throw database.error(code, "open the store") }
    let looks = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(
      database.handle, Self.stepsBetweenLooks,
      { context in
        guard let context else { return 0 }
        return Unmanaged<StoreQuery>.fromOpaque(context).takeUnretainedValue().isStopped() ? 1 : 0
      }, looks)
  }

  deinit { sqlite3_progress_handler(database.handle, 0, nil, nil) }

  /// The rows of one statement.
  package func rows(_ sql: String) throws(StoreError) -> StoreRows {
    try StoreRows(database.prepare(sql, "query", isOnly: true))
  }

  /// Whether the store has what users write.
  package func keepsPayload() throws(StoreError) -> Bool { try database.keepsPayload() }

  /// The messages whose text has what `text` asks for, in the order of their numbers.
  package func search(_ text: String) throws(StoreError) -> StoreRows {
    var statement = try database.prepare(
      """
      SELECT m.id, m.time, m.conn, m.dir, m.type, m.seq, m.session, m.fate, m.topic, m.text, m.other_text
      FROM message_search AS found JOIN messages AS m ON m.id = found.rowid
      WHERE message_search MATCH imdump_search(?1) ORDER BY found.rowid
      """, "search")
    statement.bind(1, text)
    return StoreRows(statement)
  }
}
