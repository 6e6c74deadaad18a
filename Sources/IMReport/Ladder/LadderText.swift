package import IMOutput

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

  private static let arrowWidth = 50
  private static let timeWidth = 11
  private let signs: Signs
  private let isASCII: Bool

  /// A writer; with `isASCII`, lines hold ASCII only.
  package init(isASCII: Bool) {
    self.isASCII = isASCII
    signs =
      isASCII
      ? Signs(side: "|", line: "-", dashed: ".", right: ">", left: "<")
      : Signs(side: "│", line: "─", dashed: "┄", right: "→", left: "←")
  }

  /// Appends the ladder; at most so many lines of `width` columns, if there is one.
  package func write(_ ladder: Ladder, to out: inout ByteWriter) {
    line(ladder.title, to: &out)
    let client = pad("client", Self.arrowWidth - 6)
    line(pad("", Self.timeWidth - 4) + "time       " + client + "server", to: &out)
    for one in ladder.lines { line(text(one), to: &out) }
  }

  private func text(_ line: LadderLine) -> String {
    let front = padLeft(line.time, Self.timeWidth) + " " + padLeft(line.mark, 4) + "  "
    let label = isASCII ? ascii(line.label) : line.label
    let remark = line.remark.isEmpty ? "" : "  " + line.remark
    switch line.form {
    case .silence:
      return front + signs.dashed + " " + label + " " + signs.dashed
    case .note:
      return front + signs.side + pad(" " + label, Self.arrowWidth) + signs.side
    case .message, .copy, .answer:
      let stroke = line.form == .copy ? signs.dashed : signs.line
      let body = repeated(stroke, 4) + " " + label + " "
      let fill = max(1, Self.arrowWidth - 1 - body.count)
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
    while text.last == " " { text.removeLast() }
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), keepsBackslashes: true) }
    out.literal("\n")
  }

  private func ascii(_ text: String) -> String { String(text.map { $0 == "Δ" ? "+" : $0 }) }
  private func repeated(_ sign: String, _ count: Int) -> String { String(repeating: sign, count: max(0, count)) }
  private func pad(_ text: String, _ width: Int) -> String { text + repeated(" ", width - text.count) }
  private func padLeft(_ text: String, _ width: Int) -> String { repeated(" ", width - text.count) + text }
}
