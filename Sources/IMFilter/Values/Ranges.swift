/// Closed ranges, sorted and without overlap, so that membership costs one binary search.
struct Ranges<Bound: Comparable & Sendable>: Sendable {
  private var lowers: [Bound] = []
  private var uppers: [Bound] = []

  /// The union of `ranges` in any order; a range whose upper bound is below its lower one holds nothing.
  init(_ ranges: [(lower: Bound, upper: Bound)]) {
    for range in ranges.filter({ $0.lower <= $0.upper }).sorted(by: { $0.lower < $1.lower }) {
      if let last = uppers.last, range.lower <= last {
        uppers[uppers.count - 1] = max(last, range.upper)
      } else {
        lowers.append(range.lower)
        uppers.append(range.upper)
      }
    }
  }

  /// Whether a range holds `value`. Costs O(log n) and allocates nothing.
  func contains(_ value: Bound) -> Bool {
    var low = 0
    var high = lowers.count
    while low < high {
      let middle = (low + high) / 2
      if uppers[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low < lowers.count && lowers[low] <= value && value <= uppers[low]
  }
}
