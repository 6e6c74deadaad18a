import IMEngine
package import IMMetrics
import IMTerminal
package import IMWire

/// Writes connections as a table: a heading, and one line a connection.
///
///      #  start         seconds  client              server             protocol  bytes c2s  ...  lost  end
///      1  08:53:20.459   61.123  192.0.2.77:50110    203.0.113.10:8080  tjp           10234  ...     1  rst by server
///
/// It goes through the rows twice and keeps no text of them. On a terminal it has the columns that fit, the most important first.
package struct ConnectionTable {
  private let columns = ConnectionColumns()
  private let profiles: [String]
  private let zone: LocalZone
  private let width: Int?
  /// The heading of the last part that was written.
  private var heading: String?

  /// A table for a terminal of `width` columns; `nil` for no limit. `profiles` are the names of the plans.
  package init(profiles: [String], zone: LocalZone, width: Int?) {
    self.profiles = profiles
    self.zone = zone
    self.width = width
  }

  /// The columns that are shown with their widths, the style of their cells, and the spaces between them.
  private struct Layout {
    var columns: [(column: ConnectionColumns.Column, width: Int)]
    var style: ConnectionColumns.Style
    var gap: Int
  }

  /// Appends the table of `rows`.
  package func write(_ rows: some Collection<ListedConnection>, to out: inout ByteWriter) {
    let layout = layout(rows)
    out.text(heading(layout))
    write(rows, layout, to: &out) { _ in }
  }

  /// Appends a part of a table. It has a heading of its own if its columns are not those of the part before. `flush` is called
  /// whenever 256 KiB are buffered.
  package mutating func write(
    part rows: some Collection<ListedConnection>, to out: inout ByteWriter, flush: (inout ByteWriter) -> Void
  ) {
    if rows.isEmpty, heading != nil { return }
    let layout = layout(rows)
    let heading = heading(layout)
    if heading != self.heading {
      if self.heading != nil { out.literal("\n") }
      out.text(heading)
      self.heading = heading
    }
    write(rows, layout, to: &out, flush: flush)
  }

  private func heading(_ layout: Layout) -> String {
    var out = ByteWriter(capacity: 512)
    write(layout.columns.map { ($0.column.title(layout.style), $0.column, $0.width) }, layout.gap, to: &out)
    return out.text
  }

  private func write(
    _ rows: some Collection<ListedConnection>, _ layout: Layout, to out: inout ByteWriter,
    flush: (inout ByteWriter) -> Void
  ) {
    for row in rows {
      write(layout.columns.map { ($0.column.cell(row, layout.style), $0.column, $0.width) }, layout.gap, to: &out)
      if out.count > 256 << 10 { flush(&out) }
    }
  }

  /// Appends the heading of a live list that begins at `first`; its columns have the width that they have for all rows.
  package func writeLiveHeading(from first: Timestamp, to out: inout ByteWriter) {
    var style = ConnectionColumns.Style(profiles: profiles, zone: zone)
    style.zoneLabel = zone.label(from: first.seconds, to: first.seconds)
    write(live.map { ($0.title(style), $0, max($0.live, $0.title.count)) }, 2, to: &out)
  }

  /// Appends one row of a live list.
  package func write(live row: ListedConnection, to out: inout ByteWriter) {
    let style = ConnectionColumns.Style(profiles: profiles, zone: zone)
    write(live.map { ($0.cell(row, style), $0, max($0.live, $0.title.count)) }, 2, to: &out)
  }

  private var live: [ConnectionColumns.Column] { columns.all }

  // MARK: What fits

  /// The widths, in cells, that a name of a server has at least and at most where there is little space, and that of an IPv4
  /// address with its port.
  private static let leastName = 12, longestName = 30, leastEnd = 21
  /// In terminals of this width or more, addresses are whole.
  private static let wide = 120

  private func layout(_ rows: some Collection<ListedConnection>) -> Layout {
    var style = ConnectionColumns.Style(profiles: profiles, zone: zone)
    let (first, last) = (rows.map(\.firstSeen).min(), rows.map(\.firstSeen).max())
    style.hasDate = Set([first, last].compactMap { $0 }.map(day)).count > 1
    if let first, let last { style.zoneLabel = zone.label(from: first.seconds, to: last.seconds) }
    let whole = measure(rows, style)
    guard let width, Self.total(whole.map(\.width), 2) > width else {
      return Layout(columns: whole, style: style, gap: 2)
    }
    style.isShort = true
    style.hasMilliseconds = width >= Self.wide
    // Where all go to one server, the line below the table names it.
    let server = Set(rows.map(\.info.server)).count == 1 && rows.count > 1
    let all = measure(rows, style).filter { !(server && $0.column.title == "server") }.map { column, natural in
      switch column.title {
      case "client", "server":
        (column, width < Self.wide ? min(natural, max(Self.leastEnd, (width - 20) / 2)) : natural)
      case "protocol": (column, min(natural, max(Self.leastName, min(Self.longestName, width / 5))))
      default: (column, natural)
      }
    }
    let idle = Set(
      all.map(\.0).filter { column in
        let idle = ConnectionColumns.answers.contains(column.title) ? ["", "-"] : ["", "-", "0"]
        return rows.allSatisfy { idle.contains(column.cell($0, style)) }
      }.map(\.title))
    // First the columns that say something; then, if there is space, the others.
    let groups = Dictionary(grouping: all) { $0.0.priority + (idle.contains($0.0.title) ? 100 : 0) }
    var chosen: Set<String> = []
    for (_, group) in groups.sorted(by: { $0.key < $1.key }) {
      let titles = chosen.union(group.map(\.0.title))
      let widths = all.filter { titles.contains($0.0.title) }.map(\.1)
      if Self.total(widths, 1) <= width || chosen.isEmpty { chosen = titles }
    }
    return Layout(columns: all.filter { chosen.contains($0.0.title) }.map { ($0.0, $0.1) }, style: style, gap: 1)
  }

  private func measure(
    _ rows: some Collection<ListedConnection>, _ style: ConnectionColumns.Style
  ) -> [(column: ConnectionColumns.Column, width: Int)] {
    columns.all.map { column in
      (column, rows.reduce(cells(column.title(style))) { max($0, cells(column.cell($1, style))) })
    }
  }

  private static func total(_ widths: [Int], _ gap: Int) -> Int {
    widths.reduce(0, +) + gap * max(0, widths.count - 1)
  }

  /// The number of its day in local time.
  private func day(_ at: Timestamp) -> Int64 {
    let second = at.seconds + Int64(zone.offset(at: at.seconds))
    return second / 86_400 - (second % 86_400 < 0 ? 1 : 0)
  }

  // MARK: Lines

  private func write(
    _ row: [(text: String, column: ConnectionColumns.Column, width: Int)], _ gap: Int, to out: inout ByteWriter
  ) {
    var spaces = 0
    for (i, (text, column, width)) in row.enumerated() {
      let text = column.live == 0 || width == 0 || cells(text) <= width || self.width == nil ? text : cut(text, width)
      let padding = max(0, width - cells(text))
      spaces += i == 0 ? 0 : gap
      if !column.isLeft { spaces += padding }
      if !text.isEmpty {
        // Spaces are written with the text that follows them: no line ends with one.
        for _ in 0..<spaces { out.byte(0x20) }
        spaces = 0
        out.text(text)
      }
      if column.isLeft { spaces += padding }
    }
    out.literal("\n")
  }

  /// `text` without its middle: an address ends with its port, and a name with its domain.
  private func cut(_ text: String, _ width: Int) -> String {
    let characters = Array(text)
    guard width > 4, characters.count > width else { return String(characters.prefix(max(0, width))) }
    let tail = (width - 1) / 2
    return String(characters.prefix(width - 1 - tail)) + "…" + String(characters.suffix(tail))
  }
}

extension ConnectionColumns.Column {
  /// The title in a table of this style.
  func title(_ style: ConnectionColumns.Style) -> String {
    let text = style.isShort ? short : title
    return title == "start" && !style.zoneLabel.isEmpty ? "\(text) \(style.zoneLabel)" : text
  }
}
