import IMTestSupport
import Testing

@testable import IMTerminal

/// Text in cells.
@Suite struct GridTests {
  @Test func wideClustersTakeTwoCells() {
    var grid = Grid(width: 10, height: 1)
    #expect(grid.put("张三😀a", row: 0, column: 0) == 7)
    #expect(grid.text(row: 0) == "张三😀a   ")
    #expect((0..<8).map { grid[0, $0].text } == ["张", "", "三", "", "😀", "", "a", " "])
  }

  @Test func halvesAreBlanked() {
    var grid = Grid(width: 6, height: 1)
    grid.put("张三李", row: 0, column: 0)
    grid.put("x", row: 0, column: 1)
    grid.put("y", row: 0, column: 4)
    #expect((0..<6).map { grid[0, $0].text } == [" ", "x", "三", "", "y", " "])
    #expect(grid.put("李", row: 0, column: 5) == 1)
    #expect(grid[0, 5].text == " ")
    #expect(grid.put("李李", row: 0, column: 0, limit: 3) == 3)
    #expect((0..<4).map { grid[0, $0].text } == ["李", "", " ", " "])
  }

  @Test func nothingIsPutOutside() {
    var grid = Grid(width: 3, height: 2)
    for (row, column) in [(-1, 0), (2, 0), (0, 3), (0, -1)] { #expect(grid.put("a", row: row, column: column) == 0) }
    #expect(grid == Grid(width: 3, height: 2))
    #expect(Grid(width: .max, height: -5).width == 1_000)
    #expect(Grid(width: .max, height: -5).height == 1)
  }

  /// Whatever is put, every wide cluster has both of its cells, and no cell has a control character.
  @Test func cellsFitWhateverIsPut() {
    var random = SeededRandom(3)
    var grid = Grid(width: 17, height: 3)
    for _ in 0..<5_000 {
      let text = String(
        String.UnicodeScalarView(
          (0..<4).compactMap { _ in Unicode.Scalar(UInt32(random.next() % 0x11_0000) >> UInt32(random.next() % 16)) }))
      grid.put(text, row: Int(random.next() % 3), column: Int(random.next() % 17))
      for row in 0..<3 {
        var column = 0
        while column < 17 {
          let cell = grid[row, column].text
          let width = cell.reduce(0) { $0 + cells($1) }
          #expect(cell.count == 1 && (1...2).contains(width))
          #expect(cell.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value) })
          for i in 1..<max(width, 1) { #expect(grid[row, column + i].text.isEmpty) }
          column += max(width, 1)
        }
      }
    }
  }

  @Test func textOfOthersIsHarmless() {
    #expect(plainText("a\u{1b}[2Jb\u{9b}c\u{7f}\u{202e}d\u{200b}\u{0}") == "a·[2Jb·c··d··")
    #expect(plainText("张三 👨‍👩‍👧 é") == "张三 👨‍👩‍👧 é")
    #expect(plainText("e" + String(repeating: "\u{301}", count: 500)).unicodeScalars.count == 8)
  }
}
