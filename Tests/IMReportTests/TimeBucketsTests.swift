import IMTestSupport
import IMWire
import Testing

@testable import IMReport

/// Buckets against an ordinary count of the same times.
@Suite struct TimeBucketsTests {
  private struct Sum: Additive {
    var count = 0
    mutating func add(_ other: Sum) { count += other.count }
  }

  @Test(arguments: 0..<40) func bucketsAreThoseOfAPlainCount(_ seed: UInt64) {
    var random = SeededRandom(seed)
    let spread = [10, 400, 5_000, 1_000_000, 4_000_000_000][Int(seed % 5)]
    let base = Int64.random(in: -5_000_000_000...4_000_000_000, using: &random)
    var buckets = TimeBuckets<Sum>()
    var seconds: [Int64] = []
    for _ in 0..<300 {
      let second = base + Int64.random(in: 0...Int64(spread), using: &random)
      seconds.append(second)
      buckets.change(Timestamp(seconds: second, fraction: Int64.random(in: 0..<1_000_000_000, using: &random))) {
        $0.count += 1
      }
    }
    let all = buckets.all
    #expect(all.count <= Int(TimeBuckets<Sum>.maximumCount))
    for bucket in all {
      let from = bucket.begin.seconds
      #expect(bucket.value.count == seconds.filter { $0 >= from && $0 < from + buckets.width }.count)
      #expect((from % buckets.width + buckets.width) % buckets.width == 0)
    }
    #expect(all.reduce(0) { $0 + $1.value.count } == seconds.count)
    let coarse = buckets.coarser(count: 7)
    #expect(coarse.all.count <= 7 && coarse.all.reduce(0) { $0 + $1.value.count } == seconds.count)
    #expect(coarse.width % buckets.width == 0)
  }

  @Test func theEndsOfTimeAreBounded() {
    var buckets = TimeBuckets<Sum>()
    for at in [Timestamp.distantPast, .distantFuture, Timestamp(nanoseconds: 0), Timestamp(nanoseconds: -1)] {
      buckets.change(at) { $0.count += 1 }
    }
    #expect(buckets.all.count <= 400 && buckets.all.reduce(0) { $0 + $1.value.count } == 4)
    #expect(buckets.span != nil)
  }
}
