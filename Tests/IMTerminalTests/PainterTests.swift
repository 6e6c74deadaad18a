import IMTestSupport
import Testing

@testable import IMTerminal

/// What the painter writes makes a terminal show the grid, whatever it showed before.
@Suite struct PainterTests {
  private static let pieces = [
    "a", "Z", "~", " ", "张", "三", "한", "é", "e\u{301}", "│", "👍", "👍🏽", "👨‍👩‍👧", "🇩🇪", "🖼️", "ｆ", "…", "क्षि", "\u{1b}", "\u{9b}",
    "\u{202e}", "\r\n", "\u{7}", "\u{0}", "☺", "☺️",
  ]

  private static func fill(_ grid: inout Grid, _ random: inout SeededRandom, times: Int) {
    for _ in 0..<times {
      let text = (0..<Int(random.next() % 6)).map { _ in random.one(of: pieces) }.joined()
      let style = Style(random.one(of: [.plain, .alarm, .name]), random.once(in: 3) ? .reverse : [])
      grid.put(
        text, row: Int(random.next() % UInt64(grid.height)), column: Int(random.next() % UInt64(grid.width)),
        style: style)
    }
  }

  /// What a terminal that agrees about every width shows, frame by frame.
  @Test(arguments: [ColourLevel.none, .sixteen, .many]) func aTerminalShowsTheGrid(_ colours: ColourLevel) {
    var random = SeededRandom(7)
    var terminal = ReferenceTerminal(width: 23, height: 5) { cells($0) }
    var painter = Painter(colours)
    var grid = Grid(width: 23, height: 5)
    for frame in 0..<400 {
      if random.once(in: 10) { grid = Grid(width: 23, height: 5) }
      Self.fill(&grid, &random, times: 1 + Int(random.next() % 8))
      terminal.take(painter.paint(grid))
      #expect(terminal.unknown == [])
      for row in 0..<grid.height {
        for column in 0..<grid.width {
          let cell = grid[row, column]
          #expect(terminal.cells[row][column] == cell.text, "frame \(frame), row \(row), column \(column)")
          let wanted = "0" + colours.parameters(cell.style)
          let found = terminal.styles[row][column]
          #expect(found == wanted || (found.isEmpty && wanted == "0"), "frame \(frame): \(found)")
        }
      }
    }
  }

  /// A terminal with other widths shows all that is certain where it belongs: no border moves.
  @Test(arguments: [1, 2, 4]) func aTerminalWithOtherWidthsDoesNotDrift(_ other: Int) {
    var random = SeededRandom(11)
    var terminal = ReferenceTerminal(width: 23, height: 5) {
      isDoubtful(String($0)) ? other : cells($0)
    }
    var painter = Painter(.none)
    var grid = Grid(width: 23, height: 5)
    for frame in 0..<400 {
      if random.once(in: 10) { grid = Grid(width: 23, height: 5) }
      Self.fill(&grid, &random, times: 1 + Int(random.next() % 8))
      for row in 0..<grid.height { grid.put("│", row: row, column: 22) }
      terminal.take(painter.paint(grid))
      for row in 0..<grid.height {
        #expect(terminal.cells[row][22] == "│", "frame \(frame), row \(row)")
        for column in 0..<grid.width {
          let text = grid[row, column].text
          // What stands beside a doubtful cluster may hide half of it.
          let isNear = (column - 4...column).contains { isDoubtful(grid[row, $0].text) }
          guard !text.isEmpty, !isDoubtful(text), !isNear else { continue }
          #expect(terminal.cells[row][column] == text, "frame \(frame), row \(row), column \(column)")
        }
      }
    }
  }

  @Test func whatIsShownIsNotPaintedAgain() {
    var painter = Painter(.many)
    var grid = Grid(width: 200, height: 60)
    grid.put("张三 👍🏽 🖼️", row: 3, column: 10, style: Style(.name))
    #expect(!painter.paint(grid).isEmpty)
    #expect(painter.paint(grid) == [])
    grid.put("x", row: 50, column: 100)
    #expect(painter.paint(grid) == Array("\u{1b}[51;101H\u{1b}[0mx".utf8))
    painter.invalidate()
    #expect(painter.paint(grid).count > 20)
  }
}
