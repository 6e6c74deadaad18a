import CSQLite
package import IMWire

/// What a store has beside its messages: short lists, read whole.
extension StoreReader {
  /// All sessions, in the order of their numbers.
  package func sessions() throws(StoreError) -> [StoredSession] {
    var statement = try database.prepare(
      "SELECT \(StoredSession.columns) FROM session AS s LEFT JOIN connection AS c ON c.id = s.connection ORDER BY s.id",
      "read sessions")
    var sessions: [StoredSession] = []
    while try statement.step() { sessions.append(StoredSession(statement.row)) }
    return sessions
  }

  /// The session with number `id`; `nil` where there is none.
  package func session(_ id: Int64) throws(StoreError) -> StoredSession? {
    try withStatement(
      "SELECT \(StoredSession.columns) FROM session AS s LEFT JOIN connection AS c ON c.id = s.connection WHERE s.id = ?1",
      id
    ) { StoredSession($0) }
  }

  /// The client and the server of a connection; `nil` where it is not known yet.
  package func ends(ofConnection id: Int64) throws(StoreError) -> (client: String, server: String)? {
    try withStatement("SELECT client, server FROM connection WHERE id = ?1", id) {
      ($0.text(0) ?? "", $0.text(1) ?? "")
    }
  }

  /// When a connection's first packet came; `nil` where that is not known.
  package func start(ofConnection id: Int64) throws(StoreError) -> Timestamp? {
    (try withStatement("SELECT start_us FROM connection WHERE id = ?1", id) { $0.microseconds(0) } ?? nil)
      .map { Timestamp(microseconds: $0) }
  }

  /// The name of the profile that decodes a connection; `nil` where that is not known yet.
  package func profile(ofConnection id: Int64) throws(StoreError) -> String? {
    try withStatement("SELECT profile FROM connection WHERE id = ?1", id) { $0.text(0) } ?? nil
  }

  /// The texts of a message, each up to 1 KiB.
  package func texts(ofMessage id: Int64) throws(StoreError) -> StoredMessageTexts {
    try withStatement("SELECT \(SearchText.columns) FROM message_text WHERE id = ?1", id) {
      StoredMessageTexts(topic: $0.text(0), text: $0.text(1), other: $0.text(2))
    } ?? StoredMessageTexts()
  }

  /// What the view `messages` says of a message, name by name, without what is not known.
  package func details(ofMessage id: Int64) throws(StoreError) -> [(name: String, value: String)] {
    var statement = try database.prepare(
      """
      SELECT m.*, message.copies, message.checksums, message.answers
      FROM messages AS m JOIN message ON message.id = m.id WHERE m.id = ?1
      """, "read a message")
    statement.bind(1, id)
    guard try statement.step() else { return [] }
    let row = statement.row
    return statement.columns.enumerated().compactMap { i, name in
      guard let value = row.number(Int32(i)).map({ "\($0)" }) ?? row.text(Int32(i)) else { return nil }
      return (name, value)
    }
  }

  /// Problems by kind and cause, in the order of the kinds' numbers: those of a time, or all.
  package func problemCounts(_ times: Range<Timestamp>? = nil) throws(StoreError) -> [StoredProblemCount] {
    var statement = try database.prepare(
      "SELECT kind, cause, time_us FROM problem WHERE time_us >= ?1 AND time_us < ?2", "count problems")
    statement.bind(1, times?.lowerBound.microseconds ?? .min)
    statement.bind(2, times?.upperBound.microseconds ?? .max)
    // Counted here: SQLite would sort all of them.
    var groups: [ProblemGroup: (count: Int64, first: Int64)] = [:]
    while try statement.step() {
      let row = statement.row
      let group = ProblemGroup(kind: row.number(0) ?? 0, cause: row.number(1))
      let time = row.microseconds(2) ?? 0
      guard let known = groups.index(forKey: group) else {
        if groups.count < Self.problemGroupLimit { groups[group] = (1, time) }
        continue
      }
      groups.values[known].count &+= 1
      groups.values[known].first = min(groups.values[known].first, time)
    }
    var counts: [StoredProblemCount] = []
    let ordered = groups.sorted { ($0.key.kind, $0.key.cause ?? .min) < ($1.key.kind, $1.key.cause ?? .min) }
    for (group, found) in ordered {
      let kind = try withStatement("SELECT name, bit FROM problem_kind WHERE id = ?1", group.kind) {
        (name: $0.text(0) ?? "", bit: $0.number(1))
      }
      let cause = try group.cause.flatMap { (id) throws(StoreError) -> String? in
        try withStatement("SELECT name FROM cause WHERE id = ?1", id) { $0.text(0) } ?? nil
      }
      guard let kind else { continue }
      counts.append(
        StoredProblemCount(
          kind: kind.name, bit: kind.bit, cause: cause, count: found.count, first: Timestamp(microseconds: found.first))
      )
    }
    return counts
  }

  /// What problems are counted by.
  private struct ProblemGroup: Hashable {
    let kind: Int64, cause: Int64?
  }

  /// Kinds with causes that are counted, at most: what a store says may be anything.
  private static var problemGroupLimit: Int { 1_024 }

  /// The paths of the captures that the store was made of, as they were named.
  package func captures() throws(StoreError) -> [String] {
    var statement = try database.prepare("SELECT path FROM capture ORDER BY id", "read captures")
    var paths: [String] = []
    while try statement.step() { paths.append(statement.row.text(0) ?? "") }
    return paths
  }

  /// Steps of SQLite's machine between two looks at whether a call is still wanted: some 50 µs.
  private static let stepsBetweenLooks: Int32 = 10_000

  /// From now on a call ends soon with an error of the kind `interrupted` when `isStale` says that nobody wants its answer.
  package func stop(when isStale: @escaping () -> Bool) {
    self.isStale = isStale
    let looks = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(
      database.handle, Self.stepsBetweenLooks,
      { context in
        guard let context else { return 0 }
        return Unmanaged<StoreReader>.fromOpaque(context).takeUnretainedValue().isStale() ? 1 : 0
      }, looks)
  }
}
