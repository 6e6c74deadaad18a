import IMWire

/// The boundaries of every round-trip histogram that imdump writes: from 1 µs to 120 s, each 1.05 times the one before, as far as whole
/// microseconds allow.
///
/// They are the same everywhere and for ever, so histograms of two sensors, or of two periods, add up bucket by bucket. Those from 0.1 ms
/// on are 0.1 ms × 1.05ⁿ, and those below are 0.1 ms ÷ 1.05ⁿ, rounded up; of equal ones there is one.
///
///     bucket   0           1       2       ...   from 0.1 ms on     ...  the last but one    the last
///     ms       below 1 µs  1 µs    2 µs    ...   0.1 up to 0.105    ...  up to 120.59 s      from there on
///
/// A bucket's value is the geometric mean of its bounds: at most 2.5 %, or half a microsecond, from any round trip in it.
package enum RTTBuckets {
  /// Buckets, with the one below and the one above the range.
  package static let count = bounds.count + 1

  /// The least whole microsecond of each bucket but the first.
  static let bounds: [Int64] = fineBounds + exactBounds.map { Int64($0.rounded(.up)) }

  /// The value that stands for each bucket, in milliseconds; they increase.
  private static let values: [Double] = {
    let half = 1.05.squareRoot()
    let ends = fineBounds.dropFirst() + [100]
    let fine = zip(fineBounds, ends).map { first, end in (Double(first * (end - 1)).squareRoot()).rounded() / 1_000 }
    let middles = exactBounds.dropLast().map { ($0 * half).rounded() / 1_000 }
    return [0] + fine + middles + [(exactBounds[287] / 1_000).rounded(.up)]
  }()

  /// Boundaries below 0.1 ms, in microseconds.
  private static let fineBounds: [Int64] = {
    var (bounds, bound): ([Int64], Double) = ([], 100)
    while bound > 1 {
      bound /= 1.05
      let whole = Int64(bound.rounded(.up))
      if bounds.last != whole { bounds.append(whole) }
    }
    return bounds.reversed()
  }()

  /// Boundaries from 0.1 ms on, in microseconds before they are rounded.
  private static let exactBounds: [Double] = {
    var bounds = [100.0]
    for _ in 1..<288 { bounds.append(bounds[bounds.count - 1] * 1.05) }
    return bounds
  }()

  /// Values that differ in no more than what follows their first six bits: at most one boundary lies among them.
  private struct Cell {
    /// The least value behind the boundary; more than any where there is none.
    var boundary: UInt32
    /// The bucket of the values in front of it.
    var bucket: UInt16
  }

  /// A value that is in the last bucket, and below 2²⁷, where the cells end.
  private static var longest: UInt64 { 130_000_000 }

  /// The cell of a value, as in HdrHistogram: as wide as 2ᵏ microseconds where the value has 6 + k bits.
  @inline(__always)
  private static func cell(_ value: UInt64) -> Int {
    let width = max(0, 58 &- value.leadingZeroBitCount)
    return width &<< 5 &+ Int(truncatingIfNeeded: value &>> UInt64(truncatingIfNeeded: width))
  }

  /// One for the process: 5.5 KB.
  private nonisolated(unsafe) static let cells: UnsafePointer<Cell> = {
    let count = cell(longest) + 1
    let cells = UnsafeMutablePointer<Cell>.allocate(capacity: count)
    cells.initialize(repeating: Cell(boundary: .max, bucket: 0), count: count)
    for (bucket, boundary) in bounds.enumerated() {
      cells[cell(UInt64(boundary))].boundary = UInt32(boundary)
      for later in cell(UInt64(boundary)) + 1..<count { cells[later].bucket = UInt16(bucket + 1) }
    }
    return UnsafePointer(cells)
  }()

  /// The bucket of a round trip: that of its cell, or the next one.
  package static func index(ofMicroseconds value: Int64) -> Int {
    let value = min(UInt64(max(0, value)), longest)
    let cell = cells[cell(value)]
    return Int(cell.bucket) &+ (value >= UInt64(cell.boundary) ? 1 : 0)
  }

  /// The value that stands for the bucket `index`, in milliseconds.
  package static func value(_ index: Int) -> Double { values[index] }
}
