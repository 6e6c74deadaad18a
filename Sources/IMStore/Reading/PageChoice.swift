package import IMWire

/// Which messages a page shows; where nothing is chosen, all.
package struct PageChoice: Equatable, Sendable {
  /// Those of this session, by its number in the store.
  package var session: Int64?
  /// Those of this connection.
  package var connection: Int64?
  /// Those of this type, by its number in the store.
  package var type: Int64?
  /// Those of this topic.
  package var topic: String?
  /// Those that have one of these problems; empty for all.
  package var problems: ProblemKinds
  /// Those whose first copy came in this time; `nil` for all.
  package var times: Range<Timestamp>?
  /// Numbers outside of which no message of `times` is; `nil` where that is not known.
  var ids: ClosedRange<Int64>?

  /// Messages of a session, a connection or a type that have one of `problems`.
  package init(
    session: Int64? = nil, connection: Int64? = nil, type: Int64? = nil, topic: String? = nil,
    problems: ProblemKinds = [],
    times: Range<Timestamp>? = nil
  ) {
    self.session = session
    self.connection = connection
    self.type = type
    self.topic = topic
    self.problems = problems
    self.times = times
  }

  /// The conditions, as SQL; each has a parameter from 3 on, which `bind` binds.
  var conditions: String {
    var place = 2
    var text = ""
    for (value, condition) in [(session, "session ="), (connection, "connection ="), (type, "type =")]
    where value != nil {
      place += 1
      text += " AND \(condition) ?\(place)"
    }
    // The first half is what the partial indexes are chosen by.
    if problems != [] {
      place += 1
      text += " AND problems <> 0 AND problems & ?\(place) <> 0"
    }
    if times != nil {
      text += " AND time_us >= ?\(place + 1) AND time_us < ?\(place + 2)"
      place += 2
    }
    if ids != nil {
      text += " AND id >= ?\(place + 1) AND id <= ?\(place + 2)"
      place += 2
    }
    if topic != nil {
      text += " AND (SELECT topic FROM message_text WHERE message_text.id = message.id) = ?\(place + 1)"
    }
    return text
  }

  /// Binds what the conditions compare with.
  func bind(to statement: inout Statement) {
    for (i, value) in numbers.enumerated() { statement.bind(Int32(3 + i), value) }
    if let topic { statement.bind(Int32(3 + numbers.count), topic) }
  }

  private var numbers: [Int64] {
    [
      session, connection, type, problems == [] ? nil : problems.rawValue, times?.lowerBound.microseconds,
      times?.upperBound.microseconds, ids?.lowerBound, ids?.upperBound,
    ].compactMap { $0 }
  }
}
