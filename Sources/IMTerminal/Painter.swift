/// Makes of two grids the bytes that turn what a terminal shows from the one into the other.
///
/// Terminals disagree about the width of some clusters. Such a cluster is printed into cells that were erased, the cursor is then
/// put where it belongs, and what follows in its row is printed anew.
package struct Painter: Sendable {
  private let colours: ColourLevel
  private var shown: Grid?

  /// A painter of a terminal with so many colours, of which nothing is known yet.
  package init(_ colours: ColourLevel) { self.colours = colours }

  /// Forgets what the terminal shows, so that all of it is painted next.
  package mutating func invalidate() { shown = nil }

  /// The bytes that make the terminal show `grid`; empty where it does already.
  package mutating func paint(_ grid: Grid) -> [UInt8] {
    var out: [UInt8] = []
    var before = shown ?? Grid(width: grid.width, height: grid.height)
    if shown == nil || before.width != grid.width || before.height != grid.height {
      out += Array("\u{1b}[0m\u{1b}[2J".utf8)
      before = Grid(width: grid.width, height: grid.height)
    }
    var pen = UncheckedWriter(colours: colours)
    for row in 0..<grid.height { paint(row, of: grid, over: before, &pen, &out) }
    if let style = pen.style, style != .plain { out += Array("\u{1b}[0m".utf8) }
    shown = grid
    return out
  }

  /// Where the terminal's cursor stands, and the style in which it prints; `nil` where that is not known.
  private struct UncheckedWriter {
    let colours: ColourLevel
    var place: (row: Int, column: Int)?
    var style: Style?

    mutating func move(_ row: Int, _ column: Int, _ out: inout [UInt8]) {
      if let place, place == (row, column) { return }
      out += Array("\u{1b}[\(row + 1);\(column + 1)H".utf8)
      place = (row, column)
    }

    mutating func use(_ style: Style, _ out: inout [UInt8]) {
      if self.style == style { return }
      out += Array("\u{1b}[0\(colours.parameters(style))m".utf8)
      self.style = style
    }
  }

  private func paint(_ row: Int, of grid: Grid, over before: Grid, _ pen: inout UncheckedWriter, _ out: inout [UInt8]) {
    var column = 0
    var isUncertain = false
    while column < grid.width {
      let cell = grid[row, column]
      let isWide = column + 1 < grid.width && grid[row, column + 1].text.isEmpty
      let count = isWide ? 2 : 1
      let isSame =
        cell == before[row, column] && (!isWide || before[row, column + 1] == grid[row, column + 1]) && !isUncertain
      if !isSame {
        pen.move(row, column, &out)
        pen.use(cell.style, &out)
        if isDoubtful(cell.text) {
          out += Array("\u{1b}[\(count)X".utf8)
          pen.place = nil
          isUncertain = true
        } else {
          // Behind the last column the cursor is where the terminal likes.
          pen.place = column + count < grid.width ? (row, column + count) : nil
        }
        out += Array(cell.text.utf8)
      }
      column += count
    }
  }
}
