/// A reorder buffer: elements that have numbers come out of it in the order of these, as far as its window goes.
///
/// Numbers count up from 0, and each comes once; some never do. An element waits until those in front of it have come, or until one comes
/// whose number is a whole window behind its own: then a number that is missing is passed over, and is late if it does come.
///
///                  next                  the number that comes
///     ─────────────┬──┬──┬──┬──┬──┬──┬──┬──┐
///     came out     │  │  │##│  │##│##│  │##│    ## waits
///     ─────────────┴──┴──┴──┴──┴──┴──┴──┴──┘
///                  └──── the window ─────┘
///
/// The window grows with the numbers, so the first elements do not wait for many others: half of all numbers are in it, at most `most`.
struct ReorderBuffer<Element> {
  /// Numbers in the window, at least and at most.
  static var least: Int { 64 }
  static var most: Int { 32_768 }

  /// A ring of as many elements as a power of two.
  private var slots: [Element?] = []
  /// The number that comes out next.
  private(set) var next: UInt32 = 0
  /// Elements that wait.
  private(set) var count = 0

  init() { slots = [Element?](repeating: nil, count: Self.least) }

  private func slot(_ number: UInt32) -> Int { Int(number) & (slots.count &- 1) }

  /// Whether an element with this number waits.
  func contains(_ number: UInt32) -> Bool {
    number >= next && Int(number &- next) < slots.count && slots[slot(number)] != nil
  }

  /// Whether an element with this number is late: it can only go past the buffer.
  func isLate(_ number: UInt32) -> Bool { number < next }

  /// Whether `takeNext` is to be called before `insert` of this number.
  func isNextDue(before number: UInt32) -> Bool {
    guard number >= next else { return false }
    return slots[slot(next)] != nil || Int(number &- next) >= Self.window(number)
  }

  private static func window(_ number: UInt32) -> Int { min(most, max(least, Int(number) / 2)) }

  /// Puts in an element that is not late, in place of one with the same number. `isNextDue` has said no.
  mutating func insert(_ element: Element, _ number: UInt32) {
    precondition(number >= next && Int(number &- next) < Self.most, "a number is outside of the window")
    while Int(number &- next) >= slots.count { grow() }
    let place = slot(number)
    if slots[place] == nil { count += 1 }
    slots[place] = element
  }

  /// Goes on by one number; gives what waits there, and `nil` where nothing does.
  mutating func takeNext() -> Element? {
    let element = slots[slot(next)].take()
    if element != nil { count -= 1 }
    next &+= 1
    return element
  }

  @inline(never)
  private mutating func grow() {
    let capacity = slots.count
    var more = [Element?](repeating: nil, count: 2 * capacity)
    for i in 0..<UInt32(capacity) {
      let number = next &+ i
      more[Int(number) & (2 * capacity - 1)] = slots[slot(number)].take()
    }
    slots = more
  }
}
