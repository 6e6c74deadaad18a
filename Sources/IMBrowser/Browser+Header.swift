import IMOutput
import IMStore
import IMTerminal
import IMWire

/// What is above the list: the file and its totals, metrics over time, and the tabs.
extension Browser {
  /// Rows of a screen from which on there are tabs, and above lists totals in words and a graph with a time axis; from which on there
  /// is a preview beneath lists; and from which on there are small graphs as well.
  private static let fullHeight = 16, previewHeight = 24, tallHeight = 34
  /// Messages of a preview, at most: a tall screen is for the list.
  private static let previewLimit = 14

  /// Whether the screen is a list of the home, whose header says how the capture went.
  private var isHome: Bool {
    switch screen {
    case .problems, .sessions, .connections, .types: true
    case .messages, .frame, .ladder: false
    }
  }

  mutating func putHeader(_ grid: inout Grid) {
    let isFull = grid.height >= Self.fullHeight
    var row = 1
    if isFull, isHome {
      putTitle(&grid, spanTexts, isLoose: true, separator: " ")
      row = putTotals(&grid, from: row)
      putTimeline(&grid, row: row)
      row += 2
      if grid.height >= Self.tallHeight {
        putStrip(&grid, row: row, setsStep: false)
        row += 1
      }
    } else {
      putTitle(&grid, headline(width: grid.width), isLoose: false)
      putStrip(&grid, row: row)
      row += 1
    }
    tabRow = isFull ? row : nil
    if isFull {
      putTabs(&grid, row: row)
      row += 1
    }
    headingRow = row
  }

  // MARK: Title and totals

  /// The first row: the file, and of `parts` those that fit. `isLoose` says that they are as good at the end of the row.
  private func putTitle(_ grid: inout Grid, _ parts: [String], isLoose: Bool, separator: String = ", ") {
    let state = stateText(width: grid.width)
    let end = grid.width - (state.isEmpty ? 0 : cells(state) + 2)
    var at = grid.put(" imdump  ", row: 0, column: 0, style: Style(.plain, .bold))
    at += grid.put(source.title, row: 0, column: at, limit: max(8, isLoose ? grid.width / 2 : grid.width / 3))
    for (i, part) in parts.enumerated() {
      let text = (i == 0 ? "  " : separator) + part
      guard at + cells(text) < end else { break }
      at += grid.put(text, row: 0, column: at)
    }
    grid.restyle(row: 0, columns: 0..<grid.width) { $0.with(.reverse) }
    if !state.isEmpty {
      grid.put(" \(state) ", row: 0, column: max(0, end), style: Style(.warning, [.reverse, .bold]))
    }
  }

  private func stateText(width: Int) -> String {
    if progress.error != nil { return "✗ damaged" }
    if progress.isLive { return liveText(width: width) }
    return progress.isLoading ? "● \(progress.percent.map { "\($0) %" } ?? "reading")" : ""
  }

  /// Whether totals are known: while the store is written, its sums are behind its rows.
  private var hasTotals: Bool { !(totals.sessions == 0 && (sessionsShown == nil || progress.isLoading)) }

  private func counted(_ count: Int64, _ noun: String) -> String {
    "\(grouped(UInt64(max(0, count)))) \(noun)\(count == 1 ? "" : "s")"
  }

  /// The totals of a title that has one row.
  private func headline(width: Int) -> [String] {
    guard hasTotals else { return [] }
    let lost = "\(grouped(UInt64(max(0, totals.lost)))) lost"
    if width < 60 { return [counted(totals.messages, "msg"), lost] }
    var parts = [counted(Int64(totals.sessions), "session"), counted(totals.messages, "message"), lost]
    if totals.rejected > 0 { parts.append("\(grouped(UInt64(totals.rejected))) rejected") }
    if let heartbeats = heartbeatText { parts.append(heartbeats) }
    if let first = totals.connections.first, let last = totals.connections.last {
      parts.append("times \(zone.label(from: first.seconds, to: last.seconds))")
    }
    return parts
  }

  private var heartbeatText: String? {
    guard totals.heartbeats > 0 else { return nil }
    return
      "\(grouped(UInt64(max(0, totals.lostHeartbeats)))) of \(counted(totals.heartbeats, "heartbeat")) missed"
  }

  /// A time in microseconds, from ten milliseconds on in whole ones.
  private static func rounded(_ microseconds: Int64) -> String {
    (10_000..<1_000_000).contains(microseconds) ? "\((microseconds + 500) / 1_000) ms" : Words.shortLength(microseconds)
  }

  /// The totals in words.
  private var totalTexts: [String] {
    guard hasTotals else { return [] }
    let connections = totals.connections
    var ends = [("refused", "refused"), ("timeout", "timed out"), ("reset", "reset")].compactMap { state, word in
      connections.states[state].map { "\(grouped(UInt64(max(0, $0)))) \(word)" }
    }
    let failed = ["refused", "timeout"].reduce(0) { $0 + (connections.states[$1] ?? 0) }
    let unread = connections.undecoded - failed
    if unread > 0 { ends.append("\(grouped(UInt64(unread))) not decoded") }
    var parts = [
      counted(connections.all, "connection") + (ends.isEmpty ? "" : " (\(ends.joined(separator: ", ")))"),
      counted(Int64(totals.sessions), "session"), counted(totals.messages, "message"),
    ]
    if totals.oneWay > 0 { parts.append("\(grouped(UInt64(totals.oneWay))) one-way") }
    parts.append("\(grouped(UInt64(max(0, totals.lost)))) lost")
    if totals.rejected > 0 { parts.append("\(grouped(UInt64(totals.rejected))) rejected") }
    if totals.retries > 0 {
      parts.append("\(grouped(UInt64(totals.retries))) \(totals.retries == 1 ? "retry" : "retries")")
    }
    if let heartbeats = heartbeatText { parts.append(heartbeats) }
    let trips = [
      types.found?.roundTrip50ToServer.map { "up \(Self.rounded($0))" },
      types.found?.roundTrip50ToClient.map { "down \(Self.rounded($0))" },
    ].compactMap { $0 }
    if !trips.isEmpty { parts.append("ACK p50 " + trips.joined(separator: ", ")) }
    return parts
  }

  /// Puts the totals in one row or two, without cutting any; gives the row after them.
  private func putTotals(_ grid: inout Grid, from first: Int) -> Int {
    var lines = [""]
    for text in totalTexts {
      // What does not fit the narrowest screens is what is in parentheses.
      let part = cells(text) + 1 < grid.width ? text : String(text.prefix { $0 != "(" }.dropLast())
      let line = lines[lines.count - 1]
      if line.isEmpty {
        lines[lines.count - 1] = " " + part
      } else if cells(line) + 2 + cells(part) < grid.width {
        lines[lines.count - 1] = line + ", " + part
      } else if lines.count < 2 {
        lines[lines.count - 1] = line + ","
        lines.append(" " + part)
      } else {
        break
      }
    }
    for (i, line) in lines.enumerated() { grid.put(fitted: line, row: first + i, column: 0, width: grid.width) }
    return first + lines.count
  }

  /// From when to when the connections were, by the local clock, and its zone; empty where that is not known.
  private var spanTexts: [String] {
    guard hasTotals, let first = totals.connections.first, let last = totals.connections.last else { return [] }
    func clock(_ time: Timestamp) -> String { String(MessageItem.clock(time, zone).prefix(8)) }
    let (day, lastDay) = (MessageItem.date(first, zone), MessageItem.date(last, zone))
    let (begun, ended) = (zoneText(first), zoneText(last))
    // Clocks may have been put forward or back meanwhile.
    let begin = "\(day) \(clock(first))" + (begun == ended ? "" : " " + begun)
    return ["\(begin) to \(day == lastDay ? "" : lastDay + " ")\(clock(last))", ended]
  }

  /// How far the local clock is from UTC: `+08:00`; of UTC itself, `UTC`.
  private func zoneText(_ time: Timestamp) -> String {
    zone.name(at: time.seconds) == "UTC" ? "UTC" : LocalZone.text(of: zone.offset(at: time.seconds))
  }

  // MARK: The graph

  /// Messages over time in one row, with a mark where one was lost, and a time axis beneath.
  private mutating func putTimeline(_ grid: inout Grid, row: Int) {
    guard let metrics = timeline.figures, !metrics.periods.isEmpty else {
      return putNoMetrics(&grid, row: row)
    }
    let periods = metrics.periods
    let isOneWay = !periods.contains { $0.messages > 0 }
    let messages = periods.map { Double(isOneWay ? $0.oneWay : $0.messages) }
    let lost = periods.reduce(0) { $0 &+ $1.lost }
    let labels = (
      " \(isOneWay ? "one-way" : "messages") \(Timeline.short(messages.max() ?? 0)) ",
      lost > 0 ? " ! lost \(Timeline.short(Double(lost)))" : ""
    )
    let left = max(cells(labels.0), cells(labels.1) + 1)
    let width = max(1, grid.width - left - 1)
    grid.put(labels.0, row: row, column: 0, style: Style(.faint))
    grid.put(labels.1, row: row + 1, column: 0, style: Style(.alarm))
    grid.put(
      graph.draw(Timeline.stretched(messages, width * graph.columns)), row: row, column: left, style: Style(.name))
    for (i, period) in periods.enumerated() where period.lost > 0 {
      grid.put("!", row: row, column: left + i * width / periods.count, style: Style(.alarm, .bold))
    }
    timeline.step = max(1, periods.count / width)
    if let brush = timeline.brush {
      let begin = brush.lowerBound * width / periods.count
      let end = max(begin + 1, (brush.upperBound * width + periods.count - 1) / periods.count)
      grid.restyle(row: row, columns: left + begin..<left + min(width, end)) { $0.with(.reverse) }
    }
    putAxis(&grid, metrics, row: row + 1, left: left, width: width)
  }

  private func putAxis(_ grid: inout Grid, _ metrics: StoredPeriods, row: Int, left: Int, width: Int) {
    let seconds = Int64(metrics.periods.count) &* metrics.width
    // Of several days the day matters more than the second.
    func text(_ second: Int64) -> String {
      let time = Timestamp(seconds: second, fraction: 0)
      let clock = MessageItem.clock(time, zone)
      return seconds > 86_400
        ? "\(MessageItem.date(time, zone).dropFirst(5)) \(clock.prefix(5))" : String(clock.prefix(8))
    }
    let size = cells(text(metrics.start)) + 1
    let steps = min(max(1, width / (2 * size)), 6, Int(clamping: max(1, seconds)))
    for i in 0...steps {
      let at = i == steps ? width - 1 : i * width / steps
      // The time of the cell.
      let label = text(metrics.start &+ Int64(at * metrics.periods.count / width) &* metrics.width)
      let isLast = at + size > width
      guard !isLast || i == steps, width >= size else { continue }
      grid.put(
        isLast ? label + "╵" : "╵" + label, row: row, column: left + (isLast ? width - size : at), style: Style(.faint))
    }
  }

  // MARK: Tabs

  /// Where the tabs are in their row.
  private func tabColumns(width: Int) -> [(tab: BrowserTab, text: String, columns: Range<Int>)] {
    let isShort = width < 66
    var at = 0
    return BrowserTab.allCases.map { tab in
      let title = isShort ? String(tab.title.prefix(4)) : tab.title
      let text = " \(tab.label) \(title) "
      defer { at += cells(text) + (isShort ? 0 : 1) }
      return (tab, text, at..<at + cells(text))
    }
  }

  private mutating func putTabs(_ grid: inout Grid, row: Int) {
    tabWidth = grid.width
    for (tab, text, columns) in tabColumns(width: grid.width) {
      let isShown = tab.screen == screen
      grid.put(
        text, row: row, column: columns.lowerBound, style: isShown ? Style(.name, [.reverse, .bold]) : Style(.faint))
    }
  }

  /// The tab at a column of their row; `nil` for none.
  func tab(atColumn column: Int) -> BrowserTab? {
    tabColumns(width: tabWidth).first { $0.columns.contains(column) }?.tab
  }

  // MARK: The preview

  /// Begins a list beneath its heading; gives the rows that it has, of which the preview may have taken the lower half.
  mutating func beginList(_ grid: inout Grid) -> Int {
    listTop = headingRow + 1
    let room = grid.height - listTop - 2
    // A row divides them. Where nothing is decoded, the rows are for what says why.
    let hasPreview = !hasNothingDecoded || screen == .connections
    preview.height =
      hasPreview && grid.height >= Self.previewHeight && room >= 10 ? min(room / 2 - 1, Self.previewLimit) : 0
    return room - (preview.height > 0 ? preview.height + 1 : 0)
  }

  /// Puts the preview beneath the list: `none` where there are no messages.
  func putPreview(_ grid: inout Grid, _ title: String, none: String) {
    guard preview.height > 0 else { return }
    let top = grid.height - 2 - preview.height
    grid.put(String(repeating: "─", count: grid.width), row: top - 1, column: 0, style: Style(.faint))
    grid.put(fitted: " \(title) ", row: top - 1, column: 2, width: max(0, grid.width - 4), style: Style(.name))
    let hasMessages = !(screen == .problems && problems.selected?.bit == nil)
    guard let items = hasMessages ? previewChoice.flatMap({ preview.items(of: $0.0) }) : [] else { return }
    if items.isEmpty { grid.put(" " + none, row: top, column: 0, style: Style(.faint)) }
    let layout = RowLayout(
      width: grid.width, showsClient: screen == .problems || screen == .types, showsTexts: showsTexts,
      hasTopics: totals.hasTopics)
    for (i, item) in items.prefix(preview.height).enumerated() {
      let context = RowContext(item: item, previous: nil, fields: nil)
      guard let row = RowKinds.rows(.line, context).first else { continue }
      grid.put(row.laidOut(layout), row: top + i)
    }
  }
}
