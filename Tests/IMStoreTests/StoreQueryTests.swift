import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// SQL statements by users: their permissions, and the results of the search.
@Suite struct StoreQueryTests {
  private static func store() throws -> MadeStore {
    try MadeStore([
      Sent(0, at: 0) { $0.text = "今晚上吃什么 Hello" }, Sent(1, at: 1) { $0.text = "hello again" },
      Sent(2, at: 2) { ($0.topic, $0.text) = ("rooms/晚上", "nothing") },
      Sent(3, at: 3) { $0.otherText = "Crème brûlée" },
      Sent(4, at: 4),
    ])
  }

  private static func rows(_ rows: consuming StoreRows) throws -> [String] {
    var rows = rows
    var found: [String] = []
    while try rows.next() {
      switch rows[0] {
      case .integer(let value): found.append("\(value)")
      case .text(let bytes): found.append(String(decoding: bytes, as: UTF8.self))
      case .real(let value): found.append("\(value)")
      case .blob(let bytes): found.append("\(bytes.count) bytes")
      case .null: found.append("-")
      }
    }
    return found
  }

  @Test(
    arguments: [
      ("晚上", ["1", "3"]), ("晚", ["1", "3"]), ("上吃", ["1"]), ("hello", ["1", "2"]), ("HELLO again", ["2"]),
      ("hel", ["1", "2"]),
      ("ello", []), ("creme", ["4"]), ("brulee", ["4"]), ("rooms", ["3"]), ("吃晚", []), ("\"", []), ("' OR 1", []),
      ("", []),
      ("hello OR nothing", []),
    ])
  func theSearchFinds(_ text: String, _ expected: [String]) throws {
    let store = try Self.store()
    let query = try StoreQuery(store.path)
    #expect(try Self.rows(query.search(text)) == expected)
  }

  @Test(
    arguments: [
      ("SELECT count(*) FROM messages", ["5"]), ("SELECT 1.5", ["1.5"]), ("SELECT NULL", ["-"]),
      ("SELECT x'0102'", ["2 bytes"]),
      ("SELECT text FROM message_text WHERE id = 2;", ["hello again"]), ("PRAGMA user_version", ["10"]),
      ("PRAGMA table_info(info)", ["0", "1"]), ("VALUES (1), (2)", ["1", "2"]),
      ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3) SELECT x FROM c", ["1", "2", "3"]),
      ("SELECT rowid FROM message_search WHERE message_search MATCH imdump_search('晚上')", ["1", "3"]),
      ("SELECT imdump_search(NULL)", ["-"]), ("SELECT imdump_search('--')", ["\"\""]),
    ])
  func aStatementReads(_ sql: String, _ expected: [String]) throws {
    let store = try Self.store()
    let query = try StoreQuery(store.path)
    #expect(try Self.rows(query.rows(sql)) == expected)
  }

  /// A statement must not write, open another file or change a setting, and there must be only one.
  @Test func aStatementDoesNothingElse() throws {
    let store = try Self.store()
    let before = try store.bytes
    let query = try StoreQuery(store.path)
    for sql in [
      "DELETE FROM message", "UPDATE info SET value = 0", "INSERT INTO capture VALUES (9, 'x', 1)", "DROP TABLE info",
      "CREATE TEMP TABLE t (x)", "CREATE TABLE t (x)", "ATTACH '\(store.path)' AS other", "DETACH main", "VACUUM",
      "VACUUM INTO '\(store.path).copy'", "BEGIN", "REINDEX", "ANALYZE", "PRAGMA query_only = 0",
      "PRAGMA journal_mode = WAL", "PRAGMA writable_schema = 1", "PRAGMA temp_store = 1", "SELECT load_extension('x')",
      "SELECT 1; SELECT 2", "SELECT", "nonsense", "", ";", "-- words",
    ] {
      let error = #expect(throws: StoreError.self, "\(sql)") { _ = try Self.rows(query.rows(sql)) }
      #expect(error?.kind == .badStatement, "\(sql): \(error.map { "\($0)" } ?? "")")
    }
    #expect(try store.bytes == before)
    let refused = error { () throws(StoreError) in _ = try query.rows("DELETE FROM message") }
    #expect(refused?.text == "a store is read-only" && refused?.attempt == "query")
    let further = error { () throws(StoreError) in _ = try query.rows("SELECT 1; SELECT 2") }
    #expect(further?.text == "expected one statement, found more")
  }

  private func error(_ body: () throws(StoreError) -> Void) -> StoreError? {
    do { try body() } catch { return error }
    return nil
  }

  @Test func aStatementIsStopped() throws {
    let store = try Self.store()
    let query = try StoreQuery(store.path, isStopped: { true })
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    let error = #expect(throws: StoreError.self) { _ = try Self.rows(query.rows(endless)) }
    #expect(error?.kind == .interrupted)
  }
}
