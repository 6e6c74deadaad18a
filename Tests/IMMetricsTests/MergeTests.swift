import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// Addition of histograms: the order does not matter, and counts read from a file neither trap nor wrap.
@Suite struct MergeTests {
  private static func samples(_ count: Int, _ seed: UInt64, _ range: ClosedRange<Int64> = 100...5_000_000) -> [Int64] {
    var random = SeededRandom(seed)
    return (0..<count).map { _ in Int64.random(in: range, using: &random) }
  }

  private static func histogram(_ samples: [Int64], isCompact: Bool = false) -> RTTHistogram {
    var histogram = RTTHistogram(isCompact: isCompact)
    for sample in samples { histogram.record(microseconds: sample) }
    return histogram
  }

  private static let percents = [1, 25, 50, 90, 95, 99, 99.9, 100]

  /// A compact histogram with few samples keeps all of them: added first or last, it leaves the percentiles of the sum exact.
  @Test func fewSamplesAreNeverCoarse() {
    let (few, many) = (Self.samples(60, 1), Self.samples(700, 2))
    let parts = [Self.histogram(few, isCompact: true), Self.histogram(many), Self.histogram(Self.samples(50, 3))]
    var all = Self.histogram(few + many + Self.samples(50, 3))
    all.gather()
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [1, 2, 0]] {
      var sum = RTTHistogram()
      for part in order { sum.add(parts[part]) }
      #expect(sum == all && sum.fineBuckets == all.fineBuckets, "\(order)")
      for percent in Self.percents {
        #expect(sum.percentile(percent) == all.percentile(percent), "\(order) p\(percent)")
      }
    }
  }

  /// With a compact histogram of many samples, every sum is compact, in any order.
  @Test func manyCompactSamplesMakeTheSumCoarse() {
    let parts = [Self.histogram(Self.samples(300, 4), isCompact: true), Self.histogram(Self.samples(400, 5))]
    let all = Self.histogram(Self.samples(300, 4) + Self.samples(400, 5), isCompact: true)
    for order in [[0, 1], [1, 0]] {
      var sum = RTTHistogram()
      for part in order { sum.add(parts[part]) }
      #expect(sum == all && sum.fineBuckets == 0)
      for percent in Self.percents { #expect(sum.percentile(percent) == all.percentile(percent)) }
    }
  }

  /// Adding an empty histogram changes nothing; a histogram added to itself has every sample twice.
  @Test(arguments: [0, 1, 5, 96, 97, 500]) func neutralAndTwice(_ count: Int) {
    let samples = Self.samples(count, 6)
    let histogram = Self.histogram(samples)
    var sum = RTTHistogram()
    sum.add(histogram)
    sum.add(RTTHistogram())
    #expect(sum == histogram && sum.count == UInt64(count) && sum.minimum == samples.min())
    sum.add(sum)
    #expect(sum == Self.histogram(samples + samples) && sum.count == UInt64(2 * count))
    for percent in Self.percents {
      #expect(sum.percentile(percent) == Self.histogram(samples + samples).percentile(percent))
    }
  }

  /// A histogram restored from the counts of an earlier process is equal to the original.
  @Test func counted() throws {
    for count in [1, 50, 96, 97, 3_000] {
      let histogram = Self.histogram(Self.samples(count, 7), isCompact: true)
      let again = try #require(
        RTTHistogram(
          buckets: histogram.counted, sum: histogram.sum, minimum: histogram.minimum ?? 0,
          maximum: histogram.maximum ?? 0))
      #expect(again == histogram && again.counted.map(\.count).reduce(0, +) == UInt64(count))
      guard count > 96 else { continue }
      for percent in Self.percents { #expect(again.percentile(percent) == histogram.percentile(percent)) }
    }
    let none = try #require(RTTHistogram(buckets: [], sum: 9, minimum: 1, maximum: 0))
    #expect(none.count == 0 && none.percentile(50) == nil && none.minimum == nil && none.mean == nil)
  }

  /// Counts that no histogram can have, as a file may contain them.
  @Test func whatIsNoHistogram() {
    let last = UInt16(RTTBuckets.count)
    let cases: [(name: String, buckets: [(index: UInt16, count: UInt64)], least: Int64, most: Int64)] = [
      ("an index too large", [(last, 1)], 1, 2), ("the largest index", [(.max, 1)], 1, 2),
      ("no samples in a bucket", [(3, 0)], 1, 2), ("not in order", [(4, 1), (3, 1)], 1, 2),
      ("twice", [(3, 1), (3, 1)], 1, 2), ("the greatest below the least", [(3, 1)], 2, 1),
      ("too many samples", [(3, 1 << 62)], 1, 2), ("a sum beyond 64 bits", [(3, .max), (4, .max)], 1, 2),
      ("too many buckets", (0...last).map { ($0, 1) }, 1, 2),
    ]
    for test in cases {
      let histogram = RTTHistogram(buckets: test.buckets, sum: 0, minimum: test.least, maximum: test.most)
      #expect(histogram == nil, "\(test.name)")
    }
  }

  /// The largest histograms that a file may contain, added repeatedly.
  @Test func countsFromAFileStop() throws {
    let largest = try #require(
      RTTHistogram(
        buckets: [(3, 1 << 61), (200, 1 << 61 - 1)], sum: .max, minimum: 3, maximum: 60_000_000))
    var sum = RTTHistogram(isCompact: true)
    for _ in 0..<40 { sum.add(largest) }
    sum.record(microseconds: 4)
    let (low, high) = (try #require(sum.percentile(0.1)), try #require(sum.percentile(100)))
    #expect(sum.count >= 1 << 62 && sum.minimum == 3 && sum.maximum == 60_000_000)
    #expect((3...60_000_000).contains(low) && (3...60_000_000).contains(high) && low <= high)
    var window = SlidingWindow(
      step: 1_000_000_000, count: 60,
      entries: (0..<60 as Range<Int64>).map { number in
        var counts = SlidingWindow.Counts()
        counts.samples = .max
        counts.roundTrips = largest
        return (number, counts)
      })
    let counts = window.counts(before: Timestamp(seconds: 60, fraction: 0))
    #expect(counts.roundTrips.count == 1 << 62 && counts.roundTrips.percentile(50) != nil)
  }

  /// Both directions together, and each separately.
  @Test func directions() throws {
    let ways = [Self.samples(40, 8), Self.samples(150, 9)]
    var trips = RTTByDirection()
    for sample in ways[0] { trips.record(microseconds: sample, .clientToServer) }
    for sample in ways[1] { trips.record(.microseconds(sample), .serverToClient) }
    #expect(trips.count == 190 && trips[0] == Self.histogram(ways[0]))
    #expect(trips[.serverToClient] == Self.histogram(ways[1]))
    #expect(trips.both == Self.histogram(ways[0] + ways[1]))
    let report = RTTReport(trips)
    #expect(report.both == trips.both && report.byDirection == trips)
    let sorted = (ways[0] + ways[1]).sorted()
    for percent in Self.percents {
      #expect(report.both.percentile(percent) == trips.both.percentile(percent))
      let truth = Double(sorted[Int((percent * 190 / 100).rounded(.up)) - 1])
      let found = Double(try #require(report.both.percentile(percent)))
      #expect(abs(found - truth) <= truth / 1_024 + 1, "p\(percent)")
    }
    var one = RTTByDirection(), sum = RTTByDirection()
    one.record(microseconds: 5, .serverToClient)
    #expect(one.both == one[1] && one != trips && RTTByDirection().both.count == 0)
    sum.add(one)
    sum.add(trips)
    #expect(sum.count == 191 && sum[1].minimum == 5 && sum[0] == trips[0])
    sum.compact()
    #expect(sum.fineBuckets == 0 && sum.count == 191)
  }

  /// Released room is available to other histograms.
  @Test func roomIsGivenBack() {
    var room = FineBucketRoom(bytes: 8 * 100)
    let samples = Self.samples(300, 10, 1_000...1_090)
    func fill() -> RTTByDirection {
      var trips = RTTByDirection()
      for sample in samples { room.record(into: &trips) { $0.record(microseconds: sample, .clientToServer) } }
      return trips
    }
    // These 91 values have a bucket each, so that they fit once, but not twice.
    let first = fill()
    #expect(first.fineBuckets > 50 && first.fineBuckets <= 100 && !room.isFull)
    room.release(first)
    let second = fill()
    #expect(second.fineBuckets == first.fineBuckets && !room.isFull)
    let third = fill()
    #expect(room.isFull && third.fineBuckets == 0 && third[0] == second[0])
  }
}
