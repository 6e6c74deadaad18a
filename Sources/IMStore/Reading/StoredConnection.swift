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
  /// The profile that decoded it; `nil` where none did.
  package var profile: String?
  /// What it carries, as `imdump streams` says it; `nil` where that is not known.
  package var label: String?
  /// How far it has come, by `ConnectionState`.
  package var state: String
  /// The direction of the reset that ended it, `c2s` or `s2c`; `nil` where none did.
  package var resetBy: String?
  /// Its messages that ask for an answer, and those that ask for none.
  package var messages: Int64, oneWay: Int64 = 0
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
  /// When its first packet came, and when it ended, or its last packet came; `nil` where that is not known yet.
  package var first: Timestamp?, last: Timestamp?
  /// Bytes of its packets, headers included; `nil` where that is not known yet.
  package var bytesToServer: Int64?, bytesToClient: Int64?
  /// From the SYN to the client's ACK, in microseconds; `nil` where that was not seen.
  package var handshake: Int64?
  /// TCP retransmissions.
  package var retransmissions: Int64

  /// The order of the list, in SQL: what lost most is first, then attempts that failed.
  package static let worstFirst = """
    unanswered + damaged DESC, rejected DESC, ifnull(state, 'open') IN ('refused', 'timeout') DESC, retries DESC, \
    heartbeats_lost DESC, ifnull(retransmissions, 0) DESC, messages DESC, unacknowledged DESC, id
    """
  /// When it began and ended, in SQL: by its packets, or by its messages until it is reported.
  fileprivate static let begun = "ifnull(start_us, first_us)", ended = "ifnull(end_us, last_us)"
  /// Whether it lasted into a time, in SQL.
  package static func lasted(into times: Range<Timestamp>) -> String {
    "\(begun) < \(times.upperBound.microseconds) AND \(ended) >= \(times.lowerBound.microseconds)"
  }
  /// What the words of a filter are looked for in, in SQL: of the state, also what lists call it.
  package static let searchedText =
    "lower(client || ' ' || server || ' ' || ifnull(protocol, ifnull(profile, '')) || ' ' || ifnull(carrier, '') || ' ' || ifnull(state, 'open') || CASE state WHEN 'closed' THEN ' fin' WHEN 'reset' THEN ' rst' WHEN 'half' THEN ' open' ELSE '' END)"
  /// The columns in the order in which `init` reads them.
  static let columns = """
    id, client, server, via, carrier, profile, ifnull(protocol, profile), ifnull(state, 'open'), rst_by, messages, \
    unanswered + damaged, rejected, retries, heartbeats, heartbeats_lost, \(begun), \(ended), \
    bytes_c2s, bytes_s2c, handshake_us, retransmissions, unacknowledged
    """

  /// The connection of a row.
  init(_ row: Row) {
    func count(_ column: Int32) -> Int64 { row.counted(column) ?? 0 }
    id = row.number(0) ?? 0
    (client, server) = (row.text(1) ?? "", row.text(2) ?? "")
    (via, carrier) = (row.text(3), row.text(4))
    (profile, label) = (row.text(5), row.text(6))
    (state, resetBy) = (row.text(7) ?? "", row.text(8))
    (messages, lost, rejected, retries) = (count(9), count(10), count(11), count(12))
    (heartbeats, lostHeartbeats) = (count(13), count(14))
    first = row.microseconds(15).map { Timestamp(microseconds: $0) }
    last = row.microseconds(16).map { Timestamp(microseconds: $0) }
    (bytesToServer, bytesToClient) = (row.counted(17), row.counted(18))
    handshake = row.microseconds(19)
    retransmissions = count(20)
    oneWay = count(21)
  }
}

/// How many connections a store has, and when they were.
package struct StoredConnectionTotals: Equatable, Sendable {
  /// Connections by their state.
  package var states: [String: Int64] = [:]
  /// When the first frame of any came, and the last one; `nil` without one.
  package var first: Timestamp?, last: Timestamp?

  /// Connections of all states, and those of them of which no frame was decoded.
  package var all: Int64 = 0, undecoded: Int64 = 0

  /// None.
  package init() {}
}

extension StoreReader {
  /// The connections that lost most, at most `limit`, which have all of `words` in their addresses, profile or state; those of a time, or
  /// all.
  package func connections(
    _ times: Range<Timestamp>? = nil, words: [String] = [], limit: Int
  ) throws(StoreError) -> [StoredConnection] {
    let filters = words.indices.map { " AND instr(\(StoredConnection.searchedText), ?\($0 + 2)) > 0" }.joined()
    let span = times.map(StoredConnection.lasted) ?? "1"
    let sql = "SELECT id FROM connection WHERE \(span)\(filters) ORDER BY \(StoredConnection.worstFirst) LIMIT ?1"
    return try atOnce { () throws(StoreError) in
      // Numbers alone are sorted: SQLite holds them in memory.
      var statement = try database.prepare(sql, "read connections")
      statement.bind(1, Int64(limit))
      for (i, word) in words.enumerated() { statement.bind(Int32(i + 2), word.lowercased()) }
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
      """
      SELECT count(*), min(\(StoredConnection.begun)), max(\(StoredConnection.ended)), sum(profile IS NULL), \(counts)
      FROM connection
      """, "count connections")
    var totals = StoredConnectionTotals()
    guard try statement.step() else { return totals }
    let row = statement.row
    totals.all = row.counted(0) ?? 0
    totals.first = row.microseconds(1).map { Timestamp(microseconds: $0) }
    totals.last = row.microseconds(2).map { Timestamp(microseconds: $0) }
    totals.undecoded = row.counted(3) ?? 0
    for (i, state) in states.enumerated() {
      if let count = row.counted(Int32(i + 4)), count > 0 { totals.states[state] = count }
    }
    return totals
  }
}
