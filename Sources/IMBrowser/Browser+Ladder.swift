import IMOutput
import IMStore
import IMTerminal
import IMWire

/// The screen of a ladder: who sent what to whom, and what became of it.
extension Browser {
  /// Cells of the times and of the marks in front of the lanes.
  private static let timeWidth = 10, clockWidth = 13, markWidth = 4
  /// Cells of packet numbers, and of the narrowest screen that has them.
  private static let packetWidth = 9, packetScreen = 100

  /// Opens the ladder of what is selected.
  mutating func openLadder() {
    switch screen {
    case .sessions:
      guard let session = sessions.selected else { return }
      showLadder(PageChoice(session: session.id, times: times), of: session, at: .after(0))
    case .messages:
      guard let message = messages.selected?.message else { return }
      showLadder(PageChoice(connection: message.connection, times: times), of: nil, at: .around(message.id))
    case .connections:
      guard let connection = connections.rows.selected else { return }
      showLadder(PageChoice(connection: connection.id, times: times), of: nil, at: .after(0))
    case .problems, .types, .frame, .ladder: break
    }
  }

  /// Opens a ladder at a place.
  mutating func showLadder(_ choice: PageChoice, of session: StoredSession?, at place: PageRequest.Place) {
    ladderCameFrom = screen == .ladder || screen == .frame ? ladderCameFrom : screen
    screen = .ladder
    ladderSession = session
    ladder.open(choice, at: place)
  }

  mutating func putLadder(_ grid: inout Grid) {
    listTop = headingRow + 2
    putLadderHeading(&grid)
    ladder.list.resize(grid.height - listTop - 2)
    let time = grid.width < 60 ? 0 : showsClock ? Self.clockWidth : Self.timeWidth
    let packet = grid.width < Self.packetScreen ? 0 : Self.packetWidth
    let left = time + packet + Self.markWidth
    let lane = min(60, max(22, (grid.width - left) * 11 / 20))
    if packet > 0 {
      grid.put(fitted: "packet", row: listTop - 1, column: time, width: packet, isRight: true, style: Style(.faint))
    }
    grid.put("client", row: listTop - 1, column: left, style: Style(.faint))
    grid.put("server", row: listTop - 1, column: left + lane - 6, style: Style(.faint))
    for (i, index) in ladder.list.visible.enumerated() {
      let item = ladder.list.items[index]
      let text = showsClock ? item.time.map { MessageItem.clock($0, zone) } ?? "" : item.line.time
      // A store knows the packet of a message's first copy.
      if packet > 0, item.line.form == .message {
        grid.put(
          fitted: "\(max(0, item.message.packet))", row: listTop + i, column: time, width: packet, isRight: true,
          style: Style(.faint))
      }
      put(item.line, text, &grid, row: listTop + i, time: time, left: left, lane: lane)
      if index == ladder.list.index { grid.restyle(row: listTop + i, columns: 0..<grid.width) { $0.with(.reverse) } }
    }
  }

  private func putLadderHeading(_ grid: inout Grid) {
    let row = headingRow
    var text = " connection #\(ladder.choice.connection ?? 0)"
    if let ladderSession { text = " session \(ladderSession.name ?? "#\(ladderSession.id)")" }
    let at = grid.put(text, row: row, column: 0, limit: grid.width / 2, style: Style(.name, .bold))
    if !ladder.client.isEmpty {
      grid.put(
        fitted: "   \(ladder.client) ⇄ \(ladder.server)", row: row, column: at, width: max(0, grid.width - at))
    }
    grid.restyle(row: row, columns: 0..<grid.width) { $0.with(.underline) }
  }

  private func put(
    _ line: LadderLine, _ timeText: String, _ grid: inout Grid, row: Int, time: Int, left: Int, lane: Int
  ) {
    let style: Style = line.isTrouble || line.form == .copy ? Style(.alarm) : .plain
    if time > 0 { grid.put(fitted: timeText, row: row, column: 0, width: time, isRight: true, style: Style(.faint)) }
    grid.put(
      fitted: line.mark, row: row, column: left - Self.markWidth, width: Self.markWidth - 1, isRight: true,
      style: style.with(.bold))
    switch line.form {
    case .silence:
      grid.put("┊", row: row, column: left, style: Style(.faint))
      grid.put(
        fitted: "┄ \(line.label) ┄", row: row, column: left + 2, width: max(0, grid.width - left - 2),
        style: line.isTrouble ? style : Style(.faint))
    case .note:
      grid.put("│", row: row, column: left, style: Style(.faint))
      grid.put(
        fitted: line.label, row: row, column: left + 2, width: max(0, grid.width - left - 2),
        style: line.isTrouble ? style : Style(.faint))
    case .message, .copy, .answer:
      grid.put("│", row: row, column: left, style: Style(.faint))
      grid.put("│", row: row, column: left + lane - 1, style: Style(.faint))
      let stroke = line.form == .copy ? "┄" : "─"
      grid.put(String(repeating: stroke, count: lane - 2), row: row, column: left + 1, style: style)
      grid.put(
        line.isFromClient ? "→" : "←", row: row, column: line.isFromClient ? left + lane - 2 : left + 1, style: style)
      // A label has a blank on both sides and a stroke beside them, and so does the shortest arrow.
      let room = lane - 8
      let label = plainText(line.label)
      let count = min(cells(label), room)
      grid.put(" ", row: row, column: left + 4)
      grid.put(fitted: label, row: row, column: left + 5, width: room, style: style)
      if 5 + count < lane - 2 { grid.put(" ", row: row, column: left + 5 + count) }
      let remark = left + lane + 1
      if remark < grid.width {
        grid.put(fitted: line.remark, row: row, column: remark, width: grid.width - remark, style: style)
      }
    }
  }

  /// What is said of the ladder in the line beneath it.
  var ladderStatus: String {
    guard ladder.isLoaded, let item = ladder.list.selected else {
      return ladder.isLoaded ? "no messages" : "opening…"
    }
    return
      "message \(grouped(UInt64(max(0, item.message.id))))   packet \(grouped(UInt64(max(0, item.message.packet))))"
      + "   RTT: without retried messages"
      + (ladder.isFirst && ladder.isLast
        ? "   whole ladder" : ladder.isFirst ? "   first part" : ladder.isLast ? "   last part" : "")
  }
}
