/// A field that numbers frames.
package struct FoundNumber: Sendable {
  /// Where it stands.
  package var place: NumberPlace
  /// Numbers that neither side had used before, but for each side's first; and those of them that are one more than one that
  /// the same side had used.
  package var new = 0, steps = 0
  /// Those that are 1 to 16 more: some are lost, or meant for others.
  package var strides = 0
  /// Frames that repeat a number which only the other side had used.
  package var echoes = 0
  /// All frames that were looked at.
  package var count = 0
  /// Different numbers.
  package var values = 0

  /// Whether numbers go up by one.
  package var isCounter: Bool { steps >= 4 && steps * 10 >= new * 4 && strides * 10 >= new * 7 }
  /// Whether the other side repeats numbers.
  package var isEchoed: Bool { echoes >= 4 && echoes * 5 >= count }
  /// Frames that the rule explains.
  package var explained: Int { steps + echoes }
}

/// Finds numbers that a side counts up with each frame, and that the other side repeats in its answers.
struct NumberFinder {
  private let table: FrameTable
  private let frames: ArraySlice<FrameTable.Entry>
  private let claimed: Set<Int>
  private let width: Int
  private let prefersLittle: Bool

  init(_ table: FrameTable, claimed: Set<Int>, width: Int, prefersLittle: Bool) {
    self.table = table
    self.claimed = claimed
    self.width = width
    self.prefersLittle = prefersLittle
    frames = table.entries.prefix(4_000)
  }

  /// Such fields, none overlapping another, the best first.
  func find() -> [FoundNumber] {
    var found: [FoundNumber] = []
    for size in [4, 2, 3, 1] {
      for offset in 0..<max(0, width) where offset + size <= width {
        guard !(offset..<offset + size).contains(where: claimed.contains) else { continue }
        for little in size == 1 ? [false] : [prefersLittle, !prefersLittle] {
          let number = measure(NumberPlace(offset: offset, size: size, isLittleEndian: little))
          guard number.isCounter && number.explained * 3 >= number.count || number.isEchoed,
            number.values >= 6, number.values * 8 >= number.count, size > 1 || number.values >= 24,
            size == 1 || !isBorrowed(number.place)
          else { continue }
          found.append(number)
        }
      }
    }
    // Where the same numbers are seen, the widest field on a multiple of its size is the field.
    var chosen: [FoundNumber] = []
    let best = found.map(\.explained).max() ?? 0
    for number in found.sorted(by: { order($0, best) < order($1, best) }) {
      if chosen.contains(where: { $0.place.offset < number.place.end && number.place.offset < $0.place.end }) {
        continue
      }
      chosen.append(number)
    }
    return chosen
  }

  /// Whether the upper half of a number is another field: the same in all frames of a connection, whoever sends them, and not
  /// zero. Two sides that count for themselves do not have the same upper half by chance.
  private func isBorrowed(_ place: NumberPlace) -> Bool {
    let upper = place.isLittleEndian ? place.end - 1 : place.offset
    var heads: [Int: UInt8] = [:]
    var sides: [Int: Int] = [:]
    var isSame = true
    for frame in frames where upper < frame.range.count {
      let byte = table.bytes[frame.range.lowerBound + upper]
      sides[frame.connection, default: 0] |= 1 << (frame.direction & 1)
      if let known = heads[frame.connection] {
        if known != byte { isSame = false }
      } else {
        heads[frame.connection] = byte
      }
    }
    return isSame && sides.values.contains(3) && heads.values.contains { $0 != 0 }
  }

  private func order(_ number: FoundNumber, _ best: Int) -> (Int, Int, Int, Int) {
    let place = number.place
    // Nearly as good is as good: a wider field loses a little where its upper byte is another field.
    let worse = (best - number.explained) * 5 / max(1, best)
    let alignment = place.offset % place.size == 0 && place.size != 3 ? 0 : 1
    return (worse, alignment, -place.size, place.offset * 2 + (place.isLittleEndian == prefersLittle ? 0 : 1))
  }

  /// Counts how the numbers at `place` go on.
  func measure(_ place: NumberPlace) -> FoundNumber {
    var result = FoundNumber(place: place)
    var seen: [Int: (Set<UInt64>, Set<UInt64>)] = [:]
    var all: Set<UInt64> = []
    table.bytes.withUnsafeBufferPointer { bytes in
      for frame in frames {
        guard let value = place.read(bytes, frame.range.lowerBound, frame.range.upperBound) else { continue }
        result.count += 1
        all.insert(value)
        let isServer = frame.direction == 1
        let sets = seen[frame.connection, default: ([], [])]
        let (own, other) = isServer ? (sets.1, sets.0) : (sets.0, sets.1)
        if other.contains(value) {
          if !own.contains(value) { result.echoes += 1 }
        } else if !own.contains(value) {
          if !own.isEmpty {
            result.new += 1
            if own.contains((value &- 1) & place.mask) { result.steps += 1 }
            if (1...16).contains(where: { own.contains((value &- $0) & place.mask) }) { result.strides += 1 }
          }
        }
        if isServer {
          seen[frame.connection, default: ([], [])].1.insert(value)
        } else {
          seen[frame.connection, default: ([], [])].0.insert(value)
        }
        // Few values tell nothing, and are given up early.
        if result.count == 256, all.count < 8 { return }
      }
    }
    result.values = all.count
    return result
  }
}
