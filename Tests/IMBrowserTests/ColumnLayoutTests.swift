import IMTerminal
import Testing

@testable import IMBrowser

/// How wide the columns of a table are.
@Suite struct ColumnLayoutTests {
  /// What is left goes to columns whose texts are longer, the most important first, and then to the one that takes the rest.
  @Test func whatIsLeftIsForLongTexts() {
    let columns: [Column<String>] = [
      Column(title: "a", width: 4, longest: 10, priority: 1) { ($0, .plain) },
      Column(title: "b", width: 4, longest: 6, priority: 0) { ($0, .plain) },
      Column(title: "c", width: 5, priority: 2) { ($0, .plain) },
      Column(title: "d", width: 6, isFlexible: true, priority: 3) { ($0, .plain) },
    ]
    for (width, wanted) in [(9, [4, 4]), (13, [6, 6]), (15, [4, 4, 5]), (22, [4, 4, 5, 6]), (40, [10, 6, 5, 16])] {
      #expect(ColumnLayout(columns, width: width).columns.map(\.width) == wanted, "\(width)")
    }
    var grid = Grid(width: 40, height: 1)
    ColumnLayout(columns, width: 40).put("0123456789ab", &grid, row: 0)
    #expect(grid.text(row: 0) == "012345678… 01234… 0123… 0123456789ab    ")
  }
}
