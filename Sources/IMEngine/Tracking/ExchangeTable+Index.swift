import CMachine
import IMWire

/// The index of exchanges whose numbers are no counters, or of which a session has many open.
extension ExchangeTable {
  @inline(__always)
  func hash(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> UInt64 {
    hash(session, sequence) ^ UInt64(direction.rawValue)
  }

  /// The part of a hash that both directions share: their slots are neighbours, in one cache line.
  @inline(__always)
  func hash(_ session: UInt32, _ sequence: UInt64) -> UInt64 {
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
        place(slots[i]).prefetch(at: 0)
        return
      }
      i = (i &+ 1) & slotMask
    }
  }

  @inline(__always)
  func place(_ slot: UInt64) -> Ref<KeptExchange> {
    Ref(ring + Int(truncatingIfNeeded: slot & mask))
  }

  /// The slot of a number, or the empty one where it would stand.
  @inline(__always)
  func slot(
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
  func find(_ session: UInt32, _ direction: Direction, _ sequence: UInt64) -> Ref<KeptExchange>? {
    let i = slot(hash(session, direction, sequence), session, direction, sequence)
    return slots[i] == Self.empty ? nil : place(slots[i])
  }

  /// Makes the exchange at `position` the newest of its number in the index.
  mutating func index(_ exchange: Ref<KeptExchange>, position: UInt64) {
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
    for number in 0..<ExchangeWindow.places {
      var link = window.newest[number]
      window.newest[number] = 0
      var last: UInt32 = 0
      var session: UInt32?
      while true {
        let age = age(link)
        guard age > last else { break }
        last = age
        let exchange = place(UInt64(link))
        if session ?? exchange.pointee.session != exchange.pointee.session { break }
        session = exchange.pointee.session
        links.append((age, link))
        link = exchange.pointee.previous
      }
    }
    links.sort { $0.age > $1.age }
    for (age, link) in links {
      let exchange = place(UInt64(link))
      exchange.pointee.previous = 0
      // What has moved is found where it moved to.
      if !exchange.pointee.flags.contains(.moved) { index(exchange, position: tail &- UInt64(age)) }
    }
  }

  /// Doubles the index. A slot tells where it stands in any.
  @inline(never)
  mutating func growIndex() {
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

  @inline(never)
  mutating func removeOldestFromIndex() {
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
  mutating func clear(_ slot: Int) {
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
}
