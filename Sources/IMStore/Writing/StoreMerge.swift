import IMMetrics
import IMWire

/// Adds one store to another: `imdump index --append`.
///
/// All of it is one transaction. Messages, connections and captures are numbered on. Sessions of the same name and profile are one
/// session, where no other session of either store has that name. Sums are added, and percentiles found anew of the rows.
package struct StoreMerge {
  /// The share of a store's messages, one in so many, up to which its indexes are kept while others are added.
  private static let smallShare: Int64 = 4
  private static let attempt = "add messages"

  private let database: Connection

  /// The store at `path`, which errors call `name`. Throws where it is no store, or lacks messages.
  package init(_ path: String, called name: String) throws(StoreError) {
    database = try Connection(store: path, called: name, .merging)
    let whole = try database.number("SELECT value FROM info WHERE key = 'whole'", Self.attempt)
    guard whole == 1 else {
      throw StoreError(
        .notAStore, path: name, attempt: Self.attempt,
        text: "is incomplete or being written: only a complete store can be added to")
    }
  }

  /// Throws where pages of the store contradict each other: what is added would be lost in them. It reads the whole file.
  package func check() throws(StoreError) { try database.checkPages() }

  /// Adds the store at `path`, all of it or nothing. Gives how many messages it had.
  package func add(_ path: String) throws(StoreError) -> Int64 {
    var attach = try database.prepare("ATTACH ?1 AS added", Self.attempt)
    attach.bind(1, path)
    try attach.run()
    try database.run(
      "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE", Self.attempt)
    do throws(StoreError) {
      try refuseTwice()
      let count = try database.number("SELECT count(*) FROM added.message", Self.attempt) ?? 0
      try addRows(count)
      try database.run("COMMIT", Self.attempt)
      return count
    } catch {
      try? database.run("ROLLBACK", Self.attempt)
      throw error
    }
  }

  // MARK: Captures

  private struct Capture {
    let id: Int64
    let path: String
    let byteCount: Int64?
    var name: Substring { path.split(separator: "/").last ?? "" }
  }

  private func captures(_ schema: String) throws(StoreError) -> [Capture] {
    var read = try database.prepare("SELECT id, path, byte_count FROM \(schema).capture ORDER BY id", Self.attempt)
    var captures: [Capture] = []
    while try read.step() {
      captures.append(
        Capture(id: read.row.number(0) ?? 0, path: read.row.text(1) ?? "", byteCount: read.row.number(2)))
    }
    return captures
  }

  /// The first message of a capture: when it came, and in which packet.
  private func first(_ schema: String, _ capture: Capture) throws(StoreError) -> [Int64] {
    var read = try database.prepare(
      "SELECT packet, time_us, stream_offset FROM \(schema).message WHERE capture = ?1 ORDER BY packet, stream_offset LIMIT 1",
      Self.attempt)
    read.bind(1, capture.id)
    return try read.step() ? (0..<3).map { read.row.number($0) ?? 0 } : []
  }

  /// Throws where a capture is in the store already: one of the same name and size that begins with the same message.
  private func refuseTwice() throws(StoreError) {
    let there = try captures("main")
    for capture in try captures("added") {
      for old in there where old.name == capture.name && old.byteCount == capture.byteCount {
        guard try first("main", old) == first("added", capture) else { continue }
        throw StoreError(
          .badStatement, path: database.path, attempt: "add \(capture.path)",
          text: "is in the store already, as \(old.path)")
      }
    }
  }

  // MARK: Rows

  private func addRows(_ count: Int64) throws(StoreError) {
    func last(_ table: String) throws(StoreError) -> Int64 {
      try database.number("SELECT ifnull(max(id), 0) FROM main.\(table)", Self.attempt) ?? 0
    }
    let (message, connection, capture) = (try last("message"), try last("connection"), try last("capture"))
    try makeMaps()
    let isSmall = count <= message / Self.smallShare
    if !isSmall { try database.run(Schema.dropIndexes, Self.attempt) }
    let session = "(SELECT new FROM temp.session_map WHERE old = session)"
    try copy("capture", ["id": "id + \(capture)"])
    try copy("connection", ["id": "id + \(connection)"])
    try copy(
      "message",
      [
        "id": "id + \(message)", "connection": "connection + \(connection)", "session": session,
        "type": "(SELECT new FROM temp.type_map WHERE old = type)",
        "status": "(SELECT new FROM temp.status_map WHERE old = status)", "capture": "capture + \(capture)",
      ])
    try copy(
      "problem",
      [
        "id": "NULL", "connection": "connection + \(connection)", "session": session, "message": "message + \(message)",
      ])
    try copy("receipt", ["message": "message + \(message)"])
    try copy("message_text", ["id": "id + \(message)"])
    try database.run(
      "UPDATE main.info SET value = 1 WHERE key = 'payload' AND 1 = (SELECT value FROM added.info WHERE key = 'payload')",
      Self.attempt)
    try indexTexts(behind: message)
    try copy("session_connection", ["session": session, "connection": "connection + \(connection)"])
    let periods = try commonPeriods()
    try addSessions(message, connection)
    try addPeriods()
    if !isSmall { try database.run(Schema.indexes, Self.attempt) }
    try findSessionPercentiles()
    try findPercentiles(periods)
  }

  /// Says which numbers of the added store's names are which of this one's. Names that it lacks are added to it.
  private func makeMaps() throws(StoreError) {
    // A name that several sessions have tells none of them.
    let only =
      "SELECT min(id) AS id, name, profile FROM %.session WHERE name IS NOT NULL GROUP BY name, profile HAVING count(*) = 1"
    let (ours, theirs) = (Self.of(only, "main"), Self.of(only, "added"))
    try database.run(
      """
      CREATE TEMP TABLE session_map (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, is_known INTEGER NOT NULL);
      INSERT INTO session_map SELECT t.id, o.id, 1 FROM (\(theirs)) AS t JOIN (\(ours)) AS o USING (name, profile);
      INSERT INTO session_map SELECT id, (SELECT ifnull(max(id), 0) FROM main.session) + row_number() OVER (ORDER BY id), 0
        FROM added.session WHERE id NOT IN (SELECT old FROM session_map);
      CREATE TEMP TABLE type_map (old INTEGER PRIMARY KEY, new INTEGER NOT NULL);
      INSERT INTO main.type SELECT (SELECT ifnull(max(id), 0) FROM main.type) + row_number() OVER (ORDER BY id), profile, name, role, answers
        FROM added.type AS t WHERE NOT EXISTS (SELECT 1 FROM main.type AS o WHERE (o.profile, o.name) = (t.profile, t.name));
      INSERT INTO type_map SELECT t.id, min(o.id) FROM added.type AS t
        JOIN main.type AS o ON o.profile = t.profile AND o.name = t.name GROUP BY t.id;
      CREATE TEMP TABLE status_map (old INTEGER PRIMARY KEY, new INTEGER NOT NULL);
      INSERT INTO main.status SELECT (SELECT ifnull(max(id), 0) FROM main.status) + row_number() OVER (ORDER BY id), number, name
        FROM added.status AS t WHERE NOT EXISTS (SELECT 1 FROM main.status AS o WHERE o.number = t.number AND o.name IS t.name);
      INSERT INTO status_map SELECT t.id, min(o.id) FROM added.status AS t
        JOIN main.status AS o ON o.number = t.number AND o.name IS t.name GROUP BY t.id;
      """, Self.attempt)
  }

  private static func of(_ sql: String, _ schema: String) -> String {
    sql.split(separator: "%", omittingEmptySubsequences: false).joined(separator: schema)
  }

  private func columns(_ table: String) throws(StoreError) -> [String] {
    try database.prepare("SELECT * FROM main.\(table) LIMIT 0", Self.attempt).columns
  }

  /// Adds the rows of a table; some of its columns are made of others.
  private func copy(_ table: String, _ made: [String: String], where condition: String = "true") throws(StoreError) {
    let values = try columns(table).map { made[$0] ?? $0 }.joined(separator: ", ")
    try database.run(
      "INSERT INTO main.\(table) SELECT \(values) FROM added.\(table) WHERE \(condition) ORDER BY 1", Self.attempt)
  }

  private func indexTexts(behind message: Int64) throws(StoreError) {
    var texts = try database.prepare(
      "SELECT id, \(SearchText.columns) FROM added.message_text ORDER BY id", Self.attempt)
    var add = try database.prepare("INSERT INTO main.message_search (rowid, text) VALUES (?1, ?2)", Self.attempt)
    while try texts.step() {
      add.bind(1, (texts.row.number(0) ?? 0) &+ message)
      add.bind(2, SearchText.indexed(texts.row, from: 1))
      try add.run()
    }
  }

  // MARK: Sums

  private func addSessions(_ message: Int64, _ connection: Int64) throws(StoreError) {
    try copy(
      "session",
      [
        "id": "(SELECT new FROM temp.session_map WHERE old = id)", "connection": "connection + \(connection)",
        "last_message": "last_message + \(message)",
      ], where: "id IN (SELECT old FROM temp.session_map WHERE NOT is_known)")
    var sets = Dictionary(uniqueKeysWithValues: StoredMetrics.additions("session", "n").map { ($0.column, $0.value) })
    let isNewer = "n.begun_us >= session.begun_us"
    for column in try columns("session") where sets[column] == nil && !["id", "name", "profile"].contains(column) {
      sets[column] = "iif(\(isNewer), n.\(column), session.\(column))"
    }
    sets["connection"] = "iif(\(isNewer), n.connection + \(connection), session.connection)"
    sets["connections"] = "session.connections + n.connections"
    sets["last_message"] = "ifnull(n.last_message + \(message), session.last_message)"
    for column in StoredMetrics.percentiles([95]) { sets[column] = "ifnull(session.\(column), n.\(column))" }
    let list = sets.map { "\($0.key) = \($0.value)" }.sorted().joined(separator: ", ")
    try database.run(
      """
      UPDATE main.session SET \(list) FROM temp.session_map AS map JOIN added.session AS n ON n.id = map.old
        WHERE map.is_known AND session.id = map.new
      """, Self.attempt)
  }

  private func addPeriods() throws(StoreError) {
    let list = StoredMetrics.additions("bucket", "excluded").map { "\($0.column) = \($0.value)" }.joined(
      separator: ", ")
    try database.run(
      "INSERT INTO main.bucket SELECT * FROM added.bucket WHERE true ON CONFLICT (width_s, start_s) DO UPDATE SET \(list)",
      Self.attempt)
  }

  // MARK: Percentiles

  /// What a row of `message`, joined with `type`, has to be to have a round trip.
  private static let hasRoundTrip =
    "rtt_us IS NOT NULL AND type.role <> 'heartbeat' AND \(CountedMessage.karn())"
  private static let messages = "main.message JOIN main.type ON type.id = message.type"

  /// The direction of a number in `message.direction`.
  private static func direction(_ number: Int64?) -> Direction { number == 1 ? .serverToClient : .clientToServer }

  /// Of sessions that both had. One without a percentile in both has none.
  private func findSessionPercentiles() throws(StoreError) {
    var known: [Int64] = []
    let columns = StoredMetrics.percentiles([95])
    let isKnown = columns.map { "\($0) IS NOT NULL" }.joined(separator: " OR ")
    var list = try database.prepare(
      "SELECT id FROM main.session WHERE (\(isKnown)) AND id IN (SELECT new FROM temp.session_map WHERE is_known)",
      Self.attempt)
    while try list.step() { known.append(list.row.number(0) ?? 0) }
    var read = try database.prepare(
      "SELECT rtt_us, direction FROM \(Self.messages) WHERE session = ?1 AND \(Self.hasRoundTrip)", Self.attempt)
    var set = try database.prepare(
      "UPDATE main.session SET \(columns[0]) = ?2, \(columns[1]) = ?3 WHERE id = ?1", Self.attempt)
    for session in known {
      var trips = RTTByDirection()
      read.bind(1, session)
      while try read.step() {
        trips.record(microseconds: read.row.microseconds(0) ?? 0, Self.direction(read.row.number(1)))
      }
      read.reset()
      set.bind(1, session)
      for way in 0...1 { set.bind(2 + Int32(way), trips[way].percentile(95)) }
      try set.run()
    }
  }

  /// The periods that both have, as width and start.
  private func commonPeriods() throws(StoreError) -> [Period] {
    var read = try database.prepare(
      "SELECT width_s, start_s FROM main.bucket JOIN added.bucket USING (width_s, start_s) ORDER BY start_s DESC",
      Self.attempt)
    var periods: [Period] = []
    while try read.step() { periods.append(Period(width: read.row.seconds(0) ?? 1, start: read.row.seconds(1) ?? 0)) }
    return periods
  }

  private struct Period: Hashable {
    let width: Int64, start: Int64
  }

  /// Of periods that both had; beyond a limit they have none.
  private func findPercentiles(_ periods: [Period]) throws(StoreError) {
    var histograms: [Period: RTTByDirection] = [:]
    var room = FineBucketRoom(bytes: 16 << 20)
    for period in periods.prefix(PeriodRows.limit) { histograms[period] = RTTByDirection() }
    if let first = histograms.keys.map(\.start).min(), let last = histograms.keys.map({ $0.start + $0.width }).max() {
      var read = try database.prepare(
        "SELECT time_us, rtt_us, direction FROM \(Self.messages) WHERE time_us >= ?1 AND time_us < ?2 AND \(Self.hasRoundTrip)",
        Self.attempt)
      read.bind(1, first * 1_000_000)
      read.bind(2, last * 1_000_000)
      while try read.step() {
        let (time, roundTrip) = (read.row.microseconds(0) ?? 0, read.row.microseconds(1) ?? 0)
        let direction = Self.direction(read.row.number(2))
        for width in PeriodRows.widths {
          let start = PeriodRows.floor(PeriodRows.floor(time, 1_000_000), width) * width
          guard let place = histograms.index(forKey: Period(width: width, start: start)) else { continue }
          room.record(into: &histograms.values[place]) { $0.record(microseconds: roundTrip, direction) }
        }
      }
    }
    let sets = StoredMetrics.percentiles(PeriodRows.percents).enumerated().map { "\($1) = ?\($0 + 3)" }
    var set = try database.prepare(
      "UPDATE main.bucket SET \(sets.joined(separator: ", ")) WHERE width_s = ?1 AND start_s = ?2", Self.attempt)
    for period in periods {
      set.bind(1, period.width)
      set.bind(2, period.start)
      PeriodRows.bind(histograms[period], to: &set, behind: 2)
      try set.run()
    }
  }
}
