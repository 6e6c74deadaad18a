import IMEngine
import IMMetrics
package import IMOutput
import IMTerminal
import IMWire

/// A verdict as lines for a terminal: what was found, the worst message as a ladder, and the commands that go on from here.
///
///     ✗ 2 of 50 messages were lost (4.00 %)
///       captured 2025-10-09 08:53:20 to 08:55:08 (UTC), 599 packets, 8 connections
///     ✗ lost         2 from the client: the server's TCP received them, no answer was sent (peer)
///     ! heartbeats   1 of 13 heartbeats missed; sent every 29.4 s
package struct VerdictText {
  /// The most lines of a verdict at 80 columns, its ladder and its commands included.
  package static let maximumLines = 22
  /// The rows of the worst message's ladder, where there is room for them; and at least.
  private static let ladderRows = 7, leastLadderRows = 3
  /// Columns in front of what was found.
  private static let indent = 15

  private let width: Int
  private let isASCII: Bool, isColored: Bool

  /// A writer for a terminal of `width` columns, at least 40. With `isASCII`, what it draws itself is ASCII.
  package init(width: Int, isASCII: Bool, isColored: Bool) {
    self.width = max(40, width)
    (self.isASCII, self.isColored) = (isASCII, isColored)
  }

  /// Appends the verdict on `model`; the ladder is that of the message with the number `model.worst.exchange`.
  package func write(
    _ verdict: Verdict, _ model: ReportModel, ladder: Ladder? = nil, next commands: [String], to out: inout ByteWriter
  ) {
    let next = PastedCommands(commands.prefix(3), width: width).lines
    var lines = wrap(verdict.headline, width - 2).enumerated().map { i, text in
      Line(level: verdict.level, isHead: true, hasSign: i == 0, text: text)
    }
    lines += wrap(Self.captured(model), width - 2).map { Line(text: $0) }
    let room = Self.maximumLines - lines.count - next.count
    var drawn: [LadderLine] = []
    if let ladder, let worst = model.worst {
      drawn = ladder.excerpt(worst.exchange, count: Self.ladderRows, clock: model.zone)
    }
    let title = drawn.isEmpty ? 0 : 1
    let found = findings(verdict, room - title - min(drawn.count, Self.leastLadderRows))
    for line in lines + found { write(line, to: &out) }
    let rows = drawn.prefix(max(0, room - title - found.count))
    if !rows.isEmpty, let ladder {
      let lead = model.worst?.isHeartbeat == true ? "worst heartbeat: " : "worst message: "
      write(Line(text: fit(lead + ladder.title, width - 2)), to: &out)
      LadderText(isASCII: isASCII, width: width).write(Array(rows), to: &out)
    }
    for line in next {
      plain(line, to: &out)
      out.literal("\n")
    }
  }

  // MARK: Lines

  private struct Line {
    var level: Verdict.Level?
    /// Whether all of it has the color of its level, and whether its sign is drawn.
    var isHead = false, hasSign = true
    /// What follows the two columns of the sign.
    var text: String
  }

  /// The lines of what was found, at most `limit`: where there are more, every topic keeps its first ones.
  private func findings(_ verdict: Verdict, _ limit: Int) -> [Line] {
    let blocks = verdict.findings.map { finding in
      (finding: finding, lines: finding.sentences.flatMap { wrap($0, width - Self.indent) })
    }
    // One line of each, then what there is room for, from the first topic on.
    var kept = blocks.map { min(1, $0.lines.count) }
    for (i, block) in blocks.enumerated() {
      kept[i] += max(0, min(block.lines.count - kept[i], limit - kept.reduce(0, +)))
    }
    return Array(
      zip(blocks, kept).flatMap { block, count in
        block.lines.prefix(count).enumerated().map { i, line in
          let label = i == 0 ? block.finding.topic.label : ""
          let isCut = i + 1 == count && count < block.lines.count
          let text = isCut ? fit(line + (isASCII ? " ..." : " \u{2026}"), width - Self.indent) : line
          return Line(
            level: i == 0 ? block.finding.level : nil,
            text: label + String(repeating: " ", count: Self.indent - 2 - label.count) + text)
        }
      }.prefix(max(0, limit)))
  }

  /// When it was captured, and how much: `2025-10-09 08:53:20 to 08:55:08 UTC, 599 packets, 6 of 8 connections decoded`.
  private static func captured(_ model: ReportModel) -> String {
    let ledger = model.summary.ledger
    var parts: [String] = []
    if let (first, last) = model.captured {
      let offset = model.zone.offset(at: first.seconds)
      parts.append(
        "\(Words.moment(first, near: nil, model.zone)) to \(Words.moment(last, near: first, model.zone)) "
          + (offset == 0 ? "UTC" : LocalZone.text(of: offset)))
    }
    parts.append(count(ledger.packets, "packet"))
    parts.append("\(grouped(ledger.decodedConnections)) of \(count(ledger.connections, "connection")) decoded")
    return parts.joined(separator: ", ")
  }

  /// A text in lines of `width` columns. A word that fits in a line, such as the name of a file in a command, is not cut.
  private func wrap(_ text: String, _ width: Int) -> [String] {
    wrapped(text, cells: width, keepsWords: true).map { line in
      var line = line
      while line.last == " " { line.removeLast() }
      return String(line)
    }
  }

  /// A text of `width` columns at most, whose end says where something is left out.
  private func fit(_ text: String, _ width: Int) -> String {
    guard cells(text) > width else { return text }
    return prefix(text, cells: width - 1) + (isASCII ? "~" : "\u{2026}")
  }

  private func sign(_ level: Verdict.Level) -> String {
    switch level {
    case .good: isASCII ? "+" : "\u{2713}"
    case .warning: "!"
    case .bad: isASCII ? "x" : "\u{2717}"
    case .unknown: "?"
    }
  }

  private func write(_ line: Line, to out: inout ByteWriter) {
    let isColored = isColored && line.level != nil
    if isColored { out.text("\u{1B}[\(line.isHead ? "1;" : "")\(line.level.map(Self.code) ?? 0)m") }
    out.text(line.level.map { line.hasSign ? sign($0) + " " : "  " } ?? "  ")
    if isColored, !line.isHead { out.literal("\u{1B}[0m") }
    plain(line.text, to: &out)
    if isColored, line.isHead { out.literal("\u{1B}[0m") }
    out.literal("\n")
  }

  /// The color of a level, as terminals number it.
  private static func code(_ level: Verdict.Level) -> UInt8 {
    switch level {
    case .good: 32
    case .warning: 33
    case .bad: 31
    case .unknown: 90
    }
  }

  /// Text that comes from traffic commands no terminal.
  private func plain(_ text: String, to out: inout ByteWriter) {
    var text = text
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), keepsBackslashes: true) }
  }
}
