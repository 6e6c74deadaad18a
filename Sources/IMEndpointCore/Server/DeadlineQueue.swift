/// Deadlines of many things, the earliest first: a binary heap.
///
/// A thing whose deadline moves away is left where it stands and is put back when it comes up too early, so moving a
/// deadline costs nothing.
struct DeadlineQueue: Sendable {
  struct Entry: Sendable {
    var moment: Instant
    var key: UInt64
  }

  private var heap: [Entry] = []

  var first: Instant? { heap.first?.moment }
  var count: Int { heap.count }

  mutating func insert(_ key: UInt64, at moment: Instant) {
    heap.append(Entry(moment: moment, key: key))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].moment < heap[parent].moment else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the earliest out, if it is not after `now`.
  mutating func pop(until now: Instant) -> UInt64? {
    guard let first = heap.first, first.moment <= now else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return first.key
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].moment < heap[least].moment
      {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
