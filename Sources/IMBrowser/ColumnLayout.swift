import IMTerminal

/// A column of a table.
struct Column<Item> {
  let title: String
  /// Cells that it takes, at least.
  let width: Int
  /// Cells of its longest text, up to which it takes what the others leave.
  var longest = 0
  /// Whether it takes what is left after that.
  var isFlexible = false
  var isRight = false
  /// Whether there is anything to show in it.
  var isShown = true
  /// Which columns a narrow screen shows: small numbers first.
  let priority: Int
  let text: (Item) -> (String, Style)
}

/// Columns beside one another, as many as there is room for, with a blank between them.
struct ColumnLayout<Item> {
  private(set) var columns: [(column: Column<Item>, width: Int)] = []

  /// The most important of the shown `columns` that fit `width` cells, in their order.
  init(_ columns: [Column<Item>], width: Int) {
    let columns = columns.filter(\.isShown)
    var left = width
    var chosen: Set<Int> = []
    for (i, column) in columns.enumerated().sorted(by: { $0.element.priority < $1.element.priority }) {
      let needed = column.width + (chosen.isEmpty ? 0 : 1)
      guard needed <= left else { break }
      left -= needed
      chosen.insert(i)
    }
    var widths = columns.map(\.width)
    for i in chosen.sorted(by: { (columns[$0].priority, $0) < (columns[$1].priority, $1) }) {
      let more = min(left, max(0, columns[i].longest - columns[i].width))
      widths[i] += more
      left -= more
    }
    for (i, column) in columns.enumerated() where chosen.contains(i) {
      self.columns.append((column, widths[i] + (column.isFlexible ? min(left, 30) : 0)))
    }
  }

  /// Puts the titles in a row.
  func putTitles(_ grid: inout Grid, row: Int) {
    put(&grid, row) { ($0.title, Style(.faint, .underline)) }
  }

  /// Puts an item in a row.
  func put(_ item: Item, _ grid: inout Grid, row: Int) {
    put(&grid, row) { $0.text(item) }
  }

  private func put(_ grid: inout Grid, _ row: Int, _ text: (Column<Item>) -> (String, Style)) {
    var at = 0
    for (column, width) in columns {
      let (text, style) = text(column)
      grid.put(fitted: text, row: row, column: at, width: width, isRight: column.isRight, style: style)
      at += width + 1
    }
  }
}

extension Grid {
  /// Puts text in a column of `width` cells: cut with an ellipsis where it is longer.
  mutating func put(
    fitted text: String, row: Int, column: Int, width: Int, isRight: Bool = false, style: Style = .plain
  ) {
    // What is not seen need not be measured: nothing takes more than a few bytes a cell.
    let text = text.utf8.count > width * 64 ? String(text.unicodeScalars.prefix(width * 8)) : text
    let plain = plainText(text)
    let count = cells(plain)
    if count <= width {
      put(plain, row: row, column: isRight ? column + width - count : column, limit: width, style: style)
    } else if width > 0 {
      let used = put(String(prefix(plain, cells: width - 1)), row: row, column: column, limit: width - 1, style: style)
      put("…", row: row, column: column + used, limit: 1, style: style)
    }
  }
}
