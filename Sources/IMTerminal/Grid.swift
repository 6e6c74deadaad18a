/// What a terminal shows: rows of cells. Text of others is made harmless as it is put here, so nothing else can reach the terminal.
package struct Grid: Equatable, Sendable {
  /// One cell.
  package struct Cell: Equatable, Sendable {
    /// The cluster that begins here; empty in the second cell of a wide one.
    package fileprivate(set) var text: String
    /// How it looks.
    package fileprivate(set) var style: Style

    static let blank = Cell(text: " ", style: .plain)
  }

  /// Cells of a row.
  package let width: Int
  /// Rows.
  package let height: Int
  private var cells: [Cell]

  /// The most cells of a side: what a terminal says of its size is not trusted further.
  private static let limit = 1_000

  /// A blank grid; sides are at least 1 and at most 1,000.
  package init(width: Int, height: Int) {
    self.width = min(max(width, 1), Self.limit)
    self.height = min(max(height, 1), Self.limit)
    cells = Array(repeating: .blank, count: self.width * self.height)
  }

  /// The cell at a place; a blank one outside.
  package subscript(row: Int, column: Int) -> Cell {
    guard (0..<height).contains(row), (0..<width).contains(column) else { return .blank }
    return cells[row * width + column]
  }

  /// Puts text at a place, cut to `limit` cells and the end of the row, and tells how many cells it took.
  ///
  /// A cluster that would be cut in half becomes a blank. One without a width of its own is left out.
  @discardableResult
  package mutating func put(
    _ text: String, row: Int, column: Int, limit: Int = .max, style: Style = .plain
  ) -> Int {
    guard (0..<height).contains(row), (0..<width).contains(column), limit > 0 else { return 0 }
    let end = limit >= width - column ? width : column + limit
    var at = column
    for character in text {
      guard at < end else { break }
      let cluster = plainCluster(character)
      let count = cluster.utf8.count == 1 ? 1 : cluster.reduce(0) { $0 + IMTerminal.cells($1) }
      if count == 0 { continue }
      // What is no one cluster any more, such as CR LF, takes a cell each.
      guard cluster.count == 1, count <= 2 else {
        for part in cluster where at < end { set(row, &at, end, String(part), IMTerminal.cells(part), style) }
        continue
      }
      set(row, &at, end, cluster, count, style)
    }
    return at - column
  }

  private mutating func set(
    _ row: Int, _ at: inout Int, _ end: Int, _ cluster: String, _ count: Int, _ style: Style
  ) {
    guard count > 0 else { return }
    clear(row, at)
    if count == 2, at + 1 < end {
      clear(row, at + 1)
      cells[row * width + at] = Cell(text: cluster, style: style)
      cells[row * width + at + 1] = Cell(text: "", style: style)
      at += 2
    } else {
      cells[row * width + at] = Cell(text: count == 2 ? " " : cluster, style: style)
      at += 1
    }
  }

  /// Blanks the other half of a wide cluster that is about to lose this one.
  private mutating func clear(_ row: Int, _ column: Int) {
    let place = row * width + column
    if cells[place].text.isEmpty, column > 0 { cells[place - 1].text = " " }
    if column + 1 < width, cells[place + 1].text.isEmpty { cells[place + 1].text = " " }
    cells[place].text = " "
  }

  /// Gives cells of a row a style, and leaves their text.
  package mutating func restyle(row: Int, columns: Range<Int>, _ change: (Style) -> Style) {
    guard (0..<height).contains(row) else { return }
    for column in columns.clamped(to: 0..<width) {
      cells[row * width + column].style = change(cells[row * width + column].style)
    }
  }

  /// A row as it stands, to be put into other grids.
  package func cellRow(_ row: Int) -> CellRow {
    (0..<height).contains(row) ? CellRow(cells: Array(cells[row * width..<(row + 1) * width])) : CellRow(cells: [])
  }

  /// Puts a row that was made before at the beginning of a row, cut to this grid's width. It costs a copy.
  package mutating func put(_ made: CellRow, row: Int) {
    let count = min(made.cells.count, width)
    guard (0..<height).contains(row), count > 0 else { return }
    // Halves of wide clusters at the edge become blanks.
    if count < width { clear(row, count) }
    cells.replaceSubrange(row * width..<row * width + count, with: made.cells[..<count])
    if count < made.cells.count, made.cells[count].text.isEmpty { cells[row * width + count - 1].text = " " }
  }

  /// The text of a row.
  package func text(row: Int) -> String {
    guard (0..<height).contains(row) else { return "" }
    return cells[row * width..<(row + 1) * width].reduce(into: "") { $0 += $1.text }
  }
}

/// A row of cells that was made once, and is put into grids again and again.
package struct CellRow: Equatable, Sendable {
  fileprivate let cells: [Grid.Cell]

  /// How many cells it has.
  package var count: Int { cells.count }
}
