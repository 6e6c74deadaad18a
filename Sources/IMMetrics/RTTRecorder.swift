internal import Histogram

/// Round trips with percentiles of three significant digits, for the few things that deserve 190 KB: endpoints and the run.
///
/// An HdrHistogram from 1 µs to 2 h, made with the first sample; what lies outside counts as the nearest end. Count, sum,
/// least and greatest are exact.
package struct RTTRecorder: Sendable {
  private var histograms: [Histogram<UInt64>] = []
  /// Samples.
  package private(set) var count: UInt64 = 0
  /// Their sum, in microseconds.
  package private(set) var sum: Int64 = 0
  private var least = Int64.max
  private var greatest = Int64.min

  /// The longest round trip that is told from longer ones, in microseconds.
  private static let longest: UInt64 = 7_200_000_000

  /// No samples.
  package init() {}

  /// The least sample, in microseconds; `nil` without samples.
  package var minimum: Int64? { count == 0 ? nil : least }
  /// The greatest sample, in microseconds; `nil` without samples.
  package var maximum: Int64? { count == 0 ? nil : greatest }
  /// The mean, in microseconds; `nil` without samples.
  package var mean: Double? { count == 0 ? nil : Double(sum) / Double(count) }

  /// Takes a sample. Negative ones, which a clock that went back makes, count as 0.
  package mutating func record(microseconds: Int64) {
    let value = max(0, microseconds)
    if histograms.isEmpty {
      histograms.append(
        Histogram(
          lowestDiscernibleValue: 1, highestTrackableValue: Self.longest, numberOfSignificantValueDigits: .three))
    }
    histograms[0].record(min(max(1, UInt64(value)), Self.longest))
    count += 1
    sum &+= value
    least = min(least, value)
    greatest = max(greatest, value)
  }

  /// Adds the samples of another recorder.
  package mutating func add(_ other: RTTRecorder) {
    guard let theirs = other.histograms.first else { return }
    if histograms.isEmpty { histograms.append(theirs) } else { histograms[0].add(theirs) }
    count += other.count
    sum &+= other.sum
    least = min(least, other.least)
    greatest = max(greatest, other.greatest)
  }

  /// The sample, in microseconds, that `percent` of all are not above; `nil` without samples.
  package func percentile(_ percent: Double) -> Int64? {
    guard let histogram = histograms.first, count > 0 else { return nil }
    return min(max(Int64(clamping: histogram.valueAtPercentile(percent)), least), greatest)
  }
}
