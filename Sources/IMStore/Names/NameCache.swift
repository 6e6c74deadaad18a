/// Names of addresses that were looked up, kept in a store: its table `name_cache`. What has no name is kept as well, for a shorter time.
///
/// Only for a store that nobody writes any more: of one that is written, its writer is the only one. Of one thread.
package final class NameCache {
  /// What is known of an address.
  package struct Entry: Equatable, Sendable {
    /// The address as text.
    package var key: String
    /// Its name; `nil` where it has none.
    package var name: String?
    /// Who said so.
    package var source: String
    /// When, in seconds since 1970.
    package var at: Int64

    /// An entry of its parts.
    package init(key: String, name: String?, source: String, at: Int64) {
      (self.key, self.name, self.source, self.at) = (key, name, source, at)
    }
  }

  /// Seconds for which a name counts, and for which it counts that there is none.
  package static let lifetime: Int64 = 7 * 86_400, negativeLifetime: Int64 = 3_600
  /// Entries of a store, at most; behind that the oldest go.
  static let limit: Int64 = 1_000_000

  private let database: Connection

  /// The cache of the store at `path`; `nil` where that is still being written, or was not written to its end.
  package init?(_ path: String) throws(StoreError) {
    database = try Connection(store: path, .adding)
    // Readers of this process are done soon.
    try database.run("PRAGMA busy_timeout = 2000", "open the store")
    var mode = try database.prepare("PRAGMA journal_mode", "open the store")
    guard try mode.step(), mode.row.text(0) == "delete",
      try database.number("SELECT value FROM info WHERE key = 'whole'", "open the store") == 1
    else { return nil }
  }

  /// What is known of addresses at `now`, by these.
  package func entries(of keys: [String], at now: Int64) throws(StoreError) -> [String: Entry] {
    var found: [String: Entry] = [:]
    var statement = try database.prepare(
      "SELECT name, source, at_s FROM name_cache WHERE key = ?1", "read names")
    for key in keys {
      statement.bind(1, key)
      if try statement.step() {
        let (name, at) = (statement.row.text(0), statement.row.seconds(2) ?? 0)
        if now - at < (name == nil ? Self.negativeLifetime : Self.lifetime) {
          found[key] = Entry(key: key, name: name, source: statement.row.text(1) ?? "", at: at)
        }
      }
      statement.reset()
    }
    return found
  }

  /// Keeps what was learnt, in place of what was known before.
  package func add(_ entries: [Entry]) throws(StoreError) {
    guard !entries.isEmpty else { return }
    try database.run("BEGIN IMMEDIATE", "keep names")
    do throws(StoreError) {
      var statement = try database.prepare("INSERT OR REPLACE INTO name_cache VALUES (?1, ?2, ?3, ?4)", "keep names")
      for entry in entries {
        statement.bind(1, entry.key)
        statement.bind(2, entry.name)
        statement.bind(3, entry.source)
        statement.bind(4, entry.at)
        try statement.run()
      }
      try database.run(
        """
        DELETE FROM name_cache WHERE key IN (
          SELECT key FROM name_cache ORDER BY at_s DESC LIMIT -1 OFFSET \(Self.limit)
        )
        """, "keep names")
      try database.run("COMMIT", "keep names")
    } catch {
      try? database.run("ROLLBACK", "keep names")
      throw error
    }
  }
}
