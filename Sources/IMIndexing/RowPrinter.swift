import IMOutput
package import IMStore
package import IMSystem
import IMTerminal

/// Writes rows as they come, in one of three forms. What commands a terminal stands as `\xNN` in text and CSV, and escaped in JSON.
package struct RowPrinter: ~Copyable {
  /// Rows by which the widths of columns are chosen; what is wider further down pushes its line.
  private static let sampleCount = 500
  /// Bytes of such rows, at most: one alone may have many.
  private static let sampleSize = 1 << 20
  /// Bytes after which what is written is handed on.
  private static let pieceSize = 64 << 10

  private let form: QueryForm
  private let output: Output
  private var out = ByteWriter(capacity: 96 << 10)
  private var columns: [String] = []
  private var keys: [String] = []
  /// Rows of text until the widths are chosen; `nil` afterwards.
  private var sample: [[Cell]]?
  private var sampleBytes = 0
  private var widths: [Int] = []

  private struct Cell {
    let text: String
    let isNumber: Bool
  }

  /// Writes rows in `form` to `output`.
  package init(_ form: QueryForm, _ output: Output) {
    self.form = form
    self.output = output
  }

  /// Begins rows with these columns.
  package mutating func begin(_ names: [String]) {
    columns = names
    switch form {
    case .text: sample = [names.map { Cell(text: shown($0), isNumber: false) }]
    case .json:
      keys = names.map { name in
        var key = ByteWriter(capacity: 64)
        key.jsonString(name)
        key.literal(":")
        return key.text
      }
    case .csv:
      for (i, name) in names.enumerated() {
        if i > 0 { out.literal(",") }
        quote(shown(name))
      }
      out.literal("\r\n")
    }
  }

  /// Writes the row on which `rows` stands.
  package mutating func print(_ rows: borrowing StoreRows) {
    switch form {
    case .text:
      let cells = columns.indices.map { Self.cell(rows[$0], absent: "-") }
      guard sample != nil else {
        write(cells)
        break
      }
      sample?.append(cells)
      sampleBytes += cells.reduce(0) { $0 + $1.text.utf8.count }
      if let sample, sample.count > Self.sampleCount || sampleBytes > Self.sampleSize { write(sample) }
    case .json:
      for i in columns.indices {
        out.literal(i == 0 ? "{" : ",")
        out.text(keys[i])
        json(rows[i])
      }
      out.literal("}\n")
    case .csv:
      for i in columns.indices {
        if i > 0 { out.literal(",") }
        quote(Self.cell(rows[i], absent: "").text)
      }
      out.literal("\r\n")
    }
    if out.count > Self.pieceSize { output.drain(&out) }
  }

  /// Writes what is left. `isWhole` says that these were all rows; columns without rows are only then an answer.
  package mutating func end(isWhole: Bool) {
    if let sample, isWhole || sample.count > 1 { write(sample) }
    output.drain(&out)
  }

  // MARK: Text

  private static func cell(_ value: StoreRows.Value, absent: String) -> Cell {
    var out = ByteWriter(capacity: 64)
    switch value {
    case .null: return Cell(text: absent, isNumber: false)
    case .integer(let number): return Cell(text: "\(number)", isNumber: true)
    case .real(let number): return Cell(text: "\(number)", isNumber: true)
    case .text(let bytes): out.terminal(bytes, keepsBackslashes: true)
    case .blob(let bytes): for byte in bytes { out.hex(UInt64(byte), width: 2) }
    }
    return Cell(text: out.text, isNumber: false)
  }

  private mutating func write(_ rows: [[Cell]]) {
    sample = nil
    widths = columns.indices.map { column in rows.reduce(0) { max($0, cells($1[column].text)) } }
    // A column of numbers has its name to the right, as they are.
    let areNumbers = columns.indices.map { column in
      rows.count > 1 && rows.dropFirst().allSatisfy { $0[column].isNumber || $0[column].text == "-" }
    }
    for (i, row) in rows.enumerated() {
      write(i > 0 ? row : row.enumerated().map { Cell(text: $1.text, isNumber: areNumbers[$0]) })
    }
  }

  private mutating func write(_ row: [Cell]) {
    for (i, cell) in row.enumerated() {
      let space = max(0, widths[i] - cells(cell.text))
      if i > 0 { out.literal("  ") }
      if cell.isNumber { for _ in 0..<space { out.byte(0x20) } }
      out.text(cell.text)
      if !cell.isNumber, i + 1 < row.count { for _ in 0..<space { out.byte(0x20) } }
    }
    out.literal("\n")
  }

  // MARK: JSON and CSV

  private mutating func json(_ value: StoreRows.Value) {
    switch value {
    case .null: out.literal("null")
    case .integer(let number): out.number(number)
    case .real(let number): if number.isFinite { out.text("\(number)") } else { out.literal("null") }
    case .text(let bytes): out.jsonString(bytes)
    case .blob(let bytes):
      out.literal("\"")
      for byte in bytes { out.hex(UInt64(byte), width: 2) }
      out.literal("\"")
    }
  }

  private mutating func quote(_ text: String) {
    guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x2c }) else { return out.text(text) }
    out.literal("\"")
    for part in text.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
      if part.offset > 0 { out.literal("\"\"") }
      out.text(String(part.element))
    }
    out.literal("\"")
  }
}
