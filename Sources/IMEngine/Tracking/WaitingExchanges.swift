import IMWire

/// Open exchanges that stand behind younger ones, because they were moved, by the time at which each is looked at next.
///
/// A wheel of slots, each for the exchanges of a tenth of a second: a look at what is due passes over nothing that is not,
/// however much waits and however often it is asked. Entries have one array, and a slot is a list of them.
struct WaitingExchanges: ~Copyable {
  /// An exchange, by the lower half of its position, the time at which it is due, in milliseconds modulo 2³², and the entry
  /// behind it in its slot, or in the list of free ones.
  private struct Entry: BitwiseCopyable {
    var link: UInt32, due: UInt32, next: UInt32
  }

  /// The first entry of a slot, and the last.
  private struct Slot: BitwiseCopyable {
    var first: UInt32, last: UInt32
  }

  /// Milliseconds of a slot, and slots: 25 s, beyond which an entry is looked at early and put back.
  private static var slotTime: Int64 { 100 }
  private static var slotCount: Int64 { 256 }
  private static var none: UInt32 { .max }
  /// Bytes of an entry.
  static var costPerEntry: Int { MemoryLayout<Entry>.stride }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity = 64
  /// Entries ever used, and the first one that is not in use now.
  private var used: UInt32 = 0
  private var free: UInt32 = Self.none
  private let slots: UnsafeMutablePointer<Slot>
  /// The number of entries in all slots; the exchanges of some may be resolved, or gone.
  private(set) var count = 0
  /// The slot that is looked at next, counted from the epoch; nothing is due in those before it.
  private var current = Int64.min

  init() {
    entries = .allocate(capacity: capacity)
    slots = .allocate(capacity: Int(Self.slotCount))
    slots.initialize(repeating: Slot(first: Self.none, last: Self.none), count: Int(Self.slotCount))
  }

  deinit {
    entries.deallocate()
    slots.deallocate()
  }

  /// Puts an exchange where it is looked at first when `due` has come.
  mutating func add(_ link: UInt32, due: Timestamp) {
    let due = Self.milliseconds(due)
    if count == 0 { current = max(current, due / Self.slotTime - Self.slotCount / 2) }
    let entry = newEntry()
    entries[Int(entry)].link = link
    entries[Int(entry)].due = UInt32(truncatingIfNeeded: due)
    put(entry, due)
    count += 1
  }

  /// Whether the next entry needs more memory.
  var isFull: Bool { free == Self.none && Int(used) == capacity }

  /// Makes room for further entries: takes those out that `isGone`, and takes memory for twice as many where three quarters
  /// of them stay.
  @inline(never)
  mutating func makeRoom(where isGone: (UInt32) -> Bool) {
    removeAll(where: isGone)
    if count > capacity / 4 * 3 { grow() }
  }

  private mutating func newEntry() -> UInt32 {
    if free != Self.none {
      let entry = free
      free = entries[Int(entry)].next
      return entry
    }
    if Int(used) == capacity { grow() }
    used += 1
    return used - 1
  }

  private mutating func grow() {
    let more = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
    more.moveInitialize(from: entries, count: capacity)
    entries.deallocate()
    entries = more
    capacity *= 2
  }

  /// Puts an entry at the end of the slot in which `due` is, or of the last there is.
  private mutating func put(_ entry: UInt32, _ due: Int64) {
    append(entry, Self.place(min(max(due / Self.slotTime, current), current + Self.slotCount - 1)))
  }

  private func append(_ entry: UInt32, _ place: Int) {
    entries[Int(entry)].next = Self.none
    if slots[place].first == Self.none {
      slots[place].first = entry
    } else {
      entries[Int(slots[place].last)].next = entry
    }
    slots[place].last = entry
  }

  /// Takes one out whose time has come at `now`, in the order in which they were due, to a tenth of a second; `nil` when there
  /// is none. A slot is looked at when it is over.
  mutating func popDue(_ now: Timestamp) -> UInt32? {
    guard count > 0 else { return nil }
    let end = Self.milliseconds(now) / Self.slotTime
    current = max(current, end - Self.slotCount)
    while current < end {
      let slot = slots + Self.place(current)
      let entry = slot.pointee.first
      guard entry != Self.none else {
        current += 1
        continue
      }
      slot.pointee.first = entries[Int(entry)].next
      let behind = (current + 1) * Self.slotTime
      let left = Int64(entries[Int(entry)].due.distance(from: UInt32(truncatingIfNeeded: behind)))
      if left < 0 {
        release(entry)
        return entries[Int(entry)].link
      }
      put(entry, behind + left)
    }
    return nil
  }

  private mutating func release(_ entry: UInt32) {
    entries[Int(entry)].next = free
    free = entry
    count -= 1
  }

  /// Takes those out that `isGone`.
  mutating func removeAll(where isGone: (UInt32) -> Bool) {
    for place in 0..<Int(Self.slotCount) {
      var entry = slots[place].first
      slots[place].first = Self.none
      while entry != Self.none {
        let next = entries[Int(entry)].next
        if isGone(entries[Int(entry)].link) { release(entry) } else { append(entry, place) }
        entry = next
      }
    }
  }

  private static func milliseconds(_ time: Timestamp) -> Int64 { max(0, time.microseconds / 1_000) }
  private static func place(_ slot: Int64) -> Int { Int(truncatingIfNeeded: slot & (slotCount - 1)) }
}
