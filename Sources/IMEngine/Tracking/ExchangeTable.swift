import CMachine
import IMWire

/// Exchanges in the order in which they began, found by session, direction and number.
///
/// A ring. Exchanges leave at the tail; one that is still open when the ring is full moves to the front. Where a session
/// counts, its own `ExchangeWindow` says where its newest exchanges are, and older ones hang behind them: nothing else is
/// touched to find one. Numbers that are no counters, and sessions with more open exchanges than a window serves well, have an
/// open-addressing index instead, whose slots hold 32 bits of the hash and of the position; there, older exchanges of the
/// same number hang behind the newest.
struct ExchangeTable: ~Copyable {
  static var empty: UInt64 { .max }
  /// Exchanges that a table has room for at first: small captures need no more.
  private static var firstCapacity: Int { 1 << 12 }
  /// Slots of an index that nothing stands in yet; and slots for each exchange in it, at least.
  static var leastSlots: Int { 1 << 6 }
  static var slotsPerExchange: Int { 4 }

  /// Places for exchanges, in addresses that are reserved for all there may ever be.
  let ring: UnsafeMutablePointer<KeptExchange>
  let reserved: LargeMemory.Reservation
  /// The numbers of exchanges in the run, at the same places; `nil` where nobody is told of them.
  let ids: UnsafeMutablePointer<UInt32>?
  let reservedIDs: LargeMemory.Reservation?
  var rests: ExchangeRests
  var slots: UnsafeMutablePointer<UInt64>
  /// Places in the ring, and in the index, less one.
  var mask: UInt64
  var slotMask: Int
  /// Slots in use.
  var indexed = 0
  /// Positions of the oldest exchange and behind the newest; they only grow.
  private(set) var head: UInt64 = 1
  private(set) var tail: UInt64 = 1
  let maximumCount: UInt64
  let budget: MemoryBudget
  /// What the hash mixes into a number, and multiplies it with.
  let salt: UInt64, multiplier: UInt64

  /// A table of at most `maximumCount` (a power of two, at most 2²⁴) exchanges. Numbers come off the wire: `seed` keeps
  /// senders from choosing those that collide. `keepsIDs` says that somebody is told of exchanges by their numbers in the run.
  init(maximumCount: Int, seed: UInt64, budget: MemoryBudget, keepsIDs: Bool) {
    self.budget = budget
    rests = ExchangeRests(budget: budget)
    self.maximumCount = UInt64(maximumCount)
    salt = seed ^ 0xA076_1D64_78BD_642F
    // Odd, and with bits everywhere whatever the seed is.
    multiplier = (seed &* GoldenRatio.of64Bits) ^ 0xE703_7ED1_A0B4_28DB | 1
    mask = UInt64(min(Self.firstCapacity, maximumCount)) - 1
    slotMask = Self.leastSlots - 1
    reserved = LargeMemory.reserve(maximumCount * Self.farGrowth * MemoryLayout<KeptExchange>.stride)
    ring = reserved.start.assumingMemoryBound(to: KeptExchange.self)
    reservedIDs =
      keepsIDs ? LargeMemory.reserve(maximumCount * Self.farGrowth * MemoryLayout<UInt32>.stride) : nil
    ids = reservedIDs?.start.assumingMemoryBound(to: UInt32.self)
    slots = Self.newSlots(Self.leastSlots)
  }

  /// An index of `count` free slots.
  static func newSlots(_ count: Int) -> UnsafeMutablePointer<UInt64> {
    let slots = LargeMemory.allocate(count * MemoryLayout<UInt64>.stride).assumingMemoryBound(to: UInt64.self)
    slots.initialize(repeating: Self.empty, count: count)
    return slots
  }

  deinit {
    LargeMemory.release(reserved)
    if let reservedIDs { LargeMemory.release(reservedIDs) }
    slots.deallocate()
  }

  @inline(__always)
  var isFull: Bool { tail &- head > mask }
  /// Bytes of an exchange and of its two entries in `Tracker.waiting`, without the slots and the rest that it may need.
  var costPerExchange: Int {
    MemoryLayout<KeptExchange>.stride + (ids == nil ? 0 : MemoryLayout<UInt32>.stride)
      + 2 * WaitingExchanges.costPerEntry
  }
  /// Bytes of the index; it charges them to the budget itself.
  var indexCost: Int { (slotMask + 1) * MemoryLayout<UInt64>.stride }
  /// Exchanges it has room for, a power of two.
  var capacity: Int { Int(truncatingIfNeeded: mask) + 1 }
  var canGrow: Bool { mask + 1 < maximumCount && hasPlaces }
  /// Whether it may become up to `farGrowth` times as large as it was meant to.
  var canGrowFar: Bool { mask + 1 < maximumCount * UInt64(Self.farGrowth) && hasPlaces }
  /// How many times as large as it was meant to it may become.
  static var farGrowth: Int { 8 }
  /// Whether there are addresses for twice as many.
  var hasPlaces: Bool {
    2 * capacity * MemoryLayout<KeptExchange>.stride <= reserved.byteCount
      && reservedIDs.map { 2 * capacity * MemoryLayout<UInt32>.stride <= $0.byteCount } ?? true
  }

  @inline(__always)
  func pointer(_ position: UInt64) -> Ref<KeptExchange> {
    Ref(ring + Int(truncatingIfNeeded: position & mask))
  }

  // MARK: One exchange

  /// The lower half of an exchange's position, by which it is known as long as it is not moved.
  @inline(__always)
  func link(of exchange: Ref<KeptExchange>) -> UInt32 {
    let newest = tail &- 1
    let place = UInt64(truncatingIfNeeded: exchange.index(from: ring))
    return UInt32(truncatingIfNeeded: newest &- ((newest &- place) & mask))
  }

  /// An exchange's number in the run; `.max` where nobody is told of it.
  @inline(__always)
  func id(of exchange: Ref<KeptExchange>) -> UInt32 {
    guard let ids else { return .max }
    return ids[exchange.index(from: ring)]
  }

  /// An exchange's number.
  @inline(__always)
  func sequence(of exchange: Ref<KeptExchange>) -> UInt64 {
    exchange.pointee.hasRest
      ? UInt64(rests.pointer(exchange.pointee.fingerprint).pointee.numberHigh) << 32 | UInt64(exchange.pointee.number)
      : UInt64(exchange.pointee.number)
  }

  @inline(__always)
  func has(_ sequence: UInt64, _ exchange: Ref<KeptExchange>) -> Bool {
    exchange.pointee.number == UInt32(truncatingIfNeeded: sequence) && self.sequence(of: exchange) == sequence
  }

  /// The fingerprint of an exchange's body.
  @inline(__always)
  func fingerprint(of exchange: Ref<KeptExchange>) -> UInt32 {
    exchange.pointee.hasRest
      ? rests.pointer(exchange.pointee.fingerprint).pointee.fingerprint : exchange.pointee.fingerprint
  }

  /// When the last copy of an exchange came, to the microsecond.
  @inline(__always)
  func lastAt(_ exchange: Ref<KeptExchange>) -> Timestamp {
    guard exchange.pointee.hasRest else { return exchange.pointee.firstAt }
    let delay = rests.pointer(exchange.pointee.fingerprint).pointee.lastDelay
    return exchange.pointee.firstAt.advanced(by: Int64(delay) * 1_000)
  }

  /// Copies of an exchange, at most 65,535.
  func copies(of exchange: Ref<KeptExchange>) -> UInt16 {
    guard exchange.pointee.hasRest else { return 1 }
    let rest = rests.pointer(exchange.pointee.fingerprint)
    return UInt16(clamping: 1 + Int(rest.pointee.repeats) + Int(rest.pointee.duplicates))
  }

  /// The rest of an exchange, made when it has none; it stays there until another one is made.
  mutating func rest(of exchange: Ref<KeptExchange>) -> Ref<ExchangeRest> {
    if !exchange.pointee.hasRest {
      exchange.pointee.fingerprint = rests.add(ExchangeRest(fingerprint: exchange.pointee.fingerprint))
      exchange.pointee.marks.insert(.hasRest)
    }
    return rests.pointer(exchange.pointee.fingerprint)
  }

  /// Gives back what an exchange has beside its place in the ring, which it has left.
  @inline(__always)
  mutating func release(_ exchange: Ref<KeptExchange>) {
    if exchange.pointee.hasRest { rests.remove(exchange.pointee.fingerprint) }
  }

  /// What the numbers of messages that ask for no answer have in them: nobody looks for one of those. Above all numbers that
  /// outputs take for the wire's, which end at 2⁴⁰; below it there is room for a message's number in the run, of 32 bits.
  static var unnumbered: UInt64 { 1 << 41 }

  /// All of an exchange, for who is told of it.
  func told(_ exchange: Ref<KeptExchange>) -> Exchange {
    let isOneWay = exchange.pointee.fate == .unacknowledged
    return Exchange(
      exchange.pointee,
      sequence: isOneWay ? Self.unnumbered | UInt64(exchange.pointee.number) : sequence(of: exchange),
      id: id(of: exchange),
      rest: exchange.pointee.hasRest ? rests.pointer(exchange.pointee.fingerprint).pointee : ExchangeRest())
  }

  // MARK: Adding

  /// Puts `exchange` at the front, where nobody looks for it; there is room. `id` is its number in the run.
  @inline(__always)
  mutating func append(
    _ exchange: KeptExchange, id: UInt32, behind previous: UInt32 = 0
  ) -> Ref<KeptExchange> {
    let place = Int(truncatingIfNeeded: tail & mask)
    (ring + place).initialize(to: exchange)
    ring[place].previous = previous
    if let ids { (ids + place).initialize(to: id) }
    tail &+= 1
    return Ref(ring + place)
  }

  /// Puts `exchange`, whose number is below 2³², at the front, and at the front of those that begin at a window's `place`; there
  /// is room.
  @inline(__always)
  mutating func append(
    _ exchange: KeptExchange, id: UInt32, at place: UnsafeMutablePointer<UInt32>
  ) -> Ref<KeptExchange> {
    let older = place.pointee
    place.pointee = UInt32(truncatingIfNeeded: tail)
    return append(exchange, id: id, behind: older)
  }

  /// Puts `exchange` at the front and into the index; there is room. `numberHigh` is the high half of its number.
  mutating func appendIndexed(
    _ exchange: KeptExchange, numberHigh: UInt32, id: UInt32
  ) -> Ref<KeptExchange> {
    let place = append(exchange, id: id)
    if numberHigh != 0 { rest(of: place).pointee.numberHigh = numberHigh }
    index(place, position: tail &- 1)
    return place
  }

  /// Puts an exchange that is there at the front, where a window's `place` or, without one, the index says where it is; there
  /// is room. Its former place may be the new one, if it was dropped from there.
  mutating func move(
    _ exchange: Ref<KeptExchange>, to place: UnsafeMutablePointer<UInt32>?
  ) -> Ref<KeptExchange> {
    let (copy, id) = (exchange.pointee, id(of: exchange))
    exchange.pointee.flags.insert(.moved)
    if let place {
      _ = append(copy, id: id, at: place)
    } else {
      index(append(copy, id: id), position: tail &- 1)
    }
    let new = pointer(tail &- 1)
    // What it has beside its place goes with it.
    if new != exchange { exchange.pointee.marks.remove(.hasRest) }
    return new
  }

  // MARK: The ring

  /// Forgets the oldest exchange.
  @inline(__always)
  mutating func dropOldest() {
    if indexed > 0 { removeOldestFromIndex() }
    head &+= 1
  }

  /// Doubles the ring, in place. Positions stay as they are, so windows and the index do, too.
  @inline(never)
  mutating func grow() {
    let old = mask
    mask = mask * 2 + 1
    var position = head
    while position < tail {
      // Those whose place has changed go to the half that was not in use.
      if position & mask != position & old {
        let former = Int(truncatingIfNeeded: position & old)
        let place = Int(truncatingIfNeeded: position & mask)
        (ring + place).initialize(to: ring[former])
        if let ids { (ids + place).initialize(to: ids[former]) }
      }
      position &+= 1
    }
  }
}
