import IMTerminal
import IMTestSupport
import Testing

/// Texts as lines of so many cells.
@Suite struct WrappedTextTests {
  private static let clusters = [
    "a", "b", " ", "é", "e\u{301}", "晚", "上", "，", "ｆ", "👍🏽", "👨‍👩‍👧", "🇩🇪", "🖼️", "☺️", "한", "हि", "ไท", "\u{1b}", "\u{200b}",
    "-",
  ]

  /// Whatever the text: the lines are all of it, none is wider than it may be but for blanks at its end, and no cluster is cut.
  @Test func linesAreTheText() {
    var random = SeededRandom(7)
    for step in 0..<2_000 {
      let text = plainText((0..<Int(random.next() % 80)).map { _ in random.one(of: Self.clusters) }.joined())
      let width = 2 + Int(random.next() % 30)
      let lines = wrapped(text, cells: width)
      #expect(lines.joined() == text, "step \(step)")
      #expect(lines.reduce(0) { $0 + $1.count } == text.count, "step \(step)")
      let isNarrow = lines.allSatisfy { line in
        cells(String(line.reversed().drop { $0 == " " }.reversed())) <= width && !line.isEmpty
      }
      #expect(isNarrow, "step \(step): \(lines)")
      // What begins the next line did not fit, unless a line ends behind a blank or a wide character.
      for (line, next) in zip(lines, lines.dropFirst()) {
        guard let last = line.last, let first = next.first, last != " ", cells(String(last)) < 2 else { continue }
        #expect(cells(String(line)) + cells(String(first)) > width, "step \(step): \(lines)")
      }
    }
  }

  @Test(arguments: [
    ("one two three", 9, ["one two ", "three"]), ("one two", 3, ["one ", "two"]), ("晚上吃什么", 5, ["晚上", "吃什", "么"]),
    ("ab晚上", 5, ["ab晚", "上"]), ("abcdefgh", 3, ["abc", "def", "gh"]), ("a verylongword", 8, ["a verylo", "ngword"]),
    ("👍🏽👨‍👩‍👧🇩🇪", 4, ["👍🏽👨‍👩‍👧", "🇩🇪"]), ("", 5, []), ("x", 5, ["x"]), ("abc   d", 3, ["abc   ", "d"]),
  ])
  func linesEndWhereTheyMay(_ text: String, _ width: Int, _ lines: [String]) {
    #expect(wrapped(text, cells: width).map { String($0) } == lines)
  }

  @Test func linesAreAsManyAsAreWanted() {
    #expect(wrapped(String(repeating: "x", count: 1_000), cells: 10, limit: 3).count == 3)
    // A word that fits in a line, such as the name of a file, stays whole.
    let command = "see oversized_addr.pcapng now"
    #expect(wrapped(command, cells: 20) == ["see oversized_addr.p", "capng now"])
    // A word that does not fit is split.
    #expect(wrapped(command, cells: 20, keepsWords: true) == ["see ", "oversized_addr.pcapn", "g now"])
    #expect(wrapped(command, cells: 22, keepsWords: true) == ["see ", "oversized_addr.pcapng ", "now"])
  }
}
