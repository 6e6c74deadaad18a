import IMEngine
import IMWire
import Testing

@testable import IMMetrics

/// Numbers that look random and are the same every time.
private struct Dice {
  var state: UInt64
  mutating func roll(_ range: ClosedRange<Int64>) -> Int64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return range.lowerBound + Int64((state >> 20) % UInt64(range.upperBound - range.lowerBound + 1))
  }
}

/// The sample that `percent` of all are not above, by sorting.
private func exact(_ samples: [Int64], _ percent: Double) -> Int64 {
  let rank = max(1, Int((percent / 100 * Double(samples.count)).rounded(.up)))
  return samples.sorted()[rank - 1]
}

@Suite("Round-trip histograms")
struct ECSHistogramTests {
  static let ranges: [ClosedRange<Int64>] = [
    1...60, 100...200, 100...120_000_000, 20_000...900_000, 5_000_000...90_000_000,
  ]

  @Test("percentiles are within 0.1 % of the sorted samples, and within 2.5 % in compact histograms", arguments: ranges)
  func percentiles(_ range: ClosedRange<Int64>) throws {
    var dice = Dice(state: UInt64(range.upperBound))
    for count in [1, 2, 7, 100, 5_000] {
      let samples = (0..<count).map { _ in dice.roll(range) }
      var histogram = RTTHistogram(), compact = RTTHistogram(isCompact: true)
      var recorder = RTTRecorder()
      for sample in samples {
        histogram.record(microseconds: sample)
        compact.record(microseconds: sample)
        recorder.record(microseconds: sample)
      }
      #expect(histogram.sum == samples.reduce(0, +))
      #expect(histogram.minimum == samples.min())
      #expect(histogram.maximum == samples.max())
      for percent in [50, 90, 95, 99, 99.9] {
        let truth = Double(exact(samples, percent))
        let estimate = Double(try #require(compact.percentile(percent)))
        #expect(abs(estimate - truth) <= truth * 0.025 + 1, "p\(percent) of \(count) in \(range)")
        // There is one percentile, whichever counts them; of few samples in a compact histogram as well.
        #expect(histogram.percentile(percent) == recorder.percentile(percent))
        if count <= 96 { #expect(compact.percentile(percent) == recorder.percentile(percent)) }
        var later = histogram
        later.compact()
        #expect(later == compact && later.percentile(percent) == compact.percentile(percent))
        #expect(later.fineBuckets == 0)
        let precise = Double(try #require(recorder.percentile(percent)))
        #expect(abs(precise - truth) <= truth * 0.001 + 1, "p\(percent) of \(count) in \(range)")
      }
    }
  }

  @Test("merging two histograms gives the histogram of all samples")
  func merging() {
    var dice = Dice(state: 7)
    for _ in 0..<50 {
      var all = RTTHistogram()
      var parts = [RTTHistogram(), RTTHistogram()]
      for _ in 0..<dice.roll(0...300) {
        let sample = dice.roll(0...200_000_000)
        all.record(microseconds: sample)
        parts[Int(dice.roll(0...1))].record(microseconds: sample)
      }
      parts[0].add(parts[1])
      #expect(parts[0] == all)
      for percent in [1, 50, 95, 99.9] { #expect(parts[0].percentile(percent) == all.percentile(percent)) }
    }
  }

  @Test("where one of two is compact, so is the sum")
  func mergingCompact() {
    var dice = Dice(state: 9)
    for count in [3, 60, 200] {
      for isFirst in [true, false] {
        var parts = [RTTHistogram(isCompact: isFirst), RTTHistogram(isCompact: !isFirst)]
        var all = RTTHistogram(isCompact: true)
        for i in 0..<count {
          let sample = dice.roll(0...200_000)
          all.record(microseconds: sample)
          parts[i % 2].record(microseconds: sample)
        }
        parts[0].add(parts[1])
        #expect(parts[0] == all)
        // Few samples are a list, and their percentiles exact, in both.
        for percent in [1, 50, 95, 99.9] {
          #expect(parts[0].percentile(percent) == all.percentile(percent), "\(count)")
        }
      }
    }
  }

  @Test("beyond the room of many, those that grow are compact")
  func room() {
    var room = FineBucketRoom(bytes: 8 * 500)
    var trips = [RTTByDirection](repeating: RTTByDirection(), count: 10)
    var exact = [RTTRecorder](repeating: RTTRecorder(), count: 10)
    var dice = Dice(state: 3)
    for i in 0..<4_000 {
      let sample = dice.roll(1_000...9_000_000)
      room.record(into: &trips[i % 10]) { $0.record(microseconds: sample, .clientToServer) }
      exact[i % 10].record(microseconds: sample)
      #expect(trips.reduce(0) { $0 + $1.fineBuckets } <= 500)
    }
    #expect(room.isFull)
    for (one, other) in zip(trips, exact) {
      let (estimate, truth) = (Double(one[0].percentile(50) ?? 0), Double(other.percentile(50) ?? 0))
      #expect(abs(estimate - truth) <= truth * 0.026)
    }
  }

  @Test("buckets are 1.05 apart, and the ends are their own")
  func buckets() {
    #expect(RTTBuckets.index(ofMicroseconds: 0) == 0)
    for value: Int64 in 1...20 {
      #expect(RTTBuckets.index(ofMicroseconds: value) == Int(value))
      #expect(RTTBuckets.value(Int(value)) == Double(value) / 1_000)
    }
    let first = RTTBuckets.index(ofMicroseconds: 100)
    #expect(RTTBuckets.index(ofMicroseconds: 99) == first - 1)
    #expect(RTTBuckets.index(ofMicroseconds: 104) == first)
    #expect(RTTBuckets.index(ofMicroseconds: 105) == first + 1)
    // 0.1 ms * 1.05^286 = 114.8 s begins the last bucket of the range, which ends at 120.6 s.
    #expect(RTTBuckets.index(ofMicroseconds: 120_000_000) == first + 286)
    #expect(RTTBuckets.index(ofMicroseconds: 121_000_000) == first + 287 && RTTBuckets.count == first + 288)
    // A bucket stands for its values within 2.5 %, or half a microsecond.
    for value: Int64 in 1...10_000 {
      let shown = RTTBuckets.value(RTTBuckets.index(ofMicroseconds: value)) * 1_000
      #expect(abs(shown - Double(value)) <= 0.5 + Double(value) * 0.025, "\(value)")
    }
    // Every bound, and the number before it, against a search from the first.
    for value in RTTBuckets.bounds.flatMap({ [$0 - 1, $0] }) + [1, 2, 127, 128, .max] {
      #expect(RTTBuckets.index(ofMicroseconds: value) == RTTBuckets.bounds.filter { $0 <= value }.count)
    }
    for index in 1..<RTTBuckets.count { #expect(RTTBuckets.value(index) > RTTBuckets.value(index - 1)) }
  }

  @Test("what an Elasticsearch histogram gets adds up and increases")
  func elasticsearch() {
    var histogram = RTTHistogram()
    for sample: Int64 in [10, 150, 150, 40_000, 500_000_000] { histogram.record(microseconds: sample) }
    var values: [Double] = []
    var counts: [UInt64] = []
    histogram.forEachBucket {
      values.append($0)
      counts.append($1)
    }
    #expect(counts == [1, 2, 1, 1])
    #expect(values == values.sorted())
    #expect(Set(values).count == values.count)
  }

  @Test("without samples there is nothing to say")
  func empty() {
    let histogram = RTTHistogram()
    #expect(histogram.percentile(50) == nil)
    #expect(histogram.minimum == nil)
    #expect(histogram.mean == nil)
    #expect(RTTRecorder().percentile(99) == nil)
  }
}

@Suite("Ratios and periods")
struct ECSPeriodTests {
  @Test("a ratio without samples is absent")
  func absent() {
    var counts = FateCounts()
    #expect(ratio("success", of: counts) == nil)
    #expect(ratio("loss", of: counts) == nil)
    counts.units = 3
    counts.pending = 3
    #expect(ratio("success", of: counts) == nil)
    for id in ["connections.success", "heartbeats.loss", "checksums.errors", "tcp.retransmission_ratio"] {
      #expect(Catalogue.servers.contains { $0.info.id == id })
      #expect(Catalogue.value(id, in: Catalogue.servers, of: ServerSnapshot(EndpointMetrics())) == nil, "\(id)")
    }
  }

  @Test("success, loss and refusals add up to one, and open messages have no part")
  func ratios() {
    var counts = FateCounts()
    counts.units = 25
    counts.acked = 12
    counts.ackedAfterRetry = 4
    counts.rejected = 1
    counts.unanswered = 2
    counts.damaged = 1
    counts.pending = 5
    #expect(ratio("success", of: counts) == 0.8)
    #expect(ratio("loss", of: counts) == 0.15)
    #expect(ratio("retry", of: counts) == 0.2)
  }

  private func ratio(_ name: String, of counts: FateCounts) -> Double? {
    var kind = KindTotals()
    kind.fates[0] = counts
    var tally = MessageTally()
    tally.add(kind)
    return Catalogue.value("messages.\(name)", in: Catalogue.ratios, of: tally)?.ratio
  }

  @Test("periods end at whole minutes; the first one is partial, quiet minutes are passed over")
  func clock() {
    var clock = PeriodClock()
    func at(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }
    #expect(clock.advance(to: at(90)) == nil)
    #expect(clock.advance(to: at(119)) == nil)
    // A clock that goes back changes nothing.
    #expect(clock.advance(to: at(100)) == nil)
    let first = clock.advance(to: at(120))
    #expect(first == period(90, 120, 120, true))
    #expect(clock.advance(to: at(125)) == nil)
    let second = clock.advance(to: at(600))
    #expect(second == period(120, 180, 180, false))
    #expect(clock.finish() == period(600, 600, 660, true))
  }

  private func period(_ start: Int64, _ end: Int64, _ boundary: Int64, _ isPartial: Bool) -> Period {
    func at(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }
    return Period(start: at(start), end: at(end), boundary: at(boundary), isPartial: isPartial)
  }
}
