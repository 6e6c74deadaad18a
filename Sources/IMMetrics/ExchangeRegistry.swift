/// What an exchange belongs to, by `Exchange.id`: the engine does not tell when it settles one, its first frame does.
///
/// Ids count up, so the newest stand in a ring. One that is still open when its place is needed moves to a table.
package struct ExchangeRegistry: Sendable {
  /// An exchange and its registered data. 16 bytes, since there are many.
  package struct Entry: Sendable {
    private static let settled: UInt16 = 1 << 15, logged: UInt16 = 1 << 14

    /// The exchange.
    package let id: UInt32
    /// The caller's number of what it belongs to: a connection, an endpoint.
    package let owner: UInt32
    /// The low 46 bits of its offset, which no stream below 64 TiB exceeds, and the two flags above them.
    private let low: UInt32
    private var high: UInt16
    private let ordinal: UInt16

    /// No exchange.
    fileprivate init() { (id, owner, low, high, ordinal) = (.max, 0, 0, Self.settled, 0) }

    fileprivate init(id: UInt32, owner: UInt32, at position: StreamPosition, isLogged: Bool) {
      self.id = id
      self.owner = owner
      low = UInt32(truncatingIfNeeded: position.offset)
      high = UInt16(truncatingIfNeeded: position.offset &>> 32) & (Self.logged - 1) | (isLogged ? Self.logged : 0)
      ordinal = position.ordinal
    }

    /// The position of its first transmission.
    package var position: StreamPosition {
      StreamPosition(offset: UInt64(high & (Self.logged - 1)) &<< 32 | UInt64(low), ordinal: ordinal)
    }
    /// Whether its fate is known.
    package var isSettled: Bool { high & Self.settled != 0 }
    /// Whether it belongs to the message log.
    package var isLogged: Bool { high & Self.logged != 0 }

    fileprivate mutating func settle() { high |= Self.settled }
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

  /// Registers an exchange that has just begun at `position`.
  package mutating func add(_ id: UInt32, owner: UInt32, at position: StreamPosition, isLogged: Bool = false) {
    let place = Int(id & mask)
    if !ring[place].isSettled, ring[place].id != id, stale.count < Self.maximumStale {
      stale[ring[place].id] = ring[place]
    }
    ring[place] = Entry(id: id, owner: owner, at: position, isLogged: isLogged)
  }

  /// The entry of an exchange whose fate was decided; `nil` when it is not known.
  package mutating func resolve(_ id: UInt32) -> Entry? {
    let place = Int(id & mask)
    if ring[place].id == id {
      ring[place].settle()
      return ring[place]
    }
    return stale.isEmpty ? nil : stale.removeValue(forKey: id)
  }
}
