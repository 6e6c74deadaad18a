import CMachine
import IMWire

/// Chains of exchanges of one number: each has the link of the one before it.
extension ExchangeTable {
  /// How many exchanges ago the one at `link` began, the lower half of its position; 0 where there is none or it was forgotten.
  /// Positions are compared modulo 2³²; the ring is far smaller than that.
  @inline(__always)
  func age(_ link: UInt32) -> UInt32 {
    let age = UInt32(truncatingIfNeeded: tail) &- link
    return link == 0 || UInt64(age) > tail &- head ? 0 : age
  }

  /// The exchange whose position has the lower half `link`, `nil` where it was forgotten.
  func pointer(ifThere link: UInt32) -> Ref<KeptExchange>? {
    age(link) > 0 ? Ref(ring + Int(truncatingIfNeeded: UInt64(link) & mask)) : nil
  }

  /// The newest exchange of a number among those that hang behind `first`, and how many of other numbers stood before it.
  @inline(__always)
  func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64, from first: UInt32
  ) -> (found: Ref<KeptExchange>?, steps: Int) {
    var link = first
    var steps = 0
    var last: UInt32 = 0
    while true {
      let age = age(link)
      // What hangs behind an exchange is older; a link that 2³² exchanges have passed may say otherwise.
      guard age > last else { return (nil, steps) }
      last = age
      let exchange = Ref(ring + Int(truncatingIfNeeded: UInt64(link) & mask))
      guard exchange.pointee.session == session, exchange.pointee.direction == direction else { return (nil, steps) }
      if has(sequence, exchange), !exchange.pointee.flags.contains(.moved) { return (exchange, steps) }
      link = exchange.pointee.previous
      steps &+= 1
    }
  }

  /// The newest exchange of a number in a window, whose place for it is `place`, and how many of other numbers stood before
  /// it.
  @inline(__always)
  func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64, at place: UnsafeMutablePointer<UInt32>
  ) -> (found: Ref<KeptExchange>?, steps: Int) {
    find(session, direction, sequence, from: place.pointee)
  }

  /// The next older one with the same number, and how many of other numbers stood before it.
  @inline(__always)
  func next(
    after exchange: Ref<KeptExchange>
  ) -> (found: Ref<KeptExchange>?, steps: Int) {
    find(
      exchange.pointee.session, exchange.pointee.direction, sequence(of: exchange), from: exchange.pointee.previous)
  }

  /// The same, for exchanges without a number, which are answered in their order: those that were answered before `now` are
  /// passed over, and left out of the chain, so that nobody comes to them again. They stand in the index.
  mutating func nextOpen(
    after exchange: Ref<KeptExchange>, _ now: Timestamp
  ) -> Ref<KeptExchange>? {
    var older = next(after: exchange).found
    while let passed = older, passed.pointee.isAnswered, passed.pointee.firstAt <= now {
      older = next(after: passed).found
      exchange.pointee.previous = passed.pointee.previous
    }
    return older
  }

  /// Asks for the exchange at `link`, if there is one.
  @inline(__always)
  func prefetch(_ link: UInt32) {
    let place = UnsafeRawPointer(ring + Int(truncatingIfNeeded: UInt64(link) & mask))
    imdump_prefetch(place)
    // Every other one lies in two cache lines.
    imdump_prefetch(place + (MemoryLayout<KeptExchange>.size - 1))
  }
}
