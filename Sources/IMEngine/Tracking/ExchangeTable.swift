import IMWire

/// Exchanges in the order in which they began, found by session, direction and number.
///
/// A ring with an index of chains. An exchange leaves at the tail, and with it, without any work, the end of its chain:
/// links that point behind the tail are dead. One that is still open when the ring is full moves to the front.
struct ExchangeTable: ~Copyable {
  private var ring: UnsafeMutablePointer<Exchange>
  private var buckets: UnsafeMutablePointer<UInt32>
  private var mask: UInt64
  /// Positions of the oldest exchange and behind the newest; they only grow.
  private(set) var head: UInt64 = 1
  private(set) var tail: UInt64 = 1
  private let maximumCount: UInt64

  /// A table of at most `maximumCount` (a power of two) exchanges.
  init(maximumCount: Int) {
    self.maximumCount = UInt64(maximumCount)
    mask = (1 << 12) - 1
    ring = .allocate(capacity: Int(mask + 1))
    buckets = .allocate(capacity: Int(mask + 1))
    buckets.initialize(repeating: 0, count: Int(mask + 1))
  }

  deinit {
    ring.deallocate()
    buckets.deallocate()
  }

  var isFull: Bool { tail &- head > mask }
  var canGrow: Bool { mask + 1 < maximumCount }

  @inline(__always)
  func pointer(_ position: UInt64) -> UnsafeMutablePointer<Exchange> {
    ring + Int(truncatingIfNeeded: position & mask)
  }

  @inline(__always)
  private func bucket(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> Int {
    let h =
      (sequence ^ UInt64(session) << 32 ^ UInt64(direction.rawValue) << 63) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (h >> 24) & mask)
  }

  /// The newest exchange of that number, `nil` when there is none.
  @inline(__always)
  func find(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> UnsafeMutablePointer<Exchange>? {
    older(than: buckets[bucket(session, direction, sequence)], session, direction, sequence)
  }

  /// The next older one with the same number.
  func next(after exchange: UnsafeMutablePointer<Exchange>) -> UnsafeMutablePointer<Exchange>? {
    let e = exchange.pointee
    return older(than: e.previous, e.session, e.direction, e.sequence)
  }

  @inline(__always)
  private func older(
    than link: UInt32, _ session: UInt32, _ direction: Direction, _ sequence: UInt64
  ) -> UnsafeMutablePointer<Exchange>? {
    var link = link
    while true {
      // Positions are compared modulo 2³²; the ring is far smaller than that.
      let age = UInt32(truncatingIfNeeded: tail) &- link
      if age == 0 || UInt64(age) > tail &- head { return nil }
      let exchange = ring + Int(truncatingIfNeeded: UInt64(link) & mask)
      if exchange.pointee.sequence == sequence, exchange.pointee.session == session,
        exchange.pointee.direction == direction, !exchange.pointee.flags.contains(.moved)
      {
        return exchange
      }
      link = exchange.pointee.previous
    }
  }

  /// Puts `exchange` at the front; there is room.
  @inline(__always)
  mutating func append(_ exchange: Exchange) -> UnsafeMutablePointer<Exchange> {
    let place = pointer(tail)
    place.initialize(to: exchange)
    let i = bucket(exchange.session, exchange.direction, exchange.sequence)
    place.pointee.previous = buckets[i]
    buckets[i] = UInt32(truncatingIfNeeded: tail)
    tail &+= 1
    return place
  }

  /// Forgets the oldest exchange.
  mutating func dropOldest() { head &+= 1 }

  /// Doubles the ring.
  @inline(never)
  mutating func grow() {
    let oldRing = ring
    let oldMask = mask
    mask = mask * 2 + 1
    ring = .allocate(capacity: Int(mask + 1))
    buckets.deallocate()
    buckets = .allocate(capacity: Int(mask + 1))
    buckets.initialize(repeating: 0, count: Int(mask + 1))
    for position in head..<tail {
      let exchange = oldRing[Int(position & oldMask)]
      let place = pointer(position)
      place.initialize(to: exchange)
      let i = bucket(exchange.session, exchange.direction, exchange.sequence)
      place.pointee.previous = buckets[i]
      buckets[i] = UInt32(truncatingIfNeeded: position)
    }
    oldRing.deallocate()
  }
}
