package import IMEngine
package import IMWire

/// What became of the exchanges of one group: those of a session on all its connections, of a client, of a topic, of a type.
///
/// Messages, heartbeats and everything else (control frames, receipts) are counted apart, as far as the caller chose them.
package struct GroupMetrics: Sendable {
  /// The session's number or its client's name, or whatever names the group; `nil` where it has no name.
  package internal(set) var name: String?
  /// Whether `name` is a number on the wire.
  package let nameIsNumber: Bool
  /// The index of the plan that decoded it.
  package let plan: UInt8
  /// Who talked on the connection of the exchange that began last.
  package internal(set) var connection: ConnectionInfo
  /// Whether its connections have several servers.
  package private(set) var hasSeveralServers = false
  /// Connections on which exchanges began.
  package internal(set) var connections: UInt64 = 0
  /// Exchanges of every role, those that ask for no answer included.
  package private(set) var exchanges: UInt64 = 0
  /// Exchanges of every role that ask for an answer.
  package private(set) var units: UInt64 = 0
  /// Copies of messages after the first, up to the answer.
  package private(set) var retries: UInt64 = 0
  /// Heartbeats.
  package private(set) var heartbeats: UInt64 = 0
  /// Heartbeats without an answer.
  package private(set) var lostHeartbeats: UInt64 = 0
  /// Round trips of everything but heartbeats of which one copy was seen before the answer, by their direction.
  package private(set) var roundTrips = RTTByDirection()
  /// When the first exchange began.
  package private(set) var firstAt = Timestamp.distantFuture
  /// When the last copy or first answer of any exchange came.
  package private(set) var lastAt = Timestamp.distantPast
  private var fates: InlineArray<8, UInt64> = InlineArray(repeating: 0)
  /// When the last exchange began, on `connection`.
  private var begunAt = Timestamp.distantPast

  /// A group without exchanges.
  init(name: String?, nameIsNumber: Bool, plan: UInt8, connection: ConnectionInfo) {
    self.name = name
    self.nameIsNumber = nameIsNumber
    self.plan = plan
    self.connection = connection
  }

  /// Messages that became `fate`.
  package subscript(fate: Fate) -> UInt64 { fates[Int(fate.rawValue)] }
  /// Messages that ask for an answer; `unacknowledged` are the others.
  package var messages: UInt64 {
    var count: UInt64 = 0
    for i in fates.indices where i != Int(Fate.unacknowledged.rawValue) { count += fates[i] }
    return count
  }
  /// Messages that were lost.
  package var lost: UInt64 { self[.unanswered] + self[.damaged] }

  /// Whether this group is worse than another one: it lost more messages, or as many and had more refused, or retried more.
  package func isWorse(than other: GroupMetrics) -> Bool {
    other.severity < severity
  }

  private var severity: (UInt64, UInt64, UInt64, UInt64) { (lost, self[.rejected], retries, lostHeartbeats) }

  /// Counts an exchange whose fate is final, of a type with this role. Its round trip is to fit into `room`.
  mutating func count(
    _ exchange: borrowing Exchange, role: FrameRole, on connection: ConnectionInfo, _ room: inout FineBucketRoom
  ) {
    let fate = exchange.fate, direction = exchange.direction
    let isLost = fate == .unanswered || fate == .damaged
    exchanges += 1
    if fate != .unacknowledged { units += 1 }
    switch role {
    case .message:
      fates[Int(fate.rawValue)] += 1
      retries += UInt64(exchange.repeats)
    case .heartbeat:
      heartbeats += 1
      if isLost { lostHeartbeats += 1 }
    case .acknowledgment, .control, .receipt, .other: break
    }
    if role != .heartbeat, let roundTrip = exchange.roundTrip {
      room.record(into: &roundTrips) { $0.record(roundTrip, direction) }
    }
    firstAt = min(firstAt, exchange.firstAt)
    lastAt = max(lastAt, exchange.lastAt, exchange.ackedAt)
    if connection.server != self.connection.server { hasSeveralServers = true }
    // Exchanges end in another order than they began.
    if exchange.firstAt >= begunAt {
      begunAt = exchange.firstAt
      self.connection = connection
    }
  }
}
