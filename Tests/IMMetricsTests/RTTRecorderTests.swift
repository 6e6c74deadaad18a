import Histogram
import IMMetrics
import Testing

/// The recorder of round trips, with HdrHistogram as its oracle.
@Suite struct RTTRecorderTests {
  private static let percents = [0.1, 1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100]

  /// Samples of many sizes: the widths in bits are spread evenly.
  private static func samples(_ count: Int, bits: ClosedRange<UInt64>, seed: UInt64) -> [Int64] {
    var state = seed
    func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 16
    }
    return (0..<count).map { _ in
      let width = bits.lowerBound + next() % (bits.upperBound - bits.lowerBound + 1)
      return Int64(1 << (width - 1) | next() & (1 << (width - 1) - 1))
    }
  }

  @Test(arguments: [(1, 1...33), (2, 1...33), (100, 8...12), (1_000, 10...13), (20_000, 1...33)])
  func equalsTheLibrary(_ count: Int, _ bits: ClosedRange<Int>) {
    for seed in 1...20 {
      let samples = Self.samples(count, bits: UInt64(bits.lowerBound)...UInt64(bits.upperBound), seed: UInt64(seed))
      var recorder = RTTRecorder()
      var library = Histogram<UInt64>(
        lowestDiscernibleValue: 1, highestTrackableValue: 7_200_000_000, numberOfSignificantValueDigits: .three)
      for sample in samples {
        let sample = min(sample, 7_200_000_000)
        recorder.record(microseconds: sample)
        library.record(UInt64(sample))
      }
      #expect(recorder.count == UInt64(count))
      #expect(recorder.sum == samples.reduce(0) { $0 + min($1, 7_200_000_000) })
      for percent in Self.percents {
        #expect(
          recorder.percentile(percent) == Int64(library.valueAtPercentile(percent)), "\(percent) % of seed \(seed)")
      }
    }
  }

  @Test func twoAddUpToOne() {
    let samples = Self.samples(5_000, bits: 1...33, seed: 7)
    var all = RTTRecorder()
    var first = RTTRecorder()
    var second = RTTRecorder()
    for (i, sample) in samples.enumerated() {
      all.record(microseconds: sample)
      if i % 3 == 0 { first.record(microseconds: sample) } else { second.record(microseconds: sample) }
    }
    first.add(second)
    first.add(RTTRecorder())
    #expect(first.count == all.count && first.sum == all.sum)
    #expect(first.minimum == all.minimum && first.maximum == all.maximum)
    for percent in Self.percents { #expect(first.percentile(percent) == all.percentile(percent)) }
  }

  @Test func endsOfTheRange() {
    var recorder = RTTRecorder()
    #expect(recorder.percentile(50) == nil && recorder.minimum == nil && recorder.mean == nil)
    recorder.record(microseconds: -5)
    #expect(recorder.percentile(50) == 0 && recorder.minimum == 0)
    recorder.record(microseconds: .max)
    #expect(recorder.maximum == .max)
    // Longer ones are not told apart, but the greatest is known.
    #expect(recorder.percentile(100) == 7_201_619_967)
    #expect(recorder.percentile(50) == 0)
  }
}
