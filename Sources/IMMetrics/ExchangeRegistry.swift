/// What an exchange belongs to, by `Exchange.id`: the engine does not tell when it settles one, its first frame does.
///
/// Ids count up, so the newest stand in a ring. One that is still open when its place is needed moves to a table.
package struct ExchangeRegistry: Sendable {
  /// An exchange and what was entered with it.
  package struct Entry: Sendable {
    /// The exchange.
    package var id: UInt32 = .max
    /// The caller's number of what it belongs to: a connection, an endpoint.
    package var owner: UInt32 = 0
    /// Whether its fate is known.
    package var isSettled = true
    /// Whether it belongs to the message log.
    package var isLogged = false
  }

  private static let maximumStale = 65_536
  private var ring: [Entry]
  private let mask: UInt32
  private var stale: [UInt32: Entry] = [:]

  /// A book with a ring of `1 << bits` places, about as many as the engine remembers exchanges.
  package init(bits: Int = 17) {
    ring = [Entry](repeating: Entry(), count: 1 << bits)
    mask = UInt32(truncatingIfNeeded: ring.count - 1)
  }

  /// Enters an exchange that has just begun.
  package mutating func add(_ id: UInt32, owner: UInt32, isLogged: Bool = false) {
    let place = Int(id & mask)
    if !ring[place].isSettled, ring[place].id != id, stale.count < Self.maximumStale {
      stale[ring[place].id] = ring[place]
    }
    ring[place] = Entry(id: id, owner: owner, isSettled: false, isLogged: isLogged)
  }

  /// The entry of an exchange whose fate was decided; `nil` when it is not known.
  package mutating func resolve(_ id: UInt32) -> Entry? {
    let place = Int(id & mask)
    if ring[place].id == id {
      ring[place].isSettled = true
      return ring[place]
    }
    return stale.isEmpty ? nil : stale.removeValue(forKey: id)
  }
}
