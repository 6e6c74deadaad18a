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

  @Test(arguments: [1, 400, 3_990, 4_000, 4_001, 12_000, 4_000_000])
  func bucketsAddUpWhateverTheirWidths(_ span: Int64) {
    // Every second of the span in `one`, only the first seconds in `other`.
    var one = TimeBuckets<Sum>(), other = TimeBuckets<Sum>()
    for second in stride(from: 0, through: span, by: Int(max(1, span / 4_000))) {
      one.change(Timestamp(seconds: second, fraction: 0)) { $0.count += 1 }
    }
    for second in Int64(0)..<3 { other.change(Timestamp(seconds: second, fraction: 0)) { $0.count += 1 } }
    var sum = other
    sum.add(one)
    #expect(sum.width >= one.width && sum.width % one.width == 0)
    let counts = [one, other].flatMap(\.all)
    for bucket in sum.all {
      let (begin, end) = (bucket.begin.seconds, bucket.begin.seconds + sum.width)
      let inside = counts.filter { $0.begin.seconds >= begin && $0.begin.seconds < end }
      let expected = inside.reduce(0) { $0 + $1.value.count }
      #expect(bucket.value.count == expected)
    }
    var reversed = one
    reversed.add(other)
    #expect(reversed.all.map(\.value.count) == sum.all.map(\.value.count))
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
