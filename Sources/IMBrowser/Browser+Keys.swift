import IMEngine
import IMFilter
import IMStore
package import IMTerminal

/// What keys and the mouse do.
extension Browser {
  /// Takes what a person did.
  package mutating func handle(_ event: InputEvent, at now: Duration) {
    isDirty = true
    switch event {
    case .paste(let text):
      if saving.form != nil {
        return pasteSaving(text.split(whereSeparator: \.isNewline).joined(separator: " "))
      }
      guard input != nil else { return }
      input?.insert(text.split(whereSeparator: \.isNewline).joined(separator: " "))
      if inputPurpose == .command { return }
      inputChanged(at: now)
    case .mouse(let mouse): handle(mouse, at: now)
    case .key(let key):
      note = nil
      if saving.takesKeys { return typeSaving(key) }
      if input != nil { return inputPurpose == .command ? typeCommand(key, at: now) : type(key, at: now) }
      if overlay != nil { return overlay(key) }
      if let pressedPrefix {
        self.pressedPrefix = nil
        if let action = keys.action(key, after: pressedPrefix) { perform(action, at: now) }
        return
      }
      if takesForTimes(key, at: now) { return }
      if keys.isPrefix(key) { return pressedPrefix = key }
      guard let action = keys.action(key) else { return }
      perform(action, at: now)
    }
  }

  /// The keys of the screen.
  var keys: KeyMap { .of(screen) }

  private mutating func overlay(_ key: Key) {
    guard case .help(let lines) = overlay else {
      if case .command(let text) = overlay, key == Key("y") {
        wishes.append(.copy(text))
        note = "copied, if the terminal allows it"
      }
      overlay = nil
      return
    }
    switch keys.action(key) {
    case .down, .pageDown: overlay = .help(min(lines + 1, max(0, helpLines.count - 1)))
    case .up, .pageUp: overlay = .help(max(0, lines - 1))
    case .quit where key != Key("q"): wishes.append(.quit)
    default: overlay = nil
    }
  }

  private mutating func handle(_ mouse: Mouse, at now: Duration) {
    switch mouse.action {
    case .wheelUp, .wheelDown:
      cursorMoved()
      moveRows(mouse.action == .wheelUp ? -3 : 3)
    case .press(0):
      guard overlay == nil, input == nil, !saving.takesKeys else { return }
      if mouse.row == tabRow {
        if let tab = tab(atColumn: mouse.column) { perform(.tab(tab), at: now) }
        return
      }
      guard mouse.row >= listTop else { return }
      cursorMoved()
      let row = mouse.row - listTop
      switch screen {
      case .sessions:
        guard sessions.visible.contains(sessions.top + row) else { return }
        let isSecond = sessions.index == sessions.top + row
        sessions.select(sessions.top + row)
        if isSecond { perform(.open, at: now) }
      case .connections:
        guard connections.rows.visible.contains(connections.rows.top + row) else { return }
        connections.rows.select(connections.rows.top + row)
      case .types:
        guard types.rows.visible.contains(types.rows.top + row) else { return }
        types.rows.select(types.rows.top + row)
      case .messages: if row < messages.height { messages.select(screenRow: row) }
      case .frame: frame?.click(row: row, column: mouse.column)
      case .problems:
        guard problems.visible.contains(problems.top + row) else { return }
        problems.select(problems.top + row)
      case .ladder:
        guard ladder.list.visible.contains(ladder.list.top + row) else { return }
        ladder.list.select(ladder.list.top + row)
      }
    case .press, .release: break
    }
  }

  private mutating func move(_ count: Int) {
    switch screen {
    case .sessions: sessions.move(count)
    case .messages: messages.move(count)
    case .problems: problems.move(count)
    case .connections: connections.rows.move(count)
    case .types: types.rows.move(count)
    case .frame: frame?.move(count)
    case .ladder: ladder.list.move(count)
    }
  }

  /// Moves by rows of the screen, of which a message may have several.
  private mutating func moveRows(_ count: Int) {
    if screen == .messages { messages.moveRows(count) } else { move(count) }
  }

  /// Shows topics and what messages say, or hides them.
  private mutating func toggleTexts() {
    showsTexts.toggle()
    note =
      showsTexts
      ? "texts are shown, if the store has them (--payload)" : "texts are hidden"
  }

  /// Wraps the texts of messages, or cuts them again.
  mutating func toggleWrap() {
    wrapsText.toggle()
    note = wrapsText ? "texts are wrapped" : "texts are cut at the edge"
  }

  private var pageHeight: Int {
    switch screen {
    case .sessions: max(1, sessions.height - 1)
    case .messages: max(1, messages.height - 1)
    case .problems: max(1, problems.height - 1)
    case .connections: max(1, connections.rows.height - 1)
    case .types: max(1, types.rows.height - 1)
    case .frame: max(1, (frame?.height ?? 1) - 1)
    case .ladder: max(1, ladder.list.height - 1)
    }
  }

  private mutating func perform(_ action: BrowserAction, at now: Duration) {
    if action.moves { cursorMoved() }
    switch action {
    case .up: move(-1)
    case .down: move(1)
    case .pageUp: moveRows(-pageHeight)
    case .pageDown: moveRows(pageHeight)
    case .home: toEnd(isLast: false)
    case .end:
      toEnd(isLast: true)
      if screen == .messages, progress.isLive { messages.follow() }
    case .follow: toggleFollow()
    case .mark: toggleSelected()
    case .savePackets: askName(.packets)
    case .saveRows: askName(.rows)
    case .saveLadder: askName(.ladder)
    case .open: open()
    case .left: frame?.moveByte(-1)
    case .right: frame?.moveByte(1)
    case .otherPane: frame?.isInBytes.toggle()
    case .back: back(at: now)
    case .filter:
      inputBefore = listFilter
      input = TextInput(inputBefore)
      inputPurpose = .filter
    case .sort: changeOrder(at: now) { $0.sort = Self.next($0.sort) }
    case .reverse: changeOrder(at: now) { $0.isReversed.toggle() }
    case .pin: pinSelected(at: now)
    case .allMessages: showAllMessages()
    case .problems: showProblems()
    case .tab(let tab): show(tab)
    case .ladder: openLadder()
    case .brush(let cells): moveBrush(cells)
    case .widenBrush(let cells): widenBrush(cells)
    case .graph:
      graph = graph.next
      note = "metrics over time: \(graph.rawValue)"
    case .typeCommand: beginCommand()
    case .unfold: unfold()
    case .texts: toggleTexts()
    case .wrap: toggleWrap()
    case .clock:
      showsClock.toggle()
      note = showsClock ? "times of day" : "times since the connection began"
    case .nextProblem: findProblem([], isForward: true)
    case .previousProblem: findProblem([], isForward: false)
    case .nextOfKind(let index): findProblem(ProblemNames.kind(index), isForward: true)
    case .help: overlay = .help(0)
    case .command: overlay = .command(equivalentCommand)
    case .mouse:
      hasMouse.toggle()
      wishes.append(.mouse(hasMouse))
      note = hasMouse ? "the mouse selects rows" : "the mouse selects text; m turns row selection on again"
    case .redraw: wishes.append(.redraw)
    case .suspend: wishes.append(.suspend)
    case .quit: wishes.append(.quit)
    }
  }

  /// Goes to the first or the last row of a list, of which only a part may be in memory.
  private mutating func toEnd(isLast: Bool) {
    let place: PageRequest.Place = isLast ? .before(.max) : .after(0)
    if screen == .messages, !(isLast ? messages.isLast : messages.isFirst) { return messages.restart(at: place) }
    if screen == .ladder, !(isLast ? ladder.isLast : ladder.isFirst) { return ladder.restart(at: place) }
    move(isLast ? 1_000_000_000 : -1_000_000_000)
  }

  /// Pins the selected session, or takes its pin out.
  mutating func pinSelected(at now: Duration) {
    guard let id = sessions.selected?.id else { return }
    changeOrder(at: now) { if $0.pins.remove(id) == nil { $0.pins.insert(id) } }
  }

  /// Shows the list of sessions.
  mutating func showSessions() { screen = .sessions }

  /// Shows messages of all sessions.
  mutating func showAllMessages() { show(PageRequest.Choice(PageChoice(times: times))) }

  /// Shows problems by kind and cause.
  mutating func showProblems() {
    screen = .problems
    problemsAwaited = false
  }

  private static func next(_ sort: SessionSort) -> SessionSort {
    let all = SessionSort.allCases
    return all[((all.firstIndex(of: sort) ?? 0) + 1) % all.count]
  }

  private mutating func changeOrder(at now: Duration, _ body: (inout SessionOrder) -> Void) {
    sessionSignal.change(at: now) { body(&$0.order) }
  }

  private mutating func open() {
    switch screen {
    case .sessions:
      guard let session = sessions.selected else { return }
      show(PageRequest.Choice(PageChoice(session: session.id, times: times)), of: session)
    case .problems:
      guard let row = problems.selected else { return }
      guard let bit = row.bit else {
        note = "\(row.kind) is about a stream, not a message"
        return
      }
      show(PageRequest.Choice(PageChoice(problems: ProblemKinds(rawValue: bit), times: times)))
    case .connections:
      guard let row = connections.rows.selected else { return }
      show(PageRequest.Choice(PageChoice(connection: row.id, times: times)))
      connection = row
    case .types:
      guard let row = types.rows.selected else { return }
      guard let page = page(of: row) else {
        note = "this row counts the topics beyond the \(types.rows.items.count) listed"
        return
      }
      show(PageRequest.Choice(page))
      type = row
    case .messages: if let message = messages.selected?.message { openFrame(message) }
    case .ladder:
      guard let item = ladder.list.selected else { return }
      guard item.isOfMessage else {
        note = "this line has no message"
        return
      }
      openFrame(item.message)
    case .frame: break
    }
  }

  /// The messages of a type or a topic; `nil` where they are not those of one.
  func page(of row: StoredTypeCount) -> PageChoice? {
    switch row.key {
    case .type(let id): PageChoice(type: id, times: times)
    case .topic(let name): PageChoice(topic: name, times: times)
    case .furtherTopics: nil
    }
  }

  private mutating func openFrame(_ message: StoredMessage) {
    guard message.capture > 0, message.capture <= Int64(source.captures.count) else {
      note = "the store does not say which capture the message is in"
      return
    }
    frameCameFrom = screen
    framed = message
    screen = .frame
    frame = nil
    let request = FrameRequest(
      message: message.id, files: Array(source.captures.prefix(Int(message.capture))),
      packet: UInt64(max(0, message.packet)), streamOffset: UInt64(max(0, message.streamOffset)),
      direction: message.direction)
    frameAwaited = request
    outbox.append(.frame(request))
  }

  private mutating func unfold() {
    guard let id = messages.selected?.message.id else { return }
    rowBook.forget(id)
    if messages.isUnfolded {
      messages.fold()
    } else if let details, details.id == id, !details.lines.isEmpty {
      messages.unfold(details.lines.map { StoredDetail($0.name, $0.value) })
    } else {
      note = "the fields of the message are still being read"
    }
  }

  private mutating func show(_ choice: PageRequest.Choice, of session: StoredSession? = nil) {
    if screen != .messages, screen != .frame, screen != .ladder { messagesCameFrom = screen }
    screen = .messages
    self.session = session
    (connection, type) = (nil, nil)
    messages = messages.emptied()
    filterSignal = CombinedSignal("", quiet: .milliseconds(60), patience: .milliseconds(250))
    filterError = nil
    (details, detailsAwaited, detailsOf, problemAwaited) = (nil, nil, nil, nil)
    begin(choice)
  }

  private mutating func back(at now: Duration) {
    switch screen {
    case .sessions:
      guard sessionSignal.value.order.filter.isEmpty else { return changeOrder(at: now) { $0.filter = "" } }
      setTimes(nil, at: now)
    case .connections where !connections.signal.value.filter.isEmpty:
      connections.signal.change(at: now) { $0.filter = "" }
    case .problems, .connections, .types, .ladder:
      guard !limitsTimes else { return setTimes(nil, at: now) }
      screen = screen == .ladder ? ladderCameFrom : .sessions
    case .frame:
      screen = frameCameFrom
      frameAwaited = nil
    case .messages:
      if messages.choice.filter.isEmpty, limitsTimes {
        setTimes(nil, at: now)
      } else if messages.choice.filter.isEmpty {
        screen = messagesCameFrom
        askedAt = nil
        if screen == .problems { problemsAwaited = false }
      } else {
        filterSignal.change(at: now) { $0 = "" }
        filterError = nil
      }
    }
  }

  mutating func findProblem(_ kinds: ProblemKinds, isForward: Bool) {
    let isLadder = screen == .ladder
    let selected = isLadder ? ladder.list.selected?.message.id : messages.selected?.message.id
    let request = ProblemRequest(
      generation: isLadder ? ladder.generation : messages.generation, from: selected ?? (isForward ? 0 : .max),
      isForward: isForward, kinds: kinds, choice: isLadder ? PageRequest.Choice(ladder.choice) : messages.choice)
    problemAwaited = request
    outbox.append(.problem(request))
  }

  /// The filter of the list on the screen.
  var listFilter: String {
    switch screen {
    case .messages: messages.choice.filter
    case .connections: connections.signal.value.filter
    case .problems, .sessions, .types, .frame, .ladder: sessionSignal.value.order.filter
    }
  }

  // MARK: Typing

  private mutating func type(_ key: Key, at now: Duration) {
    switch (key.code, key.modifiers) {
    case (.enter, _):
      guard filterError == nil else { return }
      input = nil
      applyFilterNow()
    case (.escape, _), (.character("c"), .control):
      input = TextInput(inputBefore)
      inputChanged(at: now)
      input = nil
      applyFilterNow()
    default:
      guard input?.take(key) ?? false else { return }
      inputChanged(at: now)
    }
  }

  private mutating func inputChanged(at now: Duration) {
    guard let text = input?.text else { return }
    if screen == .connections { return connections.signal.change(at: now) { $0.filter = text } }
    guard screen == .messages else { return changeOrder(at: now) { $0.filter = text } }
    filterError = nil
    if !text.allSatisfy({ $0 == " " }) {
      do throws(FilterError) { _ = try StoredFilter(text, zone: zone, begin: timeline.firstMoment) } catch {
        filterError = error.description
      }
    }
    // What is wrong is not asked for: the last good list stays.
    if filterError == nil { filterSignal.change(at: now) { $0 = text.allSatisfy { $0 == " " } ? "" : text } }
  }
}
