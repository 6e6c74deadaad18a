import IMOutput

/// The percentiles of round trips that a page shows: one to five, from the lowest to the highest.
package struct PagePercentiles: Equatable, Sendable {
  /// At most so many are drawn over one another.
  package static let maximumCount = 5
  /// The median, and two that tell of the slow ones.
  package static let usual = PagePercentiles(all: [50, 95, 99])

  /// The percentiles, in their order.
  package let all: [Double]

  private init(all: [Double]) { self.all = all }

  /// Reads `50,95,99.9`; `nil` for what is no list of one to five different numbers above 0 and below 100.
  package init?(_ text: String) {
    let values = text.split(separator: ",", omittingEmptySubsequences: false).map { word -> Double? in
      guard word.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }) else { return nil }
      return Double(word)
    }
    let known = values.compactMap { $0 }.sorted()
    guard known.count == values.count, (1...Self.maximumCount).contains(known.count), Set(known).count == known.count,
      known.allSatisfy({ $0 > 0 && $0 < 100 && ($0 * 1_000).rounded() / 1_000 == $0 })
    else { return nil }
    all = known
  }

  /// `p50`, `p99.9`.
  package static func name(_ percent: Double) -> String {
    let text = Words.decimal(percent, 3)
    return "p" + (text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }

  /// `50,95,99`.
  package var text: String { all.map { String(Self.name($0).dropFirst()) }.joined(separator: ",") }
}
