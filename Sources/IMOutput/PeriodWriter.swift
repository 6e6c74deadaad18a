import IMEngine
package import IMMetrics
package import IMWire
import IMTerminal

/// The figures of a run over time, a line for each period: `imdump stats --per`.
package struct PeriodWriter {
  /// When a period begins and ends, in seconds since 1970, by its number.
  package typealias Bounds = (_ number: Int64) -> (start: Int64, end: Int64)

  /// Lines of a live run behind which the header stands again.
  private static let headerEvery = 20

  private let isJSON: Bool
  private let isLive: Bool
  private let hasChecksums: Bool
  private let width: Int?
  private let bounds: Bounds
  private let zone: LocalZone
  private var times: TimeText
  private var lines = 0
  /// When the first period of text began, in seconds since 1970.
  private var firstStart: Int64?
  private var lastEnd: Int64?
  /// Columns of text. Those of connections, which are known when these have ended, are no part of lines that are live.
  private let columns: MetricColumns<PeriodSnapshot>
  /// The table of a run that is over.
  private var table: TextTable

  /// Creates a writer. With `isLive`, connections may end later, so their columns are left out. `hasChecksums` is whether a profile has some, and
  /// `width` is that of the terminal, if lines are printed on one.
  package init(
    isJSON: Bool, isLive: Bool, hasChecksums: Bool, zone: LocalZone, width: Int? = nil, bounds: @escaping Bounds
  ) {
    self.width = width
    self.isJSON = isJSON
    self.isLive = isLive
    self.hasChecksums = hasChecksums
    self.bounds = bounds
    self.zone = zone
    times = TimeText(.timeOfDay, zone)
    columns = MetricColumns(.periods, Catalogue.periods) { !isLive || $0.moment != .end }
    table = TextTable(["from"] + columns.titles)
  }

  /// Adds a period: live, and as JSON, it is a line of `out`.
  package mutating func write(_ number: Int64, _ row: PeriodSeries.Row, to out: inout ByteWriter) {
    let (start, end) = bounds(number)
    if isJSON { return object(row, start, end, to: &out) }
    if let lastEnd, start > lastEnd { line(["\(Self.span(start - lastEnd)) of silence"], to: &out) }
    lastEnd = end
    if isLive, lines % Self.headerEvery == 0 { line(header(from: start, to: start), to: &out) }
    if firstStart == nil { firstStart = start }
    lines += 1
    if !isLive { table.header = header(from: firstStart ?? start, to: start) }
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

  /// Appends the table of a run that is over.
  package func finish(to out: inout ByteWriter) {
    if !isJSON, !isLive { table.write(to: &out, width: width) }
  }

  // MARK: Text

  /// Appends a line of a live run. On a terminal that is narrower, its columns go on in further lines, beneath the first column.
  private mutating func line(_ cells: [String], to out: inout ByteWriter) {
    guard isLive else { return table.add(cells) }
    var text = cells[0], end = Self.timeWidth
    if cells.count > 1 { text += String(repeating: " ", count: max(0, Self.timeWidth - text.count)) }
    for (cell, width) in zip(cells.dropFirst(), columns.widths) {
      if let limit = self.width, end + 1 + width > limit, end > Self.timeWidth {
        out.text(text + "\n")
        (text, end) = (String(repeating: " ", count: Self.timeWidth), Self.timeWidth)
      }
      text += " " + String(repeating: " ", count: max(0, width - cell.count)) + cell
      end += 1 + width
    }
    out.text(text + "\n")
  }

  /// The header, which names the zone of periods that begin between these seconds.
  private func header(from first: Int64, to last: Int64) -> [String] {
    ["from \(zone.label(from: first, to: last))"] + columns.titles
  }

  /// Cells of a period's time.
  private static let timeWidth = 19

  private func cells(_ row: PeriodSeries.Row) -> [String] {
    columns.cells(PeriodSnapshot(row, hasChecksums: hasChecksums))
  }

  /// `1 h 2 min 10 s`.
  private static func span(_ seconds: Int64) -> String {
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")].filter { $0.0 > 0 }
    return parts.map { "\($0.0) \($0.1)" }.joined(separator: " ")
  }

  // MARK: JSON

  /// `{"start_us":...,"time":...,"end_us":...,"sent":...,"open":...,"frames":...}` and the figures of the catalogue.
  private func object(_ row: PeriodSeries.Row, _ start: Int64?, _ end: Int64?, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { members(row, start, end, &$0) }
  }

  private func members(_ row: PeriodSeries.Row, _ start: Int64?, _ end: Int64?, _ lines: inout JSONLines) {
    if let start, let end {
      lines.number("start_us", UInt64(max(0, start)) * 1_000_000)
      lines.instant("time", Timestamp(seconds: max(0, start), fraction: 0))
      lines.number("end_us", UInt64(max(0, end)) * 1_000_000)
    } else {
      lines.flag("others", true)
    }
    MetricTrees.period.write(
      PeriodSnapshot(row, hasChecksums: hasChecksums), &lines, isWanted: { !isLive || $0 != "connections" })
  }
}
