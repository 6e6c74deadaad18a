/// What makes a database file a store, and which.
package enum StoreFormat {
  /// `PRAGMA application_id`, which stands in the file's header at offset 68: "imst".
  static let applicationID: Int64 = 0x696d_7374
  /// `PRAGMA user_version`: the number of the tables' layout. A store of another number is refused; it is made anew from its
  /// captures.
  package static let version: Int64 = 10

  /// Bytes of a file's beginning that `isStore` looks at: SQLite's header.
  package static let headerCount = 100

  /// Whether a file that begins with `header` is a store, of whatever format.
  ///
  ///      0                  16         68               72
  ///     +------------------+-- ... ---+----------------+-- ...
  ///     | "SQLite format 3"|          | application_id |
  ///     +------------------+-- ... ---+----------------+-- ...
  ///
  /// Source: SQLite's "Database File Format", section 1.3.
  package static func isStore(_ header: [UInt8]) -> Bool {
    guard header.count >= headerCount, header.starts(with: Array("SQLite format 3".utf8) + [0]) else { return false }
    return header[68..<72].reduce(0) { $0 << 8 | Int64($1) } == applicationID
  }

  /// Refuses a file that is no store of this format. An empty one is none either.
  static func check(_ connection: Connection) throws(StoreError) {
    let attempt = "open the store"
    guard try connection.number("PRAGMA application_id", attempt) == applicationID else {
      throw StoreError(
        .notAStore, path: connection.path, attempt: attempt, text: "is a database, but not an imdump store")
    }
    let found = try connection.number("PRAGMA user_version", attempt) ?? 0
    guard found == version else {
      throw StoreError(
        .notAStore, path: connection.path, attempt: attempt,
        text: "is a store of format \(found), and this imdump reads format \(version): index its captures again")
    }
    try SchemaShape.check(connection, attempt)
  }
}
