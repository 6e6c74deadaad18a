package import IMEngine
import IMOutput
import IMWire

/// Writes a store: messages whose fates are final, and what they add up to. The only one who writes to its file.
///
/// Synchronous and of one thread; IMIndexing gives it one of its own. Each batch is a transaction, so readers see whole batches,
/// and a process that dies leaves all but its last ones; sums follow behind. Rows go in without secondary indexes, which `finish`
/// builds; but not those of a live store.
package final class StoreWriter {
  /// Pages that are kept in memory, in KiB: rows of a file come in order, so pages that are full are seldom needed again; the indexes
  /// that a live store has are changed everywhere. And pages in the log before it is moved into the file.
  private static let cacheKiB = 1_024, liveCacheKiB = 65_536, checkpointPages = 10_000
  /// The same while indexes are built.
  private static let indexCacheKiB = 4_096
  private static let pageSize: UInt64 = 4_096
  /// Times in a batch that old messages are removed, at most.
  private static let mostRemovals = 8

  /// Rows between two writings of sums: soon at first, for whoever reads meanwhile, then this many, or four for each row that
  /// a writing changes. A million messages of a hundred thousand clients would else change a hundred thousand rows over and over.
  private static let firstSums = [100, 2_000], watchedSums = 50_000, lastSums = 500_000, rowsPerSum = 4
  /// Sessions, connections or periods that may wait for that, a sixth of a KB each.
  private static let sumLimit = 196_608

  let database: Connection
  private let isLive: Bool
  private let maximumBytes: UInt64?
  /// What removes old messages, once the file is as large as it may be.
  @exclusivity(unchecked) private var oldRows: OldRows?
  /// Whether the secondary indexes are there.
  private var hasIndexes: Bool
  /// Whether that of problems is.
  private var hasProblemIndex = false
  /// The capture of the oldest message, once some were removed.
  package private(set) var oldestCapture: Int64?
  /// Messages that were removed to make room.
  package private(set) var removed: UInt64 = 0
  /// Rows since sums were written, how many there may be, and how often they were written.
  private var rowsSinceSums = 0
  private var rowsBetweenSums: Int
  private let firstSums: [Int]
  private var writtenSums = 0
  @exclusivity(unchecked) private var names: NameRows
  @exclusivity(unchecked) private var rows: MessageRows
  @exclusivity(unchecked) private var openMessages: OpenMessages
  @exclusivity(unchecked) private var problems: ProblemRows
  @exclusivity(unchecked) private var sessions: SessionRows
  @exclusivity(unchecked) private var connections: ConnectionRows
  @exclusivity(unchecked) private var periods: PeriodRows

  /// Makes a store in the file at `path`, which is there and empty, and which errors call `name`. Its folder also gets `path-wal`
  /// and `path-shm`, until `finish`.
  package init(_ path: String, called name: String? = nil, _ plans: [ProtocolPlan], _ options: StoreOptions)
    throws(StoreError)
  {
    let database = try Connection(path, called: name, .writing)
    try database.run(
      """
      PRAGMA page_size = \(Self.pageSize);
      PRAGMA application_id = \(StoreFormat.applicationID); PRAGMA user_version = \(StoreFormat.version);
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -\(Self.cacheKiB(options)); PRAGMA wal_autocheckpoint = \(Self.checkpoint(options));
      """, "make the store")
    try database.run("BEGIN; " + Schema.tables, "make the tables")
    let names = try NameRows(database, plans, options)
    let rows = try MessageRows(database)
    let openMessages = try OpenMessages(database)
    let problems = try ProblemRows(database)
    let sessions = try SessionRows(database, limit: options.sessionLimit)
    let connections = try ConnectionRows(database)
    let periods = try PeriodRows(database)
    if options.isLive { try database.run(Schema.indexes, "make the indexes") }
    try database.run("COMMIT", "make the store")
    self.database = database
    isLive = options.isLive
    hasIndexes = options.isLive
    maximumBytes = options.maximumBytes
    firstSums = Self.firstSums + (options.isWatched ? [Self.watchedSums] : [])
    rowsBetweenSums = Self.firstSums[0]
    self.names = names
    self.rows = rows
    self.openMessages = openMessages
    self.problems = problems
    self.sessions = sessions
    self.connections = connections
    self.periods = periods
  }

  private static func cacheKiB(_ options: StoreOptions) -> Int {
    // One with a limit may get its indexes early.
    options.isLive || options.maximumBytes != nil ? liveCacheKiB : cacheKiB
  }

  /// Pages in the log before it is moved into the file: of a small store fewer, so that the log stays small as well.
  private static func checkpoint(_ options: StoreOptions) -> Int {
    guard let limit = options.maximumBytes else { return checkpointPages }
    return min(checkpointPages, max(100, Int(clamping: limit / (8 * pageSize))))
  }

  /// Writes a batch as one transaction. After an error nothing of it is in the store.
  package func write(_ batch: StoreBatch) throws(StoreError) {
    try database.run("BEGIN", "write messages")
    do throws(StoreError) {
      try write(captures: batch)
      try write(messages: batch)
      for change in batch.changes { try write(change) }
      try write(receipts: batch.receipts)
      for (session, name) in batch.names { sessions.note(session, name) }
      for issue in batch.issues {
        connections.note(issue.connection)
        try problems.write(issue)
      }
      for facts in batch.connections { connections.note(facts) }
      // A store with a limit grows with each batch and not by leaps, so that room can be made for it.
      if connections.hasManyFacts || maximumBytes != nil { try connections.flushFacts(names) }
      rowsSinceSums += batch.count
      if isLive || oldRows != nil || rowsSinceSums >= rowsBetweenSums
        || max(sessions.count, connections.count, periods.count) > Self.sumLimit
      {
        try writeSums()
      }
      try makeRoom(for: batch)
      try database.run("COMMIT", "write messages")
    } catch {
      try? database.run("ROLLBACK", "write messages")
      throw error
    }
  }

  private func write(messages batch: StoreBatch) throws(StoreError) {
    // Borrowed: a copy of each would count references to its texts.
    let messages = batch.messages.span
    // One that has a row is looked for: by then those before it are to have theirs.
    let together = isLive ? 0 : messages.count / MessageRows.together * MessageRows.together
    let order = batch.order
    for i in messages.indices { try write(messages[order?[i] ?? i], isTogether: i < together) }
  }

  private func write(receipts: [MessageReceipt]) throws(StoreError) {
    guard !receipts.isEmpty else { return }
    var add = try database.prepare("INSERT OR IGNORE INTO receipt VALUES (?1, ?2, ?3)", "write receipts")
    // Of one that was removed to make room, nothing is kept.
    for receipt in receipts where receipt.row > oldRows?.last ?? 0 {
      add.bind(1, receipt.row)
      add.bind(2, Int64(receipt.level.rawValue))
      add.bind(3, receipt.latency.microseconds)
      try add.run()
    }
  }

  private func write(captures batch: StoreBatch) throws(StoreError) {
    guard !batch.begun.isEmpty || !batch.gone.isEmpty else { return }
    var add = try database.prepare("INSERT OR REPLACE INTO capture VALUES (?1, ?2, NULL)", "write captures")
    var forget = try database.prepare("UPDATE capture SET path = NULL WHERE path = ?1", "write captures")
    for capture in batch.begun {
      // Another file has the name from now on.
      forget.bind(1, capture.path)
      try forget.run()
      add.bind(1, capture.id)
      add.bind(2, capture.path)
      try add.run()
    }
    for id in batch.gone { try database.run("UPDATE capture SET path = NULL WHERE id = \(id)", "write captures") }
  }

  /// Bytes of the file that hold something.
  private func usedBytes() throws(StoreError) -> UInt64 {
    let attempt = "look at the store's size"
    let pages = try database.number("PRAGMA page_count", attempt) ?? 0
    let free = try database.number("PRAGMA freelist_count", attempt) ?? 0
    return UInt64(clamping: pages - free) * Self.pageSize
  }

  /// Removes the oldest messages where the file is about as large as it may be: twice as many rows as have come at a time, so that the
  /// next batch finds room in the pages that became free. Goes on, a few times at most, until it does. Where most of what comes are connections
  /// without messages, as of a port scan, the oldest of those go first.
  private func makeRoom(for batch: StoreBatch) throws(StoreError) {
    guard let maximumBytes else { return }
    let wanted = maximumBytes - maximumBytes / 8
    // Indexes take one and a half times the room of what they are of: they are built while there is room for them.
    if !hasIndexes, try usedBytes() >= wanted * 2 / 5 {
      try database.run(Schema.indexes, "build the indexes")
      hasIndexes = true
    }
    var rounds = 0
    while rounds < Self.mostRemovals, try usedBytes() >= wanted {
      if oldRows == nil {
        // Sums are in their tables from here on.
        try writeSums()
        oldRows = try OldRows(database)
      }
      rounds += 1
      let count = Int64(2 * batch.count)
      if batch.connections.count > batch.count / 2, try oldRows?.removeConnections(count) ?? 0 > 0 { continue }
      let gone = try oldRows?.remove(count) ?? 0
      guard gone > 0 else {
        guard try oldRows?.removeConnections(count) ?? 0 > 0 else { return }
        continue
      }
      removed += UInt64(clamping: gone)
      try database.run(
        "INSERT OR REPLACE INTO info VALUES ('removed_messages', \(removed))", "remove old messages")
      oldestCapture = try database.number("SELECT capture FROM message ORDER BY id LIMIT 1", "remove old messages")
    }
  }

  private func writeSums() throws(StoreError) {
    let changed = sessions.count + connections.count
    try sessions.flush(names)
    try connections.flush(names)
    try periods.flush()
    rowsSinceSums = 0
    writtenSums += 1
    rowsBetweenSums =
      writtenSums < firstSums.count ? firstSums[writtenSums] : max(Self.lastSums, changed * Self.rowsPerSum)
  }

  private func write(_ message: borrowing StoredFacts, isTogether: Bool) throws(StoreError) {
    let role = names.role(of: message.exchange)
    let kinds = ProblemKinds(of: message.exchange, role: role)
    let sample = StoredMetrics.Sample(message.exchange, role: role)
    if message.isUpdate {
      if let old = try openMessages.counted(message.id)?.said { return try write(message, sample, kinds, over: old) }
      // Removed to make room, while its fate could still change.
      if message.id <= oldRows?.last ?? 0 { return }
    }
    let found = MessageRows.Found(
      begun: sample.begun, problems: kinds, type: try names.type(message), status: try names.status(message))
    try rows.write(message, found, isTogether: isTogether)
    if kinds.rawValue != 0 { try problems.write(message, kinds) }
    sessions.count(message, sample)
    connections.count(message, sample)
    periods.count(sample)
  }

  /// Writes what has become of a live message since `old` was written of it.
  private func write(
    _ message: borrowing StoredFacts, _ sample: StoredMetrics.Sample, _ kinds: ProblemKinds, over old: CountedMessage
  ) throws(StoreError) {
    let new = CountedMessage(message, kinds, status: try names.status(message))
    guard try openMessages.update(message.id, to: new, from: old) else { return }
    try change(message.exchange, MessagePlace(message.first), from: old, to: new)
    let counted = StoredMetrics.Counted(old)
    sessions.count(message, sample, instead: counted)
    connections.count(message, sample, instead: counted)
    periods.count(sample, instead: counted)
  }

  /// Writes what has become of a message of a file.
  private func write(_ change: MessageChange) throws(StoreError) {
    // None where it was removed to make room.
    guard let (old, checksum, place) = try openMessages.counted(change.id) else { return }
    let exchange = change.exchange
    let role = names.role(of: exchange)
    let new = CountedMessage(
      old, change, ProblemKinds(of: exchange, role: role),
      status: try names.status(change.status, exchange.status),
      checksum: checksum)
    guard try openMessages.update(change.id, to: new, from: old) else { return }
    try self.change(exchange, place, from: old, to: new)
    let sample = StoredMetrics.Sample(exchange, role: role), counted = StoredMetrics.Counted(old)
    sessions.count(change, sample, nameIsNumber: names.hasNumbers(exchange.plan), instead: counted)
    connections.count(place.connection, sample, instead: counted)
    periods.count(sample, instead: counted)
  }

  /// Changes the problems of a message whose row said `old` and says `new`.
  private func change(
    _ exchange: borrowing Exchange, _ place: MessagePlace, from old: CountedMessage, to new: CountedMessage
  ) throws(StoreError) {
    // A fate's problem tells its cause.
    let kept = old.kinds.intersection(new.kinds).subtracting(old.cause != new.cause ? .fates : [])
    let (gone, come) = (old.kinds.subtracting(kept), new.kinds.subtracting(kept))
    if gone != [] {
      try indexProblems()
      try problems.remove(gone, of: exchange)
    }
    if come != [] { try problems.write(exchange, place, come) }
  }

  /// Builds the index by which problems are found, if it is not there.
  private func indexProblems() throws(StoreError) {
    guard !hasIndexes, !hasProblemIndex else { return }
    try database.run(Schema.problemIndex, "build an index")
    hasProblemIndex = true
  }

  /// Messages whose indexes are built in less than half a second.
  private static let hurriedMessages: Int64 = 100_000

  private func largest() throws(StoreError) -> Int64 {
    try database.number("SELECT max(id) FROM message", "build the indexes") ?? 0
  }

  /// Builds the indexes and closes the store, which is one file then: one that nobody writes to needs no log.
  /// `isWhole` says that its captures were read to their end; `isHurried` that a user waits for the end, so that a large store gets no
  /// indexes.
  package func finish(isWhole: Bool, isHurried: Bool = false) throws(StoreError) {
    try database.run("BEGIN", "write sums")
    try writeSums()
    try database.run("COMMIT", "write sums")
    // Sorted in pieces that a processor's cache holds, an index is built faster.
    var leavesOut = false
    if isHurried { leavesOut = try largest() > Self.hurriedMessages }
    if !hasIndexes { try database.run("PRAGMA cache_size = -\(Self.indexCacheKiB)", "build the indexes") }
    try database.run(hasIndexes || leavesOut ? "BEGIN" : "BEGIN; \(Schema.indexes)", "build the indexes")
    let whole = isWhole && removed == 0 ? 1 : 0
    try database.run("UPDATE info SET value = \(whole) WHERE key = 'whole'; COMMIT", "build the indexes")
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)", "close the store")
    // Refused while somebody reads: then the log stays, empty.
    try? database.run("PRAGMA journal_mode = DELETE", "close the store")
  }
}
