import Foundation
import Glibc
import IMTestSupport
import IMWire
import Testing

@testable import IMStore

/// Stores that somebody has made to harm whoever reads them.
@Suite struct HostileStoreTests {
  /// What was changed in a store, by SQL, and what is said of it.
  private static let changes = [
    ("CREATE VIEW extra AS SELECT 1", "has the view 'extra', which is not in store format 10"),
    ("CREATE TABLE extra (id)", "has the table 'extra', which is not in store format 10"),
    ("CREATE INDEX extra ON message (id)", "has the index 'extra', which is not in store format 10"),
    (
      "CREATE TRIGGER extra AFTER INSERT ON name_cache BEGIN DELETE FROM message; END",
      "has the trigger 'extra', which is not in store format 10"
    ),
    (
      "DROP VIEW messages; CREATE VIEW messages AS SELECT randomblob(1 << 30) AS type",
      "its view 'messages' does not match store format 10"
    ),
    ("DROP TABLE capture; CREATE TABLE capture (id, path, byte_count, more)", "its table 'capture' does not match"),
    (
      "DROP INDEX session_name; CREATE INDEX session_name ON session (profile)",
      "its index 'session_name' does not match"
    ),
    ("DROP TABLE checksum", "is missing the table 'checksum' of store format 10"),
    ("DROP VIEW problems", "is missing the view 'problems' of store format 10"),
    ("CREATE TABLE \"e\u{1b}[2J\" (id)", "has the table 'e\\x1b[2J', which is not in store format 10"),
    ("ANALYZE", "has the table 'sqlite_stat1', which is not in store format 10"),
  ]

  @Test(arguments: changes)
  func aSchemaWithMoreIsRefusedByName(_ sql: String, _ words: String) throws {
    let store = try Store("tjp-clean-chat.pcap")
    try Connection(store.path, .changing).run(sql, "change")
    for statement in ["SELECT count(*) FROM info", "SELECT * FROM messages"] {
      let run = try Command.run(["query", store.path, statement])
      #expect(run.status == 66 && run.errors.contains(words) && run.output.isEmpty, "\(run.errors)")
    }
    let before = try Data(contentsOf: URL(filePath: store.path))
    let run = try Command.run(["index", "--append", store.path, Samples.path("tjp-damage.pcap")])
    #expect(run.status == 1 && run.errors.contains(words), "\(run.errors)")
    #expect(try Data(contentsOf: URL(filePath: store.path)) == before)
    #expect(throws: StoreError.self) { try StoreReader(store.path) }
    #expect(throws: StoreError.self) { try NameCache(store.path) }
  }

  /// Indexes of ours may be missing, as they are while a store is written.
  @Test func aSchemaWithFewerIndexesIsRead() throws {
    let store = try Store("tjp-clean-chat.pcap")
    try Connection(store.path, .changing).run(Schema.dropIndexes, "change")
    #expect(try store.number("SELECT count(*) FROM messages") == 58)
  }

  /// A store whose writer was killed is in a mode in which it has a log. Without the log, in a folder that nobody may write to, it is what it
  /// was when the log was last moved into it.
  @Test func aStoreThatWasLeftIsReadElsewhere() throws {
    let store = try Store("tjp-clean-chat.pcap")
    let left = try Connection(store.path, .changing)
    try left.run("PRAGMA journal_mode = WAL; UPDATE info SET value = 0 WHERE key = 'whole'", "change")
    try left.run("PRAGMA wal_checkpoint(TRUNCATE)", "change")
    let folder = try Scratch()
    let copy = folder.path("100%?#.db")
    try FileManager.default.copyItem(atPath: store.path, toPath: copy)
    #expect(chmod(folder.url.path, 0o555) == 0)
    defer { chmod(folder.url.path, 0o755) }
    let run = try Command.run(["query", copy, "SELECT count(*) FROM messages"])
    #expect(run.status == 0 && run.output.hasSuffix(" 58\n"), "\(run.errors)")
    #expect(try StoreReader(copy).messages(after: 0, count: 100).count == 58)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["100%?#.db"])
  }

  @Test func damagedPagesAreNotAddedTo() throws {
    let store = try Store("tjp-weak-network.pcap")
    var bytes = try Data(contentsOf: URL(filePath: store.path))
    // Behind the first two pages, which have the schema.
    for i in stride(from: 4_096 * 8, to: bytes.count, by: 97) { bytes[i] ^= 0x5a }
    try bytes.write(to: URL(filePath: store.path))
    let run = try Command.run(["index", "--append", store.path, Samples.path("tjp-damage.pcap")])
    #expect(run.status != 0 && !run.errors.contains("added"), "\(run.errors)")
    #expect(try Data(contentsOf: URL(filePath: store.path)) == bytes)
    let check = try Command.run(["query", store.path, "PRAGMA quick_check"])
    #expect(check.status != 0 || !check.output.contains("\nok"), "\(check.output)")
  }

  // MARK: Statements

  private static let endless =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

  @Test func aStatementHasATime() throws {
    let store = try Store("tjp-clean-chat.pcap")
    let begun = ContinuousClock.now
    let run = try Command.run(["query", store.path, Self.endless, "--timeout", "1"])
    let taken = ContinuousClock.now - begun
    #expect(
      run.status == 1 && run.errors.contains("the statement was stopped after 1 second; --timeout"), "\(run.errors)")
    #expect(taken >= .seconds(1) && taken < .seconds(20), "\(taken)")
    // Each row is a part of it.
    let rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x % 1000000 = 0"
    #expect(try Command.run(["query", store.path, rows, "--timeout", "1"]).status == 1)
    #expect(try Command.run(["query", store.path, "SELECT 1", "--timeout", "0"]).status == 0)
    #expect(try Command.run(["query", store.path, "SELECT 1", "--timeout", "-1"]).status == 64)
  }

  /// 512 MiB, whatever the statement does with them.
  @Test func aStatementHasAMemory() throws {
    let store = try Store("tjp-clean-chat.pcap")
    let sql =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, randomblob(1000000) AS y FROM c ORDER BY y"
    let run = try Command.run(["query", store.path, sql])
    #expect(run.status == 1 && run.errors.contains("more memory than the 512 MiB"), "\(run.errors)")
  }

  // MARK: Numbers

  /// Every number of a store at both ends of what it can be: whatever is read of it is read without a trap.
  @Test(arguments: [Int64.max, Int64.min])
  func numbersAreAnyNumber(_ value: Int64) throws {
    let store = try Store("tjp-weak-network.pcap", ["--payload"])
    let folder = try Scratch()
    let tables = ["message", "session", "connection", "problem", "bucket", "capture", "type", "problem_kind", "info"]
    for table in tables {
      let names = try Connection(store.path, .reading).prepare("SELECT * FROM \(table)", "read").columns
      for column in names {
        let path = folder.path("\(table).\(column).db")
        try FileManager.default.copyItem(atPath: store.path, toPath: path)
        let database = try Connection(path, .changing)
        // Keys of several rows cannot be the same.
        try? database.run("UPDATE \(table) SET \(column) = \(value)", "change")
        try? database.run("UPDATE OR IGNORE \(table) SET \(column) = \(value)", "change")
        try Self.readAll(path)
      }
    }
    for text in ["[\(value),1,\(value)]", "[\(value)", "[1,\(value),"] {
      let path = folder.path("copies.db")
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.copyItem(atPath: store.path, toPath: path)
      try Connection(path, .changing).run(
        "UPDATE message SET copies = '\(text)', answers = '\(text)', checksums = '\(text)'", "change")
      try Self.readAll(path)
    }
  }

  private static func readAll(_ path: String) throws {
    let reader = try StoreReader(path)
    let sessions = try reader.sessions()
    #expect(sessions.allSatisfy { $0.lost >= 0 && $0.rejected >= 0 && $0.messages >= 0 && $0.retries >= 0 })
    let messages = try reader.messages(after: 0, count: 1_000)
    #expect(messages.allSatisfy { $0.byteCount >= 0 && $0.capture >= 0 && $0.retries >= 0 })
    _ = try reader.messages(before: .max, count: 10)
    for message in try reader.ladderMessages(after: 0, PageChoice(), count: 1_000) {
      #expect(
        zip(message.copies, message.copies.dropFirst()).allSatisfy {
          $1.subtractingReportingOverflow($0).overflow == false
        })
    }
    for id in Set(messages.map(\.connection)) {
      _ = try reader.heartbeatInterval(ofConnection: id)
      _ = try reader.streamIssues(ofConnection: id, from: .distantPast, to: .distantFuture)
    }
    for message in messages.prefix(3) {
      _ = try reader.place(ofMessage: message.id)
      _ = try reader.details(ofMessage: message.id)
    }
    _ = try reader.problemCounts()
    for limit in [1, 480] {
      if let periods = try reader.periods(limit: limit) { _ = periods.times(0..<periods.periods.count) }
      _ = try reader.periods(Timestamp.distantPast..<Timestamp.distantFuture, limit: limit)
    }
    _ = try reader.changeNumber()
  }
}
