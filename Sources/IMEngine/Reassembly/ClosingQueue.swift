import DequeModule
import IMWire

/// Flows that are over, each with the time at which to look at it again, soonest first.
struct ClosingQueue: ~Copyable {
  struct Entry {
    var due: Timestamp
    var flow: UInt32
    var serial: UInt32
  }

  private var entries: Deque<Entry> = []

  var nextDue: Timestamp { entries.first?.due ?? .distantFuture }

  /// Adds a flow; times come nearly in order, so its place is found from the end.
  mutating func add(flow: UInt32, serial: UInt32, due: Timestamp) {
    var i = entries.count
    while i > 0, entries[i - 1].due > due { i -= 1 }
    entries.insert(Entry(due: due, flow: flow, serial: serial), at: i)
  }

  /// Takes the first entry when it is due.
  mutating func pop(at now: Timestamp) -> Entry? {
    guard nextDue <= now else { return nil }
    return entries.popFirst()
  }
}
