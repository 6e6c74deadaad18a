package import IMWire

/// One session as a store has it, with its figures.
package struct StoredSession: Equatable, Sendable {
  /// Its number in the store.
  package var id: Int64
  /// What the protocol calls it; `nil` where no message said so.
  package var name: String?
  /// The profile that decoded it.
  package var profile: String
  /// The connection of the message that began last, and its ends.
  package var connection: Int64, client: String, server: String
  /// Connections that it used.
  package var connections: Int64
  /// Its messages, and those of them that failed: without an answer, refused, damaged.
  package var messages: Int64, unanswered: Int64, rejected: Int64, damaged: Int64
  /// Copies after the first ones; answers that came late.
  package var retries: Int64, late: Int64
  /// The 95th percentile of its round trips, in microseconds; `nil` where it has none.
  package var roundTrip95: Int64?
  /// The last message of the role `message`; `nil` where there is none.
  package var lastMessage: Int64?
  /// When its first copy came, and its last copy or answer; `nil` without a message.
  package var first: Timestamp?, last: Timestamp?
  /// The state of its latest connection, by `ConnectionState`, or `reconnected`.
  package var state = ConnectionState.open.rawValue

  /// Messages that did not succeed.
  package var failed: Int64 { unanswered + rejected + damaged }

  /// The columns in the order in which `init` reads them.
  static let columns = """
    s.id, s.name, s.profile, s.connection, c.client, c.server, s.connections, s.messages, s.unanswered, s.rejected, s.damaged, \
    s.retries, s.late, s.rtt_p95_us, s.last_message, s.first_us, s.last_us, \(ConnectionState.ofSession)
    """

}

extension StoredSession {
  /// The session of a row.
  init(_ row: Row) {
    func number(_ column: Int32) -> Int64 { row.number(column) ?? 0 }
    id = number(0)
    name = row.text(1)
    profile = row.text(2) ?? ""
    connection = number(3)
    client = row.text(4) ?? ""
    server = row.text(5) ?? ""
    func count(_ column: Int32) -> Int64 { row.counted(column) ?? 0 }
    connections = count(6)
    (messages, unanswered, rejected, damaged) = (count(7), count(8), count(9), count(10))
    (retries, late) = (count(11), count(12))
    roundTrip95 = row.microseconds(13)
    lastMessage = row.number(14)
    first = row.microseconds(15).map { Timestamp(microseconds: $0) }
    last = row.microseconds(16).map { Timestamp(microseconds: $0) }
    state = row.text(17) ?? state
  }
}

/// One kind of problem with one cause, and how often it is there.
package struct StoredProblemCount: Equatable, Sendable {
  /// The kind's name.
  package var kind: String
  /// Its bit in a message's problems, as `ProblemKinds` has it; `nil` for what concerns a stream.
  package var bit: Int64?
  /// The cause's name; `nil` where there is none.
  package var cause: String?
  /// How often.
  package var count: Int64
  /// When it was first.
  package var first: Timestamp
}
