import CSQLite

/// How a store is opened that is there, which may have been made to harm its reader: in one place, for all who read or change
/// one.
extension Connection {
  /// What the statements of a connection may do.
  enum Permission {
    /// Read, in statements that a user has written.
    case asking
    /// Read, in transactions.
    case reading
    /// Add rows to tables that are there, and change them.
    case adding
    /// Add another store: attach it, and build indexes anew.
    case merging
  }

  /// Bytes of a value or a row, and of a statement, at most.
  private static let valueLimit: Int32 = 64 << 20, statementLimit: Int32 = 1 << 20

  /// Opens the store at `path`, which errors call `name`. Throws where it is none of this format, or has anything in its schema that a
  /// store of this format has not: a foreign view or trigger is never run.
  convenience init(store path: String, called name: String? = nil, _ permission: Permission) throws(StoreError) {
    let mode: Mode =
      switch permission {
      case .asking, .reading: .reading
      case .adding, .merging: .changing
      }
    var isLeft = false
    if mode == .reading { isLeft = try Connection(path, called: name, .reading).isLeft }
    try self.init(
      isLeft ? "file:\(Self.escaped(path))?immutable=1" : path, called: name ?? path, mode, isURI: isLeft)
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.valueLimit)
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, Self.statementLimit)
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, permission == .merging ? 1 : 0)
    sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0)
    let attempt = "open the store"
    try run("PRAGMA cell_size_check = 1", attempt)
    try StoreFormat.check(self)
    // Temporary files could not be opened in the sandbox.
    if mode == .reading { try run("PRAGMA query_only = 1; PRAGMA temp_store = MEMORY", attempt) }
    // FTS5 declares its table when it is used first, which the rules would take for a change.
    _ = try prepare("SELECT rowid FROM message_search", attempt)
    allow(permission)
  }

  /// Whether a store was left by a writer that was killed, and its log is not beside it any more: then no process writes it, and SQLite may
  /// take it as it is. Else it would make another log, which takes a folder that may be written to.
  private var isLeft: Bool {
    // By SQLite's own descriptor: to close another one of the file would drop all locks that this process has on it.
    var header = [UInt8](repeating: 0, count: 20)
    guard imdump_sqlite_header(handle, &header, Int32(header.count)) == SQLITE_OK else { return false }
    // Offset 18: the version that writes, 2 where there is a log ("Database File Format", section 1.3).
    return header[18] == 2 && imdump_sqlite_has_file(path + "-wal") == 0
  }

  /// A path in a URI.
  private static func escaped(_ path: String) -> String {
    path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
  }

  /// Has only statements compiled that do what `permission` says. Whatever is allowed is allowed by name; what is new in a later
  /// SQLite is not.
  private func allow(_ permission: Permission) {
    switch permission {
    case .asking:
      sqlite3_set_authorizer(
        handle, { _, action, a, b, _, _ in Connection.asks(action, a, b) ? SQLITE_OK : SQLITE_DENY }, nil)
    case .reading:
      sqlite3_set_authorizer(
        handle, { _, action, a, b, _, _ in Connection.reads(action, a, b) ? SQLITE_OK : SQLITE_DENY }, nil)
    case .adding:
      sqlite3_set_authorizer(
        handle, { _, action, a, b, _, _ in Connection.adds(action, a, b) ? SQLITE_OK : SQLITE_DENY }, nil)
    case .merging:
      sqlite3_set_authorizer(
        handle, { _, action, a, b, _, _ in Connection.merges(action, a, b) ? SQLITE_OK : SQLITE_DENY }, nil)
    }
  }

  private typealias Name = UnsafePointer<CChar>?

  private static func asks(_ action: Int32, _ first: Name, _ second: Name) -> Bool {
    switch action {
    case SQLITE_SELECT, SQLITE_READ, SQLITE_RECURSIVE: true
    // A program's own code.
    case SQLITE_FUNCTION: second.map { String(cString: $0) } != "load_extension"
    case SQLITE_PRAGMA: tells(first, second)
    default: false
    }
  }

  private static func reads(_ action: Int32, _ first: Name, _ second: Name) -> Bool {
    action == SQLITE_TRANSACTION || asks(action, first, second)
  }

  private static func adds(_ action: Int32, _ first: Name, _ second: Name) -> Bool {
    switch action {
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: true
    case SQLITE_PRAGMA: first.map { String(cString: $0) } == "busy_timeout" || tells(first, second)
    default: reads(action, first, second)
    }
  }

  private static func merges(_ action: Int32, _ first: Name, _ second: Name) -> Bool {
    switch action {
    case SQLITE_ATTACH, SQLITE_CREATE_INDEX, SQLITE_DROP_INDEX, SQLITE_REINDEX, SQLITE_CREATE_TEMP_TABLE,
      SQLITE_CREATE_TEMP_INDEX:
      true
    case SQLITE_PRAGMA:
      ["cache_size", "temp_store"].contains(first.map { String(cString: $0) })
        || adds(action, first, second)
    default: adds(action, first, second)
    }
  }

  /// Whether a pragma only tells: of the schema by a name, of the rest without a value. `data_version` is asked by FTS5.
  private static func tells(_ name: Name, _ value: Name) -> Bool {
    switch name.map({ String(cString: $0).lowercased() }) {
    case "table_info", "table_xinfo", "table_list", "index_info", "index_xinfo", "index_list", "foreign_key_list",
      "quick_check", "integrity_check":
      true
    case "user_version", "application_id", "data_version", "schema_version", "page_count", "page_size",
      "freelist_count", "journal_mode", "encoding", "compile_options", "function_list", "collation_list",
      "pragma_list", "database_list":
      value == nil
    default: false
    }
  }

  /// Whether the store has what users write, where its profiles do not hide that: `imdump index --payload`.
  func keepsPayload() throws(StoreError) -> Bool {
    try number("SELECT value FROM info WHERE key = 'payload'", "read the store") == 1
  }

  /// Throws where pages of the store contradict each other. It reads the whole file.
  func checkPages() throws(StoreError) {
    let attempt = "check the store"
    var check = try prepare("PRAGMA quick_check(1)", attempt)
    guard try check.step(), let found = check.row.text(0), found != "ok" else { return }
    throw StoreError(.notAStore, path: path, attempt: attempt, text: "is damaged: \(found)")
  }
}
