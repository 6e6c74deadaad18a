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
  /// Its messages that ask for an answer, and those that ask for none.
  package var messages: Int64, oneWay: Int64 = 0
  /// Messages without an answer.
  package var unanswered: Int64
  /// Messages that were refused.
  package var rejected: Int64
  /// Messages of which no copy had a right checksum.
  package var damaged: Int64
  /// Copies of messages after the first ones.
  package var retries: Int64
  /// Messages whose answers came late.
  package var late: Int64
  /// Heartbeats.
  package var heartbeats: Int64
  /// Heartbeats without an answer.
  package var lostHeartbeats: Int64
  /// The 95th percentile of the round trips of the client's messages, in microseconds; `nil` where it has none.
  package var roundTrip95ToServer: Int64?
  /// The same of the server's messages.
  package var roundTrip95ToClient: Int64?
  /// The last message of the role `message`; `nil` where there is none.
  package var lastMessage: Int64?
  /// When its first copy came, and its last copy or answer; `nil` without a message.
  package var first: Timestamp?, last: Timestamp?
  /// The state of its latest connection, by `ConnectionState`, or `reconnected`.
  package var state = ConnectionState.open.rawValue

  /// The longer one of the two, by which sessions are put in order; `nil` where it has neither.
  package var slowestRoundTrip95: Int64? { [roundTrip95ToServer, roundTrip95ToClient].compactMap(\.self).max() }

  /// Messages that were lost.
  package var lost: Int64 { unanswered &+ damaged }

  /// The columns in the order in which `init` reads them.
  static let columns = """
    s.id, s.name, s.profile, s.connection, c.client, c.server, s.connections, s.messages, s.unanswered, s.rejected, s.damaged, \
    s.retries, s.late, s.heartbeats, s.heartbeats_lost, s.rtt_c2s_p95_us, s.rtt_s2c_p95_us, s.last_message, \
    s.first_us, s.last_us, \(ConnectionState.ofSession), s.unacknowledged
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
    oneWay = count(21)
    (heartbeats, lostHeartbeats) = (count(13), count(14))
    (roundTrip95ToServer, roundTrip95ToClient) = (row.microseconds(15), row.microseconds(16))
    lastMessage = row.number(17)
    first = row.microseconds(18).map { Timestamp(microseconds: $0) }
    last = row.microseconds(19).map { Timestamp(microseconds: $0) }
    state = row.text(20) ?? state
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
