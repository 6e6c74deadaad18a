import Foundation
import IMTestSupport
import IMWire
import Testing

@testable import IMMetrics

/// Durations in the classic histogram buckets of Prometheus.
@Suite struct LatencySeriesTests {
  /// The boundaries in seconds, as a monitoring system reads them from the labels.
  private static func labels() throws -> [Double] {
    try LatencySeries.bounds.map { bound in
      let text = "\(bound.text)"
      try #require(text.hasPrefix("le=\"") && text.hasSuffix("\""))
      return try #require(Double(text.dropFirst(4).dropLast()))
    }
  }

  private static func cumulative(_ series: LatencySeries) -> [UInt64] {
    var counts: [UInt64] = []
    series.forEachBound { counts.append($1) }
    return counts
  }

  @Test func labelsAreTheBoundaries() throws {
    let labels = try Self.labels()
    let expected = [
      0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15,
      0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60,
    ]
    #expect(labels == expected && labels == labels.sorted() && Set(labels).count == 24)
    for (label, bound) in zip(labels, LatencySeries.bounds) { #expect(label * 1e6 == Double(bound.microseconds)) }
    // From 10 ms to 2 s, each boundary is about one and a half times the previous one.
    let middle = labels.filter { $0 >= 0.01 && $0 <= 2 }
    for (one, next) in zip(middle, middle.dropFirst()) { #expect((1.25...1.75).contains(next / one), "\(one)") }
  }

  /// Every boundary, and one microsecond on either side.
  @Test func aSampleAtItsBoundaryIsNotAboveIt() {
    for (place, bound) in LatencySeries.bounds.enumerated() {
      for difference: Int64 in [-1, 0, 1] {
        let (time, first) = (bound.microseconds + difference, difference > 0 ? place + 1 : place)
        var series = LatencySeries()
        series.record(.microseconds(time))
        #expect(Self.cumulative(series) == (0..<24).map { $0 >= first ? 1 : 0 }, "\(time) us")
        #expect(series.count == 1 && series.sum == time)
      }
    }
  }

  /// Random samples of many magnitudes, compared with the number of samples at or below each boundary.
  @Test func drawnSamples() {
    var random = SeededRandom(31)
    for count in [0, 1, 7, 500] {
      let samples = (0..<count).map { _ in Int64(random.next() >> (random.next() % 40 + 24)) }
      var series = LatencySeries()
      for sample in samples { series.record(.microseconds(sample)) }
      #expect(
        Self.cumulative(series)
          == LatencySeries.bounds.map { bound in UInt64(samples.count { $0 <= bound.microseconds }) })
      #expect(series.count == UInt64(count) && series.sum == samples.reduce(0, +))
    }
  }

  @Test func theEnds() {
    var series = LatencySeries()
    // A clock that went back, and the longest representable time.
    series.record(.seconds(-5))
    series.record(Nanoseconds(.min))
    series.record(Nanoseconds(.max))
    series.record(.seconds(61))
    #expect(Self.cumulative(series) == [UInt64](repeating: 2, count: 24) && series.count == 4)
    #expect(series.sum == Int64.max / 1_000 + 61_000_000)
  }
}
