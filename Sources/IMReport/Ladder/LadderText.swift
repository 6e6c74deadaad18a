package import IMOutput
import IMTerminal

/// A ladder as text: the client on the left, the server on the right.
///
///         time            client                             server
///       +3.120            │──── text 78 ─────────────────────────→│  no answer (network)
///       +6.120      R1    │┄┄┄┄ text 78 retry Δ3.0 s ┄┄┄┄┄┄┄┄┄┄┄┄→│
package struct LadderText {
  /// What lines are drawn with.
  private struct Signs {
    let side: String, line: String, dashed: String, right: String, left: String
  }

  private let signs: Signs
  private let isASCII: Bool
  /// Columns between the two sides, and of a whole line; `nil` for lines of any length.
  private let arrowWidth: Int, width: Int?
  /// Columns of a line's time.
  private let timeWidth: Int

  /// A writer; with `isASCII`, lines hold ASCII only. Lines have at most `width` columns, if there is one.
  package init(isASCII: Bool, width: Int? = nil) {
    self.isASCII = isASCII
    self.width = width
    arrowWidth = width.map { max(20, min(50, $0 - 48)) } ?? 50
    timeWidth = width == nil ? 11 : 12
    signs =
      isASCII
      ? Signs(side: "|", line: "-", dashed: ".", right: ">", left: "<")
      : Signs(side: "│", line: "─", dashed: "┄", right: "→", left: "←")
  }

  /// Appends the ladder.
  package func write(_ ladder: Ladder, to out: inout ByteWriter) {
    line(ladder.title, to: &out)
    let client = pad("client", arrowWidth - 6)
    line(pad("", timeWidth - 4) + "time       " + client + "server", to: &out)
    write(ladder.lines, to: &out)
  }

  /// Appends lines of a ladder.
  package func write(_ lines: [LadderLine], to out: inout ByteWriter) {
    for one in lines { line(text(one), to: &out) }
  }

  private func text(_ line: LadderLine) -> String {
    let front = padLeft(line.time, timeWidth) + " " + padLeft(line.mark, 4) + "  "
    var label = isASCII ? ascii(line.label) : line.label
    if width != nil { label = fit(label, arrowWidth - 6) }
    let remark = line.remark.isEmpty ? "" : "  " + line.remark
    switch line.form {
    case .silence:
      return front + signs.dashed + " " + label + " " + signs.dashed
    case .note:
      return front + signs.side + pad(" " + label, arrowWidth) + signs.side
    case .message, .copy, .answer:
      let stroke = line.form == .copy ? signs.dashed : signs.line
      let body = repeated(stroke, width == nil ? 4 : 2) + " " + label + " "
      let fill = max(1, arrowWidth - 1 - cells(body))
      let arrow =
        line.isFromClient
        ? body + repeated(stroke, fill) + signs.right
        : signs.left + body + repeated(stroke, fill)
      return front + signs.side + arrow + signs.side + remark
    }
  }

  /// Text that comes from traffic commands no terminal.
  private func line(_ text: String, to out: inout ByteWriter) {
    var text = text
    if let width { text = fit(text, width) }
    while text.last == " " { text.removeLast() }
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), keepsBackslashes: true) }
    out.literal("\n")
  }

  private func ascii(_ text: String) -> String { String(text.map { $0 == "Δ" ? "+" : $0 }) }
  private func repeated(_ sign: String, _ count: Int) -> String { String(repeating: sign, count: max(0, count)) }
  private func pad(_ text: String, _ width: Int) -> String { text + repeated(" ", width - cells(text)) }
  private func padLeft(_ text: String, _ width: Int) -> String { repeated(" ", width - cells(text)) + text }
  /// A text of `width` columns at most, whose end says where something is left out.
  private func fit(_ text: String, _ width: Int) -> String {
    cells(text) > width ? prefix(text, cells: width - 1) + (isASCII ? "~" : "…") : text
  }
}
