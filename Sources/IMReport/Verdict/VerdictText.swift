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
  /// The rows of the worst message's ladder, where there is room for them; and at least: the row in front of it, and its own.
  private static let ladderRows = 7, leastLadderRows = 2
  /// The most lines of the ladder's title: names in traffic may be long.
  private static let titleLines = 2
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
    let least = drawn(ladder, model, room: room, rows: Self.leastLadderRows)
    let found = findings(verdict, room - (least?.count ?? 0))
    for line in lines + found { write(line, to: &out) }
    if let drawn = drawn(ladder, model, room: room - found.count, rows: Self.ladderRows) {
      for line in drawn.title { write(Line(text: line), to: &out) }
      LadderText(isASCII: isASCII, width: width).write(drawn.rows, to: &out)
    }
    for line in next {
      plain(line, to: &out)
      out.literal("\n")
    }
  }

  // MARK: The ladder

  /// The title and the rows of the worst message's ladder.
  private struct Drawn {
    var title: [String], rows: [String]
    var count: Int { title.count + rows.count }
  }

  /// The ladder with at most `limit` rows, in at most `room` lines; `nil` where there is no message, or no room for it.
  private func drawn(_ ladder: Ladder?, _ model: ReportModel, room: Int, rows limit: Int) -> Drawn? {
    guard let ladder, let worst = model.worst else { return nil }
    let lead = worst.isHeartbeat ? "worst heartbeat: " : "worst message: "
    var title = wrap(lead + ladder.title, width - 2)
    if title.count > Self.titleLines {
      title = title.prefix(Self.titleLines - 1) + [fit(title[Self.titleLines - 1] + ellipsis, width - 2)]
    }
    for count in (Self.leastLadderRows...max(Self.leastLadderRows, limit)).reversed() {
      let lines = ladder.excerpt(worst.exchange, count: count, clock: model.zone)
      guard !lines.isEmpty else { return nil }
      let rows = LadderText(isASCII: isASCII, width: width).texts(lines)
      if title.count + rows.count <= room { return Drawn(title: title, rows: rows) }
    }
    return nil
  }

  // MARK: Lines

  private struct Line {
    var level: Verdict.Level?
    /// Whether all of it has the color of its level, and whether its sign is drawn.
    var isHead = false, hasSign = true
    /// What follows the two columns of the sign.
    var text: String
  }

  /// The lines of what was found, at most `limit`. Where there are more, sentences are left out as a whole, and the last line of the
  /// topic says so. Each topic keeps its first sentence; only a first sentence for which there is no room is cut.
  private func findings(_ verdict: Verdict, _ limit: Int) -> [Line] {
    let blocks = verdict.findings.map { finding in
      (finding: finding, sentences: Self.ordered(finding).map { wrap($0, width - Self.indent) })
    }
    var kept = blocks.map { $0.sentences.first ?? [] }
    func used() -> Int { kept.reduce(0) { $0 + $1.count } }
    // The longest first sentences lose lines until there is one of each topic.
    while used() > limit, let longest = kept.indices.max(by: { kept[$0].count < kept[$1].count }),
      kept[longest].count > 1
    {
      let line = kept[longest][kept[longest].count - 2]
      kept[longest].removeLast(2)
      kept[longest].append(fit(line + ellipsis, width - Self.indent))
    }
    // Then what there is room for, from the first topic on; of what was not read last, since it may be long.
    let order = blocks.indices.sorted { !blocks[$0].finding.isLong && blocks[$1].finding.isLong }
    for i in order {
      let (finding, others) = (blocks[i].finding, blocks[i].sentences.dropFirst())
      let lines = more(finding, others, limit - used())
      kept[i] += lines
      // Without room for that, an ellipsis follows the first sentence.
      guard lines.isEmpty, others.count > finding.footnotes, let last = kept[i].popLast() else { continue }
      kept[i].append(fit(last + ellipsis, width - Self.indent))
    }
    let lines = zip(blocks, kept).flatMap { block, lines in
      lines.enumerated().map { i, line in
        let label = i == 0 ? block.finding.topic.label : ""
        return Line(
          level: i == 0 ? block.finding.level : nil,
          text: label + String(repeating: " ", count: Self.indent - 2 - label.count) + line)
      }
    }
    return Array(lines.prefix(max(0, limit)))
  }

  /// The lines of a finding's further sentences, at most `limit`. If some are left out that are no footnotes, the last line says so.
  private func more(_ finding: Verdict.Finding, _ sentences: ArraySlice<[String]>, _ limit: Int) -> [String] {
    if sentences.joined().count <= limit { return Array(sentences.joined()) }
    var kept: [[String]] = []
    let footnotes = min(finding.footnotes, sentences.count)
    func count(_ left: Int) -> Int { kept.joined().count + (left > footnotes ? 1 : 0) }
    for sentence in sentences {
      kept.append(sentence)
      guard count(sentences.count - kept.count) > limit else { continue }
      kept.removeLast()
      break
    }
    let left = sentences.count - kept.count - footnotes
    if left > 0, count(left + footnotes) <= limit { kept.append(["\(left) more: imdump why --json"]) }
    return Array(kept.joined())
  }

  /// The sentences of a finding. Of what was not read, facts come before advice.
  private static func ordered(_ finding: Verdict.Finding) -> [String] {
    guard finding.isLong else { return finding.sentences }
    let parts = finding.sentences.map(parts)
    return parts.map(\.fact) + parts.compactMap(\.advice)
  }

  /// What comes before the first period that a capital follows, and what comes after it.
  private static func parts(_ text: String) -> (fact: String, advice: String?) {
    for at in text.indices where text[at] == "." {
      let rest = text[at...].dropFirst()
      guard rest.first == " ", let next = rest.dropFirst().first, ("A"..."Z").contains(next) else { continue }
      return (String(text[..<at]), String(rest.dropFirst()))
    }
    return (text, nil)
  }

  private var ellipsis: String { isASCII ? " ..." : " \u{2026}" }

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
  private func wrap(_ text: String, _ width: Int) -> [String] { LadderText.wrapped(text, width) }

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
