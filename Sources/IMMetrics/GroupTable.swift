package import IMEngine
import IMWire

/// Exchanges by session, or by another group. At most so many groups get figures of their own; those of all others are counted
/// together.
package struct GroupTable: Sendable {
  /// Pairs of group and connection that are remembered, so that a connection counts once.
  private var maximumPairs: Int { limit * 10 }

  private let limit: Int
  private var places: [UInt32: Int] = [:]
  /// The numbers of groups that are known by their names.
  private var numbers: [String: UInt32] = [:]
  private var pairs: Set<UInt64> = []
  /// The connection counted last of each group.
  private var newest: [UInt32] = []
  /// The groups, in the order in which their first exchanges were counted.
  package private(set) var groups: [GroupMetrics] = []
  /// Exchanges of the groups for which there was no room.
  package private(set) var others: GroupMetrics?
  private var room: FineBucketRoom
  /// Whether percentiles of some groups are within 2.5 % only, because exact ones would have needed too much memory.
  package var hasCoarsePercentiles: Bool { room.isFull }

  /// A table for at most `limit` groups, whose round trips need at most `bytes` for exact percentiles.
  package init(limit: Int = 100_000, bytes: Int = 64 << 20) {
    self.limit = limit
    room = FineBucketRoom(bytes: bytes)
  }

  /// The places of groups in `groups`, the worst first, and of equal ones that which began first.
  package var worstFirst: [Int] {
    groups.indices.sorted { one, other in
      if groups[one].isWorse(than: groups[other]) { return true }
      if groups[other].isWorse(than: groups[one]) { return false }
      return (groups[one].firstAt, one) < (groups[other].firstAt, other)
    }
  }

  /// Counts an exchange whose fate is final in its session. `name` is what is known of its session's name.
  package mutating func count(
    _ exchange: borrowing Exchange, role: FrameRole, on connection: ConnectionInfo, name: @autoclosure () -> String?,
    nameIsNumber: Bool
  ) {
    count(exchange, role: role, on: connection, in: exchange.session, name: name(), nameIsNumber: nameIsNumber)
  }

  /// Counts an exchange whose fate is final in the group `name`.
  package mutating func count(
    _ exchange: borrowing Exchange, role: FrameRole, on connection: ConnectionInfo, group name: String
  ) {
    var number = numbers[name]
    if number == nil, numbers.count < limit {
      number = UInt32(truncatingIfNeeded: numbers.count)
      numbers[name] = number
    }
    count(exchange, role: role, on: connection, in: number ?? .max, name: name, nameIsNumber: false)
  }

  private mutating func count(
    _ exchange: borrowing Exchange, role: FrameRole, on connection: ConnectionInfo, in group: UInt32,
    name: @autoclosure () -> String?, nameIsNumber: Bool
  ) {
    guard let place = place(exchange, connection, group, name(), nameIsNumber) else {
      if others == nil {
        others = GroupMetrics(name: nil, nameIsNumber: false, plan: exchange.plan, connection: connection)
      }
      others?.count(exchange, role: role, on: connection, &room)
      return
    }
    groups[place].count(exchange, role: role, on: connection, &room)
    if groups[place].name == nil { groups[place].name = name() }
    let serial = exchange.connection
    guard newest[place] != serial else { return }
    let pair = UInt64(place) << 32 | UInt64(serial)
    let hasRoom = pairs.count < maximumPairs
    // If there is no room for more pairs, a connection counts if it is the group's first, or newer than those before.
    let isNew =
      hasRoom
      ? pairs.insert(pair).inserted
      : !pairs.contains(pair) && (newest[place] == .max || serial > newest[place])
    if isNew { groups[place].connections += 1 }
    if isNew || hasRoom { newest[place] = serial }
  }

  private mutating func place(
    _ exchange: borrowing Exchange, _ connection: ConnectionInfo, _ group: UInt32, _ name: @autoclosure () -> String?,
    _ nameIsNumber: Bool
  ) -> Int? {
    if let place = places[group] { return place }
    guard groups.count < limit else { return nil }
    places[group] = groups.count
    groups.append(
      GroupMetrics(name: name(), nameIsNumber: nameIsNumber, plan: exchange.plan, connection: connection))
    newest.append(.max)
    return groups.count - 1
  }
}
