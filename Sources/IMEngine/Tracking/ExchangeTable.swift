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

  /// Places for exchanges, in addresses that are reserved for all there may ever be.
  private let ring: UnsafeMutablePointer<KeptExchange>
  private let reserved: LargeMemory.Reservation
  /// The numbers of exchanges in the run, at the same places; `nil` where nobody is told of them.
  private let ids: UnsafeMutablePointer<UInt32>?
  private let reservedIDs: LargeMemory.Reservation?
  private var rests: ExchangeRests
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
  /// senders from choosing those that collide. `keepsIDs` says that somebody is told of exchanges by their numbers in the run.
  init(maximumCount: Int, seed: UInt64, budget: MemoryBudget, keepsIDs: Bool) {
    self.budget = budget
    rests = ExchangeRests(budget: budget)
    self.maximumCount = UInt64(maximumCount)
    salt = seed ^ 0xA076_1D64_78BD_642F
    // Odd, and with bits everywhere whatever the seed is.
    multiplier = (seed &* GoldenRatio.of64Bits) ^ 0xE703_7ED1_A0B4_28DB | 1
    mask = UInt64(min(1 << 12, maximumCount)) - 1
    slotMask = Self.leastSlots - 1
    reserved = LargeMemory.reserve(maximumCount * Self.farGrowth * MemoryLayout<KeptExchange>.stride)
    ring = reserved.start.assumingMemoryBound(to: KeptExchange.self)
    reservedIDs =
      keepsIDs ? LargeMemory.reserve(maximumCount * Self.farGrowth * MemoryLayout<UInt32>.stride) : nil
    ids = reservedIDs?.start.assumingMemoryBound(to: UInt32.self)
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
  private static var farGrowth: Int { 8 }
  /// Whether there are addresses for twice as many.
  private var hasPlaces: Bool {
    2 * capacity * MemoryLayout<KeptExchange>.stride <= reserved.byteCount
      && reservedIDs.map { 2 * capacity * MemoryLayout<UInt32>.stride <= $0.byteCount } ?? true
  }

  @inline(__always)
  func pointer(_ position: UInt64) -> UnsafeMutablePointer<KeptExchange> {
    ring + Int(truncatingIfNeeded: position & mask)
  }

  // MARK: One exchange

  /// The lower half of an exchange's position, by which it is known as long as it is not moved.
  @inline(__always)
  func link(of exchange: UnsafeMutablePointer<KeptExchange>) -> UInt32 {
    let newest = tail &- 1
    return UInt32(truncatingIfNeeded: newest &- ((newest &- UInt64(truncatingIfNeeded: exchange - ring)) & mask))
  }

  /// An exchange's number in the run; `.max` where nobody is told of it.
  @inline(__always)
  func id(of exchange: UnsafeMutablePointer<KeptExchange>) -> UInt32 {
    guard let ids else { return .max }
    return ids[exchange - ring]
  }

  /// An exchange's number.
  @inline(__always)
  func sequence(of exchange: UnsafeMutablePointer<KeptExchange>) -> UInt64 {
    exchange.pointee.hasRest
      ? UInt64(rests.pointer(exchange.pointee.fingerprint).pointee.numberHigh) << 32 | UInt64(exchange.pointee.number)
      : UInt64(exchange.pointee.number)
  }

  @inline(__always)
  private func has(_ sequence: UInt64, _ exchange: UnsafeMutablePointer<KeptExchange>) -> Bool {
    exchange.pointee.number == UInt32(truncatingIfNeeded: sequence) && self.sequence(of: exchange) == sequence
  }

  /// The fingerprint of an exchange's body.
  @inline(__always)
  func fingerprint(of exchange: UnsafeMutablePointer<KeptExchange>) -> UInt32 {
    exchange.pointee.hasRest
      ? rests.pointer(exchange.pointee.fingerprint).pointee.fingerprint : exchange.pointee.fingerprint
  }

  /// When the last copy of an exchange came, to the microsecond.
  @inline(__always)
  func lastAt(_ exchange: UnsafeMutablePointer<KeptExchange>) -> Timestamp {
    guard exchange.pointee.hasRest else { return exchange.pointee.firstAt }
    let delay = rests.pointer(exchange.pointee.fingerprint).pointee.lastDelay
    return exchange.pointee.firstAt.advanced(by: Int64(delay) * 1_000)
  }

  /// Copies of an exchange, at most 65,535.
  func copies(of exchange: UnsafeMutablePointer<KeptExchange>) -> UInt16 {
    guard exchange.pointee.hasRest else { return 1 }
    let rest = rests.pointer(exchange.pointee.fingerprint)
    return UInt16(clamping: 1 + Int(rest.pointee.repeats) + Int(rest.pointee.duplicates))
  }

  /// The rest of an exchange, made when it has none; it stays there until another one is made.
  mutating func rest(of exchange: UnsafeMutablePointer<KeptExchange>) -> UnsafeMutablePointer<ExchangeRest> {
    if !exchange.pointee.hasRest {
      exchange.pointee.fingerprint = rests.add(ExchangeRest(fingerprint: exchange.pointee.fingerprint))
      exchange.pointee.marks.insert(.hasRest)
    }
    return rests.pointer(exchange.pointee.fingerprint)
  }

  /// Gives back what an exchange has beside its place in the ring, which it has left.
  @inline(__always)
  mutating func release(_ exchange: UnsafeMutablePointer<KeptExchange>) {
    if exchange.pointee.hasRest { rests.remove(exchange.pointee.fingerprint) }
  }

  /// What the numbers of messages that ask for no answer have in them: nobody looks for one of those.
  private static var unnumbered: UInt64 { 1 << 41 }

  /// All of an exchange, for who is told of it.
  func told(_ exchange: UnsafeMutablePointer<KeptExchange>) -> Exchange {
    let isOneWay = exchange.pointee.fate == .unacknowledged
    return Exchange(
      exchange.pointee,
      sequence: isOneWay ? Self.unnumbered | UInt64(exchange.pointee.number) : sequence(of: exchange),
      id: id(of: exchange),
      rest: exchange.pointee.hasRest ? rests.pointer(exchange.pointee.fingerprint).pointee : ExchangeRest())
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
  func pointer(ifThere link: UInt32) -> UnsafeMutablePointer<KeptExchange>? {
    age(link) > 0 ? ring + Int(truncatingIfNeeded: UInt64(link) & mask) : nil
  }

  /// The newest exchange of a number among those that hang behind `first`, and how many of other numbers stood before it.
  @inline(__always)
  private func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64, from first: UInt32
  ) -> (found: UnsafeMutablePointer<KeptExchange>?, steps: Int) {
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
      if has(sequence, exchange), !exchange.pointee.flags.contains(.moved) { return (exchange, steps) }
      link = exchange.pointee.previous
      steps &+= 1
    }
  }

  /// The newest exchange of a number in a window, whose place for it is `place`, and how many of other numbers stood before
  /// it.
  @inline(__always)
  func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64, at place: UnsafeMutablePointer<UInt32>
  ) -> (found: UnsafeMutablePointer<KeptExchange>?, steps: Int) {
    find(session, direction, sequence, from: place.pointee)
  }

  /// The next older one with the same number, and how many of other numbers stood before it.
  @inline(__always)
  func next(
    after exchange: UnsafeMutablePointer<KeptExchange>
  ) -> (found: UnsafeMutablePointer<KeptExchange>?, steps: Int) {
    find(
      exchange.pointee.session, exchange.pointee.direction, sequence(of: exchange), from: exchange.pointee.previous)
  }

  /// The same, for exchanges without a number, which are answered in their order: those that were answered before `now` are
  /// passed over, and left out of the chain, so that nobody comes to them again. They stand in the index.
  mutating func nextOpen(
    after exchange: UnsafeMutablePointer<KeptExchange>, _ now: Timestamp
  ) -> UnsafeMutablePointer<KeptExchange>? {
    var older = next(after: exchange).found
    while let passed = older, passed.pointee.isAnswered, passed.pointee.firstAt <= now {
      older = next(after: passed).found
      exchange.pointee.previous = passed.pointee.previous
    }
    return older
  }

  /// Asks for the exchange at `link`, if there is one.
  @inline(__always)
  func prefetch(_ link: UInt32) {
    let place = UnsafeRawPointer(ring + Int(truncatingIfNeeded: UInt64(link) & mask))
    imdump_prefetch(place)
    // Every other one lies in two cache lines.
    imdump_prefetch(place + (MemoryLayout<KeptExchange>.size - 1))
  }

  /// Puts `exchange` at the front, where nobody looks for it; there is room. `id` is its number in the run.
  @inline(__always)
  mutating func append(
    _ exchange: KeptExchange, id: UInt32, behind previous: UInt32 = 0
  ) -> UnsafeMutablePointer<KeptExchange> {
    let place = pointer(tail)
    place.initialize(to: exchange)
    place.pointee.previous = previous
    if let ids { (ids + (place - ring)).initialize(to: id) }
    tail &+= 1
    return place
  }

  /// Puts `exchange`, whose number is below 2³², at the front, and at the front of those that begin at a window's `place`; there
  /// is room.
  @inline(__always)
  mutating func append(
    _ exchange: KeptExchange, id: UInt32, at place: UnsafeMutablePointer<UInt32>
  ) -> UnsafeMutablePointer<KeptExchange> {
    let older = place.pointee
    place.pointee = UInt32(truncatingIfNeeded: tail)
    return append(exchange, id: id, behind: older)
  }

  /// Puts `exchange` at the front and into the index; there is room. `numberHigh` is the high half of its number.
  mutating func appendIndexed(
    _ exchange: KeptExchange, numberHigh: UInt32, id: UInt32
  ) -> UnsafeMutablePointer<KeptExchange> {
    let place = append(exchange, id: id)
    if numberHigh != 0 { rest(of: place).pointee.numberHigh = numberHigh }
    index(place, position: tail &- 1)
    return place
  }

  /// Puts an exchange that is there at the front, where a window's `place` or, without one, the index says where it is; there
  /// is room. Its former place may be the new one, if it was dropped from there.
  mutating func move(
    _ exchange: UnsafeMutablePointer<KeptExchange>, to place: UnsafeMutablePointer<UInt32>?
  ) -> UnsafeMutablePointer<KeptExchange> {
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
  private func place(_ slot: UInt64) -> UnsafeMutablePointer<KeptExchange> {
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
        if has(sequence, exchange), exchange.pointee.session == session,
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
  func find(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> UnsafeMutablePointer<KeptExchange>? {
    let i = slot(hash(session, direction, sequence), session, direction, sequence)
    return slots[i] == Self.empty ? nil : place(slots[i])
  }

  /// Makes the exchange at `position` the newest of its number in the index.
  private mutating func index(_ exchange: UnsafeMutablePointer<KeptExchange>, position: UInt64) {
    if (indexed + 1) * Self.slotsPerExchange > slotMask + 1 { growIndex() }
    let sequence = sequence(of: exchange)
    let h = hash(exchange.pointee.session, exchange.pointee.direction, sequence)
    let i = slot(h, exchange.pointee.session, exchange.pointee.direction, sequence)
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
      prefetchSlots(WantedExchange(session: next.pointee.session, sequence: sequence(of: next)))
    }
    let h = hash(oldest.pointee.session, oldest.pointee.direction, sequence(of: oldest))
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
        let former = Int(truncatingIfNeeded: position & old)
        pointer(position).initialize(to: ring[former])
        if let ids { (ids + (pointer(position) - ring)).initialize(to: ids[former]) }
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
