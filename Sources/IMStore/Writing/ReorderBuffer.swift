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
struct ReorderBuffer<Element>: ~Copyable {
  /// Numbers in the window, at least and at most.
  static var least: Int { 64 }
  static var most: Int { 32_768 }

  /// A ring of as many places as a power of two, and which of them have an element: apart from them, so that an empty place is not touched.
  private var places: UnsafeMutablePointer<Element>
  private var taken: UnsafeMutablePointer<Bool>
  private var capacity: Int
  /// The number that comes out next.
  private(set) var next: UInt32 = 0
  /// Elements that wait.
  private(set) var count = 0

  init() {
    capacity = Self.least
    places = .allocate(capacity: capacity)
    taken = .allocate(capacity: capacity)
    taken.initialize(repeating: false, count: capacity)
  }

  deinit {
    for place in 0..<capacity where taken[place] { (places + place).deinitialize(count: 1) }
    places.deallocate()
    taken.deallocate()
  }

  @inline(__always)
  private func place(_ number: UInt32) -> Int { Int(number) & (capacity &- 1) }

  /// Whether an element with this number waits.
  func contains(_ number: UInt32) -> Bool {
    number >= next && Int(number &- next) < capacity && taken[place(number)]
  }

  /// Whether an element with this number is late: it can only go past the buffer.
  func isLate(_ number: UInt32) -> Bool { number < next }

  /// Whether `takeNext` is to be called before `insert` of this number.
  func isNextDue(before number: UInt32) -> Bool {
    guard number >= next else { return false }
    return taken[place(next)] || Int(number &- next) >= Self.window(number)
  }

  private static func window(_ number: UInt32) -> Int { min(most, max(least, Int(number) / 2)) }

  /// Puts in an element that is not late, in place of one with the same number. `isNextDue` has said no.
  mutating func insert(_ element: consuming Element, _ number: UInt32) {
    precondition(number >= next && Int(number &- next) < Self.most, "a number is outside of the window")
    while Int(number &- next) >= capacity { grow() }
    let place = place(number)
    if taken[place] {
      places[place] = element
    } else {
      (places + place).initialize(to: element)
      taken[place] = true
      count += 1
    }
  }

  /// Goes on by one number; gives what waits there, and `nil` where nothing does.
  mutating func takeNext() -> Element? {
    let place = place(next)
    next &+= 1
    guard taken[place] else { return nil }
    taken[place] = false
    count -= 1
    return (places + place).move()
  }

  /// Takes twice as many places.
  @inline(never)
  private mutating func grow() {
    let more = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
    let moreTaken = UnsafeMutablePointer<Bool>.allocate(capacity: 2 * capacity)
    moreTaken.initialize(repeating: false, count: 2 * capacity)
    for i in 0..<UInt32(capacity) {
      let old = place(next &+ i), new = Int(next &+ i) & (2 * capacity - 1)
      guard taken[old] else { continue }
      (more + new).moveInitialize(from: places + old, count: 1)
      moreTaken[new] = true
    }
    places.deallocate()
    taken.deallocate()
    (places, taken, capacity) = (more, moreTaken, 2 * capacity)
  }
}
