package import IMWire

/// Round trips in the buckets of `RTTBuckets`, with exact count, sum, least and greatest, and with the percentiles of `RTTRecorder`.
///
/// Up to 96 samples, as most connections have them, are a list, 4 bytes each. Of more samples only buckets that are not empty are kept, in
/// order: those of `RTTBuckets`, 16 bytes each, and those of `RTTRecorder`, 8 bytes each, of which many samples have hundreds. A compact
/// histogram does without the latter: its percentiles are within 2.5 % up to 120 s once it has more than 96 samples.
///
/// The last few samples wait in the value itself, so that the memory of the others is touched once for all of them.
package struct RTTHistogram: Equatable, Sendable {
  /// A bucket that is not empty.
  struct Bucket: Equatable, Sendable {
    var index: UInt16
    var count: UInt64
  }

  /// The most samples that are a list.
  private static var mostLoose: Int { 96 }
  /// The limit of counts: those of an earlier process come from a file, so their sum may be arbitrarily large.
  private static var mostSamples: UInt64 { 1 << 62 }

  private var settled: [Bucket] = []
  /// The buckets of `RTTRecorder` that are not empty, in order: the index in the upper 16 bits, the samples in the lower 48. Empty while
  /// samples are a list, and in a compact histogram.
  private var fine: [UInt64] = []
  /// Whether it does without `fine`.
  private var isCompact: Bool
  /// Each sample as it came, in microseconds, while there are few and `settled` is empty; and the last samples.
  private var loose: [UInt32] = []
  private var waiting = InlineArray<8, UInt32>(repeating: 0)
  private var waitingCount = 0
  /// Samples.
  package private(set) var count: UInt64 = 0
  /// Their sum, in microseconds.
  package private(set) var sum: Int64 = 0
  private var least = Int64.max
  private var greatest = Int64.min

  /// No samples.
  package init(isCompact: Bool = false) { self.isCompact = isCompact }

  /// A compact histogram of the samples that an earlier process counted, by the indices of their buckets in ascending order; `nil` for what
  /// no histogram counts.
  package init?(buckets: [(index: UInt16, count: UInt64)], sum: Int64, minimum: Int64, maximum: Int64) {
    isCompact = true
    guard !buckets.isEmpty else { return }
    guard buckets.count <= RTTBuckets.count, minimum <= maximum else { return nil }
    for (index, bucket) in buckets.enumerated() {
      let isAscending = index == 0 || buckets[index - 1].index < bucket.index
      let (total, overflow) = count.addingReportingOverflow(bucket.count)
      guard isAscending, bucket.index < RTTBuckets.count, bucket.count > 0, !overflow, total < Self.mostSamples
      else {
        return nil
      }
      count = total
      settled.append(Bucket(index: bucket.index, count: bucket.count))
    }
    (self.sum, least, greatest) = (sum, minimum, maximum)
  }

  /// The buckets of all samples that are not empty, in ascending order.
  package var counted: [(index: UInt16, count: UInt64)] { buckets.map { ($0.index, $0.count) } }

  /// The least sample, in microseconds; `nil` without samples.
  package var minimum: Int64? { count == 0 ? nil : least }
  /// The greatest sample, in microseconds; `nil` without samples.
  package var maximum: Int64? { count == 0 ? nil : greatest }
  /// The mean, in microseconds; `nil` without samples.
  package var mean: Double? { count == 0 ? nil : Double(sum) / Double(count) }

  /// Takes a sample. Negative ones, which a clock that went back makes, count as 0.
  package mutating func record(_ time: Nanoseconds) { record(microseconds: time.microseconds) }

  /// The same in microseconds.
  package mutating func record(microseconds: Int64) {
    if waitingCount == waiting.count { settle() }
    let value = max(0, microseconds)
    waiting[waitingCount] = UInt32(clamping: value)
    waitingCount &+= 1
    count &+= 1
    sum &+= value
    least = min(least, value)
    greatest = max(greatest, value)
  }

  /// Puts the last samples to the others.
  @inline(never)
  private mutating func settle() {
    if settled.isEmpty, loose.count + waitingCount <= Self.mostLoose {
      loose.reserveCapacity(loose.count + waitingCount)
      for i in 0..<waitingCount { loose.append(waiting[i]) }
    } else {
      fold()
    }
    waitingCount = 0
  }

  /// Counts all samples in buckets.
  private mutating func fold() {
    for value in loose { count(value) }
    loose = []
    for i in 0..<waitingCount { count(waiting[i]) }
    waitingCount = 0
  }

  private mutating func count(_ value: UInt32) {
    countCoarse(value)
    guard !isCompact else { return }
    let index = UInt64(RTTRecorder.bucketIndex(ofMicroseconds: Int64(value))) << Self.countBits
    let place = place(of: index)
    if place < fine.count, fine[place] >> Self.countBits == index >> Self.countBits {
      fine[place] += 1
    } else {
      fine.insert(index | 1, at: place)
    }
  }

  private static var countBits: UInt64 { 48 }

  /// The first of `fine` that is not below `bucket`.
  private func place(of bucket: UInt64) -> Int {
    var (low, high) = (0, fine.count)
    while low < high {
      let middle = (low + high) / 2
      if fine[middle] < bucket { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func countCoarse(_ value: UInt32) {
    let index = UInt16(truncatingIfNeeded: RTTBuckets.index(ofMicroseconds: Int64(value)))
    // Round trips of one connection are alike, so the search is short; new buckets are rare.
    var low = 0
    var high = settled.count
    while low < high {
      let middle = (low + high) / 2
      if settled[middle].index < index { low = middle + 1 } else { high = middle }
    }
    if low < settled.count, settled[low].index == index {
      settled[low].count += 1
    } else {
      settled.insert(Bucket(index: index, count: 1), at: low)
    }
  }

  /// Whether samples are a list, so that percentiles are those of `RTTRecorder`.
  private var isList: Bool { settled.isEmpty && count <= Self.mostLoose }

  /// Buckets of which a compact histogram keeps none.
  package var fineBuckets: Int { fine.count }

  /// Drops the buckets that only percentiles need.
  package mutating func compact() {
    isCompact = true
    fine = []
  }

  /// Counts all samples in buckets where they are no list, before several questions: each does so for itself.
  package mutating func gather() { if !isList, waitingCount > 0 || !loose.isEmpty { fold() } }

  /// The buckets of all samples.
  var buckets: [Bucket] {
    guard waitingCount > 0 || !loose.isEmpty else { return settled }
    var all = self
    all.isCompact = true
    all.fold()
    return all.settled
  }

  /// Two that have the same samples, as far as buckets tell.
  package static func == (a: RTTHistogram, b: RTTHistogram) -> Bool {
    a.count == b.count && a.sum == b.sum && a.least == b.least && a.greatest == b.greatest && a.buckets == b.buckets
  }

  /// Adds the samples of another histogram; the result is that of all samples taken by one.
  package mutating func add(_ other: RTTHistogram) {
    if isList, other.isList, count + other.count <= UInt64(Self.mostLoose) {
      settle()
      loose += other.samples
    } else {
      addBuckets(of: other)
    }
    count = Self.sum(count, other.count)
    sum &+= other.sum
    least = min(least, other.least)
    greatest = max(greatest, other.greatest)
  }

  private static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 { min(a &+ b, mostSamples) }

  private mutating func addBuckets(of other: RTTHistogram) {
    var other = other
    // A list contains all samples, so that the order of additions does not matter.
    if other.isList { other.isCompact = false }
    fold()
    other.fold()
    // Without the fine buckets of one of them there are none.
    if isCompact || other.isCompact { compact() } else { addFine(other.fine) }
    let (ours, theirs) = (settled, other.settled)
    var merged: [Bucket] = []
    merged.reserveCapacity(max(ours.count, theirs.count))
    var i = 0
    var j = 0
    while i < ours.count || j < theirs.count {
      let a = i < ours.count ? ours[i].index : .max
      let b = j < theirs.count ? theirs[j].index : .max
      if a == b {
        merged.append(Bucket(index: a, count: Self.sum(ours[i].count, theirs[j].count)))
      } else {
        merged.append(a < b ? ours[i] : theirs[j])
      }
      if a <= b { i += 1 }
      if b <= a { j += 1 }
    }
    settled = merged
  }

  private mutating func addFine(_ theirs: [UInt64]) {
    var merged: [UInt64] = []
    merged.reserveCapacity(max(fine.count, theirs.count))
    var (i, j) = (0, 0)
    while i < fine.count, j < theirs.count {
      let (a, b) = (fine[i] >> Self.countBits, theirs[j] >> Self.countBits)
      if a == b {
        merged.append(fine[i] + theirs[j] & (1 << Self.countBits - 1))
      } else {
        merged.append(a < b ? fine[i] : theirs[j])
      }
      if a <= b { i += 1 }
      if b <= a { j += 1 }
    }
    fine = merged + fine[i...] + theirs[j...]
  }

  /// The sample, in microseconds, that `percent` of all are not above: as `RTTRecorder` has it, or in a compact histogram as far as its
  /// bucket tells. `nil` without samples.
  package func percentile(_ percent: Double) -> Int64? {
    guard count > 0 else { return nil }
    let rank = RTTRecorder.rank(percent, of: count)
    if isList {
      let value = samples.sorted()[min(Int(rank), Int(count)) - 1]
      return min(max(RTTRecorder.shown(Int64(value)), least), greatest)
    }
    if waitingCount > 0 || !loose.isEmpty {
      var all = self
      all.fold()
      return all.percentile(percent)
    }
    var seen: UInt64 = 0
    guard isCompact else {
      for bucket in fine {
        seen += bucket & (1 << Self.countBits - 1)
        if seen >= rank {
          return min(max(RTTRecorder.end(ofBucket: Int(bucket >> Self.countBits)), least), greatest)
        }
      }
      return greatest
    }
    for bucket in settled {
      seen += bucket.count
      if seen >= rank { return value(of: bucket.index) }
    }
    return greatest
  }

  /// The value of a bucket, in microseconds.
  private func value(of bucket: UInt16) -> Int64 {
    let value = Int64((RTTBuckets.value(Int(bucket)) * 1_000).rounded())
    // In the first and the last bucket the exact ends are known.
    return min(max(value, least), greatest)
  }

  /// All samples, where they are a list.
  private var samples: [UInt32] {
    var samples = loose
    for i in 0..<waitingCount { samples.append(waiting[i]) }
    return samples
  }

  /// The buckets that are not empty, as an Elasticsearch `histogram` wants them: milliseconds and counts.
  package func forEachBucket(_ body: (_ milliseconds: Double, _ count: UInt64) -> Void) {
    for bucket in buckets { body(RTTBuckets.value(Int(bucket.index)), bucket.count) }
  }
}
