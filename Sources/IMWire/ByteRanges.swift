/// Which bytes of a body have arrived, or are acknowledged: ranges in their order, none of which touch.
package struct ByteRanges: Hashable, Sendable {
  /// The ranges.
  package private(set) var all: [Range<Int>] = []
  /// Bytes in all ranges.
  package private(set) var total = 0

  /// No bytes.
  package init() {}

  /// The index of the first range that ends at or after `offset`.
  private func index(endingFrom offset: Int) -> Int {
    // Most bytes follow those that arrived last.
    if let last = all.last, last.upperBound < offset { return all.count }
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].upperBound < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The parts of `range` that have not arrived, in their order.
  package func missing(in range: Range<Int>) -> [Range<Int>] {
    var missing: [Range<Int>] = []
    var offset = range.lowerBound
    var place = index(endingFrom: offset)
    while offset < range.upperBound {
      guard place < all.count, all[place].lowerBound < range.upperBound else {
        missing.append(offset..<range.upperBound)
        break
      }
      if all[place].lowerBound > offset { missing.append(offset..<all[place].lowerBound) }
      offset = max(offset, all[place].upperBound)
      place += 1
    }
    return missing
  }

  /// Adds `range`, joined with those that it touches.
  package mutating func insert(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    let first = index(endingFrom: range.lowerBound)
    var (end, joined) = (first, range)
    while end < all.count, all[end].lowerBound <= range.upperBound {
      joined = min(joined.lowerBound, all[end].lowerBound)..<max(joined.upperBound, all[end].upperBound)
      total -= all[end].count
      end += 1
    }
    all.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    total += joined.count
  }

  /// The first offset at or after `offset` that has not arrived, and where the gap that begins there ends, if anything
  /// follows it.
  package func gap(from offset: Int) -> (start: Int, end: Int?) {
    var (start, place) = (offset, index(endingFrom: offset))
    while place < all.count, all[place].lowerBound <= start {
      start = max(start, all[place].upperBound)
      place += 1
    }
    return (start, place < all.count ? all[place].lowerBound : nil)
  }
}
