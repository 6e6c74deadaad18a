import IMWire

/// Open exchanges that stand behind younger ones, because they were moved, by the time at which each is looked at next.
///
/// A wheel of slots, each for the exchanges of a tenth of a second: a look at what is due passes over nothing that is not,
/// however much waits.
struct WaitingExchanges {
  /// An exchange, by the lower half of its position, and the time at which it is due, in milliseconds modulo 2³².
  struct Entry {
    var link: UInt32, due: UInt32
  }

  /// Milliseconds of a slot, and slots: 25 s, beyond which an entry is looked at early and put back.
  private static var slotTime: Int64 { 100 }
  private static var slotCount: Int64 { 256 }

  private var slots = [[Entry]](repeating: [], count: Int(Self.slotCount))
  /// Entries in all slots; the exchanges of some may be settled, or gone.
  private(set) var count = 0
  /// The slot of the last look, counted from the epoch; nothing is due in those before it.
  private var current = Int64.min

  init() {}

  /// Puts an exchange where it is looked at first when `due` has come.
  mutating func add(_ link: UInt32, due: Timestamp) {
    add(Entry(link: link, due: UInt32(truncatingIfNeeded: Self.milliseconds(due))), Self.milliseconds(due))
  }

  private mutating func add(_ entry: Entry, _ due: Int64) {
    if count == 0 { current = max(current, due / Self.slotTime - Self.slotCount / 2) }
    let slot = min(max(due / Self.slotTime, current), current + Self.slotCount - 1)
    slots[Self.place(slot)].append(entry)
    count += 1
  }

  /// Takes those out whose time has come at `now`, in the order in which they were due, to a tenth of a second.
  mutating func takeDue(_ now: Timestamp) -> [UInt32] {
    guard count > 0 else { return [] }
    let time = Self.milliseconds(now)
    let last = time / Self.slotTime
    guard last >= current else { return [] }
    var due: [UInt32] = []
    for slot in max(current, last - Self.slotCount + 1)...last {
      let entries = slots[Self.place(slot)]
      guard !entries.isEmpty else { continue }
      slots[Self.place(slot)] = []
      count -= entries.count
      current = last
      for entry in entries {
        let left = Int64(Int32(bitPattern: entry.due &- UInt32(truncatingIfNeeded: time)))
        if left <= 0 { due.append(entry.link) } else { add(entry, time + left) }
      }
    }
    current = last
    return due
  }

  /// Takes those out that `isGone`.
  mutating func removeAll(where isGone: (UInt32) -> Bool) {
    count = 0
    for i in slots.indices {
      slots[i].removeAll { isGone($0.link) }
      count += slots[i].count
    }
  }

  private static func milliseconds(_ time: Timestamp) -> Int64 { max(0, time.microseconds / 1_000) }
  private static func place(_ slot: Int64) -> Int { Int(truncatingIfNeeded: slot & (slotCount - 1)) }
}
