/// The connections of exchanges, by `Exchange.id`, which the engine does not tell when it settles one.
///
/// Ids count up, so the newest stand in a ring. One that is still open when its place is needed moves to a table.
struct ExchangeBook {
  /// An exchange: its id, the serial number of its first copy's connection, whether its fate is known, and whether it
  /// belongs to the message log.
  struct Entry {
    var id: UInt32 = .max
    var connection: UInt32 = 0
    var isSettled = true
    var isLogged = false
  }

  private static let maximumStale = 65_536
  private var ring: [Entry]
  private let mask: UInt32
  private var stale: [UInt32: Entry] = [:]

  /// A book with a ring of `1 << bits` places, about as many as the engine remembers exchanges.
  init(bits: Int = 17) {
    ring = [Entry](repeating: Entry(), count: 1 << bits)
    mask = UInt32(truncatingIfNeeded: ring.count - 1)
  }

  /// Enters an exchange that has just begun.
  mutating func add(_ id: UInt32, connection: UInt32, isLogged: Bool) {
    let place = Int(id & mask)
    if !ring[place].isSettled, ring[place].id != id, stale.count < Self.maximumStale {
      stale[ring[place].id] = ring[place]
    }
    ring[place] = Entry(id: id, connection: connection, isSettled: false, isLogged: isLogged)
  }

  /// The entry of an exchange whose fate was decided; `nil` when it is not known.
  mutating func settle(_ id: UInt32) -> Entry? {
    let place = Int(id & mask)
    if ring[place].id == id {
      ring[place].isSettled = true
      return ring[place]
    }
    return stale.isEmpty ? nil : stale.removeValue(forKey: id)
  }

  /// The entry of an exchange.
  func find(_ id: UInt32) -> Entry? {
    let place = Int(id & mask)
    return ring[place].id == id ? ring[place] : stale[id]
  }
}
