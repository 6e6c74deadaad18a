#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A field that tells frames' types, as far as a capture tells.
package struct FoundType: Sendable {
  /// Where it stands.
  package var place: NumberPlace
  /// Bits of proof: how much shorter the frames can be written by whoever knows it.
  package var proof: Double
  /// The next best place that is not a part of it, and its proof.
  package var second: (place: NumberPlace, proof: Double)?
}

/// Finds the field that tells what frames are.
///
/// Who knows a frame's type knows much of the rest: how long it is, which side sends it, what kind of byte stands where. So the
/// type is the number of few values that saves most when the frames are written knowing it; the costs of many
/// values are in that: each has to learn anew what its frames are like.
struct TypeFinder {
  /// Columns whose kinds of bytes are compared.
  private static var columnCount: Int { 40 }
  private static var mostValues: Int { 63 }

  private let table: FrameTable
  private let frames: [FrameTable.Entry]
  private let claimed: Set<Int>
  private let width: Int
  private let prefersLittle: Bool
  /// For each feature, the class of each frame, and the number of classes.
  private var features: [(column: Int, classes: [UInt8], count: Int)] = []

  /// `claimed` are bytes that belong to other fields.
  init(_ table: FrameTable, claimed: Set<Int>, width: Int, prefersLittle: Bool) {
    self.prefersLittle = prefersLittle
    self.table = table
    self.claimed = claimed
    self.width = width
    let step = max(1, table.entries.count / 4_000)
    frames = stride(from: 0, to: table.entries.count, by: step).map { table.entries[$0] }
    makeFeatures()
  }

  private mutating func makeFeatures() {
    features.append((-1, frames.map { UInt8($0.direction & 1) }, 2))
    // Lengths: the usual ones by themselves, the others by their size.
    var lengths: [Int: Int] = [:]
    for frame in frames { lengths[frame.range.count, default: 0] += 1 }
    let usual = lengths.filter { $0.value >= 2 }.sorted { (-$0.value, $0.key) < (-$1.value, $1.key) }.prefix(24).map(
      \.key)
    features.append(
      (
        -2,
        frames.map { frame in
          if let index = usual.firstIndex(of: frame.range.count) { return UInt8(index) }
          return UInt8(24 + (Int.bitWidth - frame.range.count.leadingZeroBitCount) / 2)
        }, 48
      ))
    for column in 0..<Self.columnCount where !claimed.contains(column) {
      let classes = frames.map { frame -> UInt8 in
        guard column < frame.range.count else { return 0 }
        switch table.bytes[frame.range.lowerBound + column] {
        case 0: return 1
        case 1..<0x20: return 2
        case 0x20..<0x7f: return 3
        case 0xff: return 5
        default: return 4
        }
      }
      if Set(classes).count > 1 { features.append((column, classes, 6)) }
    }
  }

  struct Candidate {
    var place: NumberPlace
    var proof: Double
    var values: Int
    /// Its proof, less for a place far from the beginning: types stand early.
    var worth: Double { proof * pow(0.96, Double(place.offset)) }
  }

  /// The field that tells types; `nil` where none saves anything.
  func find() -> FoundType? {
    let all = candidates()
    guard let best = all.first, best.worth >= Self.proofNeeded else { return nil }
    // Fewer values that tell nearly as much are the type: more of them learn other fields by heart.
    let near = all.filter { $0.worth >= 0.97 * best.worth }
    let fewest = near.map(\.values).min() ?? best.values
    guard let chosen = near.first(where: { $0.values == fewest }) else { return nil }
    let place = written(chosen)
    let second = all.first { $0.place.offset >= place.end || $0.place.end <= place.offset }
    return FoundType(place: place, proof: chosen.proof, second: second.map { ($0.place, $0.proof) })
  }

  private static var proofNeeded: Double { 24 }

  /// The place as it is written down: its bytes that vary, and zeros in front of them up to a multiple of two or four bytes;
  /// without bits that tell nothing.
  private func written(_ candidate: Candidate) -> NumberPlace {
    var place = candidate.place
    guard place.isWhole else { return nibble(place) ?? place }
    let varying = (place.offset..<place.end).filter { constant(at: $0) == nil }
    guard let first = varying.first, let last = varying.last else { return place }
    if prefersLittle, last > first || constant(at: first + 1) == 0, !claimed.contains(first + 1) {
      var end = last + 1
      for size in [2, 4] where end - first < size && first % size == 0 && first + size <= width {
        if (end..<first + size).allSatisfy({ constant(at: $0) == 0 && !claimed.contains($0) }) { end = first + size }
      }
      return NumberPlace(offset: first, size: end - first, isLittleEndian: true)
    }
    var start = first
    for size in [2, 4] where last + 1 - start < size && (last + 1) % size == 0 && last + 1 >= size {
      let wider = last + 1 - size
      if (wider..<start).allSatisfy({ constant(at: $0) == 0 && !claimed.contains($0) }) { start = wider }
    }
    place = NumberPlace(offset: start, size: last + 1 - start)
    if place.size == 1, let half = nibble(place) { return half }
    if place.size == 1, let both = withSubtype(place) { return both }
    return place.size > 1 ? withoutFlags(place, candidate) : place
  }

  /// The upper four bits, where the lower ones are flags that most values have but one of.
  private func nibble(_ place: NumberPlace) -> NumberPlace? {
    guard place.size == 1, place.mask != 0x0f else { return nil }
    var lower: [UInt8: [UInt8: Int]] = [:]
    for frame in frames where place.offset < frame.range.count {
      let byte = table.bytes[frame.range.lowerBound + place.offset]
      lower[byte >> 4, default: [:]][byte & 15, default: 0] += 1
    }
    let total = lower.values.map(\.count).reduce(0, +)
    guard lower.count >= 4, total > lower.count, lower.count * 2 > total else { return nil }
    return NumberPlace(offset: place.offset, size: 1, mask: 0xf0)
  }

  /// The two bytes of which `place` is one, where the other one varies too and is mostly not 0, as flags would be.
  private func withSubtype(_ place: NumberPlace) -> NumberPlace? {
    let start = place.offset & ~1
    let other = start + 1 - (place.offset - start)
    guard start + 2 <= width, !claimed.contains(other), constant(at: other) == nil, let known = candidate(place).first,
      let both = candidate(NumberPlace(offset: start, size: 2)).first, both.proof >= 0.6 * known.proof,
      both.values * 3 <= frames.count
    else { return nil }
    let zeros = frames.count { other < $0.range.count && table.bytes[$0.range.lowerBound + other] == 0 }
    return zeros * 2 < frames.count ? both.place : nil
  }

  /// `place` without the bits of its first byte whose loss loses nothing: flags, which the other bits do not need.
  private func withoutFlags(_ place: NumberPlace, _ candidate: Candidate) -> NumberPlace {
    var mask = place.mask
    var known = self.candidate(place).first?.proof ?? candidate.proof
    var isCut = false
    for bit in stride(from: place.size * 8 - 1, through: place.size * 8 - 8, by: -1) {
      let without = mask & ~(1 << UInt64(bit))
      guard varies(place, 1 << UInt64(bit)) else { continue }
      let other = NumberPlace(offset: place.offset, size: place.size, mask: without)
      guard let worth = self.candidate(other).first?.proof, worth >= known * 0.97 else { continue }
      mask = without
      known = worth
      isCut = true
    }
    guard isCut else { return place }
    // Bits that never vary go as well: nothing is known of them.
    for bit in place.size * 8 - 8..<place.size * 8 where !varies(place, 1 << UInt64(bit)) {
      mask &= ~(1 << UInt64(bit))
    }
    let top = mask >> UInt64(place.size * 8 - 8) & 0xff
    return top == 0
      ? NumberPlace(offset: place.offset + 1, size: place.size - 1)
      : NumberPlace(offset: place.offset, size: place.size, mask: mask)
  }

  private func varies(_ place: NumberPlace, _ bit: UInt64) -> Bool {
    var seen: Set<Bool> = []
    table.bytes.withUnsafeBufferPointer { bytes in
      for frame in frames {
        guard let value = place.read(bytes, frame.range.lowerBound, frame.range.upperBound) else { continue }
        seen.insert(value & bit != 0)
      }
    }
    return seen.count > 1
  }

  /// The byte that all frames have at `column`; `nil` where there are several.
  private func constant(at column: Int) -> UInt8? {
    table.constant(at: column)
  }

  /// All candidates, the best first.
  func candidates() -> [Candidate] {
    var found: [Candidate] = []
    for offset in 0..<max(0, width) {
      for size in 1...4 where offset + size <= width && !(offset..<offset + size).contains(where: claimed.contains) {
        found.append(contentsOf: candidate(NumberPlace(offset: offset, size: size)))
      }
    }
    for offset in 0..<max(0, width) where !claimed.contains(offset) {
      for mask: UInt64 in [0xf0, 0x0f, 0x7f] {
        found.append(contentsOf: candidate(NumberPlace(offset: offset, size: 1, mask: mask)))
      }
    }
    return found.sorted { ($0.worth, -Double($0.place.size)) > ($1.worth, -Double($1.place.size)) }
  }

  func candidate(_ place: NumberPlace) -> [Candidate] {
    guard let (ids, count) = contexts(place), count > 1 else { return [] }
    return [Candidate(place: place, proof: proof(ids, count, place), values: count)]
  }

  /// The value of each frame as a small number; `nil` where there are too many values.
  func contexts(_ place: NumberPlace) -> ([UInt8], Int)? {
    var numbers: [UInt64: UInt8] = [:]
    var ids: [UInt8] = []
    ids.reserveCapacity(frames.count)
    var failure = false
    table.bytes.withUnsafeBufferPointer { bytes in
      for frame in frames {
        let value = place.read(bytes, frame.range.lowerBound, frame.range.upperBound) ?? .max
        if let known = numbers[value] {
          ids.append(known)
        } else {
          guard numbers.count < Self.mostValues else {
            failure = true
            return
          }
          let id = UInt8(numbers.count)
          numbers[value] = id
          ids.append(id)
        }
      }
    }
    guard !failure, numbers.count * 2 <= max(4, frames.count) else { return nil }
    return (ids, numbers.count)
  }

  private func proof(_ ids: [UInt8], _ count: Int, _ place: NumberPlace) -> Double {
    var saved = 0.0
    for feature in features where feature.column < place.offset || feature.column >= place.end {
      saved += max(0, Self.saving(feature.classes, feature.count, ids, count))
    }
    return saved
  }

  /// How many bits knowing `contexts` saves in writing `classes`, each context learning from nothing.
  static func saving(_ classes: [UInt8], _ classCount: Int, _ contexts: [UInt8], _ contextCount: Int) -> Double {
    var counts = [Int](repeating: 0, count: classCount * contextCount)
    var all = [Int](repeating: 0, count: classCount)
    for i in classes.indices {
      let c = min(Int(classes[i]), classCount - 1)
      all[c] += 1
      counts[Int(contexts[i]) * classCount + c] += 1
    }
    // Only classes that there are have to be learnt.
    let smoothing = 0.3
    let present = Double(all.count { $0 > 0 })
    func cost(_ counts: ArraySlice<Int>) -> Double {
      let total = counts.reduce(0, +)
      guard total > 0 else { return 0 }
      var bits = lgamma(Double(total) + present * smoothing).0 - lgamma(present * smoothing).0
      for count in counts where count > 0 { bits -= lgamma(Double(count) + smoothing).0 - lgamma(smoothing).0 }
      return bits * 1.4426950408889634
    }
    var saved = cost(all[...])
    for context in 0..<contextCount { saved -= cost(counts[context * classCount..<(context + 1) * classCount]) }
    return saved
  }
}
