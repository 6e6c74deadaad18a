import CMachine
import IMWire

/// Exchanges in the order in which they began, found by session, direction and number.
///
/// A ring, and an open-addressing index whose slots hold 32 bits of the hash and of the position, so that neither a search
/// nor a removal touches the ring but where it finds. Older exchanges of the same number hang behind the newest.
/// Exchanges leave at the tail; one that is still open when the ring is full moves to the front.
struct ExchangeTable: ~Copyable {
  private static var empty: UInt64 { .max }

  private var ring: UnsafeMutablePointer<Exchange>
  private var slots: UnsafeMutablePointer<UInt64>
  /// Places in the ring, and in the index, less one.
  private var mask: UInt64
  private var slotMask: Int
  /// Positions of the oldest exchange and behind the newest; they only grow.
  private(set) var head: UInt64 = 1
  private(set) var tail: UInt64 = 1
  private let maximumCount: UInt64
  /// What the hash mixes into a number, and multiplies it with.
  private let salt: UInt64, multiplier: UInt64

  /// A table of at most `maximumCount` (a power of two, at most 2²⁴) exchanges. Numbers come off the wire: `seed` keeps
  /// senders from choosing those that collide.
  init(maximumCount: Int, seed: UInt64) {
    self.maximumCount = UInt64(maximumCount)
    salt = seed ^ 0xA076_1D64_78BD_642F
    // Odd, and with bits everywhere whatever the seed is.
    multiplier = (seed &* 0x9E37_79B9_7F4A_7C15) ^ 0xE703_7ED1_A0B4_28DB | 1
    mask = UInt64(min(1 << 12, maximumCount)) - 1
    slotMask = min(1 << 12, maximumCount) * 4 - 1
    ring = Self.newRing(Int(mask + 1))
    slots = Self.newSlots(slotMask + 1)
  }

  /// Places for exchanges, each a cache line.
  private static func newRing(_ count: Int) -> UnsafeMutablePointer<Exchange> {
    LargeMemory.allocate(count * MemoryLayout<Exchange>.stride).assumingMemoryBound(to: Exchange.self)
  }

  /// An index of `count` free slots.
  private static func newSlots(_ count: Int) -> UnsafeMutablePointer<UInt64> {
    let slots = LargeMemory.allocate(count * MemoryLayout<UInt64>.stride).assumingMemoryBound(to: UInt64.self)
    slots.initialize(repeating: Self.empty, count: count)
    return slots
  }

  deinit {
    UnsafeMutableRawPointer(ring).deallocate()
    slots.deallocate()
  }

  var isFull: Bool { tail &- head > mask }
  /// Bytes of an exchange and its four slots.
  static var costPerExchange: Int { MemoryLayout<Exchange>.stride + 4 * MemoryLayout<UInt64>.stride }
  /// Exchanges it has room for, a power of two.
  var capacity: Int { Int(truncatingIfNeeded: mask) + 1 }
  var canGrow: Bool { mask + 1 < maximumCount }
  /// Whether it may become up to four times as large as it was meant to.
  var canGrowFar: Bool { mask + 1 < maximumCount * 4 }

  @inline(__always)
  func pointer(_ position: UInt64) -> UnsafeMutablePointer<Exchange> {
    ring + Int(truncatingIfNeeded: position & mask)
  }

  @inline(__always)
  private func hash(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> UInt64 {
    hash(session, sequence) ^ UInt64(direction.rawValue)
  }

  /// The part of a hash that both directions share: their slots are neighbours, in one cache line.
  @inline(__always)
  private func hash(_ session: UInt32, _ sequence: UInt64) -> UInt64 {
    // Every bit of the number must reach every bit of the hash: multiply to 128 bits and fold.
    let key = sequence ^ UInt64(session) << 33 ^ salt
    let wide = key.multipliedFullWidth(by: multiplier)
    return (wide.high ^ wide.low) & ~1
  }

  /// The slot at which the search for a number begins.
  mutating func home(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> Int {
    Int(truncatingIfNeeded: hash(session, direction, sequence)) & slotMask
  }

  /// Asks for the slots of a number in both directions; gives the number's hash, which is never 0.
  @inline(__always)
  func prefetchSlots(_ session: UInt32, _ sequence: UInt64) -> UInt64 {
    let h = hash(session, sequence)
    imdump_prefetch(slots + (Int(truncatingIfNeeded: h) & slotMask))
    return h | 1 << 63
  }

  /// Asks for the newest exchange whose number seems to have that hash.
  @inline(__always)
  func prefetchExchange(_ hash: UInt64) {
    var i = Int(truncatingIfNeeded: hash) & slotMask
    // The slot of the other direction comes behind this one's.
    if slots[i] == Self.empty { i &+= 1 }
    while slots[i] != Self.empty {
      if slots[i] >> 32 & ~1 == hash & 0xffff_ffff {
        imdump_prefetch(place(slots[i]))
        return
      }
      i = (i &+ 1) & slotMask
    }
  }

  @inline(__always)
  private func place(_ slot: UInt64) -> UnsafeMutablePointer<Exchange> {
    ring + Int(truncatingIfNeeded: slot & mask)
  }

  /// The slot of a number, or the empty one where it would stand.
  @inline(__always)
  private func slot(
    _ hash: UInt64, _ session: UInt32, _ direction: Direction, _ sequence: UInt64
  ) -> Int {
    var i = Int(truncatingIfNeeded: hash) & slotMask
    while true {
      let slot = slots[i]
      if slot == Self.empty { return i }
      if slot >> 32 == hash & 0xffff_ffff {
        let exchange = place(slot)
        if exchange.pointee.sequence == sequence, exchange.pointee.session == session,
          exchange.pointee.direction == direction
        {
          return i
        }
      }
      i = (i &+ 1) & slotMask
    }
  }

  /// Where a number's newest exchange is, or would be.
  struct Probe {
    fileprivate var hash: UInt64
    fileprivate var slot: Int
    /// The newest exchange of the number, `nil` when there is none.
    var found: UnsafeMutablePointer<Exchange>?
  }

  /// Looks for a number. What it gives holds until the table changes.
  @inline(__always)
  func probe(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> Probe {
    let h = hash(session, direction, sequence)
    let i = slot(h, session, direction, sequence)
    return Probe(hash: h, slot: i, found: slots[i] == Self.empty ? nil : place(slots[i]))
  }

  /// The newest exchange of that number, `nil` when there is none.
  @inline(__always)
  func find(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> UnsafeMutablePointer<Exchange>? {
    probe(session, direction, sequence).found
  }

  /// The next older one with the same number.
  func next(after exchange: UnsafeMutablePointer<Exchange>) -> UnsafeMutablePointer<Exchange>? {
    var link = exchange.pointee.previous
    while true {
      // Positions are compared modulo 2³²; the ring is far smaller than that.
      let age = UInt32(truncatingIfNeeded: tail) &- link
      if link == 0 || age == 0 || UInt64(age) > tail &- head { return nil }
      let older = ring + Int(truncatingIfNeeded: UInt64(link) & mask)
      // A place that was given to another number ends the chain.
      guard older.pointee.sequence == exchange.pointee.sequence, older.pointee.session == exchange.pointee.session,
        older.pointee.direction == exchange.pointee.direction
      else { return nil }
      if !older.pointee.flags.contains(.moved) { return older }
      link = older.pointee.previous
    }
  }

  /// The same, for exchanges without a number, which are answered in their order: those that were answered before `now` are
  /// passed over, and left out of the chain, so that nobody comes to them again.
  mutating func nextOpen(
    after exchange: UnsafeMutablePointer<Exchange>, _ now: Timestamp
  ) -> UnsafeMutablePointer<Exchange>? {
    var older = next(after: exchange)
    while let passed = older, passed.pointee.isAnswered, passed.pointee.firstAt <= now {
      older = next(after: passed)
      exchange.pointee.previous = passed.pointee.previous
    }
    return older
  }

  /// Puts `exchange` at the front; there is room.
  mutating func append(_ exchange: Exchange) -> UnsafeMutablePointer<Exchange> {
    append(exchange, at: probe(exchange.session, exchange.direction, exchange.sequence))
  }

  /// Puts `exchange` at the front, where `probe` found that its number belongs; there is room.
  @inline(__always)
  mutating func append(_ exchange: Exchange, at probe: Probe) -> UnsafeMutablePointer<Exchange> {
    let place = pointer(tail)
    let old = slots[probe.slot]
    place.initialize(to: exchange)
    place.pointee.previous = old == Self.empty ? 0 : UInt32(truncatingIfNeeded: old)
    slots[probe.slot] = probe.hash << 32 | tail & 0xffff_ffff
    tail &+= 1
    return place
  }

  /// Forgets the oldest exchange.
  @inline(__always)
  mutating func dropOldest() {
    let oldest = pointer(head)
    // The slots of those that follow are far apart; they will be wanted soon.
    if tail &- head > 8 {
      let next = pointer(head &+ 8)
      _ = prefetchSlots(next.pointee.session, next.pointee.sequence)
    }
    let h = hash(oldest.pointee.session, oldest.pointee.direction, oldest.pointee.sequence)
    let entry = h << 32 | head & 0xffff_ffff
    // The slot is this one's unless a newer one of the same number has it.
    var i = Int(truncatingIfNeeded: h) & slotMask
    while slots[i] != Self.empty {
      if slots[i] == entry {
        clear(i)
        break
      }
      i = (i &+ 1) & slotMask
    }
    head &+= 1
  }

  /// Frees a slot and closes the gap, so that later entries of the run are still found.
  private mutating func clear(_ slot: Int) {
    var hole = slot
    var j = slot
    while true {
      j = (j &+ 1) & slotMask
      let entry = slots[j]
      if entry == Self.empty { break }
      let home = Int(truncatingIfNeeded: entry >> 32) & slotMask
      if (j &- home) & slotMask >= (j &- hole) & slotMask {
        slots[hole] = entry
        hole = j
      }
    }
    slots[hole] = Self.empty
  }

  /// Doubles the ring.
  @inline(never)
  mutating func grow() {
    let oldRing = ring
    let oldMask = mask
    mask = mask * 2 + 1
    ring = Self.newRing(Int(mask + 1))
    slots.deallocate()
    slotMask = slotMask * 2 + 1
    slots = Self.newSlots(slotMask + 1)
    let end = tail
    tail = head
    while tail < end { _ = append(oldRing[Int(tail & oldMask)]) }
    UnsafeMutableRawPointer(oldRing).deallocate()
  }
}
