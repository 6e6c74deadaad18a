/// Which messages a page shows; where nothing is chosen, all.
package struct PageChoice: Equatable, Sendable {
  /// Those of this session, by its number in the store.
  package var session: Int64?
  /// Those of this connection.
  package var connection: Int64?
  /// Those that have one of these problems; empty for all.
  package var problems: ProblemKinds

  /// Messages of a session or a connection that have one of `problems`.
  package init(session: Int64? = nil, connection: Int64? = nil, problems: ProblemKinds = []) {
    self.session = session
    self.connection = connection
    self.problems = problems
  }

  /// The conditions, as SQL; each has a parameter from 3 on, in the order of `parameters`.
  var conditions: String {
    var place = 2
    var text = ""
    for (value, condition) in [(session, "session ="), (connection, "connection =")] where value != nil {
      place += 1
      text += " AND \(condition) ?\(place)"
    }
    // The first half is what the partial indexes are chosen by.
    if problems != [] { text += " AND problems <> 0 AND problems & ?\(place + 1) <> 0" }
    return text
  }

  /// What the conditions compare with.
  var parameters: [Int64] {
    [session, connection, problems == [] ? nil : problems.rawValue].compactMap { $0 }
  }
}
