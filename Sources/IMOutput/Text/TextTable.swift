import IMTerminal

/// Rows in columns as wide as their widest cell: the first column left, the others right.
package struct TextTable {
  private var rows: [[String]]
  private let left: Set<Int>

  /// A table with a header. The columns `left` stand to the left, by default the first.
  package init(_ header: [String], left: Set<Int> = [0]) {
    rows = [header]
    self.left = left
  }

  /// The header.
  package var header: [String] {
    get { rows[0] }
    set { rows[0] = newValue }
  }

  /// Adds a row with as many cells as the header.
  package mutating func add(_ row: [String]) { rows.append(row) }

  /// Appends the table.
  ///
  /// On a terminal of `width` columns a table that is wider leaves out what holds nothing but 0, and is broken into blocks
  /// where that is not enough; each begins with the first column.
  package func write(to out: inout ByteWriter, width: Int? = nil) {
    let count = rows.map(\.count).max() ?? 0
    let widths = (0..<count).map { c in rows.reduce(0) { c < $1.count ? max($0, cells($1[c])) : $0 } }
    var columns = Array(0..<count)
    if let width, self.width(columns, widths) > width {
      columns.removeAll { column in column > 0 && isIdle(column) }
      for (i, block) in blocks(columns, widths, width).enumerated() {
        if i > 0 { out.literal("\n") }
        write(block, widths, to: &out)
      }
    } else {
      write(columns, widths, to: &out)
    }
  }

  private func write(_ columns: [Int], _ widths: [Int], to out: inout ByteWriter) {
    for row in rows {
      // Spaces are written with what stands behind them: no line ends with one.
      var spaces = 0
      func write(_ text: String) {
        guard !text.isEmpty else { return }
        for _ in 0..<spaces { out.byte(0x20) }
        spaces = 0
        out.text(text)
      }
      for (i, c) in columns.enumerated() where c < row.count {
        let space = widths[c] - cells(row[c])
        spaces += i == 0 ? 0 : 2
        if left.contains(c) {
          write(row[c])
          spaces += space
        } else {
          spaces += space
          write(row[c])
        }
      }
      out.literal("\n")
    }
  }

  private func width(_ columns: [Int], _ widths: [Int]) -> Int {
    columns.reduce(0) { $0 + widths[$1] } + 2 * max(0, columns.count - 1)
  }

  private func isIdle(_ column: Int) -> Bool {
    rows.dropFirst().allSatisfy { column >= $0.count || ["", "0", "-"].contains($0[column]) }
  }

  private func blocks(_ columns: [Int], _ widths: [Int], _ width: Int) -> [[Int]] {
    guard let first = columns.first else { return [] }
    var blocks = [[first]]
    for column in columns.dropFirst() {
      let wider = blocks[blocks.count - 1] + [column]
      if wider.count > 2, self.width(wider, widths) > width {
        blocks.append([first, column])
      } else {
        blocks[blocks.count - 1] = wider
      }
    }
    return blocks
  }
}

/// `text`, a line of parts with commas between, broken behind commas so that no line is longer than `width`; the further
/// ones are indented. A part that is longer itself is broken between its words.
package func wrappedLines(_ text: String, _ width: Int?) -> [String] {
  wrapped(text, width).split(separator: "\n").map(String.init)
}

/// The same as one text.
func wrapped(_ text: String, _ width: Int?) -> String {
  guard let width, cells(text) > width else { return text }
  var lines: [String] = []
  var line = ""
  func add(_ word: String) {
    if !line.isEmpty, cells(line) + 1 + cells(word) > width {
      lines.append(line)
      line = "  " + word
    } else {
      line += (line.isEmpty ? "" : " ") + word
    }
  }
  let parts = text.split(separator: ", ", omittingEmptySubsequences: false).map(String.init)
  for (i, part) in parts.enumerated() {
    let part = i + 1 < parts.count ? part + "," : part
    if cells(part) + 2 <= width { add(part) } else { part.split(separator: " ").forEach { add(String($0)) } }
  }
  return (lines + [line]).joined(separator: "\n")
}
