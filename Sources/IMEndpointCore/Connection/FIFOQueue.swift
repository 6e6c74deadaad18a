/// First in, first out, each in constant time on average: places of elements that were taken stay free until they are half of the memory.
struct FIFOQueue<Element: Sendable>: Sendable {
  /// Elements that were taken are `nil`.
  private var items: [Element?] = []
  private var head = 0
  /// The memory of so many elements is kept when all have been taken.
  private let keptCount: Int

  /// An empty queue.
  init(keeping keptCount: Int = 1_024) { self.keptCount = keptCount }

  var count: Int { items.count - head }
  var isEmpty: Bool { head == items.count }
  /// The element that is taken next.
  var first: Element? { isEmpty ? nil : items[head] }

  /// The element `offset` places after the first; `offset` is less than `count`.
  subscript(offset: Int) -> Element? {
    get { items[head + offset] }
    _modify { yield &items[head + offset] }
  }

  mutating func append(_ element: Element) { items.append(element) }

  /// Takes the first element; `nil` when there is none.
  mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    let first = items[head].take()
    head += 1
    if head == items.count {
      items.removeAll(keepingCapacity: items.count <= keptCount)
      head = 0
    } else if head >= 1_024, head * 2 > items.count {
      items.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Takes the element `offset` places after the first.
  mutating func remove(at offset: Int) -> Element? { items.remove(at: head + offset) }

  /// Leaves out the elements for which `isKept` is false.
  mutating func filter(_ isKept: (Element) -> Bool) {
    items = items[head...].filter { $0.map(isKept) ?? false }
    head = 0
  }
}
