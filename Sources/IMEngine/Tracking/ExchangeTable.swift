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
  private static var empty: UInt64 { .max }
  /// Slots of an index that nothing stands in yet; and slots for each exchange in it, at least.
  private static var leastSlots: Int { 1 << 6 }
  private static var slotsPerExchange: Int { 4 }

  /// Places for exchanges, each a cache line, in addresses that are reserved for all there may ever be.
  private let ring: UnsafeMutablePointer<Exchange>
  private let reserved: LargeMemory.Reservation
  private var slots: UnsafeMutablePointer<UInt64>
  /// Places in the ring, and in the index, less one.
  private var mask: UInt64
  private var slotMask: Int
  /// Slots in use.
  private var indexed = 0
  /// Positions of the oldest exchange and behind the newest; they only grow.
  private(set) var head: UInt64 = 1
  private(set) var tail: UInt64 = 1
  private let maximumCount: UInt64
  private let budget: MemoryBudget
  /// What the hash mixes into a number, and multiplies it with.
  private let salt: UInt64, multiplier: UInt64

  /// A table of at most `maximumCount` (a power of two, at most 2²⁴) exchanges. Numbers come off the wire: `seed` keeps
  /// senders from choosing those that collide.
  init(maximumCount: Int, seed: UInt64, budget: MemoryBudget) {
    self.budget = budget
    self.maximumCount = UInt64(maximumCount)
    salt = seed ^ 0xA076_1D64_78BD_642F
    // Odd, and with bits everywhere whatever the seed is.
    multiplier = (seed &* GoldenRatio.of64Bits) ^ 0xE703_7ED1_A0B4_28DB | 1
    mask = UInt64(min(1 << 12, maximumCount)) - 1
    slotMask = Self.leastSlots - 1
    reserved = LargeMemory.reserve(maximumCount * Self.farGrowth * MemoryLayout<Exchange>.stride)
    ring = reserved.start.assumingMemoryBound(to: Exchange.self)
    slots = Self.newSlots(Self.leastSlots)
  }

  /// An index of `count` free slots.
  private static func newSlots(_ count: Int) -> UnsafeMutablePointer<UInt64> {
    let slots = LargeMemory.allocate(count * MemoryLayout<UInt64>.stride).assumingMemoryBound(to: UInt64.self)
    slots.initialize(repeating: Self.empty, count: count)
    return slots
  }

  deinit {
    LargeMemory.release(reserved)
    slots.deallocate()
  }

  @inline(__always)
  var isFull: Bool { tail &- head > mask }
  /// Bytes of an exchange and of its two entries in `Tracker.waiting`, without the slots that it may need.
  static var costPerExchange: Int { MemoryLayout<Exchange>.stride + 2 * WaitingExchanges.costPerEntry }
  /// Bytes of the index; it charges them to the budget itself.
  var indexCost: Int { (slotMask + 1) * MemoryLayout<UInt64>.stride }
  /// Exchanges it has room for, a power of two.
  var capacity: Int { Int(truncatingIfNeeded: mask) + 1 }
  var canGrow: Bool { mask + 1 < maximumCount && hasPlaces }
  /// Whether it may become up to `farGrowth` times as large as it was meant to.
  var canGrowFar: Bool { mask + 1 < maximumCount * UInt64(Self.farGrowth) && hasPlaces }
  /// How many times as large as it was meant to it may become.
  private static var farGrowth: Int { 8 }
  /// Whether there are addresses for twice as many.
  private var hasPlaces: Bool {
    2 * capacity * MemoryLayout<Exchange>.stride <= reserved.byteCount
  }

  @inline(__always)
  func pointer(_ position: UInt64) -> UnsafeMutablePointer<Exchange> {
    ring + Int(truncatingIfNeeded: position & mask)
  }

  // MARK: Chains

  /// How many exchanges ago the one at `link` began, the lower half of its position; 0 where there is none or it was forgotten.
  /// Positions are compared modulo 2³²; the ring is far smaller than that.
  @inline(__always)
  private func age(_ link: UInt32) -> UInt32 {
    let age = UInt32(truncatingIfNeeded: tail) &- link
    return link == 0 || UInt64(age) > tail &- head ? 0 : age
  }

  /// The exchange whose position has the lower half `link`, `nil` where it was forgotten.
  func pointer(ifThere link: UInt32) -> UnsafeMutablePointer<Exchange>? {
    age(link) > 0 ? ring + Int(truncatingIfNeeded: UInt64(link) & mask) : nil
  }

  /// The newest exchange of a number among those that hang behind `first`, and how many of other numbers stood before it.
  @inline(__always)
  private func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64, from first: UInt32
  ) -> (found: UnsafeMutablePointer<Exchange>?, steps: Int) {
    var link = first
    var steps = 0
    var last: UInt32 = 0
    while true {
      let age = age(link)
      // What hangs behind an exchange is older; a link that 2³² exchanges have passed may say otherwise.
      guard age > last else { return (nil, steps) }
      last = age
      let exchange = ring + Int(truncatingIfNeeded: UInt64(link) & mask)
      guard exchange.pointee.session == session, exchange.pointee.direction == direction else { return (nil, steps) }
      if exchange.pointee.sequence == sequence, !exchange.pointee.flags.contains(.moved) { return (exchange, steps) }
      link = exchange.pointee.previous
      steps &+= 1
    }
  }

  /// The newest exchange of a number in a window, whose place for it is `place`, and how many of other numbers stood before
  /// it.
  @inline(__always)
  func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64, at place: UnsafeMutablePointer<UInt32>
  ) -> (found: UnsafeMutablePointer<Exchange>?, steps: Int) {
    find(session, direction, sequence, from: place.pointee)
  }

  /// The next older one with the same number, and how many of other numbers stood before it.
  @inline(__always)
  func next(
    after exchange: UnsafeMutablePointer<Exchange>
  ) -> (found: UnsafeMutablePointer<Exchange>?, steps: Int) {
    find(
      exchange.pointee.session, exchange.pointee.direction, exchange.pointee.sequence, from: exchange.pointee.previous)
  }

  /// The same, for exchanges without a number, which are answered in their order: those that were answered before `now` are
  /// passed over, and left out of the chain, so that nobody comes to them again. They stand in the index.
  mutating func nextOpen(
    after exchange: UnsafeMutablePointer<Exchange>, _ now: Timestamp
  ) -> UnsafeMutablePointer<Exchange>? {
    var older = next(after: exchange).found
    while let passed = older, passed.pointee.isAnswered, passed.pointee.firstAt <= now {
      older = next(after: passed).found
      exchange.pointee.previous = passed.pointee.previous
    }
    return older
  }

  /// Asks for the exchange at `link`, if there is one.
  @inline(__always)
  func prefetch(_ link: UInt32) { imdump_prefetch(ring + Int(truncatingIfNeeded: UInt64(link) & mask)) }

  /// Puts `exchange` at the front, where nobody looks for it; there is room.
  @inline(__always)
  mutating func append(_ exchange: Exchange, behind previous: UInt32 = 0) -> UnsafeMutablePointer<Exchange> {
    let place = pointer(tail)
    place.initialize(to: exchange)
    place.pointee.previous = previous
    tail &+= 1
    return place
  }

  /// Puts `exchange` at the front, and at the front of those that begin at a window's `place`; there is room.
  @inline(__always)
  mutating func append(
    _ exchange: Exchange, at place: UnsafeMutablePointer<UInt32>
  ) -> UnsafeMutablePointer<Exchange> {
    let older = place.pointee
    place.pointee = UInt32(truncatingIfNeeded: tail)
    return append(exchange, behind: older)
  }

  // MARK: The index

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

  /// A number by which hashes of different tables can be told apart.
  func home(_ session: UInt32, _ direction: Direction, _ sequence: UInt64, of slots: Int) -> Int {
    Int(truncatingIfNeeded: hash(session, direction, sequence)) & (slots - 1)
  }

  /// Whether anything stands in the index.
  @inline(__always)
  var hasIndex: Bool { indexed > 0 }

  /// Asks for the slots of a number in both directions, if anything stands in the index.
  @inline(__always)
  func prefetchSlots(_ wanted: WantedExchange) {
    guard indexed > 0 else { return }
    imdump_prefetch(slots + (Int(truncatingIfNeeded: hash(wanted.session, wanted.sequence)) & slotMask))
  }

  /// Asks for the newest exchange in the index whose number seems to be the one that is wanted.
  @inline(__always)
  func prefetchIndexed(_ wanted: WantedExchange) {
    let hash = hash(wanted.session, wanted.sequence)
    var i = Int(truncatingIfNeeded: hash) & slotMask
    // The slot of the other direction comes behind this one's.
    if slots[i] == Self.empty { i = (i &+ 1) & slotMask }
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

  /// The newest exchange of that number in the index, `nil` when there is none.
  @inline(__always)
  func find(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> UnsafeMutablePointer<Exchange>? {
    let i = slot(hash(session, direction, sequence), session, direction, sequence)
    return slots[i] == Self.empty ? nil : place(slots[i])
  }

  /// Puts `exchange` at the front, and into the index; there is room.
  mutating func appendIndexed(_ exchange: Exchange) -> UnsafeMutablePointer<Exchange> {
    let place = append(exchange)
    index(place, position: tail &- 1)
    return place
  }

  /// Makes the exchange at `position` the newest of its number in the index.
  private mutating func index(_ exchange: UnsafeMutablePointer<Exchange>, position: UInt64) {
    if (indexed + 1) * Self.slotsPerExchange > slotMask + 1 { growIndex() }
    let h = hash(exchange.pointee.session, exchange.pointee.direction, exchange.pointee.sequence)
    let i = slot(h, exchange.pointee.session, exchange.pointee.direction, exchange.pointee.sequence)
    let old = slots[i]
    indexed += old == Self.empty ? 1 : 0
    exchange.pointee.previous = old == Self.empty ? 0 : UInt32(truncatingIfNeeded: old)
    slots[i] = h << 32 | position & 0xffff_ffff
  }

  /// Moves all exchanges that begin in `window` to the index, and empties it.
  @inline(never)
  mutating func index(_ window: inout ExchangeWindow) {
    var links: [(age: UInt32, link: UInt32)] = []
    for place in 0..<ExchangeWindow.places {
      var link = window.newest[place]
      window.newest[place] = 0
      var last: UInt32 = 0
      var session: UInt32?
      while true {
        let age = age(link)
        guard age > last else { break }
        last = age
        let exchange = ring + Int(truncatingIfNeeded: UInt64(link) & mask)
        if session ?? exchange.pointee.session != exchange.pointee.session { break }
        session = exchange.pointee.session
        links.append((age, link))
        link = exchange.pointee.previous
      }
    }
    links.sort { $0.age > $1.age }
    for (age, link) in links {
      let exchange = ring + Int(truncatingIfNeeded: UInt64(link) & mask)
      exchange.pointee.previous = 0
      // What has moved is found where it moved to.
      if !exchange.pointee.flags.contains(.moved) { index(exchange, position: tail &- UInt64(age)) }
    }
  }

  /// Doubles the index. A slot tells where it stands in any.
  @inline(never)
  private mutating func growIndex() {
    let old = slots
    let count = slotMask + 1
    budget.take(.exchanges, indexCost)
    slotMask = count * 2 - 1
    slots = Self.newSlots(count * 2)
    for j in 0..<count where old[j] != Self.empty {
      var i = Int(truncatingIfNeeded: old[j] >> 32) & slotMask
      while slots[i] != Self.empty { i = (i &+ 1) & slotMask }
      slots[i] = old[j]
    }
    old.deallocate()
  }

  // MARK: Forgetting

  /// Forgets the oldest exchange.
  @inline(__always)
  mutating func dropOldest() {
    if indexed > 0 { removeOldestFromIndex() }
    head &+= 1
  }

  @inline(never)
  private mutating func removeOldestFromIndex() {
    let oldest = pointer(head)
    // The slots of those that follow are far apart; they will be wanted soon.
    if tail &- head > 8 {
      let next = pointer(head &+ 8)
      prefetchSlots(WantedExchange(session: next.pointee.session, sequence: next.pointee.sequence))
    }
    let h = hash(oldest.pointee.session, oldest.pointee.direction, oldest.pointee.sequence)
    let entry = h << 32 | head & 0xffff_ffff
    // The slot is this one's unless a newer one of the same number has it.
    var i = Int(truncatingIfNeeded: h) & slotMask
    while slots[i] != Self.empty {
      if slots[i] == entry {
        clear(i)
        indexed -= 1
        break
      }
      i = (i &+ 1) & slotMask
    }
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

  /// Doubles the ring, in place. Positions stay as they are, so windows and the index do, too.
  @inline(never)
  mutating func grow() {
    let old = mask
    mask = mask * 2 + 1
    var position = head
    while position < tail {
      // Those whose place has changed go to the half that was not in use.
      if position & mask != position & old {
        pointer(position).initialize(to: ring[Int(truncatingIfNeeded: position & old)])
      }
      position &+= 1
    }
  }
}

/// An exchange that a frame to come seems to belong to, in either direction.
struct WantedExchange: BitwiseCopyable {
  var session: UInt32, sequence: UInt64
}

/// Where the exchanges of one session begin: for each direction and each value of a number's lowest bits, the lower half of
/// the position of the newest, 0 for none. 64 bytes, one cache line.
struct ExchangeWindow: BitwiseCopyable {
  /// Places of each direction, a power of two.
  static var width: Int { 8 }
  /// Places of both.
  static var places: Int { 16 }
  var newest: InlineArray<16, UInt32> = InlineArray(repeating: 0)

  /// Where a number's exchanges begin.
  @inline(__always)
  static func place(_ direction: Direction, _ sequence: UInt64) -> Int {
    Int(direction.rawValue) &* width &+ Int(truncatingIfNeeded: sequence & UInt64(width &- 1))
  }
}
