package import IMWire

/// A TCP connection as a store has it, with its metrics.
package struct StoredConnection: Equatable, Sendable {
  /// Its number, which every output shows.
  package var id: Int64
  /// Who asked for it, and who answered.
  package var client: String, server: String
  /// The load balancer whose PROXY header names the client; `nil` without one.
  package var via: String?
  /// What carries the protocol, such as `tls`; `nil` for TCP alone.
  package var carrier: String?
  /// The profile that decoded it.
  package var profile: String
  /// How far it has come, by `ConnectionState`.
  package var state: String
  /// Its messages.
  package var messages: Int64
  /// Messages without an answer, or damaged.
  package var lost: Int64
  /// Messages that were rejected.
  package var rejected: Int64
  /// Copies of messages after the first ones.
  package var retries: Int64
  /// Heartbeats.
  package var heartbeats: Int64
  /// Heartbeats without an answer.
  package var lostHeartbeats: Int64
  /// When its first frame came, and its last one; `nil` without one.
  package var first: Timestamp?, last: Timestamp?

  /// The order of the list, in SQL: what lost most is first.
  package static let worstFirst =
    "unanswered + damaged DESC, rejected DESC, retries DESC, heartbeats_lost DESC, messages DESC, id"
  /// What the words of a filter are looked for in, in SQL.
  package static let searchedText =
    "lower(client || ' ' || server || ' ' || profile || ' ' || ifnull(carrier, '') || ' ' || ifnull(state, 'open'))"
  /// The columns in the order in which `init` reads them.
  static let columns = """
    id, client, server, via, carrier, profile, ifnull(state, 'open'), messages, unanswered + damaged, rejected, retries, \
    heartbeats, heartbeats_lost, first_us, last_us
    """

  /// The connection of a row.
  init(_ row: Row) {
    func count(_ column: Int32) -> Int64 { row.counted(column) ?? 0 }
    id = row.number(0) ?? 0
    (client, server) = (row.text(1) ?? "", row.text(2) ?? "")
    (via, carrier) = (row.text(3), row.text(4))
    profile = row.text(5) ?? ""
    state = row.text(6) ?? ""
    (messages, lost, rejected, retries) = (count(7), count(8), count(9), count(10))
    (heartbeats, lostHeartbeats) = (count(11), count(12))
    first = row.microseconds(13).map { Timestamp(microseconds: $0) }
    last = row.microseconds(14).map { Timestamp(microseconds: $0) }
  }
}

/// How many connections a store has, and when they were.
package struct StoredConnectionTotals: Equatable, Sendable {
  /// Connections by their state.
  package var states: [String: Int64] = [:]
  /// When the first frame of any came, and the last one; `nil` without one.
  package var first: Timestamp?, last: Timestamp?

  /// Connections of all states.
  package var all: Int64 = 0

  /// None.
  package init() {}
}

extension StoreReader {
  /// The connections that lost most, at most `limit`, which have all of `words` in their addresses, profile or state; those of a time, or
  /// all.
  package func connections(
    _ times: Range<Timestamp>? = nil, words: [String] = [], limit: Int
  ) throws(StoreError) -> [StoredConnection] {
    let filters = words.indices.map { " AND instr(\(StoredConnection.searchedText), ?\($0 + 4)) > 0" }.joined()
    let span = times == nil ? "1" : "first_us < ?2 AND last_us >= ?1"
    let sql = "SELECT id FROM connection WHERE \(span)\(filters) ORDER BY \(StoredConnection.worstFirst) LIMIT ?3"
    return try atOnce { () throws(StoreError) in
      // Numbers alone are sorted: SQLite holds them in memory.
      var statement = try database.prepare(sql, "read connections")
      if let times {
        statement.bind(1, times.lowerBound.microseconds)
        statement.bind(2, times.upperBound.microseconds)
      }
      statement.bind(3, Int64(limit))
      for (i, word) in words.enumerated() { statement.bind(Int32(i + 4), word.lowercased()) }
      var ids: [Int64] = []
      while try statement.step() { ids.append(statement.row.number(0) ?? 0) }
      var connections: [StoredConnection] = []
      for id in ids {
        let row = try withStatement("SELECT \(StoredConnection.columns) FROM connection WHERE id = ?1", id) {
          StoredConnection($0)
        }
        if let row { connections.append(row) }
      }
      return connections
    }
  }

  /// How many connections there are, by state, and when they were.
  package func connectionTotals() throws(StoreError) -> StoredConnectionTotals {
    let states = ConnectionState.allCases.map(\.rawValue)
    let counts = states.map { "sum(ifnull(state, 'open') = '\($0)')" }.joined(separator: ", ")
    // One pass without a sort, for which there may be no room.
    var statement = try database.prepare(
      "SELECT count(*), min(first_us), max(last_us), \(counts) FROM connection", "count connections")
    var totals = StoredConnectionTotals()
    guard try statement.step() else { return totals }
    let row = statement.row
    totals.all = row.counted(0) ?? 0
    totals.first = row.microseconds(1).map { Timestamp(microseconds: $0) }
    totals.last = row.microseconds(2).map { Timestamp(microseconds: $0) }
    for (i, state) in states.enumerated() {
      if let count = row.counted(Int32(i + 3)), count > 0 { totals.states[state] = count }
    }
    return totals
  }
}
