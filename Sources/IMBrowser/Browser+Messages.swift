import IMStore
import IMTerminal
import IMWire

/// The screen of messages: the list, and what is known of the selected one.
extension Browser {
  mutating func putMessages(_ grid: inout Grid) {
    listTop = headingRow + 1
    putHeading(&grid)
    let room = grid.height - listTop - 2
    // Beside the list where there is room for both, beneath it where there are rows enough.
    let saysUnread = hasNothingDecoded && messages.items.isEmpty
    let isBeside = grid.width >= 150 && !saysUnread
    let detailRows = isBeside || saysUnread ? 0 : grid.height >= 20 ? max(8, room / 3) : 0
    let width = isBeside ? grid.width - 56 : grid.width
    messages.resize(room - detailRows)
    let layout = RowLayout(
      width: width, showsClient: session == nil && connection == nil, wraps: wrapsText && showsTexts,
      showsTexts: showsTexts, hasTopics: totals.hasTopics)
    messages.use(layout)
    rowBook.use(layout, version: messages.rows.version)
    for i in 0..<messages.height {
      let row = messages.top + i
      guard let (key, model) = messages.rows.model(at: row) else { continue }
      grid.put(rowBook.cells(key, model, layout), row: listTop + i)
      if let item = messages.rows.item(at: row), selectedMessages.contains(messages.items[item].message.id) {
        grid.restyle(row: listTop + i, columns: 0..<width) { $0.with(.bold) }
        grid.put("+", row: listTop + i, column: 1, style: Style(.name, .bold))
      }
      if key.place == .line || key.place == .text, messages.rows.owner(at: row) == messages.focus {
        grid.restyle(row: listTop + i, columns: 0..<width) { $0.with(.reverse) }
      }
    }
    if saysUnread { putUnread(&grid) }
    if isBeside {
      for i in 0..<room { grid.put("│", row: listTop + i, column: width, style: Style(.faint)) }
      putDetails(&grid, top: listTop, left: width + 2, width: grid.width - width - 2, height: room)
    } else if detailRows > 0 {
      let top = listTop + room - detailRows
      grid.put(String(repeating: "─", count: grid.width), row: top, column: 0, style: Style(.faint))
      putDetails(&grid, top: top + 1, left: 1, width: grid.width - 2, height: detailRows - 1)
    }
  }

  private mutating func putHeading(_ grid: inout Grid) {
    var at = 1
    let follow = followText()
    if let session {
      at += grid.put("session ", row: listTop - 1, column: at)
      at += grid.put(
        session.name ?? "#\(session.id)", row: listTop - 1, column: at, limit: grid.width / 2,
        style: Style(.name, .bold))
      if let person = names.flatMap({ Self.personName(session, $0) }) {
        at += grid.put(" \(person)", row: listTop - 1, column: at, limit: 30, style: Style(.name))
      }
      let ends = "   \(session.client) ⇄ \(session.server)"
      if at + cells(ends) < grid.width { at += grid.put(ends, row: listTop - 1, column: at) }
    } else if let connection {
      at += grid.put(
        "messages of connection #\(connection.id)   \(connection.client) ⇄ \(connection.server)", row: listTop - 1,
        column: at)
    } else if let type {
      let heading = if case .topic = type.key { "messages of the topic " } else { "messages of the type " }
      at += grid.put(heading, row: listTop - 1, column: at)
      at += grid.put(type.name, row: listTop - 1, column: at, limit: grid.width / 2, style: Style(.name, .bold))
    } else if let name = problemName {
      at += grid.put("messages of all sessions: \(name)", row: listTop - 1, column: at)
    } else {
      at += grid.put("messages of all sessions", row: listTop - 1, column: at)
    }
    let off = !showsTexts ? "texts are off (u)" : !totals.keepsPayload ? "texts are off (--payload)" : nil
    if let off, at + cells(off) + 3 + cells(follow) < grid.width {
      at += grid.put("   " + off, row: listTop - 1, column: at, style: Style(.faint))
    }
    let place = grid.width - cells(follow) - 1
    if !follow.isEmpty, place > at { grid.put(follow, row: listTop - 1, column: place, style: Style(.warning, .bold)) }
    grid.restyle(row: listTop - 1, columns: 0..<grid.width) { $0.with(.underline) }
  }

  /// The kind of problem that all messages of the list have.
  private var problemName: String? {
    let problems = messages.choice.page.problems
    return problems == []
      ? nil : ProblemNames.all.indices.first { problems == ProblemNames.kind($0) }.map { ProblemNames.all[$0] }
  }

  /// What is known of the selected message in sentences, and its text. Its columns as they are in the store are one key away.
  private func putDetails(_ grid: inout Grid, top: Int, left: Int, width: Int, height: Int) {
    guard let details, let message = messages.selected?.message, details.id == message.id else { return }
    func value(_ name: String) -> String? { details.lines.first { $0.name == name }?.value }
    let other = value("role") == "message" ? value("other_text") : nil
    let said = (value("text") ?? other).map { "“\($0)”" }
    let text = showsTexts ? [value("topic"), said].compactMap(\.self).joined(separator: " ") : ""
    let end = top + max(1, height - (text.isEmpty ? 0 : 1))
    var row = top
    for sentence in DetailWords(details.lines).sentences(time: MessageItem.clock(message.time, zone)) {
      for line in wrapped(plainText(sentence), cells: width) where row < end {
        // A line may end with the blank at which it was broken.
        grid.put(
          fitted: line.hasSuffix(" ") ? String(line.dropLast()) : String(line), row: row, column: left, width: width)
        row += 1
      }
    }
    guard !text.isEmpty else { return }
    grid.put(fitted: text, row: row, column: left, width: width, style: Style(.plain, .bold))
  }
}
