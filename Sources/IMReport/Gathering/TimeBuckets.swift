package import IMWire

/// What a bucket of time counts.
package protocol Additive: Sendable {
  /// Nothing counted.
  init()
  /// Adds what another one counted.
  mutating func add(_ other: Self)
}

/// Counts over time in a bounded number of buckets of equal width: when there would be more, neighbours are put together and the
/// width grows. Times come in any order.
package struct TimeBuckets<Value: Additive>: Sendable {
  /// At most so many buckets lie between the first and the last, these included.
  package static var maximumCount: Int64 { 400 }

  /// Widths in seconds, each a multiple of the one before; behind the last one they double.
  private static var widths: [Int64] { [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400] }

  /// Seconds of a bucket.
  package private(set) var width: Int64 = 1
  private var values: [Int64: Value] = [:]
  private var first = Int64.max, last = Int64.min

  /// No buckets.
  package init() {}

  /// Whether nothing was counted.
  package var isEmpty: Bool { values.isEmpty }
  /// When the first bucket begins, and when the last one ends; `nil` where nothing was counted.
  package var span: (begin: Timestamp, end: Timestamp)? {
    guard first <= last else { return nil }
    return (Timestamp(seconds: first * width, fraction: 0), Timestamp(seconds: (last + 1) * width, fraction: 0))
  }

  /// The buckets from the first to the last, without a hole.
  package var all: [(begin: Timestamp, value: Value)] {
    guard first <= last else { return [] }
    return (first...last).map { (Timestamp(seconds: $0 * width, fraction: 0), values[$0] ?? Value()) }
  }

  /// The same in at most so many buckets.
  package func coarser(count: Int64) -> TimeBuckets {
    var coarse = self
    while !coarse.isEmpty, coarse.last - coarse.first >= max(1, count) { coarse.widen() }
    return coarse
  }

  /// Changes the bucket of a time.
  package mutating func change(_ at: Timestamp, _ body: (inout Value) -> Void) {
    var number = Self.floor(at.seconds, width)
    // Seconds of a `Timestamp` lie far from the ends of an Int64.
    while !values.isEmpty, max(last, number) - min(first, number) >= Self.maximumCount {
      widen()
      number = Self.floor(at.seconds, width)
    }
    (first, last) = (min(first, number), max(last, number))
    body(&values[number, default: Value()])
  }

  /// Adds the counts of other buckets. These buckets are at least as wide, so that each of the others is inside one of them.
  package mutating func add(_ other: TimeBuckets) {
    while !other.isEmpty, width < other.width { widen() }
    for (begin, value) in other.all { change(begin) { $0.add(value) } }
  }

  /// Forgets the buckets that end before `begin`.
  package mutating func drop(before begin: Timestamp) {
    let number = Self.floor(begin.seconds, width)
    guard first < number else { return }
    values = values.filter { $0.key >= number }
    first = values.keys.min() ?? .max
    last = values.keys.max() ?? .min
  }

  private mutating func widen() {
    let next = Self.widths.first { $0 > width } ?? width * 2
    let factor = next / width
    var wider: [Int64: Value] = [:]
    for (number, value) in values { wider[Self.floor(number, factor), default: Value()].add(value) }
    values = wider
    width = next
    if first <= last { (first, last) = (Self.floor(first, factor), Self.floor(last, factor)) }
  }

  private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
