import IMTerminal

/// A line of a message's text, where texts are wrapped and this one does not fit behind what else is said of the message.
struct TextRow: RowViewModel {
  /// Cells in front of the text; lines of a text, at most.
  private static let indent = 4, limit = 100

  static var place: RowPlace { .text }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    guard let layout = context.wrapped, context.item.wraps(in: layout) else { return [] }
    let width = layout.width - indent
    var lines: [String] = []
    for part in "“\(context.item.text)”".split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      guard lines.count < limit else { break }
      let found = wrapped(plainText(String(part)), cells: width, limit: limit - lines.count)
      lines += found.isEmpty ? [""] : found.map { String($0.reversed().drop { $0 == " " }.reversed()) }
    }
    if lines.count == limit { lines[limit - 1] = "…" }
    return lines.map { TextRow(text: $0) }
  }

  let text: String

  func parts(_ layout: RowLayout) -> [RowPart] {
    [
      RowPart(text: "", style: .plain, width: Self.indent - 1),
      RowPart(text: text, style: .plain, width: max(1, layout.width - Self.indent)),
    ]
  }

  /// How many rows a text takes that has rows, as far as its size tells: what is exact has to look at each cluster.
  static func estimate(_ item: MessageItem, _ layout: RowLayout) -> Int {
    let width = max(2, layout.width - indent)
    return min(limit, max(1, (item.textCells + 1 + width) / width + item.textBreaks))
  }
}

extension MessageItem {
  /// Whether the text has rows of its own: it does not fit behind the columns of the message's row.
  func wraps(in layout: RowLayout) -> Bool {
    guard layout.wraps, !text.isEmpty else { return false }
    if textBreaks > 0 { return true }
    let row = MessageRow(item: self)
    let used = row.columns(layout, style: .plain, plain: .plain, name: .plain).reduce(0) { used, part in
      used + (part.width.map { $0 + 1 } ?? cells(plainText(part.text)) + 2)
    }
    return used + textCells + 2 > layout.width
  }
}
