import IMWire

/// Flows that are over, each with the time at which to look at it again, soonest first.
struct ClosingQueue: ~Copyable {
  struct Entry {
    var due: Timestamp
    var flow: UInt32
    var serial: UInt32
  }

  private var entries = RingQueue<Entry>()

  /// Entries, those of flows that are gone included.
  var count: Int { entries.count }
  var nextDue: Timestamp { entries.first?.due ?? .distantFuture }

  /// Adds a flow; times come nearly in order, so its place is found from the end.
  ///
  /// Where the capture's clock goes back further than that, it waits a little longer: the search is short, so that packets
  /// with times in the wrong order cannot make it dear.
  mutating func add(flow: UInt32, serial: UInt32, due: Timestamp) {
    var i = entries.count
    let end = max(0, i - 64)
    while i > end, entries[i - 1].due > due { i -= 1 }
    let previous = i > 0 ? entries[i - 1].due : due
    entries.insert(Entry(due: max(due, previous), flow: flow, serial: serial), at: i)
  }

  /// Takes the first entry when it is due.
  mutating func pop(at now: Timestamp) -> Entry? {
    guard nextDue <= now else { return nil }
    return entries.popFirst()
  }

  /// Takes the first entry, whether it is due or not.
  mutating func popFirst() -> Entry? { entries.popFirst() }
}
