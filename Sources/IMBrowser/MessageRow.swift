import IMStore
import IMTerminal
import IMWire

/// A message in one row.
struct MessageRow: RowViewModel {
  let item: MessageItem
  /// Whether its text stands in the row, and not in rows of its own.
  var showsText = true

  func parts(_ layout: RowLayout) -> [RowPart] {
    let message = item.message
    let style: Style =
      switch item.mark {
      case "!": Style(.alarm)
      case "R", "~": Style(.warning)
      default: .plain
      }
    var parts = [RowPart(text: item.mark, style: style.with(.bold), width: 1)]
    if layout.width >= 56 {
      parts.append(RowPart(text: String(message.id), style: Style(.faint), width: 8, isRight: true))
    }
    parts.append(RowPart(text: item.time, style: .plain, width: 12))
    parts.append(RowPart(text: message.direction == .clientToServer ? "→" : "←", style: Style(.faint), width: 1))
    if layout.showsClient, layout.width >= 100 {
      parts.append(RowPart(text: item.client, style: Style(.name), width: 21))
    }
    parts.append(RowPart(text: message.type, style: Style(.name), width: layout.width >= 56 ? 14 : 8))
    if layout.width >= 70, let sequence = message.sequence {
      parts.append(RowPart(text: "seq=\(sequence)", style: .plain, width: 12))
    } else if layout.width >= 70 {
      parts.append(RowPart(text: "", style: .plain, width: 12))
    }
    if layout.width >= 120 {
      parts.append(RowPart(text: "\(message.byteCount) B", style: .plain, width: 9, isRight: true))
    }
    parts.append(RowPart(text: item.outcome, style: style, width: nil))
    if showsText, !item.text.isEmpty { parts.append(RowPart(text: "“\(item.text)”", style: .plain, width: nil)) }
    return parts
  }
}

/// A time in which no message of the list came.
struct PauseRow: RowViewModel {
  /// Nanoseconds without a message from which on it is told.
  private static let shortest: Int64 = 10_000_000_000

  private let text: String

  /// The row between two messages; `nil` where the pause is short.
  init?(between first: MessageItem, and second: MessageItem) {
    let pause = second.message.time.nanoseconds(since: first.message.time)
    guard pause >= Self.shortest else { return nil }
    let tenths = pause / 100_000_000
    text = "┄ \(tenths / 10).\(tenths % 10) s without a message ┄"
  }

  func parts(_ layout: RowLayout) -> [RowPart] {
    [RowPart(text: "", style: .plain, width: 3), RowPart(text: text, style: Style(.faint), width: nil)]
  }
}
