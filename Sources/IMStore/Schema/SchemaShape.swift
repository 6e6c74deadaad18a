/// The schema of stores of this format, as SQLite keeps it, and what a file has beyond it.
enum SchemaShape {
  /// A row of `sqlite_schema`.
  private struct Entry: Hashable {
    let kind: String, name: String, table: String, sql: String?
  }

  /// The entries that a store has, and those of them that it may lack: while it is written it has few indexes.
  private struct Entries {
    var all: Set<Entry> = []
    var indexes: Set<Entry> = []
  }

  /// More entries than these are not looked at.
  private static let limit = 1_000
  private static let query = "SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT \(limit)"

  /// What SQLite makes of our tables and indexes, in memory; an error where it cannot.
  private static let ours: Result<Entries, StoreError> = {
    do throws(StoreError) {
      let made = try Connection(":memory:", .writing)
      try made.run(Schema.tables, "make the tables")
      let tables = Set(try entries(made, "make the tables"))
      try made.run(Schema.indexes, "make the indexes")
      let all = Set(try entries(made, "make the indexes"))
      return .success(Entries(all: all, indexes: all.subtracting(tables)))
    } catch {
      return .failure(error)
    }
  }()

  private static func entries(_ connection: Connection, _ attempt: String) throws(StoreError) -> [Entry] {
    var statement = try connection.prepare(query, attempt)
    var entries: [Entry] = []
    while try statement.step() {
      let row = statement.row
      entries.append(
        Entry(kind: row.text(0) ?? "", name: row.text(1) ?? "", table: row.text(2) ?? "", sql: row.text(3)))
    }
    return entries
  }

  /// Throws where a file's schema is not exactly that of this format, and names what is different.
  static func check(_ connection: Connection, _ attempt: String) throws(StoreError) {
    let ours = try self.ours.get()
    func refuse(_ text: String) -> StoreError {
      StoreError(.notAStore, path: connection.path, attempt: attempt, text: text)
    }
    var missing = ours.all.subtracting(ours.indexes)
    for entry in try entries(connection, attempt) {
      guard ours.all.contains(entry) else {
        let isOther = ours.all.contains { $0.kind == entry.kind && $0.name == entry.name }
        throw refuse(
          isOther
            ? "its \(entry.kind) '\(entry.name)' does not match store format \(StoreFormat.version), and is not used"
            : "has the \(entry.kind) '\(entry.name)', which is not in store format \(StoreFormat.version), and is not read"
        )
      }
      missing.remove(entry)
    }
    if let entry = missing.min(by: { $0.name < $1.name }) {
      throw refuse("is missing the \(entry.kind) '\(entry.name)' of store format \(StoreFormat.version)")
    }
  }
}
