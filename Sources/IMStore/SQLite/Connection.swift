import CSQLite

/// The version of SQLite that stores are read and written with, such as `3.40.1`.
package var databaseVersion: String { String(cString: sqlite3_libversion()) }

/// Has SQLite put what sorting and temporary tables spill into the folder of the store at `path`, which errors call `name`; by default it
/// is a folder for temporary files, which may be small.
///
/// It is a setting of the whole process, which no store makes by itself: the folder has to outlive every store that is open. The command
/// calls it before it opens a store. Throws where there is no memory for the name.
package func spillStores(beside path: String, called name: String) throws(StoreError) {
  let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  guard Connection.spill(into: folder) else {
    throw StoreError(.failed, path: name, attempt: "choose a folder for temporary files", text: "out of memory")
  }
}

/// An open database file: the thin layer between this room and SQLite's C functions.
///
/// Used by one thread at a time; SQLite's own locks are left out. It is closed when the last reference goes, behind its
/// statements, which must not outlive it.
final class Connection {
  /// How a file is opened.
  enum Mode {
    /// An existing file, for reading; nothing can change it.
    case reading
    /// An existing file, for writing.
    case changing
    /// An existing file or a new one, for writing.
    case writing
  }

  /// The file as it was named.
  let path: String
  let handle: OpaquePointer

  /// SQLite's settings for the whole process, made once: as SQLite is used first.
  private static let settings = imdump_sqlite_configure(0), countingSettings = imdump_sqlite_configure(1)

  /// See `spillStores(beside:called:)`.
  fileprivate static func spill(into folder: String) -> Bool {
    _ = settings
    return imdump_sqlite_spill_into(folder) != 0
  }

  /// Gives SQLite's heap in this process a limit, in bytes. Has to be called before anything else of SQLite: it counts memory only where
  /// it was told so first, and then every allocation takes a lock.
  static func limitMemory(to bytes: Int64) {
    _ = countingSettings
    sqlite3_hard_heap_limit64(bytes)
  }

  /// Opens the file at `path`, which errors call `name`. SQLite reads it when the first statement is made, not before.
  ///
  /// For a file that was just made: one that is there is opened by `Connection(store:)`.
  /// With `isURI`, `path` is one of SQLite's.
  init(_ path: String, called name: String? = nil, _ mode: Mode, isURI: Bool = false) throws(StoreError) {
    self.path = name ?? path
    _ = Self.settings
    let flags: Int32 =
      switch mode {
      case .reading: SQLITE_OPEN_READONLY
      case .changing: SQLITE_OPEN_READWRITE
      case .writing: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    var handle: OpaquePointer?
    let all = flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (isURI ? SQLITE_OPEN_URI : 0)
    let code = sqlite3_open_v2(path, &handle, all, nil)
    guard code == SQLITE_OK, let handle else {
      let text = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
      sqlite3_close_v2(handle)
      throw StoreError(
        code & 0xff == SQLITE_CANTOPEN ? .notFound : .failed, code: code, path: name ?? path, attempt: "open",
        text: text)
    }
    self.handle = handle
    // A name in double quotes is a name, and a file's schema runs nothing that writes elsewhere.
    _ = imdump_sqlite_switch(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    _ = imdump_sqlite_switch(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    _ = imdump_sqlite_switch(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    _ = imdump_sqlite_switch(handle, SQLITE_DBCONFIG_DQS_DML, 0)
    _ = imdump_sqlite_switch(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
  }

  deinit { sqlite3_close_v2(handle) }

  /// Whether a transaction was begun that has not ended.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs statements of ours that return nothing; `attempt` names them in errors.
  func run(_ sql: String, _ attempt: String) throws(StoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, attempt) }
  }

  /// The statement that `sql` begins with. With `isOnly`, one that another follows is refused.
  func prepare(_ sql: String, _ attempt: String, isOnly: Bool = false) throws(StoreError) -> Statement {
    try Statement(self, sql, attempt, isOnly: isOnly)
  }

  /// The first column of the first row of a statement of ours, as a whole number; `nil` without a row.
  func number(_ sql: String, _ attempt: String) throws(StoreError) -> Int64? {
    var statement = try prepare(sql, attempt)
    return try statement.step() ? statement.row.number(0) : nil
  }

  /// Rows that the last statement has changed.
  var changes: Int64 { sqlite3_changes64(handle) }

  /// The error behind `code`, which a call on this connection has just returned.
  func error(_ code: Int32, _ attempt: String) -> StoreError {
    let kind: StoreError.Kind =
      switch code & 0xff {
      case SQLITE_NOTADB, SQLITE_CORRUPT: .notAStore
      case SQLITE_CANTOPEN: .notFound
      case SQLITE_INTERRUPT: .interrupted
      case SQLITE_AUTH, SQLITE_ERROR, SQLITE_READONLY, SQLITE_SCHEMA, SQLITE_TOOBIG, SQLITE_MISMATCH: .badStatement
      default: .failed
      }
    let limit = sqlite3_hard_heap_limit64(-1)
    let text =
      switch code & 0xff {
      case SQLITE_AUTH: "a store is read-only"
      case SQLITE_NOMEM where limit > 0: "it needs more memory than the \(limit >> 20) MiB that a statement may take"
      default: String(cString: sqlite3_errmsg(handle))
      }
    return StoreError(kind, code: code, path: path, attempt: attempt, text: text)
  }
}
