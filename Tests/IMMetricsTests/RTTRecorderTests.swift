import Foundation
import IMMetrics
import IMTestSupport
import Testing

/// The recorder of round trips, held against the definition of a percentile, computed from sorted samples, and against
/// what another library says of buckets.
@Suite struct RTTRecorderTests {
  /// In thousandths of a percent.
  private static let percents = [100, 1_000, 25_000, 50_000, 75_000, 90_000, 95_000, 99_000, 99_900, 99_990, 100_000]
  private static let longest: Int64 = 7_200_000_000

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

  /// The greatest value that is not told from `value`: 11 bits of it count.
  private static func bucketEnd(_ value: Int64) -> Int64 {
    var step: Int64 = 1
    while value / step >= 2_048 { step *= 2 }
    return (value / step + 1) * step - 1
  }

  /// The nearest rank, rounded up: the least sample that so many are not above, as far as its bucket tells.
  private static func percentile(_ thousandths: Int, of sorted: [Int64]) -> Int64 {
    let rank = max(1, (thousandths * sorted.count + 99_999) / 100_000)
    return min(bucketEnd(min(sorted[rank - 1], longest)), sorted[sorted.count - 1])
  }

  // 3, 7 and 15 samples tell rounding up from rounding to the nearest.
  @Test(arguments: [
    (1, 1...33), (2, 1...33), (3, 1...33), (7, 4...20), (15, 1...33), (100, 8...12), (1_000, 10...13), (20_000, 1...33),
  ])
  func followsTheDefinition(_ count: Int, _ bits: ClosedRange<Int>) {
    for seed in 1...20 {
      let samples = Self.samples(count, bits: UInt64(bits.lowerBound)...UInt64(bits.upperBound), seed: UInt64(seed))
      var recorder = RTTRecorder()
      for sample in samples { recorder.record(microseconds: sample) }
      let sorted = samples.sorted()
      #expect(recorder.count == UInt64(count))
      #expect(recorder.sum == samples.reduce(0, +))
      #expect(recorder.minimum == sorted.first && recorder.maximum == sorted.last)
      for percent in Self.percents {
        #expect(
          recorder.percentile(Double(percent) / 1_000) == Self.percentile(percent, of: sorted),
          "\(percent) thousandths of seed \(seed)")
      }
    }
  }

  /// `Tests/Witnesses/hdrhistogram.py` has asked another library.
  @Test func agreesWithAnotherLibrary() throws {
    let path = Samples.folder + "/../Tests/Witnesses/hdrhistogram.tsv"
    var sets: [[Int]: RTTRecorder] = [:]
    var rows = 0
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      let numbers = line.split(separator: "\t").compactMap { Int($0) }
      rows += 1
      if line.hasPrefix("value") {
        let (value, end) = (try #require(numbers.first), try #require(numbers.last))
        var recorder = RTTRecorder()
        recorder.record(microseconds: Int64(value))
        recorder.record(microseconds: .max)
        #expect(recorder.percentile(50) == Int64(end), "\(value)")
      } else {
        try #require(numbers.count == 6)
        let key = Array(numbers[..<4])
        let recorder =
          sets[key]
          ?? {
            var recorder = RTTRecorder()
            for sample in Self.samples(key[1], bits: UInt64(key[2])...UInt64(key[3]), seed: UInt64(key[0])) {
              recorder.record(microseconds: min(sample, Self.longest))
            }
            return recorder
          }()
        sets[key] = recorder
        let greatest = try #require(recorder.maximum)
        #expect(recorder.percentile(Double(numbers[4])) == min(Int64(numbers[5]), greatest), "\(line)")
      }
    }
    #expect(rows > 150 && sets.count == 3)
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
    for percent in Self.percents.map({ Double($0) / 1_000 }) {
      #expect(first.percentile(percent) == all.percentile(percent))
    }
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
