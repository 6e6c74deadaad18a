import CSQLite

/// A prepared statement: values are bound, then it is stepped through its rows.
///
/// Places of parameters count from 1, columns from 0. What is bound stays until it is bound anew. An error of binding is told
/// by the next `step`, so a row of twenty values is checked once.
struct Statement: ~Copyable {
  private let connection: Connection
  private let handle: OpaquePointer
  private let attempt: String
  private var bound = SQLITE_OK
  /// What `keep` has bound at a place: nothing that it knows, NULL, a whole number, or text of the program, by its address.
  private enum Kept: Equatable { case other, null, number(Int64), text(Int) }
  private let kept: UnsafeMutablePointer<Kept>

  /// Compiles what `sql` begins with; `attempt` says in errors what it is for. With `isOnly`, refuses what another statement
  /// follows.
  init(_ connection: Connection, _ sql: String, _ attempt: String, isOnly: Bool) throws(StoreError) {
    var handle: OpaquePointer?
    var rest = ""
    let code = sql.withCString { text in
      var end: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(connection.handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, &end)
      if let end { rest = String(cString: end) }
      return code
    }
    if isOnly, code == SQLITE_OK, rest.contains(where: { !$0.isWhitespace && $0 != ";" }) {
      sqlite3_finalize(handle)
      throw StoreError(
        .badStatement, path: connection.path, attempt: attempt, text: "expected one statement, found more")
    }
    guard code == SQLITE_OK, let handle else {
      throw code == SQLITE_OK
        ? StoreError(.badStatement, path: connection.path, attempt: attempt, text: "expected a statement")
        : connection.error(code, attempt)
    }
    self.connection = connection
    self.handle = handle
    self.attempt = attempt
    let places = Int(sqlite3_bind_parameter_count(handle)) + 1
    kept = .allocate(capacity: places)
    kept.initialize(repeating: .other, count: places)
  }

  deinit {
    sqlite3_finalize(handle)
    kept.deallocate()
  }

  // MARK: Values

  /// Binds a whole number.
  @inline(__always)
  mutating func bind(_ place: Int32, _ value: Int64) { bound |= sqlite3_bind_int64(handle, place, value) }

  /// Binds a whole number, or NULL.
  @inline(__always)
  mutating func bind(_ place: Int32, _ value: Int64?) {
    if let value { bind(place, value) } else { bound |= sqlite3_bind_null(handle, place) }
  }

  /// Binds a whole number of which most rows have the same: SQLite is told only when it changes. Such a place is bound by `keep` alone.
  @inline(__always)
  mutating func keep(_ place: Int32, _ value: Int64) {
    if kept[Int(place)] == .number(value) { return }
    bind(place, value)
    kept[Int(place)] = .number(value)
  }

  /// The same of a whole number or NULL.
  @inline(__always)
  mutating func keep(_ place: Int32, _ value: Int64?) {
    guard let value else { return keepNull(place) }
    keep(place, value)
  }

  /// Binds NULL, where something else is bound.
  @inline(__always)
  mutating func keepNull(_ place: Int32) {
    if kept[Int(place)] == .null { return }
    bind(place, nil as Int64?)
    kept[Int(place)] = .null
  }

  /// Binds text, or NULL where something else is bound.
  @inline(__always)
  mutating func keep(_ place: Int32, text value: String?) {
    guard let value else { return keepNull(place) }
    kept[Int(place)] = .other
    bind(place, value)
  }

  /// Binds text of the program, or NULL, where something else is bound.
  @inline(__always)
  mutating func keep(_ place: Int32, static value: StaticString?) {
    guard let value else { return keepNull(place) }
    let text = Kept.text(Int(bitPattern: value.utf8Start))
    if kept[Int(place)] == text { return }
    bind(place, value)
    kept[Int(place)] = text
  }

  /// Binds text, or NULL. SQLite copies it.
  mutating func bind(_ place: Int32, _ value: String?) {
    guard var value else {
      bound |= sqlite3_bind_null(handle, place)
      return
    }
    value.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) {
        bound |= imdump_sqlite_bind_text(handle, place, $0.baseAddress, $0.count)
      }
    }
  }

  /// Binds text of the program, or NULL.
  mutating func bind(_ place: Int32, _ value: StaticString?) {
    guard let value else {
      bound |= sqlite3_bind_null(handle, place)
      return
    }
    value.utf8Start.withMemoryRebound(to: CChar.self, capacity: value.utf8CodeUnitCount) {
      // Without a destructor SQLite takes it that the text stays.
      bound |= sqlite3_bind_text(handle, place, $0, Int32(value.utf8CodeUnitCount), nil)
    }
  }

  // MARK: Rows

  /// Goes to the next row; false behind the last one.
  mutating func step() throws(StoreError) -> Bool {
    let code = bound == SQLITE_OK ? sqlite3_step(handle) : bound
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let error = connection.error(code, attempt)
      bound = SQLITE_OK
      sqlite3_reset(handle)
      throw error
    }
  }

  /// Runs a statement without rows, and makes it ready to run again.
  @inline(__always)
  mutating func run() throws(StoreError) {
    _ = try step()
    sqlite3_reset(handle)
  }

  /// Makes it ready to run again.
  mutating func reset() { sqlite3_reset(handle) }

  /// The row that `step` went to, until the next call.
  var row: Row { Row(handle) }

  /// The names of the columns.
  var columns: [String] {
    (0..<sqlite3_column_count(handle)).map { sqlite3_column_name(handle, $0).map { String(cString: $0) } ?? "" }
  }

  /// Whether it leaves the database as it is.
  var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }
}
