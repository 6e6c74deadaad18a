/// Rows in columns as wide as their widest cell: the first column left, the others right.
package struct TextTable {
  private var rows: [[String]]

  /// A table with a header.
  package init(_ header: [String]) { rows = [header] }

  /// Adds a row with as many cells as the header.
  package mutating func add(_ row: [String]) { rows.append(row) }

  /// Appends the table.
  package func write(to out: inout ByteWriter) {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { c in rows.map { c < $0.count ? $0[c].count : 0 }.max() ?? 0 }
    for row in rows {
      var line = ""
      for (c, cell) in row.enumerated() {
        let space = String(repeating: " ", count: widths[c] - cell.count)
        line += c == 0 ? cell + space : "  " + space + cell
      }
      while line.last == " " { line.removeLast() }
      out.text(line + "\n")
    }
  }
}
