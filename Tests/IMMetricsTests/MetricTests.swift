import IMMetrics
import Testing

/// Names of figures, and sums over what they are told apart by.
@Suite struct FigureTests {
  private static let letters = Dimension("letter", [("a", "first"), ("b", "second")])
  private static let numbers = Dimension("number", [("one", "1"), ("two", "2"), ("three", "3")])

  /// Of a snapshot that is a table of two rows and three columns; what is negative is not known.
  private static let figure = Metric<[[Int]]>(
    "test", .count, .packet, "the {number} of the {letter}", by: [letters, numbers]
  ) { table, row, column in table[row][column] < 0 ? nil : .count(UInt64(table[row][column])) }

  static let cases: [(place: String, values: [String: UInt64])] = [
    ("all", ["all": 63]), ("{letter}.sum", ["a.sum": 7, "b.sum": 56]),
    ("x.{number}", ["x.one": 9, "x.two": 18, "x.three": 36]),
    (
      "{letter}.{number}_ms",
      ["a.one_ms": 1, "a.two_ms": 2, "a.three_ms": 4, "b.one_ms": 8, "b.two_ms": 16, "b.three_ms": 32]
    ),
  ]

  @Test(arguments: cases) func sumsOverWhatANameDoesNotTellApart(_ place: String, _ values: [String: UInt64]) {
    var found: [String: UInt64] = [:]
    for leaf in Self.figure.info.leaves(place) {
      guard case .count(let count)? = Self.figure.value([[1, 2, 4], [8, 16, 32]], leaf.first, leaf.second) else {
        continue
      }
      found[leaf.path.joined(separator: ".")] = count
    }
    #expect(found == values)
  }

  @Test func whatIsNotKnownIsNoZero() {
    let values = Self.figure.info.leaves("{letter}").map { leaf in
      Self.figure.value([[-1, -1, -1], [-1, 5, 0]], leaf.first, leaf.second)
    }
    #expect(values[0] == nil)
    guard case .count(5)? = values[1] else {
      Issue.record("\(String(describing: values[1]))")
      return
    }
  }

  @Test func theHelpNamesAValue() {
    let leaf = Self.figure.info.leaves("{letter}.{number}")[4]
    #expect(Self.figure.info.help(leaf.first, leaf.second) == "the 2 of the second")
  }

  @Test func aPartThatIsNotThereHasNoFigures() {
    let whole: Metric<[[Int]]?> = Self.figure.of { $0 }
    #expect(whole.value(nil, 0..<2, 0..<3) == nil)
    guard case .count(63)? = whole.value([[1, 2, 4], [8, 16, 32]], 0..<2, 0..<3) else {
      Issue.record("a part has its figures")
      return
    }
  }
}
