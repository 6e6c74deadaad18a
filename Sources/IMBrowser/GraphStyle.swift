/// How figures over time are drawn in a line.
package enum GraphStyle: String, CaseIterable, Sendable {
  /// Dots, two columns and four heights in a cell.
  case braille
  /// Bars of eight heights.
  case block
  /// Letters and signs that every terminal has.
  case ascii

  /// What a terminal shows: dots only where it has UTF-8 and is no console of Linux, whose fonts lack them.
  package init(isUTF8: Bool, term: String) { self = isUTF8 && term != "linux" ? .braille : .ascii }

  /// The next one.
  var next: GraphStyle {
    let all = Self.allCases
    return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
  }

  /// Columns of a cell.
  var columns: Int { self == .braille ? 2 : 1 }

  private static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  private static let signs: [Character] = ["_", ".", ":", "-", "=", "+", "*", "#", "@"]
  /// The dots of a column of braille from the bottom up to a height.
  private static let left: [UInt32] = [0x40, 0x44, 0x46, 0x47], right: [UInt32] = [0x80, 0xa0, 0xb0, 0xb8]

  /// Draws columns of values: 0 as a line at the bottom, what is not known as a blank, the highest as high as there is room, and
  /// whatever is not 0 higher than 0.
  func draw(_ values: [Double?]) -> String {
    let highest = values.reduce(0) { max($0, $1 ?? 0) }
    func height(_ value: Double, _ count: Int) -> Int {
      guard value > 0, highest > 0 else { return 0 }
      return min(count - 1, 1 + Int((Double(count - 2) * value / highest).rounded()))
    }
    switch self {
    case .block: return String(values.map { $0.map { Self.blocks[height($0, Self.blocks.count)] } ?? " " })
    case .ascii: return String(values.map { $0.map { Self.signs[height($0, Self.signs.count)] } ?? " " })
    case .braille:
      var text = ""
      for place in stride(from: 0, to: values.count, by: 2) {
        var dots: UInt32 = 0x2800
        if let value = values[place] { dots |= Self.left[height(value, 4)] }
        if place + 1 < values.count, let value = values[place + 1] { dots |= Self.right[height(value, 4)] }
        // Dots of nothing are a blank.
        text.unicodeScalars.append(dots == 0x2800 ? " " : Unicode.Scalar(dots) ?? " ")
      }
      return text
    }
  }
}
