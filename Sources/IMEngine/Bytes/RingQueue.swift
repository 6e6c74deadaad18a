/// Elements in order, taken from the front and added anywhere, mostly at the end: a ring of 2ⁿ places.
///
/// Starts without memory, then with two places, and doubles; it never shrinks. `append`, `popFirst` and the subscript cost
/// the same whatever is held. `insert` moves the shorter side, in at most three moves of adjoining memory.
package struct RingQueue<Element>: ~Copyable {
  /// The ring; its count is 0 or a power of two.
  private var ring = UnsafeMutableBufferPointer<Element>(start: nil, count: 0)
  /// The place of the first element.
  private var head = 0
  /// Elements held.
  package private(set) var count = 0

  /// An empty queue; it takes memory with its first element.
  package init() {}

  deinit {
    for i in 0..<count { ring.deinitializeElement(at: place(i)) }
    ring.deallocate()
  }

  /// Elements for which there is memory.
  package var capacity: Int { ring.count }
  /// Whether nothing is held.
  package var isEmpty: Bool { count == 0 }
  /// The first element; `nil` when there is none.
  package var first: Element? { count > 0 ? ring[head] : nil }
  /// The last element; `nil` when there is none.
  package var last: Element? { count > 0 ? ring[place(count - 1)] : nil }

  /// The place of the element at `index`, or of the one that comes next.
  @inline(__always)
  private func place(_ index: Int) -> Int { (head &+ index) & (ring.count &- 1) }

  /// The element at `index`, counted from the front.
  package subscript(_ index: Int) -> Element {
    precondition(index >= 0 && index < count, "an index of a queue is below its count")
    return ring[place(index)]
  }

  /// Adds an element at the end.
  package mutating func append(_ element: Element) {
    if count == ring.count { grow() }
    ring.initializeElement(at: place(count), to: element)
    count += 1
  }

  /// Takes the first element; `nil` when there is none.
  package mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    defer {
      head = place(1)
      count -= 1
    }
    return ring.moveElement(from: head)
  }

  /// Adds an element in front of the one at `index`; `count` is the end.
  package mutating func insert(_ element: Element, at index: Int) {
    precondition(index >= 0 && index <= count, "an element is inserted at an index of the queue or at its end")
    if count == ring.count { grow() }
    if index < count - index {
      shift(from: head, count: index, forward: false)
      head = place(-1)
    } else {
      shift(from: place(index), count: count - index, forward: true)
    }
    count += 1
    ring.initializeElement(at: place(index), to: element)
  }

  /// Takes the elements out that `isUnwanted` says so of; the others keep their order.
  package mutating func removeAll(where isUnwanted: (Element) -> Bool) {
    var kept = 0
    for seen in 0..<count {
      let element = ring.moveElement(from: place(seen))
      guard !isUnwanted(element) else { continue }
      ring.initializeElement(at: place(kept), to: element)
      kept += 1
    }
    count = kept
  }

  /// Moves `count` elements from the place `start` on by one place; the place that they move into is free.
  private func shift(from start: Int, count: Int, forward: Bool) {
    guard count > 0, let base = ring.baseAddress else { return }
    let last = ring.count - 1
    // Elements in front of the ring's end, and those that stand at its beginning.
    let tail = min(count, ring.count - start)
    let wrapped = count - tail
    if forward {
      (base + 1).moveInitialize(from: base, count: wrapped)
      guard start + tail > last else {
        (base + start + 1).moveInitialize(from: base + start, count: tail)
        return
      }
      base.moveInitialize(from: base + last, count: 1)
      (base + start + 1).moveInitialize(from: base + start, count: tail - 1)
    } else if start == 0 {
      (base + last).moveInitialize(from: base, count: 1)
      base.moveInitialize(from: base + 1, count: count - 1)
    } else {
      (base + start - 1).moveInitialize(from: base + start, count: tail)
      guard wrapped > 0 else { return }
      (base + last).moveInitialize(from: base, count: 1)
      base.moveInitialize(from: base + 1, count: wrapped - 1)
    }
  }

  @inline(never)
  private mutating func grow() {
    let bigger = UnsafeMutableBufferPointer<Element>.allocate(capacity: max(2, ring.count * 2))
    if let base = ring.baseAddress, let new = bigger.baseAddress {
      let tail = min(count, ring.count - head)
      new.moveInitialize(from: base + head, count: tail)
      (new + tail).moveInitialize(from: base, count: count - tail)
    }
    ring.deallocate()
    ring = bigger
    head = 0
  }
}
