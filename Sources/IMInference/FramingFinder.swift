#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A framing that was found, and how well it agrees with the samples.
package struct FoundFraming: Sendable {
  /// How frames end.
  package let hypothesis: FramingHypothesis
  /// Frames that it cuts the samples into.
  package let frameCount: Int
  /// Bytes that were looked at, and those that stand in frames.
  package let byteCount: Int, explainedCount: Int
  /// Segments that begin where a frame does, and all those that tell.
  package let hits: Int, chances: Int
  /// Places where no frame stood although one was to be there.
  package let errors: Int
  /// Bits of proof: how much shorter the samples can be written when frames begin there.
  package let proof: Double
  /// Other framings that cut the samples in the same places.
  package let equals: [FramingHypothesis]
}

extension FoundFraming {
  /// The framing of a content after a number that is its length; `nil` for any other.
  init?(_ content: FoundContent) {
    guard case .counted(.number(let place, let adds), _) = content.framing else { return nil }
    self.init(
      hypothesis: .length(place, adds: adds), frameCount: content.frameCount, byteCount: content.byteCount,
      explainedCount: content.explainedCount, hits: content.hits, chances: content.chances, errors: content.errors,
      proof: 0, equals: [])
  }
}

/// Finds how the frames of samples end, by testing hypotheses.
///
/// A hypothesis is worth the bits that it saves: the bytes at the same offset of all frames are alike where the framing is
/// right, and segments begin where frames do. Neither is so where it is wrong, whatever walk its numbers make: a framing
/// that explains every byte by chance saves nothing.
package struct FramingFinder {
  /// Columns of frames that are looked at.
  private static var columnCount: Int { 24 }
  /// The last offset at which a length is looked for.
  private static var lastOffset: Int { 32 }
  /// Bytes of each sample, and of all, that the first look takes.
  private static var screenLimit: Int { 16 << 10 }
  /// Bits that a framing must save to be believed; chance among all hypotheses brings some 20.
  private static var proofNeeded: Double { 64 }
  /// What a place costs where no frame stands, and a run that ends in one, in bits.
  private static var errorCost: Double { 48 }
  private static var cutCost: Double { 24 }

  private let views: [SampleView]
  private let screened: [SampleView]
  /// What each byte costs, by how often it comes.
  private let background: [Double]

  private init(_ samples: [StreamSample]) {
    views = samples.views()
    // The first look is over the samples with the most segments: they tell most.
    screened = Array(views.sorted { $0.segments.count > $1.segments.count }.prefix(64))
    var counts = [Double](repeating: 0.5, count: 256)
    for view in views { for byte in view.bytes { counts[Int(byte)] += 1 } }
    let total = counts.reduce(0, +)
    background = counts.map { -log2($0 / total) }
  }

  /// The framing of `samples`; `nil` where none is proved.
  package static func find(_ samples: [StreamSample]) -> FoundFraming? { FramingFinder(samples).find() }

  private struct Scored {
    var hypothesis: FramingHypothesis
    var walk: FrameWalk
    var score: Double
  }

  private func find() -> FoundFraming? {
    var best: [Scored] = []
    for hypothesis in candidates() {
      let walk = FrameWalk(screened, hypothesis, limit: Self.screenLimit)
      guard let score = score(walk, hypothesis, screened) else { continue }
      best.append(Scored(hypothesis: hypothesis, walk: walk, score: score))
      if best.count > 256 { best = Array(best.sorted { $0.score > $1.score }.prefix(64)) }
    }
    best.sort { $0.score > $1.score }
    var full: [Scored] = []
    for one in best.prefix(24) {
      let walk = FrameWalk(views, one.hypothesis, limit: .max)
      guard let score = score(walk, one.hypothesis, views) else { continue }
      full.append(Scored(hypothesis: one.hypothesis, walk: walk, score: score))
    }
    full.sort { $0.score > $1.score }
    guard let first = full.first, first.score >= Self.proofNeeded else { return nil }
    // A narrower part of the number misses what damage does to the rest of it, and is no better for that.
    let related = full.filter {
      $0.score >= 0.85 * first.score && $0.walk.cuts <= first.walk.cuts && $0.hypothesis.isPart(of: first.hypothesis)
        || Self.areSame($0.walk, first.walk)
    }
    let chosen = widened(
      withoutMagic(related.min { Self.rank($0.hypothesis) < Self.rank($1.hypothesis) } ?? first, full))
    let equals = full.filter { $0.hypothesis != chosen.hypothesis && Self.areSame($0.walk, chosen.walk) }
    return FoundFraming(
      hypothesis: chosen.hypothesis, frameCount: chosen.walk.frames.count, byteCount: chosen.walk.byteCount,
      explainedCount: chosen.walk.explainedCount, hits: chosen.walk.hits, chances: chosen.walk.chances,
      errors: chosen.walk.errors, proof: chosen.score, equals: equals.map(\.hypothesis))
  }

  /// The framing by the lower byte alone, if the upper byte is constant and not 0: a magic number before a length of one byte, in which some bits are
  /// 0.
  private func withoutMagic(_ scored: Scored, _ all: [Scored]) -> Scored {
    guard case .length(let place, let adds) = scored.hypothesis, place.size == 2, !place.isWhole else { return scored }
    let lower = FramingHypothesis.length(NumberPlace(offset: place.lowestByte, size: 1), adds: adds)
    let upper = place.isLittleEndian ? place.end - 1 : place.offset
    guard let other = all.first(where: { $0.hypothesis == lower && Self.areSame($0.walk, scored.walk) }) else {
      return scored
    }
    let values = Set(other.walk.frames.map { views[Int($0.sample)].bytes[Int($0.start) + upper] })
    return values.count == 1 && values != [0] ? other : scored
  }

  /// The framing by a number of twice the size, as often as that explains as much: the upper half of a number in front of the body, which
  /// is 0 where frames are short, is else taken for the length of an empty frame in front of each.
  private func widened(_ scored: Scored) -> Scored {
    guard case .length(let place, let adds) = scored.hypothesis, place.offset == 0, place.size < 4, adds == place.size,
      place.isWhole, !place.isLittleEndian
    else { return scored }
    let size = 2 * place.size
    let wide = FramingHypothesis.length(NumberPlace(offset: 0, size: size), adds: size)
    let walk = FrameWalk(views, wide, limit: .max)
    let empty = scored.walk.frames.count { Int($0.count) == adds }
    guard empty * 5 >= scored.walk.frames.count * 2, walk.frames.count + empty <= scored.walk.frames.count,
      walk.errors <= scored.walk.errors, walk.explained >= 0.99 * scored.walk.explained,
      let score = score(walk, wide, views)
    else { return scored }
    return widened(Scored(hypothesis: wide, walk: walk, score: max(score, scored.score)))
  }

  fileprivate static func areSame(_ a: FrameWalk, _ b: FrameWalk) -> Bool {
    a.frames.count == b.frames.count
      && zip(a.frames, b.frames).allSatisfy { $0.sample == $1.sample && $0.start == $1.start && $0.count == $1.count }
  }

  /// Whether two framings end frames in the same way, as far as samples show.
  static func isSame(_ a: FoundFraming, _ b: FoundFraming) -> Bool {
    a.hypothesis == b.hypothesis || a.hypothesis.isPart(of: b.hypothesis) || a.equals.contains(b.hypothesis)
      || b.equals.contains(a.hypothesis)
  }

  /// Which of hypotheses that cut alike is written down: the widest number that stands on a multiple of its size, since the
  /// zeros in front of a small length belong to it more often than not.
  private static func rank(_ hypothesis: FramingHypothesis) -> (Int, Int) {
    switch hypothesis {
    case .length(let place, _):
      let isAligned = place.offset % place.size == 0
      let width: Int
      switch place.size {
      case 4: width = isAligned ? 0 : place.offset % 2 == 0 ? 2 : 5
      case 3: width = place.isLittleEndian ? 8 : 4
      case 2: width = isAligned ? 6 : 7
      default: width = 9
      }
      return (width * 4 + (place.isLittleEndian ? 2 : 0) + (place.isWhole ? 0 : 1), place.offset)
    // One byte in front of it and no more: MQTT's, and those of its like.
    case .varint(let offset): return (offset == 1 ? 35 : 37, offset)
    case .delimited: return (30, 0)
    case .line: return (31, 0)
    }
  }

  // MARK: Candidates

  private func candidates() -> [FramingHypothesis] {
    var all: [FramingHypothesis] = []
    for offset in 0...Self.lastOffset {
      for place in Self.places(at: offset) {
        for adds in additions(place) { all.append(.length(place, adds: adds)) }
      }
      if offset <= 7 { all.append(.varint(offset: offset)) }
    }
    let (first, last) = edges()
    for byte in first.keys.sorted() where first[byte, default: 0] > 0.8 && last[byte, default: 0] > 0.8 {
      all.append(.delimited(byte))
    }
    if last[0x0a, default: 0] > 0.8, isText { all.append(.line) }
    return all
  }

  private static func places(at offset: Int) -> [NumberPlace] {
    var places = [NumberPlace(offset: offset, size: 1)]
    for size in 2...4 {
      for little in [false, true] { places.append(NumberPlace(offset: offset, size: size, isLittleEndian: little)) }
    }
    for mask: UInt64 in [0x7fff, 0x3fff, 0x0fff, 0x03ff] {
      for little in [false, true] {
        places.append(NumberPlace(offset: offset, size: 2, isLittleEndian: little, mask: mask))
      }
    }
    return places
  }

  /// What may have to be added to the number at `place`: what fits segments that hold one frame, and what is usual.
  private func additions(_ place: NumberPlace) -> [Int] {
    var votes = [Int](repeating: 0, count: 320)
    var asked = 0
    for view in screened {
      view.bytes.withUnsafeBufferPointer { bytes in
        for segment in view.segments.prefix(512) {
          guard let value = place.read(bytes, segment.start, segment.start + segment.count) else { continue }
          asked += 1
          guard value <= UInt64(segment.count) else { continue }
          let adds = segment.count - Int(value)
          if adds >= 0, adds < votes.count { votes[adds] += 1 }
        }
      }
      if asked > 4_096 { break }
    }
    var found: Set<Int> = [0, place.end]
    let ranked = votes.indices.filter { votes[$0] >= 2 }.sorted { (-votes[$0], $0) < (-votes[$1], $1) }
    for index in ranked.prefix(4) { found.insert(index) }
    // Where no segment holds one frame, nothing is voted for: what headers may have behind the length.
    if ranked.isEmpty, place.offset <= 16 { found.formUnion(place.end...place.end + 24) }
    return found.sorted()
  }

  /// The shares of segments that begin and that end with each byte.
  private func edges() -> (first: [UInt8: Double], last: [UInt8: Double]) {
    var first: [UInt8: Double] = [:]
    var last: [UInt8: Double] = [:]
    var count = 0.0
    for view in screened {
      for segment in view.segments.prefix(512) where segment.count > 0 {
        first[view.bytes[segment.start], default: 0] += 1
        last[view.bytes[segment.start + segment.count - 1], default: 0] += 1
        count += 1
      }
    }
    guard count >= 4 else { return ([:], [:]) }
    return (first.mapValues { $0 / count }, last.mapValues { $0 / count })
  }

  /// Whether nearly all bytes are text.
  private var isText: Bool {
    var count = 0
    var text = 0
    for view in screened {
      for byte in view.bytes.prefix(Self.screenLimit) {
        count += 1
        if (0x20...0x7e).contains(byte) || [0x09, 0x0a, 0x0d].contains(byte) || byte >= 0x80 { text += 1 }
      }
    }
    return count > 0 && Double(text) >= 0.99 * Double(count)
  }

  // MARK: Proof

  /// Bits that a walk saves; `nil` where it explains too little to be looked at.
  private func score(_ walk: FrameWalk, _ hypothesis: FramingHypothesis, _ views: [SampleView]) -> Double? {
    guard !walk.isAbandoned, walk.frames.count >= 4, walk.explained >= 0.7 else { return nil }
    if case .line = hypothesis {} else if !walk.lengthsDiffer { return nil }
    let boundaries = boundaryProof(walk)
    guard boundaries > 0 || walk.chances == 0 else { return nil }
    let isDelimited: Bool
    switch hypothesis {
    case .delimited, .line: isDelimited = true
    case .length, .varint: isDelimited = false
    }
    // A delimiter is in its column because it was looked for there.
    let columns = columnProof(walk, views, from: isDelimited ? 1 : 0)
    // Where segments begin in the midst of frames, lengths were found that are none.
    let trust = walk.chances > 0 ? (Double(walk.hits) + 1) / (Double(walk.chances) + 1) : 1
    return (columns + boundaries) * walk.explained * walk.explained * trust - Self.errorCost * Double(walk.errors)
      - Self.cutCost * Double(walk.cuts)
  }

  /// What it saves that segments begin where frames do, more often than so many frames would have it by chance.
  private func boundaryProof(_ walk: FrameWalk) -> Double {
    guard walk.chances > 0 else { return 0 }
    let chance = min(0.999, max(1e-6, Double(walk.frames.count) / Double(max(1, walk.explainedCount))))
    let share = (Double(walk.hits) + 0.5) / (Double(walk.chances) + 1)
    guard share > chance else { return -1 }
    return Double(walk.hits) * log2(share / chance) + Double(walk.chances - walk.hits)
      * log2((1 - share) / (1 - chance))
  }

  /// What it saves that bytes at the same offset of frames are alike.
  private func columnProof(_ walk: FrameWalk, _ views: [SampleView], from first: Int) -> Double {
    var saved = 0.0
    var counts = [Int](repeating: 0, count: 256)
    let smoothing = 0.03
    // As many frames tell as well as all.
    let step = max(1, walk.frames.count / 4_096)
    for column in first..<Self.columnCount {
      for i in 0..<256 { counts[i] = 0 }
      var total = 0
      var plain = 0.0
      var index = 0
      while index < walk.frames.count {
        let frame = walk.frames[index]
        index += step
        guard Int(frame.count) > column else { continue }
        // In the midst of zeros there are frames of zeros, each like the one before.
        if index > step, frame.isSame(as: walk.frames[index - 2 * step], in: views) { continue }
        let byte = views[Int(frame.sample)].bytes[Int(frame.start) + column]
        counts[Int(byte)] += 1
        plain += background[Int(byte)]
        total += 1
      }
      guard total > 3 else { continue }
      var cost = lgamma(Double(total) + 256 * smoothing).0 - lgamma(256 * smoothing).0
      for count in counts where count > 0 { cost -= lgamma(Double(count) + smoothing).0 - lgamma(smoothing).0 }
      saved += max(0, plain - cost * 1.4426950408889634) * Double(step)
    }
    return saved
  }
}
