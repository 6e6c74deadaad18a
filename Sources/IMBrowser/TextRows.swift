import IMStore
import IMTerminal

/// Texts of messages in rows of so many cells. What was made once is kept while its message is in memory.
struct TextRows: Sendable {
  /// Rows of a text, at most: the last one ends with an ellipsis where there is more.
  static let limit = 8

  /// Cells of a row.
  let width: Int
  private var made: [Int64: [String]] = [:]

  /// Rows of `width` cells.
  init(width: Int) { self.width = max(8, width) }

  /// The rows of a message's text; none where it has none.
  func rows(of item: MessageItem) -> [String] { made[item.message.id] ?? make(item.text) }

  /// Makes the rows of these messages, and forgets those of others.
  mutating func keep(_ items: [MessageItem]) {
    var kept: [Int64: [String]] = [:]
    for item in items where !item.text.isEmpty { kept[item.message.id] = rows(of: item) }
    made = kept
  }

  private func make(_ text: String) -> [String] {
    if text.isEmpty { return [] }
    // More than can be seen is not looked at.
    return TextRows.wrap(
      "“" + String(text.unicodeScalars.prefix(width * Self.limit * 8)) + "”", width: width, limit: Self.limit)
  }

  /// Text in rows of at most `width` cells, broken at a blank where there is one in the last third of a row.
  static func wrap(_ text: String, width: Int, limit: Int) -> [String] {
    var rows: [String] = []
    var rest = Substring(plainText(text))
    while !rest.isEmpty {
      var row = prefix(String(rest), cells: width)
      if row.isEmpty { break }
      var count = row.count
      if count < rest.count, let blank = row.lastIndex(of: " "), row[blank...].count * 3 <= count {
        row = row[...blank]
        count = row.count
      }
      rest = rest.dropFirst(count)
      if rows.count == limit - 1, !rest.isEmpty {
        rows.append(String(prefix(String(row), cells: width - 1)) + "…")
        break
      }
      rows.append(String(row))
    }
    return rows
  }
}

/// A row of a message's text, beneath the message.
struct TextRow: RowViewModel {
  let text: String

  /// Cells in front of the text.
  static let indent = 4

  func parts(_ layout: RowLayout) -> [RowPart] {
    [RowPart(text: "", style: .plain, width: Self.indent - 1), RowPart(text: text, style: .plain, width: nil)]
  }
}
