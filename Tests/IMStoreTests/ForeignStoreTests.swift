import Foundation
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// Files that are not stores of this format, or that were crafted to harm the reader.
@Suite struct ForeignStoreTests {
  private static let messages: [Sent] = (0..<40).map { id in
    Sent(id, at: Int64(id) * 1_000_000) { ($0.answerAfter, $0.text, $0.session) = (Int64(id), "text \(id)", id % 5) }
  }

  /// The errors of every way to open a store.
  private func refusal(_ path: String) -> [StoreError?] {
    [
      error { _ = try StoreReader(path) }, error { _ = try NameCache(path) },
      error { _ = try StoreQuery(path, called: path) }, error { _ = try StoreMerge(path, called: path) },
    ]
  }

  private func error(_ body: () throws -> Void) -> StoreError? {
    do { try body() } catch {
      #expect(error is StoreError, "\(error)")
      return error as? StoreError
    }
    return nil
  }

  /// A change to a store, and the error that names it.
  @Test(
    arguments: [
      ("PRAGMA application_id = 0", "is a database, but not an imdump store"),
      (
        "PRAGMA user_version = 8",
        "is a store of format 8, and this imdump reads format 10: index its captures again"
      ),
      (
        "PRAGMA user_version = -2147483648",
        "is a store of format -2147483648, and this imdump reads format 10: index its captures again"
      ),
      ("CREATE TABLE more (id)", "has the table 'more', which is not in store format 10, and is not read"),
      ("CREATE VIEW more AS SELECT 1", "has the view 'more', which is not in store format 10, and is not read"),
      (
        "CREATE VIRTUAL TABLE more USING fts5(x)",
        "has the table 'more', which is not in store format 10, and is not read"
      ),
      (
        "CREATE TRIGGER t AFTER INSERT ON capture BEGIN DELETE FROM message; END",
        "has the trigger 't', which is not in store format 10, and is not read"
      ),
      (
        "DROP VIEW sessions; CREATE VIEW sessions AS SELECT * FROM session",
        "its view 'sessions' does not match store format 10, and is not used"
      ),
      ("ALTER TABLE capture ADD COLUMN more", "its table 'capture' does not match store format 10, and is not used"),
      ("DROP TABLE receipt", "is missing the table 'receipt' of store format 10"),
      ("DROP TABLE fate; DROP TABLE cause", "is missing the table 'cause' of store format 10"),
    ])
  func aForeignSchemaIsRefusedByName(_ sql: String, _ words: String) throws {
    let store = try MadeStore([])
    try store.run(sql)
    let before = try store.bytes
    for error in refusal(store.path) {
      #expect(error?.kind == .notAStore && error?.text == words && error?.path == store.path && error?.code == 0)
    }
    #expect(try store.bytes == before)
  }

  /// Indexes may be missing, as they are while a store is being written; it is read nevertheless.
  @Test func fewerIndexesAreRead() throws {
    let store = try MadeStore(Self.messages)
    try store.run(Schema.dropIndexes)
    #expect(try store.reader.ids(PageChoice(session: 2)) == [2, 7, 12, 17, 22, 27, 32, 37])
  }

  /// A truncated file is rejected before anything in it is read.
  @Test func aCutFileIsRefused() throws {
    let store = try MadeStore(Self.messages)
    let bytes = try store.bytes
    for count in [0, 1, 15, 16, 60, 99, 100, 4_095, 4_096, 4_097, bytes.count / 2, bytes.count - 4_096] {
      let path = try store.folder.file("cut-\(count).db", bytes[..<count])
      for error in refusal(path) { #expect(error?.kind == .notAStore, "\(count): \(error.map { "\($0)" } ?? "read")") }
    }
  }

  @Test(
    arguments: [
      [UInt8]("no database, but a text that is longer than the header of one, and has nothing of one in it".utf8),
      [UInt8](repeating: 0, count: 8_192), [UInt8](repeating: 0xff, count: 8_192),
      [UInt8]("SQLite format 3".utf8) + [UInt8](repeating: 0, count: 8_192),
    ])
  func anotherFileIsRefused(_ bytes: [UInt8]) throws {
    let folder = try Scratch(isInMemory: true)
    let path = try folder.file("other.db", bytes)
    for error in refusal(path) { #expect(error?.kind == .notAStore) }
  }

  @Test func aFileThatIsNotThereIsNotMade() throws {
    let folder = try Scratch(isInMemory: true)
    for path in [folder.path("absent.db"), folder.path("folder/absent.db")] {
      for error in refusal(path) { #expect(error?.kind == .notFound && error?.path == path) }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
  }

  /// Bytes corrupted anywhere: reading ends with rows or with an error, and never traps.
  @Test func damageEndsInRowsOrAnError() throws {
    let store = try MadeStore(Self.messages)
    let bytes = try store.bytes
    var random = SeededRandom(5)
    for turn in 0..<60 {
      var damaged = bytes
      for _ in 0..<(turn % 3 == 0 ? 1 : 200) {
        // After the header, which other tests corrupt.
        damaged[100 + Int(random.next() % UInt64(bytes.count - 100))] ^= UInt8(truncatingIfNeeded: random.next() | 1)
      }
      let path = try store.folder.file("damaged.db", damaged)
      let failure = error { try Self.readAll(StoreReader(path)) }
      if let failure { #expect(failure.kind == .notAStore || failure.kind == .badStatement || failure.kind == .failed) }
    }
  }

  /// A column with a value of any type is read as a valid value, or as absent.
  @Test(
    arguments: [
      "9223372036854775807", "-9223372036854775808", "1e300", "'text'", "x'ff00'", "'[1,'",
    ])
  func columnsMayHoldAnything(_ value: String) throws {
    let tables = [
      "message", "session", "connection", "problem", "bucket", "capture", "type", "problem_kind", "receipt",
      "message_text",
    ]
    let store = try MadeStore(
      Self.messages,
      batch: {
        $0.add(.made(1))
        $0.add(
          MessageReceipt(exchange: 1, level: .read, latency: .zero, direction: .clientToServer, endpoint: 0))
      })
    let bytes = try store.bytes
    for table in tables {
      let path = try store.folder.file("value.db", bytes)
      let database = try Connection(path, .changing)
      let columns = try database.prepare("SELECT * FROM \(table)", "test").columns
      try database.run("BEGIN", "test")
      for column in columns {
        // Keys must be unique, and some columns must be numbers.
        try? database.run("UPDATE OR IGNORE \(table) SET \(column) = \(value)", "test")
      }
      try database.run("COMMIT", "test")
      try Self.readAll(StoreReader(path))
    }
  }

  /// Reads everything that a reader offers, and checks the invariants that callers rely on.
  private static func readAll(_ reader: StoreReader) throws {
    for session in try reader.sessions() {
      #expect(session.messages >= 0 && session.lost >= 0 && session.late >= 0 && session.connections >= 0)
    }
    let messages = try reader.messages(after: .min, count: 1_000)
    for message in messages {
      #expect(message.byteCount >= 0 && message.retries >= 0 && message.capture >= 0 && message.streamOffset >= 0)
      // A sum of a time and a latency does not overflow.
      _ = message.time.microseconds + (message.latency ?? 0)
    }
    _ = try reader.messages(before: .max, count: 10)
    for message in try reader.ladderMessages(after: .min, PageChoice(), count: 1_000) {
      #expect(message.copies.count <= StoreReader.copyLimit && message.answers.count <= StoreReader.copyLimit)
      #expect((message.copies + message.answers).allSatisfy { abs($0) <= Row.mostSeconds * 2_000_000 })
    }
    for connection in try reader.connections(limit: 50) {
      #expect(connection.messages >= 0 && connection.lost >= 0 && connection.bytesToServer ?? 0 >= 0)
    }
    _ = try reader.connectionTotals()
    for id in Set(messages.prefix(3).flatMap { [$0.id, $0.connection, $0.session] }) {
      _ = try reader.place(ofMessage: id)
      _ = try reader.details(ofMessage: id)
      _ = try reader.texts(ofMessage: id)
      _ = try reader.heartbeatInterval(ofConnection: id)
      _ = try reader.streamIssues(ofConnection: id, from: .distantPast, to: .distantFuture)
      _ = try reader.session(id)
    }
    _ = try reader.problemCounts()
    _ = try reader.types()
    _ = try reader.captures()
    for limit in [1, 400] {
      for times in [nil, Timestamp.distantPast..<Timestamp.distantFuture] {
        guard let found = try reader.periods(times, limit: limit) else { continue }
        // One more step is possible at 1970, however wide steps are.
        #expect(found.periods.count <= max(2, limit) && found.width > 0)
        #expect(found.periods.allSatisfy { $0.messages >= 0 && $0.lost >= 0 && $0.heartbeats >= 0 })
        _ = found.times(0..<found.periods.count)
      }
    }
  }

  // MARK: Headers

  @Test func aStoreIsKnownByItsHeader() throws {
    let header = Array(try MadeStore([]).bytes.prefix(StoreFormat.headerCount))
    #expect(StoreFormat.isStore(header))
    #expect(!StoreFormat.isStore([]) && !StoreFormat.isStore(Array(header.dropLast())))
    #expect(StoreFormat.isStore(header + [0]))
    for i in [0, 14, 15, 68, 69, 70, 71] {
      var other = header
      other[i] ^= 1
      #expect(!StoreFormat.isStore(other), "\(i)")
    }
    #expect(Array(header[68..<72]) == Array("imst".utf8))
    // The version of the format, by which readers reject other versions.
    #expect(Array(header[60..<64]) == [0, 0, 0, 10])
  }

  @Test(
    arguments: [
      (StoreError(.failed, path: "a.db", attempt: "open", text: "no room"), "a.db: open: no room"),
      (StoreError(.failed, code: 13, path: "a.db", attempt: "write", text: "full"), "a.db: write: full (SQLite 13)"),
      (
        StoreError(.notAStore, code: 26, path: "a.db", attempt: "open", text: "no database"),
        "a.db: open: no database (SQLite 26); 'imdump index' makes a store from a capture"
      ),
    ])
  func anErrorIsOneLine(_ error: StoreError, _ line: String) { #expect("\(error)" == line) }
}
