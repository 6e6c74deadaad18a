import CSQLite
package import IMEngine
import IMOutput
import IMWire

/// Writes a store: messages whose fates are final, and what they add up to. The only one who writes to its file.
///
/// Synchronous and of one thread; IMPipeline gives it one of its own. Each batch is a transaction, so readers see whole batches,
/// and a process that dies leaves all but its last ones; sums follow behind. Rows go in without secondary indexes, which `finish`
/// builds; but not those of a live store.
package final class StoreWriter {
  /// Pages that are kept in memory, in KiB, and pages in the log before it is moved into the file. With SQLite's defaults a
  /// million rows take twice as long.
  private static let cacheKiB = 65_536, checkpointPages = 10_000
  private static let pageSize: UInt64 = 4_096

  /// Rows after which sums are written again, at first and in the end; and sessions, connections or periods that may wait for
  /// that, a quarter of a KB each. A million messages of a hundred thousand clients would else change a hundred thousand
  /// rows over and over.
  private static let firstSums = 100, lastSums = 500_000, sumLimit = 131_072

  let database: Connection
  private let isLive: Bool
  private let maximumBytes: UInt64?
  private var isFull = false
  /// Messages that came when the file was as large as it may be.
  package private(set) var leftOut: UInt64 = 0
  /// Rows since sums were written, and how many there may be.
  private var rowsSinceSums = 0
  private var rowsBetweenSums = StoreWriter.firstSums
  private var names: NameRows
  private var rows: MessageRows
  private var problems: ProblemRows
  private var sessions: SessionRows
  private var connections: ConnectionRows
  private var periods: PeriodRows

  /// Makes a store in the file at `path`, which is there and empty, and which errors call `name`. Its folder also gets `path-wal`
  /// and `path-shm`, until `finish`, and what sorting spills.
  package init(_ path: String, called name: String? = nil, _ plans: [ProtocolPlan], _ options: StoreOptions)
    throws(StoreError)
  {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    guard imdump_sqlite_spill_into(folder) != 0 else {
      throw StoreError(.failed, path: name ?? path, attempt: "make the store", text: "out of memory")
    }
    let database = try Connection(path, called: name, .writing)
    try database.run(
      """
      PRAGMA page_size = \(Self.pageSize);
      PRAGMA application_id = \(StoreFormat.applicationID); PRAGMA user_version = \(StoreFormat.version);
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -\(Self.cacheKiB); PRAGMA wal_autocheckpoint = \(Self.checkpointPages);
      """, "make the store")
    try database.run("BEGIN; " + Schema.tables, "make the tables")
    let names = try NameRows(database, plans, options)
    let rows = try MessageRows(database)
    let problems = try ProblemRows(database)
    let sessions = try SessionRows(database, limit: options.sessionLimit)
    let connections = try ConnectionRows(database)
    let periods = try PeriodRows(database)
    if options.isLive { try database.run(Schema.indexes, "make the indexes") }
    try database.run("COMMIT", "make the store")
    self.database = database
    isLive = options.isLive
    maximumBytes = options.maximumBytes
    self.names = names
    self.rows = rows
    self.problems = problems
    self.sessions = sessions
    self.connections = connections
    self.periods = periods
  }

  /// Writes a batch as one transaction. After an error nothing of it is in the store.
  package func write(_ batch: StoreBatch) throws(StoreError) {
    guard !isFull else {
      leftOut += UInt64(batch.messages.count)
      return
    }
    try database.run("BEGIN", "write messages")
    do throws(StoreError) {
      for message in batch.messages { try write(message) }
      for issue in batch.issues {
        connections.note(issue.connection)
        try problems.write(issue)
      }
      rowsSinceSums += batch.count
      if isLive || rowsSinceSums >= rowsBetweenSums
        || max(sessions.count, connections.count, periods.count) > Self.sumLimit
      {
        try writeSums()
      }
      try database.run("COMMIT", "write messages")
    } catch {
      try? database.run("ROLLBACK", "write messages")
      throw error
    }
    guard let maximumBytes else { return }
    let pages = try database.number("PRAGMA page_count", "look at the store's size") ?? 0
    isFull = UInt64(clamping: pages) * Self.pageSize >= maximumBytes
  }

  private func writeSums() throws(StoreError) {
    try sessions.flush(names)
    try connections.flush(names)
    try periods.flush()
    rowsSinceSums = 0
    rowsBetweenSums = min(Self.lastSums, rowsBetweenSums * 2)
  }

  private func write(_ message: StoreBatch.Message) throws(StoreError) {
    let (record, exchange) = (message.record, message.exchange)
    let kinds = ProblemKinds(of: exchange)
    try rows.write(
      record, exchange, problems: kinds, type: names.type(record, exchange), status: names.status(record, exchange))
    if kinds != [] { try problems.write(record, exchange, kinds) }
    sessions.count(record, exchange)
    connections.count(record, exchange)
    periods.count(exchange)
  }

  /// Builds the indexes and closes the store, which is one file then: one that nobody writes to needs no log.
  /// `isWhole` says that its captures were read to their end.
  package func finish(isWhole: Bool) throws(StoreError) {
    try database.run("BEGIN", "write sums")
    try writeSums()
    try database.run("COMMIT", "write sums")
    try database.run(isLive ? "BEGIN" : "BEGIN; \(Schema.indexes)", "build the indexes")
    let whole = isWhole && leftOut == 0 ? 1 : 0
    try database.run("UPDATE info SET value = \(whole) WHERE key = 'whole'; COMMIT", "build the indexes")
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)", "close the store")
    // Refused while somebody reads: then the log stays, empty.
    try? database.run("PRAGMA journal_mode = DELETE", "close the store")
  }
}
