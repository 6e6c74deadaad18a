package import IMEngine
package import IMWire

/// What became of the exchanges of one session, on all its connections: messages, heartbeats, control frames and receipts, as far
/// as the caller chose them; all figures are of the same ones.
package struct SessionMetrics: Sendable {
  /// The session's number or its client's name; `nil` when neither was seen.
  package internal(set) var name: String?
  /// Whether `name` is a number on the wire.
  package let nameIsNumber: Bool
  /// The index of the plan that decoded it.
  package let plan: UInt8
  /// Who talked on the connection of the exchange that began last.
  package internal(set) var connection: ConnectionInfo
  /// Connections on which exchanges began.
  package internal(set) var connections: UInt64 = 0
  /// Exchanges, those that ask for no answer included.
  package private(set) var exchanges: UInt64 = 0
  /// Copies after the first, up to the answer.
  package private(set) var retries: UInt64 = 0
  /// Round trips of units of which one copy was seen before the answer, by their direction.
  package private(set) var roundTrips = RTTByDirection()
  /// When the first exchange began.
  package private(set) var firstAt = Timestamp.distantFuture
  /// When the last copy or first answer of any exchange came.
  package private(set) var lastAt = Timestamp.distantPast
  private var fates: InlineArray<8, UInt64> = InlineArray(repeating: 0)
  /// When the last exchange began, on `connection`.
  private var begunAt = Timestamp.distantPast

  /// A session without exchanges.
  init(name: String?, nameIsNumber: Bool, plan: UInt8, connection: ConnectionInfo) {
    self.name = name
    self.nameIsNumber = nameIsNumber
    self.plan = plan
    self.connection = connection
  }

  /// Those that ask for an answer. All fates but `unacknowledged` add up to it.
  package var units: UInt64 { exchanges - self[.unacknowledged] }
  /// Exchanges that became `fate`.
  package subscript(fate: Fate) -> UInt64 { fates[Int(fate.rawValue)] }

  /// Counts an exchange whose fate is final.
  mutating func count(_ exchange: borrowing Exchange, on connection: ConnectionInfo) {
    exchanges += 1
    fates[Int(exchange.fate.rawValue)] += 1
    retries += UInt64(exchange.repeats)
    if let roundTrip = exchange.roundTrip { roundTrips.record(roundTrip, exchange.direction) }
    firstAt = min(firstAt, exchange.firstAt)
    lastAt = max(lastAt, exchange.lastAt, exchange.ackedAt)
    // Exchanges end in another order than they began.
    if exchange.firstAt >= begunAt {
      begunAt = exchange.firstAt
      self.connection = connection
    }
  }
}
