import IMTerminal

/// Long texts in as many rows as they need.
extension Browser {
  /// Shows all of long texts, or one line of each.
  mutating func toggleWrap() {
    wraps.toggle()
    note = wraps ? "long texts have rows of their own" : "each message has one row"
  }

  /// Cells of a row of text in a list of so many cells; `nil` where texts have no rows of their own.
  func textWidth(_ width: Int) -> Int? { wraps ? max(8, width - TextRow.indent - 1) : nil }

  /// Puts a text beneath the other details: in one row, or in as many as there are.
  func putText(_ text: String, _ grid: inout Grid, row: Int, left: Int, width: Int, rows: Int) {
    grid.put("text", row: row, column: left, style: Style(.faint))
    let room = max(0, width - 14)
    guard wraps, rows > 1, room >= 8 else {
      grid.put(fitted: "“\(text)”", row: row, column: left + 14, width: room, style: Style(.plain, .bold))
      return
    }
    for (i, part) in TextRows.wrap("“\(text)”", width: room, limit: rows).enumerated() {
      grid.put(part, row: row + i, column: left + 14, limit: room, style: Style(.plain, .bold))
    }
  }
}
