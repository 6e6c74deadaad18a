/// The boundaries of every round-trip histogram that imdump writes: from 0.1 ms to 120 s, each 1.05 times the one before.
///
/// They are the same everywhere and for ever, so histograms of two sensors, or of two periods, add up bucket by bucket.
///
///     bucket   0           1                  2           ...  287                 288
///     ms       below 0.1   0.1 up to 0.105    up to 0.11  ...  up to 120.59 s      from there on
///
/// A value stands for its bucket's geometric middle, at most 2.5 % from any value of the bucket.
package enum RTTBuckets {
  /// Buckets, with the one below and the one above the range.
  package static let count = 289

  /// The least whole microsecond of buckets 1 to 288.
  static let bounds: [Int64] = exactBounds.map { Int64($0.rounded(.up)) }

  /// The value that stands for each bucket, in milliseconds; they increase.
  private static let values: [Double] = {
    let half = 1.05.squareRoot()
    let middles = exactBounds.dropLast().map { ($0 * half).rounded() / 1_000 }
    return [0.05] + middles + [(exactBounds[287] / 1_000).rounded(.up)]
  }()

  /// Boundaries in microseconds before they are rounded.
  private static let exactBounds: [Double] = {
    var bounds = [100.0]
    for _ in 1..<288 { bounds.append(bounds[bounds.count - 1] * 1.05) }
    return bounds
  }()

  /// For each width in bits of a value, the first bucket that such a value can be in; one more at the end.
  private static let firstOfWidth: [Int] = (0...65).map { width in
    let least: Int64 = width == 0 ? 0 : width > 63 ? .max : 1 << Int64(width - 1)
    return bounds.firstIndex { $0 > least } ?? bounds.count
  }

  /// The bucket of a round trip: the width of its number leaves 15 buckets, so four comparisons find it.
  package static func index(ofMicroseconds value: Int64) -> Int {
    let bounds = bounds
    let width = 64 - max(0, value).leadingZeroBitCount
    var low = firstOfWidth[width]
    var high = firstOfWidth[width + 1]
    while low < high {
      let middle = (low + high) / 2
      if bounds[middle] <= value { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The value that stands for the bucket `index`, in milliseconds.
  package static func value(_ index: Int) -> Double { values[index] }
}
