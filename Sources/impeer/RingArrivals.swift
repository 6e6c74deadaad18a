/// What one client of a ring has got from the client before it, to be compared with what that one was told.
struct RingArrivals {
  /// The numbers of the messages that have arrived.
  private var seen: Set<UInt64> = []
  /// The highest number of each lane: those of different priorities may overtake one another.
  private var highest: [UInt8: UInt64] = [:]
  /// Messages that have arrived, each once.
  private(set) var count: UInt64 = 0
  /// Messages that this device got a second time.
  private(set) var duplicates: UInt64 = 0
  /// Messages that arrived after a later one of their lane, without being called late.
  private(set) var disordered: UInt64 = 0
  /// Messages that were called late.
  private(set) var late: UInt64 = 0
  /// Messages that another client was meant to get, or none.
  var strange: UInt64 = 0

  mutating func add(_ number: UInt64, lane: UInt8, isLate: Bool) {
    guard number < 1 << 32 else {
      strange += 1
      return
    }
    guard seen.insert(number).inserted else {
      duplicates += 1
      return
    }
    count += 1
    if isLate {
      late += 1
    } else if let last = highest[lane], number < last {
      disordered += 1
    }
    highest[lane] = max(highest[lane] ?? 0, number)
  }

  /// Whether a message has arrived.
  func has(_ number: UInt64) -> Bool { seen.contains(number) }
}

/// Where the two ends of a ring's messages disagree.
struct RingDifferences {
  /// Accepted, and not arrived.
  var lost: UInt64 = 0
  /// Failed, and arrived all the same.
  var failedAndArrived: UInt64 = 0
  /// Called delivered before the recipient had it.
  var deliveredEarly: UInt64 = 0
  /// Arrived twice at one device.
  var duplicates: UInt64 = 0
  /// Arrived out of order.
  var disordered: UInt64 = 0
  /// Arrived where they were not meant for.
  var strange: UInt64 = 0

  /// All of them.
  var count: UInt64 { lost + failedAndArrived + deliveredEarly + duplicates + disordered + strange }
}
