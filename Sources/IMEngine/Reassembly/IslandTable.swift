/// A stretch of a stream that was given up as a gap, and how far it has been filled since.
struct Island {
  /// The stretch as a small stream of its own: what is still missing begins at `half.next`.
  var half: Half
  /// The sequence number behind it.
  var end: UInt32
}

/// The stretches that were given up lately, by flow and side, so that segments which come after all can be decoded.
///
/// Bounded in every way; what it forgets is what an engine without it would lose anyway.
struct IslandTable: ~Copyable {
  /// Directions of which stretches are remembered; stretches of one; their longest; bytes that wait for the rest of a frame.
  static var maximumSides: Int { 1_024 }
  static var maximumPerSide: Int { 16 }
  static var maximumCount: Int { 1 << 20 }
  static var maximumHeld: Int { 8 << 20 }

  /// The stretches of one direction of a flow.
  struct Coast {
    var flow: UInt32
    var serial: UInt32
    var side: Int
    var islands: [Island] = []

    /// Bytes held for frames that are not complete.
    var held: Int { islands.reduce(0) { $0 + ($1.half.rest?.pointee.count ?? 0) } }
  }

  private var coasts: [UInt64: Coast] = [:]
  /// Keys in the order in which they came; those of coasts that are gone are passed over.
  private var order: [UInt64] = []
  private var held = 0

  deinit {
    for coast in coasts.values {
      for var island in coast.islands { Reassembler.destroy(&island.half.rest) }
    }
  }

  var isEmpty: Bool { coasts.isEmpty }

  private static func key(_ serial: UInt32, _ side: Int) -> UInt64 { UInt64(serial) << 1 | UInt64(side & 1) }

  /// Takes the stretches of one direction out of the table.
  mutating func take(_ serial: UInt32, _ side: Int) -> Coast? {
    guard let coast = coasts.removeValue(forKey: Self.key(serial, side)) else { return nil }
    held -= coast.held
    return coast
  }

  /// Puts the stretches of one direction into the table, unless there are none.
  mutating func put(_ coast: Coast) {
    guard !coast.islands.isEmpty else { return }
    let key = Self.key(coast.serial, coast.side)
    coasts[key] = coast
    held += coast.held
    if order.count > 4 * Self.maximumSides { order.removeAll { coasts[$0] == nil } }
    order.append(key)
  }

  /// Takes the direction out whose turn it is to be forgotten, while the table is over a limit.
  mutating func takeExcess() -> Coast? {
    guard coasts.count > Self.maximumSides || held > Self.maximumHeld else { return nil }
    return takeAny()
  }

  /// Takes any direction out, the oldest first.
  mutating func takeAny() -> Coast? {
    for (i, key) in order.enumerated() {
      if let coast = coasts[key] {
        order.removeFirst(i + 1)
        return take(coast.serial, coast.side)
      }
    }
    order.removeAll()
    return nil
  }
}
