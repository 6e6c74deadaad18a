import DequeModule

/// The stretches around gaps of late, by flow and side, so that segments which come after all can be decoded.
///
/// Bounded in every way; what it forgets is what an engine without it would lose anyway.
struct IslandTable: ~Copyable {
  /// Directions of which stretches are remembered; stretches of one; their longest; bytes held in all of them.
  static var maximumSides: Int { 1_024 }
  static var maximumPerSide: Int { 16 }
  static var maximumCount: Int { 4 << 20 }
  let maximumHeld: Int

  /// The stretches of one direction of a flow.
  struct Coast {
    var flow: UInt32
    var serial: UInt32
    var side: Int
    var islands: [Island] = []
    /// The direction has not found a frame since the last gap: what it passes over belongs to `open`, which ends where
    /// the direction stands.
    var open: Island?

    /// Bytes held.
    var held: Int { islands.reduce(open?.held ?? 0) { $0 + $1.held } }
    /// Whether there is nothing in it.
    var isEmpty: Bool { islands.isEmpty && open == nil }
  }

  /// A table that holds at most 16 MiB, and at most a sixteenth of what `budget` has for all.
  init(budget: MemoryBudget) { maximumHeld = min(16 << 20, budget.limit / 16) }

  private struct Place {
    var coast: Coast
    var held: Int
  }

  private var coasts: [UInt64: Place] = [:]
  /// Keys in the order in which they came; those of coasts that are gone are passed over.
  private var order: Deque<UInt64> = []
  private var held = 0

  var isEmpty: Bool { coasts.isEmpty }

  private static func key(_ serial: UInt32, _ side: Int) -> UInt64 { UInt64(serial) << 1 | UInt64(side & 1) }

  /// Takes the stretches of one direction out of the table.
  mutating func take(_ serial: UInt32, _ side: Int) -> Coast? {
    guard let place = coasts.removeValue(forKey: Self.key(serial, side)) else { return nil }
    held -= place.held
    return place.coast
  }

  /// Puts the stretches of one direction into the table, unless there are none.
  mutating func put(_ coast: Coast) {
    guard !coast.isEmpty else { return }
    let key = Self.key(coast.serial, coast.side)
    let count = coast.held
    coasts[key] = Place(coast: coast, held: count)
    held += count
    if order.count > 4 * Self.maximumSides {
      var seen: Set<UInt64> = []
      order = Deque(order.reversed().filter { coasts[$0] != nil && seen.insert($0).inserted }.reversed())
    }
    order.append(key)
  }

  /// Adds bytes to what a direction passes over behind a gap, where it does that; false where the stretch would get too
  /// long.
  mutating func append(
    _ serial: UInt32, _ side: Int, _ place: Int, _ bytes: borrowing Bytes, _ offset: Int, _ count: Int,
    _ mark: IslandPiece.Mark
  ) -> Bool {
    let key = Self.key(serial, side)
    guard let found = coasts.index(forKey: key), var open = coasts.values[found].coast.open else { return true }
    guard place + count - open.start <= Self.maximumCount else { return false }
    coasts.values[found].coast.open = nil
    open.end = max(open.end, place + count)
    let added = open.fill(place, bytes, offset, count, mark.timestamp, mark.number)
    coasts.values[found].coast.open = open
    coasts.values[found].held += added
    held += added
    return true
  }

  /// Takes the direction out whose turn it is to be forgotten, while the table is over a limit.
  mutating func takeExcess() -> Coast? {
    guard coasts.count > Self.maximumSides || held > maximumHeld else { return nil }
    return takeAny()
  }

  /// Takes any direction out, the oldest first.
  mutating func takeAny() -> Coast? {
    while let key = order.popFirst() {
      if let coast = coasts[key]?.coast { return take(coast.serial, coast.side) }
    }
    return nil
  }
}
