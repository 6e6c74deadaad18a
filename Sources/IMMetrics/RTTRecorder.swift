package import IMWire

/// Round trips with percentiles of three significant digits, for endpoints and the run.
///
/// Buckets as in HdrHistogram, from 1 µs to 2 h: as wide as 2ᵏ microseconds where a value has 11 + k bits, so a value is
/// known to 1 in 1,024. What lies outside counts as the nearest end. Count, sum, least and greatest are exact. Buckets are
/// kept in pages that are made when one of theirs is needed, because an endpoint's round trips are alike: 1 KB for the first
/// sample, some 10 KB for many. The last few samples wait for the others, so that the pages are asked for once for all of them.
package struct RTTRecorder: Sendable {
  /// The longest round trip that is told from longer ones, in microseconds.
  private static var longest: UInt64 { 7_200_000_000 }
  /// Buckets in a page, 2⁶, and pages.
  private static var pageSize: Int { 64 }
  private static var pageCount: Int { (bucket(longest) + pageSize) / pageSize }

  /// Where each page begins in `counts`, in pages and plus 1; 0 for one that is not there. Empty without samples.
  private var pages: [UInt16] = []
  private var counts: [UInt64] = []
  /// Samples that no page counts yet.
  private var waiting = InlineArray<16, Int64>(repeating: 0)
  private var waitingCount = 0
  /// Samples.
  package private(set) var count: UInt64 = 0
  /// Their sum, in microseconds.
  package private(set) var sum: Int64 = 0
  private var least = Int64.max
  private var greatest = Int64.min

  /// No samples.
  package init() {}

  /// The least sample, in microseconds; `nil` without samples.
  package var minimum: Int64? { count == 0 ? nil : least }
  /// The greatest sample, in microseconds; `nil` without samples.
  package var maximum: Int64? { count == 0 ? nil : greatest }
  /// The mean, in microseconds; `nil` without samples.
  package var mean: Double? { count == 0 ? nil : Double(sum) / Double(count) }

  /// The bucket of a value.
  @inline(__always)
  private static func bucket(_ value: UInt64) -> Int {
    let width = max(0, 53 - value.leadingZeroBitCount)
    return width << 10 + Int(truncatingIfNeeded: value &>> UInt64(width))
  }

  /// The greatest value of a bucket.
  private static func end(_ bucket: Int) -> UInt64 {
    let width = max(0, bucket >> 10 - 1)
    return UInt64(bucket - width << 10 + 1) << UInt64(width) - 1
  }

  /// Takes a sample. Negative ones, which a clock that went back makes, count as 0.
  package mutating func record(_ time: Nanoseconds) { record(microseconds: time.microseconds) }

  /// The same in microseconds.
  package mutating func record(microseconds: Int64) {
    if waitingCount == waiting.count { settle() }
    let value = max(0, microseconds)
    waiting[waitingCount] = value
    waitingCount &+= 1
    count &+= 1
    sum &+= value
    least = min(least, value)
    greatest = max(greatest, value)
  }

  /// Counts the samples that wait.
  @inline(never)
  private mutating func settle() {
    if pages.isEmpty { pages = [UInt16](repeating: 0, count: Self.pageCount) }
    var i = 0
    while i < waitingCount {
      i = countKnown(from: i)
      guard i < waitingCount else { break }
      makePage(Self.bucket(min(UInt64(waiting[i]), Self.longest)) / Self.pageSize)
    }
    waitingCount = 0
  }

  /// Counts the samples from `start` up to the first whose page is not there, and gives its place.
  private mutating func countKnown(from start: Int) -> Int {
    var i = start
    let end = waitingCount
    Self.count(&counts, pages, waiting, &i, end)
    return i
  }

  @inline(__always)
  private static func count(
    _ counts: inout [UInt64], _ pages: [UInt16], _ waiting: InlineArray<16, Int64>, _ i: inout Int,
    _ end: Int
  ) {
    var next = i
    counts.withUnsafeMutableBufferPointer { counts in
      pages.withUnsafeBufferPointer { pages in
        while next < end {
          let value = UInt64(truncatingIfNeeded: waiting[next])
          let bucket = UInt(truncatingIfNeeded: bucket(min(value, longest)))
          let page = pages[Int(truncatingIfNeeded: bucket &>> 6)]
          if page == 0 { return }
          counts[Int(truncatingIfNeeded: UInt(page &- 1) &<< 6 | bucket & 63)] &+= 1
          next &+= 1
        }
      }
    }
    i = next
  }

  @inline(never)
  private mutating func makePage(_ page: Int) {
    pages[page] = UInt16(counts.count / Self.pageSize + 1)
    counts.append(contentsOf: repeatElement(0, count: Self.pageSize))
  }

  /// Adds the samples of another recorder.
  package mutating func add(_ other: RTTRecorder) {
    settle()
    var other = other
    other.settle()
    for (page, number) in other.pages.enumerated() where number > 0 {
      let theirs = Int(number - 1) * Self.pageSize
      if pages[page] == 0 { makePage(page) }
      let ours = Int(pages[page] - 1) * Self.pageSize
      for i in 0..<Self.pageSize { counts[ours + i] &+= other.counts[theirs + i] }
    }
    count &+= other.count
    sum &+= other.sum
    least = min(least, other.least)
    greatest = max(greatest, other.greatest)
  }

  /// How many samples are below `value`, in microseconds, and how many cannot be told from it.
  package func counts(at value: Int64) -> (below: UInt64, equal: UInt64) {
    guard count > 0 else { return (0, 0) }
    if waitingCount > 0 {
      var all = self
      all.settle()
      return all.counts(at: value)
    }
    let bucket = Self.bucket(min(UInt64(max(0, value)), Self.longest))
    var (below, equal): (UInt64, UInt64) = (0, 0)
    for (page, number) in pages.enumerated() where number > 0 && page <= bucket / Self.pageSize {
      let start = Int(number - 1) * Self.pageSize
      for i in 0..<Self.pageSize {
        let place = page * Self.pageSize + i
        if place < bucket { below &+= counts[start + i] } else if place == bucket { equal = counts[start + i] }
      }
    }
    return (below, equal)
  }

  /// Which of `count` samples in ascending order, from 1, is the one that `percent` of them are not above.
  static func rank(_ percent: Double, of count: UInt64) -> UInt64 {
    // What rounding has put above a whole number must not ask for one sample more.
    let share = min(max(percent.nextDown, 0), 100)
    return max(1, UInt64((share * Double(count) / 100).rounded(.up)))
  }

  /// The value, in microseconds, that a percentile shows for a sample: the greatest one of its bucket.
  static func shown(_ microseconds: Int64) -> Int64 { end(ofBucket: bucketIndex(ofMicroseconds: microseconds)) }

  /// The index of the bucket of a sample, below 2¹⁶.
  static func bucketIndex(ofMicroseconds value: Int64) -> Int { bucket(min(UInt64(max(0, value)), longest)) }

  /// The greatest value of a bucket, in microseconds.
  static func end(ofBucket index: Int) -> Int64 { Int64(clamping: end(index)) }

  /// The sample, in microseconds, that `percent` of all are not above; `nil` without samples.
  package func percentile(_ percent: Double) -> Int64? {
    guard count > 0 else { return nil }
    if waitingCount > 0 {
      var all = self
      all.settle()
      return all.percentile(percent)
    }
    let rank = Self.rank(percent, of: count)
    var seen: UInt64 = 0
    for (page, number) in pages.enumerated() where number > 0 {
      let start = Int(number - 1) * Self.pageSize
      for i in 0..<Self.pageSize {
        seen &+= counts[start + i]
        if seen >= rank {
          return min(max(Int64(clamping: Self.end(page * Self.pageSize + i)), least), greatest)
        }
      }
    }
    return greatest
  }
}
