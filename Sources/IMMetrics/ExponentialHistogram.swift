import Glibc

/// Round trips in the buckets of OpenTelemetry's exponential histogram of scale 3, whose boundaries in seconds are powers of
/// 2^⅛ (1.09): histograms of any two sensors or periods add up bucket by bucket.
///
/// Bucket i has the times above 2^(i/8) s up to 2^((i+1)/8) s. Times of 1 µs and less are the zero bucket. It counts the samples
/// of `RTTByDirection`, which has their exact sum, least and greatest.
package struct ExponentialHistogram: Equatable, Sendable {
  /// The scale.
  package static let scale: Int32 = 3
  /// The bucket of the shortest time that is not in the zero bucket, and the number of buckets: from there to 12 days.
  private static let first = -160, bucketCount = 320

  /// The longest time of each bucket, in whole microseconds.
  private static let ends: [Int64] = (0..<bucketCount).map {
    Int64((exp2(Double(first + $0 + 1) / 8) * 1_000_000).rounded(.down))
  }

  /// By bucket; empty before the first sample that is not in the zero bucket.
  private var counts: [UInt64] = []
  /// Times of 1 µs and less.
  package private(set) var zeroCount: UInt64 = 0
  /// Samples.
  package private(set) var count: UInt64 = 0

  /// No samples.
  package init() {}

  /// Takes a sample in microseconds; a negative one counts as 0, and one beyond the last bucket is in it.
  package mutating func record(microseconds value: Int64) {
    count &+= 1
    guard value > 1 else {
      zeroCount &+= 1
      return
    }
    if counts.isEmpty { counts = [UInt64](repeating: 0, count: Self.bucketCount) }
    var (low, high) = (0, Self.bucketCount - 1)
    while low < high {
      let middle = (low + high) / 2
      if Self.ends[middle] < value { low = middle + 1 } else { high = middle }
    }
    counts[low] &+= 1
  }

  /// Forgets all samples, and keeps the memory.
  package mutating func removeAll() {
    for place in counts.indices { counts[place] = 0 }
    (zeroCount, count) = (0, 0)
  }

  /// The buckets from the first to the last that is not empty, and the number of the first; `nil` where all are.
  package var buckets: (offset: Int, counts: ArraySlice<UInt64>)? {
    guard let low = counts.firstIndex(where: { $0 > 0 }), let high = counts.lastIndex(where: { $0 > 0 }) else {
      return nil
    }
    return (Self.first + low, counts[low...high])
  }
}
