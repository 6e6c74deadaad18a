import IMEngine
package import IMMetrics
package import IMWire
import IMTerminal

/// The figures of a run over time, a line for each period: `imdump stats --per`.
package struct PeriodWriter {
  /// When a period begins and ends, in seconds since 1970, by its number.
  package typealias Bounds = (_ number: Int64) -> (start: Int64, end: Int64)

  /// Columns of text, and the width of each where lines are live and cannot wait for the widest cell.
  private static let columns: [(name: String, width: Int)] = [
    ("messages", 9), ("success", 8), ("loss", 7), ("open", 5), ("retries", 7), ("rejected", 8), ("p50", 8), ("p99", 8),
    ("max ms", 9), ("hb missed", 9), ("missing bytes", 13), ("frames", 9), ("bytes", 11),
  ]
  /// Those of connections, which are known when these have ended.
  private static let ended = ["opened", "failed", "reset"]
  /// Lines of a live run behind which the header stands again.
  private static let headerEvery = 20

  private let isJSON: Bool
  private let isLive: Bool
  private let hasChecksums: Bool
  private let bounds: Bounds
  private var times: TimeText
  private var lines = 0
  private var lastEnd: Int64?
  /// The table of a run that is over.
  private var table = TextTable(["from"] + Self.columns.map(\.name) + Self.ended)

  /// A writer. `isLive`: connections may end later, so nothing is told of them. `hasChecksums`: whether a profile has some.
  package init(isJSON: Bool, isLive: Bool, hasChecksums: Bool, zone: LocalZone, bounds: @escaping Bounds) {
    self.isJSON = isJSON
    self.isLive = isLive
    self.hasChecksums = hasChecksums
    self.bounds = bounds
    times = TimeText(.timeOfDay, zone)
  }

  /// Adds a period: live, and as JSON, it is a line of `out`.
  package mutating func write(_ number: Int64, _ row: PeriodSeries.Row, to out: inout ByteWriter) {
    let (start, end) = bounds(number)
    if isJSON { return object(row, start, end, to: &out) }
    if let lastEnd, start > lastEnd { line(["\(Self.span(start - lastEnd)) of silence"], to: &out) }
    lastEnd = end
    if isLive, lines % Self.headerEvery == 0 { line(["from"] + Self.columns.map(\.name), to: &out) }
    lines += 1
    var time = ByteWriter(capacity: 32)
    times.date(Timestamp(seconds: start, fraction: 0), to: &time)
    // Day and second: periods begin at whole ones.
    let text = String(time.text.prefix(19)).split(separator: "T").joined(separator: " ")
    line([text] + cells(row), to: &out)
  }

  /// Adds what was counted when there was no room for another period.
  package mutating func write(others row: PeriodSeries.Row, to out: inout ByteWriter) {
    if isJSON { return object(row, nil, nil, to: &out) }
    line(["later"] + cells(row), to: &out)
  }

  /// Appends the table, `width` columns wide, of a run that is over.
  package func finish(width: Int?, to out: inout ByteWriter) {
    if !isJSON, !isLive { table.write(to: &out, width: width) }
  }

  // MARK: Text

  private mutating func line(_ cells: [String], to out: inout ByteWriter) {
    guard isLive else { return table.add(cells) }
    var text = cells[0]
    if cells.count > 1 { text += String(repeating: " ", count: max(0, 19 - text.count)) }
    for (cell, column) in zip(cells.dropFirst(), Self.columns) {
      let width = max(column.width, column.name.count)
      text += " " + String(repeating: " ", count: max(0, width - cell.count)) + cell
    }
    out.text(text)
    out.literal("\n")
  }

  private func cells(_ row: PeriodSeries.Row) -> [String] {
    let metrics = row.metrics
    let both = metrics.messages.both
    let trips = metrics.roundTrips
    func time(_ value: Int64?) -> String {
      guard let value else { return "-" }
      var text = ByteWriter(capacity: 32)
      text.milliseconds(value)
      return text.text
    }
    var cells = [
      grouped(row.sent), share(metrics.ratios.success), share(metrics.ratios.loss),
      grouped(row.open + UInt64(both.pending)), grouped(metrics.frames.retries), grouped(UInt64(both.rejected)),
      time(trips.percentile(50)), time(trips.percentile(99)), time(trips.maximum), grouped(metrics.heartbeats.missed),
      grouped(row.missingBytes), grouped(metrics.frames.frames[0] + metrics.frames.frames[1]),
      grouped(metrics.frames.bytes[0] + metrics.frames.bytes[1]),
    ]
    guard !isLive else { return cells }
    let connections = metrics.connections
    cells += [connections.opened, connections.refused + connections.timedOut, connections.reset].map(grouped)
    return cells
  }

  private func share(_ ratio: Double?) -> String { ratio.map { percent($0) } ?? "-" }

  /// `1 h 2 min 10 s`.
  private static func span(_ seconds: Int64) -> String {
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")].filter { $0.0 > 0 }
    return parts.map { "\($0.0) \($0.1)" }.joined(separator: " ")
  }

  // MARK: JSON

  /// `{"start_us":...,"end_us":...,"sent":...,"open":...,"frames":...}` and the figures of the catalogue.
  private func object(_ row: PeriodSeries.Row, _ start: Int64?, _ end: Int64?, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { members(row, start, end, &$0) }
  }

  private func members(_ row: PeriodSeries.Row, _ start: Int64?, _ end: Int64?, _ lines: inout JSONLines) {
    if let start, let end {
      lines.number("start_us", UInt64(max(0, start)) * 1_000_000)
      lines.number("end_us", UInt64(max(0, end)) * 1_000_000)
    } else {
      lines.flag("others", true)
    }
    lines.number("sent", row.sent)
    lines.number("open", row.open + UInt64(row.metrics.messages.both.pending))
    lines.number("frames", row.metrics.frames.frames[0] + row.metrics.frames.frames[1])
    lines.number("missing_bytes", row.missingBytes)
    FigureTrees.period.write(
      IntervalSnapshot(row.metrics, hasChecksums: hasChecksums), &lines, isWanted: { !isLive || $0 != "connections" })
  }
}
