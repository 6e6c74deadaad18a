package import IMEngine
import IMWire

/// Exchanges by session. At most so many sessions get figures of their own; those of all others are counted together.
package struct SessionBook: Sendable {
  /// Pairs of session and connection that are remembered, so that a connection counts once.
  private var maximumPairs: Int { limit * 10 }

  private let limit: Int
  private var places: [UInt32: Int] = [:]
  private var pairs: Set<UInt64> = []
  /// The connection counted last of each session.
  private var newest: [UInt32] = []
  /// The sessions, in the order in which their first exchanges were counted.
  package private(set) var sessions: [SessionMetrics] = []
  /// Exchanges of the sessions for which there was no room.
  package private(set) var others: SessionMetrics?

  /// A book for at most `limit` sessions.
  package init(limit: Int = 100_000) { self.limit = limit }

  /// Counts an exchange whose fate is final. `name` is what is known of its session's name.
  package mutating func count(
    _ exchange: borrowing Exchange, on connection: ConnectionInfo, name: @autoclosure () -> String?, nameIsNumber: Bool
  ) {
    guard let place = place(exchange, connection, name(), nameIsNumber) else {
      if others == nil {
        others = SessionMetrics(name: nil, nameIsNumber: false, plan: exchange.plan, connection: connection)
      }
      others?.count(exchange, on: connection)
      return
    }
    sessions[place].count(exchange, on: connection)
    if sessions[place].name == nil { sessions[place].name = name() }
    let serial = exchange.connection
    guard newest[place] != serial else { return }
    // Without room for more pairs a connection counts when it is newer than those before.
    let isNew =
      pairs.count < maximumPairs
      ? pairs.insert(UInt64(place) << 32 | UInt64(serial)).inserted : serial > newest[place]
    if isNew { sessions[place].connections += 1 }
    if isNew || pairs.count < maximumPairs { newest[place] = serial }
  }

  private mutating func place(
    _ exchange: borrowing Exchange, _ connection: ConnectionInfo, _ name: @autoclosure () -> String?,
    _ nameIsNumber: Bool
  ) -> Int? {
    if let place = places[exchange.session] { return place }
    guard sessions.count < limit else { return nil }
    places[exchange.session] = sessions.count
    sessions.append(
      SessionMetrics(name: name(), nameIsNumber: nameIsNumber, plan: exchange.plan, connection: connection))
    newest.append(.max)
    return sessions.count - 1
  }
}
