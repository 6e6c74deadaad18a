import Foundation
import Testing

@testable import IMMetrics

struct ExponentialHistogramTests {
  /// The bucket by the definition in OpenTelemetry's data model: base^index < value <= base^(index + 1).
  private func bucket(_ microseconds: Int64) -> Int {
    let value = Double(microseconds) / 1e6
    var index = Int((log2(value) * 8).rounded(.up)) - 1
    while pow(2, Double(index + 1) / 8) < value { index += 1 }
    while pow(2, Double(index) / 8) >= value { index -= 1 }
    return index
  }

  @Test func everyTimeIsInItsBucket() {
    var values: [Int64] = Array(2...2_000) + [15_625, 15_626, 500_000, 1_000_000, 1_000_001, 7_200_000_000]
    var value = 2_000.0
    while value < 1e10 {
      values.append(Int64(value))
      value *= 1.013
    }
    for value in values {
      var histogram = ExponentialHistogram()
      histogram.record(microseconds: value)
      #expect(histogram.buckets?.offset == bucket(value), "\(value) us")
      #expect(histogram.buckets?.counts.count == 1)
    }
  }

  @Test func theZeroBucketAndTheEnds() {
    var histogram = ExponentialHistogram()
    for value: Int64 in [-5, 0, 1] { histogram.record(microseconds: value) }
    #expect(histogram.zeroCount == 3)
    #expect(histogram.buckets == nil)
    histogram.record(microseconds: .max)
    histogram.record(microseconds: 2)
    #expect(histogram.count == 5)
    #expect(histogram.buckets?.counts.reduce(0, +) == 2)
    histogram.removeAll()
    #expect(histogram.count == 0)
    #expect(histogram.buckets == nil)
  }
}
