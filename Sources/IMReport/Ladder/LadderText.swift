package import IMOutput
import IMTerminal
package import IMWire

/// A ladder as text: the client on the left, the server on the right, and which packet a frame came in.
///
///        time packet       client                               server
///      +3.120      9       │──── text 78 ─────────────────────────→│  no answer (network)
///      +6.120     12   R1  │┄┄┄┄ text 78 retry Δ3.0 s ┄┄┄┄┄┄┄┄┄┄┄┄→│
package struct LadderText {
  /// The columns of a packet's number with the space in front of it, at least.
  private static let leastPacketWidth = 7
  /// The columns of a row beside its time, its packet's number and its arrow: the mark, and the two sides.
  private static let besideArrow = 9
  /// The columns of a usual remark, with the space in front of it; what an arrow with its label has, at least and at most.
  private static let usualRemark = 22, leastArrow = 20, mostArrow = 50

  /// What lines are drawn with.
  private struct Signs {
    let side: String, line: String, dashed: String, right: String, left: String
  }

  private let signs: Signs
  private let isASCII: Bool
  /// Columns between the two sides, and of a whole line; `nil` for lines of any length.
  private var arrowWidth: Int
  private let width: Int?
  /// Columns of a line's time.
  private var timeWidth: Int
  /// Columns of a packet's number with the space in front of it; 0 where none is written.
  private var packetWidth = 0
  /// The clock of times; without one, they are seconds since the connection began.
  private let clock: LocalZone?

  /// A writer; with `isASCII`, lines hold ASCII only. Lines have at most `width` columns, if there is one. The times of a whole ladder
  /// are those of `clock`; without one, seconds since the connection began.
  package init(isASCII: Bool, width: Int? = nil, clock: LocalZone? = nil) {
    self.isASCII = isASCII
    self.width = width
    self.clock = clock
    arrowWidth = Self.mostArrow
    timeWidth = width == nil ? 11 : 12
    signs =
      isASCII
      ? Signs(side: "|", line: "-", dashed: ".", right: ">", left: "<")
      : Signs(side: "│", line: "─", dashed: "┄", right: "→", left: "←")
  }

  /// Appends the ladder, with the numbers of packets. What is said beside an arrow has a line of its own where the width has no room
  /// for it.
  package func write(_ ladder: Ladder, to out: inout ByteWriter) {
    let lines = ladder.lines(clock: clock)
    var writer = self
    writer.packetWidth = max(Self.leastPacketWidth, 1 + (lines.compactMap(\.packet).max().map { "\($0)".count } ?? 0))
    writer.timeWidth = clock != nil ? 12 : width == nil ? 11 : 10
    // As many columns less as the numbers have; on a terminal, as many as a usual remark leaves.
    writer.arrowWidth = max(Self.leastArrow, Self.mostArrow - writer.packetWidth)
    writer.makeRoom(for: lines, remark: Self.usualRemark)
    for text in width.map({ Self.wrapped(ladder.title, $0) }) ?? [ladder.title] { line(text, to: &out) }
    let client = pad("client", writer.arrowWidth - 6)
    let head = pad("", writer.timeWidth - 4) + "time" + padLeft("packet", writer.packetWidth)
    line(head + "       " + client + "server", to: &out)
    for one in lines { for text in writer.texts(one) { line(text, to: &out) } }
  }

  /// Lines of a ladder as text, without the numbers of packets. What is said beside an arrow has a line of its own where the width has
  /// no room for it.
  func texts(_ lines: [LadderLine]) -> [String] {
    var writer = self
    writer.makeRoom(for: lines, remark: Self.usualRemark + 5)
    return lines.flatMap { writer.texts($0) }
  }

  /// Appends lines that `texts` has made.
  func write(_ texts: [String], to out: inout ByteWriter) {
    for text in texts { line(text, to: &out) }
  }

  /// Chooses the columns between the two sides on a terminal: enough for each label, and few enough for the remarks that fit beside
  /// them, or for one of `remark` columns.
  private mutating func makeRoom(for lines: [LadderLine], remark usual: Int) {
    guard let room = width.map({ $0 - timeWidth - packetWidth - Self.besideArrow }) else { return }
    let labels = lines.map { line in
      switch line.form {
      case .silence: 0
      case .note: cells(line.label) + 2
      case .message, .copy, .answer: cells(line.label) + 6
      }
    }
    let least = min(room, max(Self.leastArrow, labels.max() ?? 0))
    let remarks = lines.map { $0.remark.isEmpty ? 0 : cells($0.remark) + 2 }.filter { $0 <= room - least }
    arrowWidth = max(least, min(Self.mostArrow, room - max(usual, remarks.max() ?? 0)))
  }

  /// One line of a ladder, or two.
  private func texts(_ one: LadderLine) -> [String] {
    guard let width else { return [text(one)] }
    if one.form == .silence {
      let room = width - timeWidth - packetWidth - Self.besideArrow - 2
      var parts = [one.label]
      // What is said of a silence stands behind its length.
      if cells(one.label) > room, let colon = one.label.firstIndex(of: ":") {
        parts = [String(one.label[..<colon]), String(one.label[colon...].dropFirst(2))]
      }
      let labels = parts.flatMap { Self.wrapped($0, room) }
      return labels.indices.map { i in
        var line = one
        line.label = labels[i]
        if i > 0 { line.mark = "" }
        return text(line)
      }
    }
    let whole = text(one)
    guard cells(whole) > width, !one.remark.isEmpty else { return [whole] }
    var arrow = one
    arrow.remark = ""
    return [text(arrow), padLeft(one.remark, width)]
  }

  /// A text in lines of `width` columns. A word that fits in a line, such as the name of a file in a command, is not cut.
  static func wrapped(_ text: String, _ width: Int) -> [String] {
    IMTerminal.wrapped(text, cells: max(20, width), keepsWords: true).map { line in
      var line = line
      while line.last == " " { line.removeLast() }
      return String(line)
    }
  }

  private func text(_ line: LadderLine) -> String {
    let packet = packetWidth == 0 ? "" : padLeft(line.packet.map { "\($0)" } ?? "", packetWidth)
    let front = padLeft(line.time, timeWidth) + packet + " " + padLeft(line.mark, 4) + "  "
    var label = isASCII ? ascii(line.label) : line.label
    if width != nil, line.form != .note, line.form != .silence { label = fit(label, arrowWidth - 6) }
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
