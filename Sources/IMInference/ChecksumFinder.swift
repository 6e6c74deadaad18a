package import IMEngine

/// A checksum that was found.
package struct FoundChecksum: Sendable, Equatable {
  /// Where a sum stands.
  package enum Place: Hashable, Sendable {
    /// So many bytes from the frame's first.
    case header(Int)
    /// The frame's last bytes, or the first of a trailer that is longer.
    case trailer
  }

  /// What is summed.
  package enum Range: Hashable, Sendable {
    /// From a byte of the frame up to its end, or to the trailer; a sum's own bytes count as zeros.
    case from(Int)
    /// From a byte of the frame up to the sum.
    case upTo(Int)
  }

  /// The algorithm.
  package var algorithm: ChecksumAlgorithm
  /// Where it stands.
  package var place: Place
  /// What it covers.
  package var range: Range
  /// Frames whose sum is right in either byte order, those in big-endian, those in little-endian order, and all that have
  /// something to sum.
  package var right = 0, big = 0, little = 0, count = 0
}

/// Finds the checksum of frames by trying algorithms, places and ranges over a few, and what is left over all.
struct ChecksumFinder {
  private static var firstFrames: Int { 24 }
  /// The last byte from which a sum may begin, and where one may stand in a header.
  private static var lastStart: Int { 40 }
  /// Bytes of one frame that are summed at most: longer frames have no say.
  private static var longest: Int { 64 << 10 }
  /// Bytes that are summed over all frames.
  private static var allowance: Int { 32 << 20 }

  private struct Hypothesis: Hashable {
    var algorithm: ChecksumAlgorithm
    var place: FoundChecksum.Place
    var range: FoundChecksum.Range
  }

  private let table: FrameTable
  private let frames: [FrameTable.Entry]
  private let width: Int
  private let claimed: Set<Int>

  /// `claimed` are bytes where no sum stands; `width` is the length of what all frames have.
  init(_ table: FrameTable, claimed: Set<Int>, width: Int) {
    self.table = table
    self.claimed = claimed
    self.width = min(width, Self.lastStart)
    frames = table.entries.filter { $0.range.count <= Self.longest }
  }

  /// The checksum that most frames agree with; `nil` where none fits nine in ten.
  func find() -> FoundChecksum? {
    let chosen = telling()
    guard chosen.count >= 4 else { return nil }
    var scores: [Hypothesis: Int] = [:]
    for (index, frame) in chosen.enumerated() {
      let needed = (index + 1) * 2 / 3
      if index < 3 {
        for hypothesis in matches(frame) { scores[hypothesis, default: 0] += 1 }
      } else {
        for (hypothesis, score) in scores where check(hypothesis, frame).isRight { scores[hypothesis] = score + 1 }
        scores = scores.filter { $0.value >= needed }
      }
      if index >= 2, scores.isEmpty { return nil }
    }
    var best: FoundChecksum?
    let ranked = scores.sorted {
      (-$0.value, -$0.key.algorithm.byteCount, Self.rank($0.key))
        < (-$1.value, -$1.key.algorithm.byteCount, Self.rank($1.key))
    }
    for (hypothesis, _) in ranked.prefix(8) {
      let found = count(hypothesis)
      guard found.count >= 4, found.right * 10 >= found.count * 9 else { continue }
      if let known = best, known.right >= found.right { continue }
      best = found
    }
    return best
  }

  /// Sums over more bytes, and simpler ones, come first where several fit.
  private static func rank(_ hypothesis: Hypothesis) -> Int {
    let start: Int
    switch hypothesis.range {
    case .from(let from): start = from
    case .upTo(let from): start = from + 64
    }
    // An exclusive or is right at each byte of what it covers, if it is at one; a sum that is one byte stands at the end.
    let place: Int
    switch hypothesis.place {
    case .trailer: place = 0
    case .header(let at): place = at + 1
    }
    return (start * 64 + place) * 32 + Int(hypothesis.algorithm.rawValue)
  }

  /// Frames that differ, the short ones first: copies tell nothing new.
  private func telling() -> [FrameTable.Entry] {
    var seen: Set<[UInt8]> = []
    var chosen: [FrameTable.Entry] = []
    let sorted = frames.prefix(4_096).sorted { ($0.range.count, $0.packet) < ($1.range.count, $1.packet) }
    // Of all lengths but the least: where bodies are empty, a sum over them says nothing.
    let longer = sorted.filter { $0.range.count > width && $0.range.count <= 4_096 }
    let source = longer.count >= 4 ? longer : sorted
    let step = max(1, source.count / (Self.firstFrames * 2))
    for index in stride(from: 0, to: source.count, by: step) where chosen.count < Self.firstFrames {
      let frame = source[index]
      if seen.insert(Array(table.bytes[frame.range])).inserted { chosen.append(frame) }
    }
    return chosen
  }

  /// All hypotheses that one frame agrees with.
  private func matches(_ frame: FrameTable.Entry) -> [Hypothesis] {
    let count = frame.range.count
    return table.bytes.span.bytes.withUnsafeBytes { raw -> [Hypothesis] in
      let bytes = UnsafeRawBufferPointer(rebasing: raw[frame.range])
      let span = bytes.bytes
      var found: [Hypothesis] = []
      for algorithm in ChecksumAlgorithm.allCases {
        let size = algorithm.byteCount
        guard count > size else { continue }
        let places =
          [FoundChecksum.Place.trailer]
          + (0...max(0, width - size)).filter { at in
            at + size <= width && !(at..<at + size).contains(where: claimed.contains)
          }.map { .header($0) }
        for from in 0...min(width, count - 1) {
          // Up to the end, without what stands in a header: behind it, or with its own bytes as zeros.
          let plain = algorithm.sum(of: span.extracting(from..<count))
          let beforeTrailer = algorithm.sum(of: span.extracting(from..<max(from, count - size)))
          for place in places {
            switch place {
            case .trailer:
              if from < count - size, Self.isRight(bytes, count - size, size, beforeTrailer) {
                found.append(Hypothesis(algorithm: algorithm, place: place, range: .from(from)))
              }
            case .header(let at):
              if at + size <= from {
                if Self.isRight(bytes, at, size, plain) {
                  found.append(Hypothesis(algorithm: algorithm, place: place, range: .from(from)))
                }
              } else if from == 0 || from == at {
                let sum = algorithm.sum(of: span.extracting(from..<count), zeroing: at - from..<at - from + size)
                if Self.isRight(bytes, at, size, sum) {
                  found.append(Hypothesis(algorithm: algorithm, place: place, range: .from(from)))
                }
              }
              if from == 0, at > 1 {
                let sum = algorithm.sum(of: span.extracting(0..<at))
                if Self.isRight(bytes, at, size, sum) {
                  found.append(Hypothesis(algorithm: algorithm, place: place, range: .upTo(0)))
                }
              }
            }
          }
        }
      }
      return found
    }
  }

  /// Whether the `size` bytes at `at` are `sum`, in either order. A sum of nothing but zeros proves nothing.
  private static func isRight(_ bytes: UnsafeRawBufferPointer, _ at: Int, _ size: Int, _ sum: UInt64) -> Bool {
    let (big, little) = values(bytes, at, size)
    return sum != 0 && (big == sum || little == sum)
  }

  private static func values(_ bytes: UnsafeRawBufferPointer, _ at: Int, _ size: Int) -> (big: UInt64, little: UInt64) {
    var big: UInt64 = 0
    var little: UInt64 = 0
    guard at >= 0, at + size <= bytes.count else { return (.max, .max) }
    for i in 0..<size {
      big = big << 8 | UInt64(bytes[at + i])
      little |= UInt64(bytes[at + i]) << UInt64(8 * i)
    }
    return (big, little)
  }

  /// Whether a frame agrees, in which order, and whether there is anything to sum.
  private func check(_ hypothesis: Hypothesis, _ frame: FrameTable.Entry) -> (isRight: Bool, big: Bool, tells: Bool) {
    let count = frame.range.count
    let size = hypothesis.algorithm.byteCount
    return table.bytes.span.bytes.withUnsafeBytes { raw in
      let bytes = UnsafeRawBufferPointer(rebasing: raw[frame.range])
      let span = bytes.bytes
      let at: Int
      var end = count
      switch hypothesis.place {
      case .header(let offset): at = offset
      case .trailer:
        at = count - size
        end = at
      }
      let start: Int
      switch hypothesis.range {
      case .from(let from): start = from
      case .upTo(let from):
        start = from
        end = min(end, at)
      }
      guard at >= 0, at + size <= count, start < end else { return (false, false, false) }
      let hole = at >= start && at + size <= end ? at - start..<at - start + size : 0..<0
      let sum = hypothesis.algorithm.sum(of: span.extracting(start..<end), zeroing: hole)
      let (big, little) = Self.values(bytes, at, size)
      return (sum == big || sum == little, sum == big, true)
    }
  }

  private func count(_ hypothesis: Hypothesis) -> FoundChecksum {
    var found = FoundChecksum(algorithm: hypothesis.algorithm, place: hypothesis.place, range: hypothesis.range)
    var left = Self.allowance
    for frame in frames {
      left -= frame.range.count
      guard left > 0 else { break }
      let (isRight, isBig, tells) = check(hypothesis, frame)
      guard tells else { continue }
      found.count += 1
      guard isRight else { continue }
      found.right += 1
      if isBig { found.big += 1 } else { found.little += 1 }
    }
    return found
  }
}
