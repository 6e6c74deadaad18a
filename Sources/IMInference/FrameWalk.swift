/// The frames of samples, as a hypothesis cuts them.
///
/// Each run is walked from its first byte, which begins a segment. Where no frame stands, the walk goes on at the next
/// segment's first byte; the frame in front of such a place is not believed either, since its length led there.
struct FrameWalk {
  /// One frame.
  struct Place {
    /// The sample's index.
    var sample: Int32
    /// Its first byte, and its length.
    var start: Int32, count: Int32

    /// Whether it follows `other` at once, and its first bytes are the same.
    func isSame(as other: Place, in views: [SampleView]) -> Bool {
      guard sample == other.sample, start == other.start + other.count, count == other.count else { return false }
      let bytes = views[Int(sample)].bytes
      let (a, b) = (Int(start), Int(other.start))
      for i in 0..<min(Int(count), 24) where bytes[a + i] != bytes[b + i] { return false }
      return true
    }
  }

  private(set) var frames: [Place] = []
  /// Bytes that were walked over, and those of them that stand in believed frames.
  private(set) var byteCount = 0, explainedCount = 0
  /// Places where no frame stood, and runs that end in one.
  private(set) var errors = 0, cuts = 0
  /// Segments that begin where a frame does, and all those that tell.
  private(set) var hits = 0, chances = 0
  /// Whether the walk was left because hardly anything fitted.
  private(set) var isAbandoned = false

  /// Walks `samples`, of each at most `limit` bytes.
  init(_ samples: [SampleView], _ hypothesis: FramingHypothesis, limit: Int, frameLimit: Int = 50_000) {
    frames.reserveCapacity(256)
    for (index, sample) in samples.enumerated() where !isAbandoned {
      guard frames.count < frameLimit else { break }
      walk(sample, Int32(index), hypothesis, limit, frameLimit)
    }
  }

  private mutating func walk(
    _ sample: SampleView, _ index: Int32, _ hypothesis: FramingHypothesis, _ limit: Int, _ frameLimit: Int
  ) {
    sample.bytes.withUnsafeBufferPointer { bytes in
      var next = 0
      for run in sample.runs {
        let end = min(run.upperBound, limit)
        guard run.lowerBound < end else { return }
        byteCount += end - run.lowerBound
        while next < sample.telling.count, sample.telling[next] < run.lowerBound { next += 1 }
        var position = run.lowerBound
        var chain = 0
        if position > 0 || !sample.isFromStart,
          let start = Self.nextChain(sample, bytes, hypothesis, behind: position - 1, end)
        {
          // What is in front of it may be the end of a frame whose beginning is missing.
          byteCount -= start - position
          position = start
        }
        scan: while position < end {
          guard frames.count < frameLimit else {
            byteCount -= end - position
            return
          }
          while next < sample.telling.count, sample.telling[next] < position {
            chances += 1
            next += 1
          }
          if next < sample.telling.count, sample.telling[next] == position {
            if position > run.lowerBound {
              chances += 1
              hits += 1
            }
            next += 1
          }
          switch hypothesis.step(bytes, position, end) {
          case .frame(let count):
            frames.append(Place(sample: index, start: Int32(position), count: Int32(count)))
            explainedCount += count
            chain += 1
            position += count
          case .cut:
            // A length that is damaged leads beyond the end as well: then frames follow behind it all the same.
            if let start = Self.nextChain(sample, bytes, hypothesis, behind: position, end) {
              errors += 1
              chain = 0
              position = start
              continue
            }
            // The sample's own end cuts frames too.
            if end == run.upperBound { cuts += 1 }
            if end < run.upperBound || end < sample.bytes.count { byteCount -= end - position }
            break scan
          case .none:
            errors += 1
            if chain > 0, let last = frames.popLast() { explainedCount -= Int(last.count) }
            chain = 0
            if errors > 8 + frames.count / 4 {
              isAbandoned = true
              return
            }
            guard let start = sample.nextStart(after: position), start < end else { break scan }
            position = start
          }
        }
        while next < sample.telling.count, sample.telling[next] < end {
          chances += 1
          next += 1
        }
      }
    }
  }

  /// The next of a few segments' starts from which frames go on to another such start, or to the end.
  private static func nextChain(
    _ sample: SampleView, _ bytes: UnsafeBufferPointer<UInt8>, _ hypothesis: FramingHypothesis, behind position: Int,
    _ end: Int
  ) -> Int? {
    var start = position
    for _ in 0..<8 {
      guard let next = sample.nextStart(after: start), next < end else { return nil }
      start = next
      var place = start
      for count in 1...4 {
        guard case .frame(let length) = hypothesis.step(bytes, place, end) else { break }
        place += length
        if place == end || count > 1 && sample.isStart(place) { return start }
      }
    }
    return nil
  }

  /// The share of the bytes that believed frames explain, 0 to 1.
  var explained: Double { byteCount > 0 ? Double(explainedCount) / Double(byteCount) : 0 }

  /// Whether two frames have different lengths.
  var lengthsDiffer: Bool { frames.contains { $0.count != frames.first?.count } }
}

/// A sample, and what walks want to know of it beforehand.
struct SampleView {
  let bytes: [UInt8]
  let isFromStart: Bool
  let runs: [Range<Int>]
  /// Where segments begin.
  let starts: [Int]
  /// Those of them that tell where frames begin: one behind a segment as long as any only goes on with it.
  let telling: [Int]
  /// What the segments are as long as, where a whole number of frames may stand in one: the start, and the length.
  let segments: [(start: Int, count: Int)]

  init(_ sample: StreamSample, fullSegment: Int) {
    bytes = sample.bytes
    isFromStart = sample.isFromStart
    runs = sample.runs
    starts = sample.starts.map(\.offset)
    var telling: [Int] = []
    var segments: [(Int, Int)] = []
    var run = 0
    for (i, start) in starts.enumerated() {
      while run < runs.count, runs[run].upperBound <= start { run += 1 }
      guard run < runs.count else { break }
      let next = i + 1 < starts.count ? min(starts[i + 1], runs[run].upperBound) : runs[run].upperBound
      let isFirst = start == runs[run].lowerBound
      if isFirst || i == 0 || start - starts[i - 1] < fullSegment { telling.append(start) }
      if next - start < fullSegment { segments.append((start, next - start)) }
    }
    self.telling = telling
    self.segments = segments
  }

  /// Whether a segment begins at `position`.
  func isStart(_ position: Int) -> Bool { nextStart(after: position - 1) == position }

  /// The first segment's start behind `position`.
  func nextStart(after position: Int) -> Int? {
    var low = 0
    var high = starts.count
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] > position { high = middle } else { low = middle + 1 }
    }
    return low < starts.count ? starts[low] : nil
  }
}

extension [StreamSample] {
  /// The length of a full segment: the longest, where it comes more than once.
  func views() -> [SampleView] {
    var lengths: [Int: Int] = [:]
    for sample in self {
      for (start, next) in zip(sample.starts, sample.starts.dropFirst()) {
        lengths[next.offset - start.offset, default: 0] += 1
      }
    }
    let longest = lengths.keys.max() ?? 0
    let isFull = longest >= 500 && lengths[longest, default: 0] > 1
    return map { SampleView($0, fullSegment: isFull ? longest : .max) }
  }
}
