import IMEngine
import IMStore
import IMTerminal
import IMWire

/// A message in one row, whatever became of it.
struct MessageRow: RowViewModel {
  static var place: RowPlace { .line }
  static func rows(_ context: RowContext) -> [any RowViewModel] { [MessageRow(item: context.item)] }

  let item: MessageItem

  func parts(_ layout: RowLayout) -> [RowPart] {
    line(layout, style: item.mark == "~" ? Style(.warning) : .plain)
  }

  /// The columns of a message's row. `style` is that of the mark and of what became of it.
  func line(_ layout: RowLayout, style: Style, faint: Bool = false) -> [RowPart] {
    let plain = faint ? Style(.faint) : .plain, name = faint ? Style(.faint) : Style(.name)
    var parts = columns(layout, style: style, plain: plain, name: name)
    if layout.showsTexts, !layout.hasTopicColumn, !item.topic.isEmpty {
      parts.append(RowPart(text: item.topic, style: name, width: nil))
    }
    if layout.showsTexts, !item.text.isEmpty, !item.wraps(in: layout) {
      parts.append(RowPart(text: "“\(item.text)”", style: plain, width: nil))
    }
    return parts
  }

  /// The columns in front of the text.
  func columns(_ layout: RowLayout, style: Style, plain: Style, name: Style) -> [RowPart] {
    let message = item.message
    let isWide = layout.width >= 120, isNarrow = layout.width < 70
    var parts = [RowPart(text: item.mark, style: style.with(.bold), width: 1)]
    if layout.width >= 56 {
      // In a row this narrow, few captures need a wider column.
      let number = String(message.id)
      let width = isWide ? 8 : max(5, number.utf8.count)
      parts.append(RowPart(text: number, style: Style(.faint), width: width, isRight: true))
    }
    parts.append(RowPart(text: item.time, style: plain, width: 12))
    parts.append(RowPart(text: message.direction == .clientToServer ? "→" : "←", style: Style(.faint), width: 1))
    if layout.showsClient, layout.width >= 100 {
      parts.append(RowPart(text: item.client, style: name, width: 21))
    }
    if layout.hasTopicColumn {
      let type = item.topic.isEmpty ? message.type : "\(message.type) \(item.topic)"
      parts.append(RowPart(text: type, style: name, width: isWide ? 28 : 24))
    } else {
      parts.append(RowPart(text: message.type, style: name, width: isWide ? 14 : isNarrow ? 8 : 12))
    }
    if !isNarrow {
      let sequence = message.sequence.map { (isWide ? "seq=" : "") + $0 } ?? ""
      parts.append(RowPart(text: sequence, style: plain, width: isWide ? 12 : 10))
    }
    if isWide {
      parts.append(RowPart(text: "\(message.byteCount) B", style: plain, width: 9, isRight: true))
    }
    // In a narrow row, the text matters more than the time of reading.
    let hasReceipts = isWide || !layout.showsTexts || item.text.isEmpty
    if isNarrow {
      let words = [item.roundTrip, item.retries].filter { !$0.isEmpty }
      let room = Self.room(layout, parts) - words.reduce(0) { $0 + cells($1) + 1 }
      let text = ([item.outcome(width: room, isShort: !isWide, hasReceipts: hasReceipts)] + words).joined(
        separator: " ")
      parts.append(RowPart(text: text, style: style, width: nil))
    } else {
      parts.append(RowPart(text: item.retries, style: style, width: isWide ? 3 : 2))
      parts.append(RowPart(text: item.roundTrip, style: plain, width: 8, isRight: true))
      let text = item.outcome(width: Self.room(layout, parts), isShort: !isWide, hasReceipts: hasReceipts)
      parts.append(RowPart(text: text, style: style, width: nil))
    }
    return parts
  }

  /// The cells that are left in a row after its columns.
  private static func room(_ layout: RowLayout, _ columns: [RowPart]) -> Int {
    layout.width - columns.reduce(0) { $0 + ($1.width ?? cells($1.text)) + 1 }
  }
}

/// A message that failed: without an answer, rejected or damaged.
struct ErrorRow: RowViewModel {
  static var place: RowPlace { .line }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    context.item.mark == "!" ? [ErrorRow(row: MessageRow(item: context.item))] : []
  }

  let row: MessageRow

  func parts(_ layout: RowLayout) -> [RowPart] { row.line(layout, style: Style(.alarm)) }
}

/// A message that was sent more than once.
struct RetryRow: RowViewModel {
  static var place: RowPlace { .line }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    context.item.mark == "R" ? [RetryRow(row: MessageRow(item: context.item))] : []
  }

  let row: MessageRow

  func parts(_ layout: RowLayout) -> [RowPart] { row.line(layout, style: Style(.warning)) }
}

/// A heartbeat: nobody said anything by it.
struct HeartbeatRow: RowViewModel {
  static var place: RowPlace { .line }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    context.item.message.role == .heartbeat && context.item.mark == " "
      ? [HeartbeatRow(row: MessageRow(item: context.item))] : []
  }

  let row: MessageRow

  func parts(_ layout: RowLayout) -> [RowPart] { row.line(layout, style: Style(.faint), faint: true) }
}

/// A message with its answer: a pair, and the time between them.
struct AnsweredRow: RowViewModel {
  static var place: RowPlace { .line }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    context.item.mark == " " && context.item.message.latency != nil
      ? [AnsweredRow(row: MessageRow(item: context.item))] : []
  }

  let row: MessageRow

  func parts(_ layout: RowLayout) -> [RowPart] { row.line(layout, style: .plain) }
}

/// A time in which no message of the list came.
struct PauseRow: RowViewModel {
  /// Nanoseconds without a message from which on it is told.
  private static let shortest: Int64 = 10_000_000_000

  static var place: RowPlace { .before }
  static func rows(_ context: RowContext) -> [any RowViewModel] {
    guard let previous = context.previous else { return [] }
    let pause = context.item.message.time.nanoseconds(since: previous.message.time)
    guard pause >= shortest else { return [] }
    let tenths = pause / 100_000_000
    return [PauseRow(text: "┄ \(tenths / 10).\(tenths % 10) s without a message ┄")]
  }

  let text: String

  func parts(_ layout: RowLayout) -> [RowPart] {
    [RowPart(text: "", style: .plain, width: 3), RowPart(text: text, style: Style(.faint), width: nil)]
  }
}
