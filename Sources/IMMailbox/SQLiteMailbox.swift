internal import CSQLite
public import IMEndpointCore

/// Why a store could not be used.
public struct MailboxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was attempted.
  public var operation: String
  /// The reason, as SQLite gives it.
  public var reason: String

  /// An error of its parts.
  public init(operation: String, reason: String) {
    self.operation = operation
    self.reason = reason
  }

  /// The attempt and the reason, as a person reads them.
  public var description: String { "\(operation): \(reason)" }
}

/// When what a store keeps is on the disk.
public enum MailboxSync: String, Sendable, CaseIterable {
  /// When `apply` returns (`synchronous=FULL`): what was acknowledged survives a power failure.
  case full
  /// Some time later (`synchronous=NORMAL`). What was acknowledged survives the end of the process, however it ends; when the
  /// machine loses power or its system fails, what was kept since the last checkpoint of the log may be gone. The database is
  /// consistent also then.
  case normal
}

/// A server's letters, devices and numbers in a SQLite database: each batch of operations is one transaction, on the disk
/// when `apply` returns (WAL, `synchronous=FULL`), unless it was opened otherwise.
public final class SQLiteMailbox {
  private var database: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  /// Opens the database in a folder, and makes both where they are missing. No other process may use it meanwhile.
  ///
  /// A database of an earlier version is brought up to this one; one of a later version is refused.
  public init(folder: String, sync: MailboxSync = .full) throws(MailboxError) {
    let path = folder + "/letters.db"
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &database, flags, nil) == SQLITE_OK else {
      let error = problem("open " + path)
      sqlite3_close_v2(database)
      database = nil
      throw error
    }
    for statement in Self.opening(sync) { try execute(statement) }
    let version = try version()
    guard version <= Self.version else {
      throw MailboxError(operation: "open " + path, reason: "a later version has written it")
    }
    for statement in Self.tables { try execute(statement) }
    // Version 1 did not know for whom a sender's own copy is.
    if version == 1 { try execute("ALTER TABLE letter ADD COLUMN own INTEGER NOT NULL DEFAULT 0") }
    // Version 2 had all bodies in the table, and identities of those alone that it waited for.
    if version == 1 || version == 2 {
      try execute("ALTER TABLE letter ADD COLUMN content INTEGER")
      try execute("ALTER TABLE letter ADD COLUMN parts BLOB")
      try execute("ALTER TABLE number ADD COLUMN identity BLOB")
    }
    for statement in Self.closing { try execute(statement) }
  }

  private func version() throws(MailboxError) -> UInt64 {
    var version: UInt64 = 0
    try rows("PRAGMA user_version") { version = $0.number(0) }
    return version
  }

  /// The version of the tables.
  private static let version: UInt64 = 3

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(database)
  }

  /// The lock is taken at once and kept: two servers on one folder would each give out what the other does not know of.
  private static func opening(_ sync: MailboxSync) -> [String] {
    [
      "PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL",
      "PRAGMA synchronous=\(sync == .full ? "FULL" : "NORMAL")", "PRAGMA wal_autocheckpoint=4000", "BEGIN IMMEDIATE",
    ]
  }

  private static let tables = [
    """
    CREATE TABLE IF NOT EXISTS letter(
      id INTEGER PRIMARY KEY, user TEXT NOT NULL, category INTEGER NOT NULL, compressed INTEGER NOT NULL,
      delivered INTEGER NOT NULL, sender BLOB NOT NULL, body BLOB NOT NULL,
      own INTEGER NOT NULL DEFAULT 0, content INTEGER, parts BLOB)
    """,
    """
    CREATE TABLE IF NOT EXISTS device(
      key BLOB PRIMARY KEY, identity BLOB NOT NULL, user TEXT NOT NULL, expiry INTEGER NOT NULL,
      joined INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS taken(letter INTEGER, device BLOB, PRIMARY KEY(letter, device)) WITHOUT ROWID",
    """
    CREATE TABLE IF NOT EXISTS number(
      device BLOB, conversation TEXT, isGroup INTEGER, lane INTEGER, floor INTEGER NOT NULL, others BLOB NOT NULL,
      seen INTEGER NOT NULL, identity BLOB, PRIMARY KEY(device, conversation, isGroup, lane)) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS member(groupName TEXT, user TEXT, PRIMARY KEY(groupName, user)) WITHOUT ROWID",
    """
    CREATE TABLE IF NOT EXISTS receipt(
      device BLOB, conversation TEXT, isGroup INTEGER, number INTEGER, isRead INTEGER,
      PRIMARY KEY(device, conversation, isGroup, number, isRead)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS groupMessage(
      first INTEGER PRIMARY KEY, device BLOB NOT NULL, groupName TEXT NOT NULL, number INTEGER NOT NULL,
      members TEXT NOT NULL, undelivered INTEGER NOT NULL, readers BLOB NOT NULL)
    """,
  ]

  private static let closing = [
    // Who has written nothing for a day sends nothing again.
    """
    DELETE FROM number WHERE seen < unixepoch() - 86400 AND NOT EXISTS (SELECT 1 FROM device WHERE key = number.device)
    """,
    "PRAGMA user_version=3", "COMMIT",
  ]

  // MARK: writing

  /// Keeps all of `operations`, or nothing of them.
  public func apply(_ operations: [StoreOperation]) throws(MailboxError) {
    guard !operations.isEmpty else { return }
    try run("BEGIN IMMEDIATE")
    do throws(MailboxError) {
      for operation in operations { try apply(operation) }
      try run("COMMIT")
    } catch {
      try? run("ROLLBACK")
      throw error
    }
  }

  private func apply(_ operation: StoreOperation) throws(MailboxError) {
    switch operation {
    case .put(let letter):
      try run(
        "INSERT OR REPLACE INTO letter VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", .number(letter.id), .text(letter.user),
        .number(UInt64(letter.category.rawValue)), .number(letter.isCompressed ? 1 : 0),
        .number(letter.isDelivered ? 1 : 0), .bytes(letter.sender), .bytes(letter.body),
        .number(letter.skipsSender ? 1 : 0), letter.content.map { .number($0.body) } ?? .nothing,
        letter.content.map { .bytes(Self.encoded($0.parts)) } ?? .nothing)
    case .delivered(let id): try run("UPDATE letter SET delivered = 1 WHERE id = ?", .number(id))
    case .took(let id, let key): try run("INSERT OR IGNORE INTO taken VALUES(?, ?)", .number(id), .bytes(key))
    case .removed(let id):
      try run("DELETE FROM letter WHERE id = ?", .number(id))
      try run("DELETE FROM taken WHERE letter = ?", .number(id))
    case .device(let device):
      try run(
        "INSERT OR REPLACE INTO device VALUES(?, ?, ?, ?, ?)", .bytes(device.key), .bytes(device.identity),
        .text(device.user), .number(UInt64(max(0, device.expiry))), .number(device.joined))
    case .forgot(let key):
      try run("DELETE FROM device WHERE key = ?", .bytes(key))
      try run("DELETE FROM taken WHERE device = ?", .bytes(key))
      try run("DELETE FROM receipt WHERE device = ?", .bytes(key))
    case .receipt(let receipt, let isPending):
      let statement =
        isPending
        ? "INSERT OR IGNORE INTO receipt VALUES(?, ?, ?, ?, ?)"
        : "DELETE FROM receipt WHERE device = ? AND conversation = ? AND isGroup = ? AND number = ? AND isRead = ?"
      try run(
        statement, .bytes(receipt.key), .text(receipt.conversation), .number(receipt.isGroup ? 1 : 0),
        .number(receipt.number), .number(receipt.isRead ? 1 : 0))
    case .groupMessage(let message):
      // No name has a zero in it that a length would not tell apart.
      let members = message.members.map { "\($0.utf8.count):\($0)" }.joined()
      try run(
        "INSERT OR REPLACE INTO groupMessage VALUES(?, ?, ?, ?, ?, ?, ?)", .number(message.first), .bytes(message.key),
        .text(message.group), .number(message.number), .text(members), .number(UInt64(clamping: message.undelivered)),
        .bytes(Self.encoded(message.readers)))
    case .groupProgress(let first, let undelivered, let readers):
      try run(
        "UPDATE groupMessage SET undelivered = ?, readers = ? WHERE first = ?", .number(UInt64(clamping: undelivered)),
        .bytes(Self.encoded(readers)), .number(first))
    case .groupForgotten(let first): try run("DELETE FROM groupMessage WHERE first = ?", .number(first))
    case .member(let group, let user, let isMember):
      let statement =
        isMember ? "INSERT OR IGNORE INTO member VALUES(?, ?)" : "DELETE FROM member WHERE groupName = ? AND user = ?"
      try run(statement, .text(group), .text(user))
    case .numbers(let numbers):
      let others = Self.encoded(numbers.others)
      try run(
        "INSERT OR REPLACE INTO number VALUES(?, ?, ?, ?, ?, ?, unixepoch(), ?)", .bytes(numbers.key),
        .text(numbers.conversation), .number(numbers.isGroup ? 1 : 0), .number(UInt64(numbers.lane)),
        .number(numbers.floor), .bytes(others), .bytes(numbers.identity))
    }
  }

  // MARK: reading

  /// All that was kept.
  public func load() throws(MailboxError) -> StoredState {
    var state = StoredState()
    try rows(
      "SELECT id, user, category, compressed, delivered, sender, body, own, content, parts FROM letter ORDER BY id"
    ) { row in
      state.letters.append(
        StoredLetter(
          id: row.number(0), user: row.text(1), body: row.bytes(6), isCompressed: row.number(3) != 0,
          category: SequenceCategory(rawValue: UInt8(truncatingIfNeeded: row.number(2))) ?? .normal,
          sender: row.bytes(5), isDelivered: row.number(4) != 0, skipsSender: row.number(7) != 0,
          content: row.isNothing(8) ? nil : StoredParts(body: row.number(8), parts: Self.parts(row.bytes(9)))))
    }
    try rows("SELECT key, identity, user, expiry, joined FROM device") { row in
      state.devices.append(
        StoredDevice(
          key: row.bytes(0), identity: row.bytes(1), user: row.text(2), expiry: Int64(clamping: row.number(3)),
          joined: row.number(4)))
    }
    try rows("SELECT letter, device FROM taken ORDER BY letter") { row in
      state.taken.append((row.number(0), row.bytes(1)))
    }
    try rows("SELECT device, conversation, isGroup, lane, floor, others, identity FROM number") { row in
      let others = row.bytes(5)
      state.numbers.append(
        StoredNumbers(
          key: row.bytes(0), conversation: row.text(1), isGroup: row.number(2) != 0,
          lane: UInt8(truncatingIfNeeded: row.number(3)), floor: row.number(4), others: Self.numbers(others),
          identity: row.bytes(6)))
    }
    try rows("SELECT groupName, user FROM member") { row in state.members.append((row.text(0), row.text(1))) }
    try rows("SELECT device, conversation, isGroup, number, isRead FROM receipt ORDER BY number, isRead") { row in
      state.receipts.append(
        StoredReceipt(
          key: row.bytes(0), conversation: row.text(1), isGroup: row.number(2) != 0, number: row.number(3),
          isRead: row.number(4) != 0))
    }
    try rows("SELECT first, device, groupName, number, members, undelivered, readers FROM groupMessage ORDER BY first")
    {
      row in
      state.groupMessages.append(
        StoredGroupMessage(
          first: row.number(0), key: row.bytes(1), group: row.text(2), number: row.number(3),
          members: Self.names(row.bytes(4)), undelivered: Int(clamping: row.number(5)),
          readers: Self.numbers(row.bytes(6))))
    }
    return state
  }

  // MARK: statements

  /// Numbers of eight bytes each.
  private static func encoded(_ numbers: [UInt64]) -> [UInt8] {
    numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - $0 * 8)) } }
  }

  private static func numbers(_ bytes: [UInt8]) -> [UInt64] {
    stride(from: 0, to: bytes.count - 7, by: 8).map { start in
      bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// Where each part begins and ends.
  private static func encoded(_ parts: [Range<Int>]) -> [UInt8] {
    encoded(parts.flatMap { [UInt64(clamping: $0.lowerBound), UInt64(clamping: $0.upperBound)] })
  }

  private static func parts(_ bytes: [UInt8]) -> [Range<Int>] {
    let ends = numbers(bytes)
    return stride(from: 0, to: ends.count - 1, by: 2).compactMap { place in
      let (first, end) = (ends[place], ends[place + 1])
      return first <= end && end <= UInt64(Int.max) ? Int(first)..<Int(end) : nil
    }
  }

  /// Names, before each of which are its length in digits and a colon.
  private static func names(_ bytes: [UInt8]) -> [String] {
    var (names, offset): ([String], Int) = ([], 0)
    while let colon = bytes[offset...].firstIndex(of: UInt8(ascii: ":")),
      let count = Int(String(decoding: bytes[offset..<colon], as: UTF8.self)), count >= 0,
      count <= bytes.count - colon - 1
    {
      names.append(String(decoding: bytes[colon + 1..<colon + 1 + count], as: UTF8.self))
      offset = colon + 1 + count
    }
    return names
  }

  private enum Value {
    case nothing
    case number(UInt64)
    case text(String)
    case bytes([UInt8])
  }

  /// The columns of a row; they are good until the next row.
  private struct Row {
    let statement: OpaquePointer

    func number(_ column: Int32) -> UInt64 { UInt64(bitPattern: sqlite3_column_int64(statement, column)) }

    func isNothing(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func bytes(_ column: Int32) -> [UInt8] {
      let first = sqlite3_column_blob(statement, column)
      return [UInt8](UnsafeRawBufferPointer(start: first, count: Int(sqlite3_column_bytes(statement, column))))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
  }

  private func problem(_ operation: String) -> MailboxError {
    MailboxError(operation: operation, reason: sqlite3_errmsg(database).map { String(cString: $0) } ?? "no memory")
  }

  func execute(_ text: String) throws(MailboxError) {
    guard sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else { throw problem("store") }
  }

  private func prepared(_ text: String) throws(MailboxError) -> OpaquePointer {
    if let known = statements[text] { return known }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw problem("store")
    }
    statements[text] = statement
    return statement
  }

  private func run(_ text: String, _ values: Value...) throws(MailboxError) {
    let statement = try prepared(text)
    for (index, value) in values.enumerated() { try bind(value, Int32(index + 1), statement) }
    let status = sqlite3_step(statement)
    let error = status == SQLITE_DONE || status == SQLITE_ROW ? nil : problem("store")
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
    if let error { throw error }
  }

  private func bind(_ value: Value, _ index: Int32, _ statement: OpaquePointer) throws(MailboxError) {
    // SQLITE_TRANSIENT: SQLite copies what it is given.
    let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let status: Int32
    switch value {
    case .nothing: status = sqlite3_bind_null(statement, index)
    case .number(let number): status = sqlite3_bind_int64(statement, index, Int64(bitPattern: number))
    case .text(var text):
      status = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text(statement, index, $0.baseAddress, Int32(clamping: $0.count), copies)
        }
      }
    case .bytes(let bytes):
      status = bytes.withUnsafeBytes { bytes in
        // An empty blob is none without a place.
        bytes.isEmpty
          ? sqlite3_bind_zeroblob(statement, index, 0)
          : sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(clamping: bytes.count), copies)
      }
    }
    guard status == SQLITE_OK else { throw problem("store") }
  }

  private func rows(_ text: String, _ body: (Row) -> Void) throws(MailboxError) {
    let statement = try prepared(text)
    defer { sqlite3_reset(statement) }
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: body(Row(statement: statement))
      case SQLITE_DONE: return
      default: throw problem("store")
      }
    }
  }
}
