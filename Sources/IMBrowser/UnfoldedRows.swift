import IMOutput
import IMStore
import IMTerminal

/// Where the first copy of an unfolded message was.
struct FrameHeaderRow: RowViewModel {
  static var place: RowPlace { .beneath }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    guard let fields = context.fields else { return [] }
    let message = context.item.message
    let capture = fields.first { $0.name == "capture" }?.value.split(separator: "/").last.map { " of \($0)" } ?? ""
    return [
      FrameHeaderRow(
        text: "packet \(message.packet)\(capture), \(message.byteCount) B at \(message.streamOffset) of its stream")
    ]
  }

  let text: String

  func parts(_ layout: RowLayout) -> [RowPart] { UnfoldedRows.parts("├", text, Style(.plain, .bold)) }
}

/// A copy of an unfolded message after its first one, and how long behind that it came.
struct CopyRow: RowViewModel {
  /// Copies that have rows, at most; the last one is then told with how many there are.
  private static let limit = 20

  static var place: RowPlace { .beneath }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    guard let list = context.fields?.first(where: { $0.name == "copies" })?.value else { return [] }
    let times = UnfoldedRows.numbers(list)
    guard let first = times.first else { return [] }
    return times.enumerated().dropFirst().filter { $0.offset < limit || $0.offset == times.count - 1 }.map {
      let number = Int64($0.offset) <= context.item.message.retries ? "R\($0.offset)" : "copy \($0.offset + 1)"
      return CopyRow(text: "\(number) after \(Words.shortLength($0.element &- first))")
    }
  }

  let text: String

  func parts(_ layout: RowLayout) -> [RowPart] { UnfoldedRows.parts("├", text, Style(.warning)) }
}

/// What else the store says of an unfolded message, as many fields to a row as there is room for.
struct FieldRow: RowViewModel {
  /// What other rows tell.
  private static let left: Set<String> = [
    "id", "time", "time_us", "flags", "problems", "capture", "packet", "stream_offset", "copies", "len",
  ]
  /// Cells that fields of a row have to fit: rows are made before anybody knows how wide the screen is.
  private static let width = 34

  static var place: RowPlace { .beneath }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    var rows: [FieldRow] = []
    for field in context.fields ?? [] where !left.contains(field.name) {
      let used = rows.last.map { $0.used } ?? width
      if used + field.used <= width, let last = rows.indices.last, field.name != "text" {
        rows[last].fields.append(field)
      } else {
        rows.append(FieldRow(fields: [field]))
      }
    }
    if let last = rows.indices.last { rows[last].isLast = true }
    return rows
  }

  var fields: [StoredDetail]
  var isLast = false
  private var used: Int { fields.reduce(0) { $0 + $1.used } }

  func parts(_ layout: RowLayout) -> [RowPart] {
    var parts = UnfoldedRows.stem(isLast ? "└" : "├")
    for field in fields {
      parts.append(RowPart(text: field.name, style: Style(.faint), width: cells(field.name)))
      parts.append(
        RowPart(
          text: field.name == "text" ? "“\(field.value)”" : field.value,
          style: field.name == "text" ? Style(.plain, .bold) : .plain, width: nil))
    }
    return parts
  }
}

extension StoredDetail {
  /// Cells that it takes, with its name and what stands between.
  fileprivate var used: Int { cells(name) + cells(plainText(String(value.unicodeScalars.prefix(100)))) + 3 }
}

/// What rows beneath a message have in common.
enum UnfoldedRows {
  /// The line that leads from row to row.
  static func stem(_ sign: String) -> [RowPart] {
    [RowPart(text: "", style: .plain, width: 2), RowPart(text: sign, style: Style(.faint), width: 1)]
  }

  static func parts(_ sign: String, _ text: String, _ style: Style) -> [RowPart] {
    stem(sign) + [RowPart(text: text, style: style, width: nil)]
  }

  /// The whole numbers of a JSON array, as far as they are any.
  static func numbers(_ list: String) -> [Int64] {
    list.split { "[], ".contains($0) }.prefix(10_000).compactMap { Int64($0) }
  }
}
