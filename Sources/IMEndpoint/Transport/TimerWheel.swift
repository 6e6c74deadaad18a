/// All deadlines of one loop: a hierarchical timing wheel of one-millisecond ticks.
///
/// Four levels of 256 slots reach 49 days; what lies further ahead waits in the last slot and is placed again when its
/// turn comes. Scheduling, cancelling and moving cost the same with ten timers and with a million: entries stand in a pool
/// and are linked into their slot. Time comes in with each call, so a test turns the wheel by hand.
///
/// A timer fires at the first tick at or after its deadline, never before. Timers of an earlier tick fire before those of a
/// later one; within one tick the order is not defined.
/// Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 7.
package struct TimerWheel {
  /// Names one scheduled timer; it is worth nothing once that timer has fired or was cancelled.
  package struct Token: Hashable, Sendable {
    fileprivate var index: UInt32
    fileprivate var generation: UInt32
  }

  private struct Entry {
    var deadline: Int64
    var payload: UInt64
    var next: Int32
    var previous: Int32
    /// The slot it is linked into; -1 while the entry is free.
    var slot: Int32
    var generation: UInt32
  }

  /// Nanoseconds of one tick.
  package static var tick: Int64 { 1_000_000 }
  private static var levels: Int { 4 }
  private static var slotsALevel: Int { 256 }

  private var entries: [Entry] = []
  private var firstFree: Int32 = -1
  /// The first entry of each slot, level by level; -1 is none.
  private var heads: [Int32]
  /// One bit a slot that holds something, four words a level.
  private var occupied: [UInt64]
  /// The tick up to which everything has fired.
  private var current: Int64
  /// Timers that wait.
  package private(set) var count = 0

  /// An empty wheel that stands at `now`, in nanoseconds of any clock that only goes forward.
  package init(now: Int64) {
    heads = Array(repeating: -1, count: Self.levels * Self.slotsALevel)
    occupied = Array(repeating: 0, count: Self.levels * Self.slotsALevel / 64)
    current = max(0, now) / Self.tick
  }

  /// Has `payload` fire at `deadline`; one that has passed fires at the next turn.
  package mutating func schedule(at deadline: Int64, payload: UInt64) -> Token {
    let index: Int32
    if firstFree >= 0 {
      index = firstFree
      firstFree = entries[Int(index)].next
      entries[Int(index)].deadline = deadline
      entries[Int(index)].payload = payload
    } else {
      index = Int32(truncatingIfNeeded: entries.count)
      entries.append(
        Entry(deadline: deadline, payload: payload, next: -1, previous: -1, slot: -1, generation: 0))
    }
    link(index, earliest: current + 1)
    count += 1
    return Token(index: UInt32(bitPattern: index), generation: entries[Int(index)].generation)
  }

  /// Takes a timer out; false when it has fired or was taken out before.
  @discardableResult
  package mutating func cancel(_ token: Token) -> Bool {
    guard let index = place(token) else { return false }
    unlink(index)
    free(index)
    return true
  }

  /// Gives a waiting timer another deadline; false when there is none to move.
  @discardableResult
  package mutating func move(_ token: Token, to deadline: Int64) -> Bool {
    guard let index = place(token) else { return false }
    unlink(index)
    entries[Int(index)].deadline = deadline
    link(index, earliest: current + 1)
    return true
  }

  /// A moment at or before the next deadline, in nanoseconds; nil with nothing to wait for.
  ///
  /// Exact for what is due within 256 ticks. For what lies further ahead it is the moment at which the wheel has to sort
  /// timers anew, so that a loop which sleeps until then wakes at most once a quarter of a second for nothing, and for
  /// timers of a minute once in 16 seconds.
  package var nextTurn: Int64? {
    if count == 0 { return nil }
    var best: Int64?
    for level in 0..<Self.levels {
      guard let distance = distanceToOccupied(level) else { continue }
      let shift = Int64(level * 8)
      let slotTick = ((current >> shift) + Int64(distance)) << shift
      best = min(best ?? .max, max(slotTick, current + 1))
    }
    return best.map { $0 * Self.tick }
  }

  /// Moves the wheel to `now` and adds the payload of every timer whose deadline has come to `fired`.
  package mutating func advance(to now: Int64, into fired: inout [UInt64]) {
    let target = max(0, now) / Self.tick
    while current < target {
      // Ticks in which nothing can happen are jumped over.
      guard let turn = nextTurn, turn / Self.tick <= target else {
        current = target
        return
      }
      current = turn / Self.tick
      cascadeIfDue()
      fireSlot(Int(current & 255), into: &fired)
    }
  }

  private mutating func cascadeIfDue() {
    // From the top: what a higher level hands down may be due on the level below at this very tick.
    for level in stride(from: Self.levels - 1, through: 1, by: -1) {
      let shift = Int64(level * 8)
      guard current & ((1 << shift) - 1) == 0 else { continue }
      cascade(level * Self.slotsALevel + Int((current >> shift) & 255))
    }
  }

  private mutating func cascade(_ slot: Int) {
    var index = takeAll(slot)
    while index >= 0 {
      let next = entries[Int(index)].next
      // What is due at this very tick goes into the slot that fires next.
      link(index, earliest: current)
      index = next
    }
  }

  private mutating func fireSlot(_ slot: Int, into fired: inout [UInt64]) {
    var index = takeAll(slot)
    while index >= 0 {
      let next = entries[Int(index)].next
      fired.append(entries[Int(index)].payload)
      free(index)
      index = next
    }
  }

  /// Empties a slot and returns its first entry; the links between the entries still stand.
  private mutating func takeAll(_ slot: Int) -> Int32 {
    let first = heads[slot]
    heads[slot] = -1
    occupied[slot / 64] &= ~(1 << UInt64(slot % 64))
    return first
  }

  /// Links an entry into the slot of its tick: the deadline rounded up, and at least `earliest`.
  private mutating func link(_ index: Int32, earliest: Int64) {
    let deadline = max(0, entries[Int(index)].deadline)
    let tick = max(deadline / Self.tick + (deadline % Self.tick == 0 ? 0 : 1), earliest)
    let ahead = min(tick - current, (1 << 32) - 1)
    let reached = current + ahead
    var level = 0
    while level < Self.levels - 1, ahead >= 1 << Int64(8 * (level + 1)) { level += 1 }
    let slot = level * Self.slotsALevel + Int((reached >> Int64(8 * level)) & 255)
    let head = heads[slot]
    entries[Int(index)].next = head
    entries[Int(index)].previous = -1
    entries[Int(index)].slot = Int32(truncatingIfNeeded: slot)
    if head >= 0 { entries[Int(head)].previous = index }
    heads[slot] = index
    occupied[slot / 64] |= 1 << UInt64(slot % 64)
  }

  private mutating func unlink(_ index: Int32) {
    let entry = entries[Int(index)]
    if entry.previous >= 0 {
      entries[Int(entry.previous)].next = entry.next
    } else {
      heads[Int(entry.slot)] = entry.next
    }
    if entry.next >= 0 { entries[Int(entry.next)].previous = entry.previous }
    if heads[Int(entry.slot)] < 0 { occupied[Int(entry.slot) / 64] &= ~(1 << UInt64(entry.slot % 64)) }
  }

  private mutating func free(_ index: Int32) {
    entries[Int(index)].slot = -1
    entries[Int(index)].generation &+= 1
    entries[Int(index)].next = firstFree
    firstFree = index
    count -= 1
  }

  private func place(_ token: Token) -> Int32? {
    let index = Int32(bitPattern: token.index)
    guard index >= 0, Int(index) < entries.count, entries[Int(index)].generation == token.generation,
      entries[Int(index)].slot >= 0
    else { return nil }
    return index
  }

  /// How many slots ahead of the current one the next one with entries stands, 1 to 256; nil in an empty level.
  private func distanceToOccupied(_ level: Int) -> Int? {
    let at = Int((current >> Int64(level * 8)) & 255)
    let base = level * Self.slotsALevel / 64
    // The word of the current slot first, its bits after the slot; then the words after it, and its lower bits last.
    for step in 0...4 {
      let word = ((at / 64) + step) % 4
      var bits = occupied[base + word]
      if step == 0 { bits &= at % 64 == 63 ? 0 : ~0 << UInt64(at % 64 + 1) }
      if step == 4 { bits &= at % 64 == 63 ? ~0 : (1 << UInt64(at % 64 + 1)) - 1 }
      if bits == 0 { continue }
      let slot = word * 64 + bits.trailingZeroBitCount
      let distance = (slot - at) & 255
      return distance == 0 ? 256 : distance
    }
    return nil
  }
}
