package import IMWire

/// Times in classic buckets with the same boundaries everywhere: each counts the samples that are not above its boundary.
///
/// Boundaries were chosen so that a percentile that is interpolated between them is of use where messages are fast (half as
/// much again from 10 ms to 2 s), and every server costs 25 series.
package struct LatencySeries: Sendable {
  /// The boundaries in microseconds, and as the label of Prometheus, in seconds.
  package static let bounds: [(microseconds: Int64, text: StaticString)] = [
    (500, "le=\"0.0005\""), (1_000, "le=\"0.001\""), (2_000, "le=\"0.002\""), (5_000, "le=\"0.005\""),
    (10_000, "le=\"0.01\""), (15_000, "le=\"0.015\""),
    (20_000, "le=\"0.02\""), (30_000, "le=\"0.03\""), (50_000, "le=\"0.05\""), (75_000, "le=\"0.075\""),
    (100_000, "le=\"0.1\""), (150_000, "le=\"0.15\""),
    (200_000, "le=\"0.2\""), (300_000, "le=\"0.3\""), (500_000, "le=\"0.5\""), (750_000, "le=\"0.75\""),
    (1_000_000, "le=\"1.0\""), (1_500_000, "le=\"1.5\""),
    (2_000_000, "le=\"2.0\""), (3_000_000, "le=\"3.0\""), (5_000_000, "le=\"5.0\""), (10_000_000, "le=\"10.0\""),
    (30_000_000, "le=\"30.0\""),
    (60_000_000, "le=\"60.0\""),
  ]

  /// Samples by bucket, the last one above all boundaries.
  private var counts: InlineArray<25, UInt64> = InlineArray(repeating: 0)
  /// Samples.
  package private(set) var count: UInt64 = 0
  /// Their sum, in microseconds.
  package private(set) var sum: Int64 = 0

  /// No samples.
  package init() {}

  /// Takes a sample. Negative ones, which a clock that went back makes, count as 0.
  package mutating func record(_ time: Nanoseconds) {
    let value = max(0, time.microseconds)
    var low = 0
    var high = Self.bounds.count
    while low < high {
      let middle = (low + high) / 2
      if Self.bounds[middle].microseconds < value { low = middle + 1 } else { high = middle }
    }
    counts[low] &+= 1
    count &+= 1
    sum &+= value
  }

  /// Calls `body` with each boundary and the samples that are not above it.
  package func forEachBound(_ body: (StaticString, UInt64) -> Void) {
    var below: UInt64 = 0
    for (index, bound) in Self.bounds.enumerated() {
      below &+= counts[index]
      body(bound.text, below)
    }
  }
}
