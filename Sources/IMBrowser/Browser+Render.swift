import IMOutput
import IMStore
package import IMTerminal
import IMWire

/// What the screens look like.
extension Browser {
  /// The fewest columns and rows in which anything is shown.
  static let leastWidth = 40, leastHeight = 10

  /// The screen in so many columns and rows.
  package mutating func render(width: Int, height: Int) -> Grid {
    isDirty = false
    var grid = Grid(width: width, height: height)
    guard grid.width >= Self.leastWidth, grid.height >= Self.leastHeight else {
      grid.put("imdump: at least \(Self.leastWidth)x\(Self.leastHeight)", row: 0, column: 0)
      return grid
    }
    putHeader(&grid)
    preview.height = 0
    switch screen {
    case .problems: putProblems(&grid)
    case .sessions: putSessions(&grid)
    case .connections: putConnections(&grid)
    case .messages: putMessages(&grid)
    case .types: putTypes(&grid)
    case .frame: putFrame(&grid)
    case .ladder: putLadder(&grid)
    }
    putStatus(&grid)
    putKeys(&grid)
    if let overlay { put(overlay, &grid) }
    return grid
  }

  // MARK: Frame

  private func putKeys(_ grid: inout Grid) {
    var at = 0
    let hints: [(String, String)] =
      saving.takesKeys
      ? [("Enter", "write"), ("Esc", "cancel")]
      : input != nil
        ? inputPurpose == .command
          ? [("Enter", "run"), ("Tab", "complete"), ("Esc", "cancel")] : [("Enter", "apply"), ("Esc", "cancel")]
        : keys.rows.compactMap { row in row.word.map { (String(row.label.split(separator: " ")[0]), $0) } }
    // What ends the program and what explains it are always there.
    let last = hints.suffix(2).reduce(0) { $0 + cells($1.0 + $1.1) + 3 }
    for (i, (key, word)) in hints.enumerated() {
      let count = cells(key + word) + 3
      guard at + count <= grid.width - (i < hints.count - 2 ? last : 0) else { continue }
      at += grid.put(" \(key)", row: grid.height - 1, column: at, style: Style(.plain, .bold))
      at += grid.put(" \(word) ", row: grid.height - 1, column: at, style: Style(.faint))
    }
  }

  private func putStatus(_ grid: inout Grid) {
    let row = grid.height - 2
    if putSaving(&grid, row: row) { return }
    if let input {
      var at = grid.put(
        inputPurpose == .command ? " :" : " filter: ", row: row, column: 0,
        style: Style(filterError == nil ? .name : .alarm, .bold))
      // Of a long line its end is seen, where the cursor is most often.
      let room = max(grid.width / 3, grid.width - at - 4 - (filterError.map { cells($0) } ?? 0))
      var before = input.parts.before
      while cells(plainText(String(before))) > room { before = before.dropFirst() }
      at += grid.put(String(before), row: row, column: at)
      let behind = input.parts.behind
      let used = grid.put(behind.isEmpty ? " " : String(behind), row: row, column: at)
      grid.restyle(row: row, columns: at..<at + 1) { $0.with(.reverse) }
      if let filterError {
        grid.put(
          fitted: "  " + filterError, row: row, column: at + used, width: grid.width - at - used, style: Style(.alarm))
      }
      if let offered, filterError == nil {
        let column = at + used + 1
        grid.put(fitted: offered, row: row, column: column, width: max(0, grid.width - column), style: Style(.faint))
        return
      }
      let state = filterError == nil ? inputState : ""
      let place = grid.width - cells(state) - 1
      if place > at + used + 1 { grid.put(state, row: row, column: place, style: Style(.faint)) }
      return
    }
    if pressedPrefix != nil {
      let kinds = ProblemNames.digits(width: grid.width)
      grid.put(fitted: kinds, row: row, column: 0, width: grid.width, style: Style(.name))
      return
    }
    if let note {
      grid.put(fitted: " " + note, row: row, column: 0, width: grid.width, style: Style(.warning))
      return
    }
    if let error = progress.error {
      grid.put(fitted: " " + error, row: row, column: 0, width: grid.width, style: Style(.alarm))
      return
    }
    let text = timesText.map { $0 + "   " } ?? ""
    let isBrush = timeline.brush != nil
    let used = 1 + grid.put(text, row: row, column: 1, style: Style(isBrush ? .warning : .name))
    if !isBrush { grid.put(fitted: statusText, row: row, column: used, width: grid.width - used, style: Style(.faint)) }
  }

  /// What the filter that is being typed has come to.
  private var inputState: String {
    if inputPurpose == .command { return "" }
    if saysBusy { return "looking…" }
    if screen == .connections { return connectionsShown }
    guard screen == .messages else {
      return "\(grouped(UInt64(sessions.items.count))) of \(grouped(UInt64(totals.sessions)))"
    }
    return messages.isLoaded && messages.items.isEmpty ? "no messages" : ""
  }

  private var statusText: String {
    switch screen {
    case .sessions:
      if sessionsShown == nil { return progress.isLoading ? "reading the first messages…" : "opening…" }
      let order = sessionSignal.value.order
      let shown = grouped(UInt64(sessions.items.count))
      let filter = order.filter.isEmpty ? "" : "filter: \(order.filter)   "
      if saysBusy { return filter + "looking…" }
      let unread = totals.sessions > 0 ? progress.unread.first.map { "   \($0)" } ?? "" : ""
      return filter + "\(shown) of \(grouped(UInt64(totals.sessions)))   by \(order.sort.rawValue)" + unread
    case .messages:
      let filter = messages.choice.filter.isEmpty ? "" : "filter: \(messages.choice.filter)   "
      if saysBusy { return filter + "looking…" }
      if problemAwaited != nil { return filter + "looking for the next problem…" }
      guard let selected = messages.selected else {
        let why = connection.flatMap { $0.profile == nil ? ": " + Self.undecoded($0) : nil } ?? ""
        return filter + (messages.isLoaded ? "no messages" + why : "opening…")
      }
      let message = selected.message
      return filter
        + "message \(grouped(UInt64(max(0, message.id))))   packet \(grouped(UInt64(max(0, message.packet))))"
        + (messages.isFirst ? "   first page" : "") + (messages.isLast ? "   last page" : "")
    case .frame:
      guard let frame else { return "reading the capture up to the message…" }
      return frame.status
    case .ladder: return problemAwaited != nil ? "looking for the next problem…" : ladderStatus
    case .connections:
      if connections.shown == nil { return "opening…" }
      let filter = listFilter.isEmpty ? "" : "filter: \(listFilter)   "
      return filter + (saysBusy ? "looking…" : connectionsShown + "   by problems")
    case .types:
      guard let found = types.found else { return "counting messages by type…" }
      let topics = found.topics.isEmpty ? [] : [IMOutput.count(UInt64(found.topics.count), "topic")]
      return ([IMOutput.count(UInt64(found.types.count), "type")] + topics).joined(separator: ", ") + "   by problems"
    case .problems:
      let kinds = problems.items.count
      return kinds == 0 ? "no problems" : kinds == 1 ? "1 kind of problem" : "\(kinds) kinds of problems"
    }
  }

  /// How many of the connections are listed.
  private var connectionsShown: String {
    "\(grouped(UInt64(connections.rows.items.count))) of \(grouped(UInt64(max(0, totals.connections.all))))"
  }

  // MARK: Sessions

  private mutating func putSessions(_ grid: inout Grid) {
    sessions.resize(beginList(&grid))
    let order = sessionSignal.value.order
    let person = names.map { names in { (session: StoredSession) in Self.personName(session, names) } }
    putTable(
      sessions,
      SessionTable.columns(order, zone, of: sessions.items, hasOneWay: totals.oneWay > 0, person: person), &grid)
    if let session = sessions.selected {
      putPreview(&grid, "session \(session.name ?? "#\(session.id)"): latest problems", none: "no problems")
    }
  }

  /// Whether nothing was decoded, so that lists say what there is instead.
  var hasNothingDecoded: Bool {
    totals.sessions == 0 && sessionsShown != nil && !progress.isLoading && !progress.isLive
  }

  /// Where nothing is decoded: why, and the command to try, below `rows` rows of the list, as far as there is space.
  func putUnread(_ grid: inout Grid, below rows: Int = 0) {
    guard hasNothingDecoded else { return }
    let first = listTop + 1 + rows
    let end = grid.height - 2 - (preview.height > 0 ? preview.height + 1 : 0)
    for (i, line) in unreadLines(width: grid.width - 2, count: end - first).enumerated() {
      grid.put(" " + line, row: first + i, column: 0, limit: grid.width, style: Style(.warning))
    }
  }

  /// Why nothing is decoded, and the command to try, in at most `count` lines of `width` cells: the command is whole, or there are
  /// none.
  private func unreadLines(width: Int, count: Int) -> [String] {
    func lines(_ text: String) -> [String] {
      wrapped(plainText(text), cells: width).map { String($0.hasSuffix(" ") ? $0.dropLast() : $0) }
    }
    let title = "all TCP connections, with ports and TLS names:"
    let isShort = cells(title) + 1 + cells(plainText(connectionsCommand)) <= width
    let command =
      isShort ? lines(title + " " + connectionsCommand) : lines(title) + lines(connectionsCommand)
    let room = count - command.count
    guard room >= 0 else { return [] }
    let parts = progress.unread.map(lines)
    // A blank line behind each where there is room for it.
    var why = parts.flatMap { $0 + [""] }
    if why.count > room { why = Array(parts.joined()) }
    if why.count > room {
      why = Array(why.prefix(room))
      if let last = why.popLast() { why.append(String(prefix(last, cells: width - 2)) + " …") }
    }
    return why + command
  }

  func select(_ grid: inout Grid, row: Int) {
    grid.restyle(row: row, columns: 0..<grid.width) { $0.with(.reverse) }
  }

  // MARK: Problems

  private mutating func putProblems(_ grid: inout Grid) {
    problems.resize(beginList(&grid))
    let layout = ColumnLayout<StoredProblemCount>(
      [
        Column(title: "kind", width: 14, isFlexible: true, priority: 0) { ($0.kind, Style(.alarm)) },
        Column(title: "cause", width: 10, priority: 2) { ($0.cause ?? "-", .plain) },
        Column(title: "count", width: 9, isRight: true, priority: 1) { (grouped(UInt64(max(0, $0.count))), .plain) },
        Column(title: "first", width: 12, priority: 3) { [zone] in (MessageItem.clock($0.first, zone), .plain) },
      ], width: grid.width)
    layout.putTitles(&grid, row: listTop - 1)
    for (i, index) in problems.visible.enumerated() {
      layout.put(problems.items[index], &grid, row: listTop + i)
      if index == problems.index { select(&grid, row: listTop + i) }
    }
    putUnread(&grid, below: problems.visible.count)
    guard let row = problems.selected else { return }
    if row.bit == nil {
      putPreview(&grid, row.kind, none: "about a stream, not a message")
    } else {
      putPreview(&grid, "\(row.kind)\(row.cause.map { ", \($0)" } ?? ""): first occurrences", none: "no messages")
    }
  }

  // MARK: Overlays

  /// The keys of the screen, and behind them the commands.
  var helpLines: [(String, String)] {
    keys.rows.map { ($0.label, $0.help) } + CommandTable.all.map { ($0.label, $0.help) }
  }

  private func put(_ overlay: Overlay, _ grid: inout Grid) {
    switch overlay {
    case .help(let skipped):
      box(&grid, " keys and commands ", lines: Array(helpLines.dropFirst(skipped)))
    case .command(let command):
      let width = max(10, grid.width - 8)
      var lines: [(String, String)] = []
      var rest = Substring(plainText(command))
      while !rest.isEmpty, lines.count < grid.height - 5 {
        let line = prefix(String(rest), cells: width)
        if line.isEmpty { break }
        lines.append(("", String(line)))
        rest = rest.dropFirst(line.count)
      }
      box(&grid, " equivalent command; y copies it ", lines: lines)
    }
  }

  private func box(_ grid: inout Grid, _ title: String, lines: [(String, String)]) {
    let height = min(lines.count, grid.height - 5)
    let label = lines.reduce(0) { max($0, cells($1.0)) }
    let inner = min(grid.width - 4, lines.reduce(cells(title)) { max($0, label + cells($1.1) + 2) })
    let left = max(0, (grid.width - inner - 4) / 2), top = max(0, (grid.height - height - 2) / 2)
    let blank = String(repeating: " ", count: inner + 4)
    for row in top..<top + height + 2 { grid.put(blank, row: row, column: left) }
    let line = String(repeating: "─", count: inner + 2)
    grid.put("┌\(line)┐", row: top, column: left)
    grid.put(title, row: top, column: left + 2, limit: inner, style: Style(.plain, .bold))
    grid.put("└\(line)┘", row: top + height + 1, column: left)
    for (i, (key, text)) in lines.prefix(height).enumerated() {
      let row = top + 1 + i
      grid.put("│", row: row, column: left)
      grid.put("│", row: row, column: left + inner + 3)
      grid.put(key, row: row, column: left + 2, limit: inner, style: Style(.name, .bold))
      let at = label > 0 ? label + 2 : 0
      grid.put(fitted: text, row: row, column: left + 2 + at, width: max(0, inner - at))
    }
  }
}
