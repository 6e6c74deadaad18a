import IMFilter
import IMOutput
import IMStore
import IMTerminal
import IMWire

/// Commands that are typed behind `:`.
extension Browser {
  /// Words of a filter that are completed: the fields that a store has.
  private static let filterWords = StoredFilter.fieldNames

  /// Begins to type a command.
  mutating func beginCommand() {
    input = TextInput()
    inputPurpose = .command
    filterError = nil
  }

  /// Takes a key while a command is typed.
  mutating func typeCommand(_ key: Key, at now: Duration) {
    switch (key.code, key.modifiers) {
    case (.enter, _):
      let line = input?.text ?? ""
      guard line.contains(where: { $0 != " " }) else { return endCommand() }
      do throws(CommandTable.Mistake) {
        let (command, rest) = try CommandTable.parse(line)
        try run(command, rest, at: now)
        endCommand()
      } catch {
        // The line stays, to be recomputed.
        filterError = error.text
      }
    case (.escape, _), (.character("c"), .control): endCommand()
    case (.backspace, []) where input?.text.isEmpty ?? true: endCommand()
    case (.tab, _): complete()
    default:
      if input?.take(key) ?? false { (filterError, offered) = (nil, nil) }
    }
  }

  private mutating func endCommand() {
    if inputPurpose == .command { input = nil }
    inputPurpose = .filter
    filterError = nil
    offered = nil
  }

  /// Completes what was typed as far as there is one way to go on; says what the ways are where there are several.
  private mutating func complete() {
    guard let line = input?.text else { return }
    let found = CommandTable.completions(line, fields: Self.filterWords)
    filterError = nil
    offered = nil
    guard !found.isEmpty else { return }
    let common = CommandTable.common(found.map(\.line))
    input = TextInput(common.count > line.drop { $0 == " " || $0 == ":" }.count ? common : line)
    if found.count > 1 { offered = found.map(\.word).joined(separator: " ") }
  }

  private mutating func run(_ command: TypedCommand, _ rest: String, at now: Duration) throws(CommandTable.Mistake) {
    switch command.action {
    case .sessions: showSessions()
    case .messages: showAllMessages()
    case .problems: showProblems()
    case .connections: show(.connections)
    case .types: show(.types)
    case .ladder: try ladder(rest)
    case .filter: try filter(rest, at: now)
    case .time: try time(rest, at: now)
    case .sort: try sort(rest, at: now)
    case .goto: try goto(rest)
    case .next, .previous: try findProblem(rest, isForward: command.action == .next)
    case .graph:
      let word = try CommandTable.word(rest, of: command.words, "style")
      graph = GraphStyle(rawValue: word) ?? graph
    case .wrap: toggleWrap()
    case .pin:
      guard screen == .sessions else { throw CommandTable.Mistake(text: "only sessions can be pinned, in their list") }
      pinSelected(at: now)
    case .help: overlay = .help(0)
    case .command: overlay = .command(equivalentCommand)
    case .redraw: wishes.append(.redraw)
    case .quit: wishes.append(.quit)
    }
  }

  private mutating func ladder(_ rest: String) throws(CommandTable.Mistake) {
    if rest.isEmpty {
      guard screen == .sessions || screen == .messages || screen == .connections else {
        throw CommandTable.Mistake(text: "select a session or a message, or give a connection: :ladder CONN")
      }
      return openLadder()
    }
    let digits = rest.first == "#" ? rest.dropFirst() : Substring(rest)
    guard let connection = Int64(digits), connection >= 0 else {
      throw CommandTable.Mistake(text: "'\(rest)' is not a connection number")
    }
    showLadder(PageChoice(connection: connection, times: times), of: nil, at: .after(0))
  }

  private mutating func filter(_ rest: String, at now: Duration) throws(CommandTable.Mistake) {
    switch screen {
    case .sessions: sessionSignal.change(at: now) { $0.order.filter = rest }
    case .messages:
      if !rest.isEmpty {
        do throws(FilterError) { _ = try StoredFilter(rest, zone: zone, begin: timeline.firstMoment) } catch {
          throw CommandTable.Mistake(text: error.description)
        }
      }
      filterSignal.change(at: now) { $0 = rest }
      applyFilterNow()
    case .connections: connections.signal.change(at: now) { $0.filter = rest }
    case .problems, .types, .frame, .ladder:
      throw CommandTable.Mistake(text: "nothing to filter here; open sessions, connections or messages first")
    }
  }

  private mutating func sort(_ rest: String, at now: Duration) throws(CommandTable.Mistake) {
    var words = rest.split(separator: " ").map(String.init)
    let isReversed = words.count > 1 && words.last == "reverse"
    if isReversed { words.removeLast() }
    let all = SessionSort.allCases.map(\.word)
    let word = try CommandTable.word(words.joined(separator: "-"), of: all, "column")
    guard let sort = SessionSort.allCases.first(where: { $0.word == word }) else { return }
    if screen != .sessions { showSessions() }
    sessionSignal.change(at: now) { ($0.order.sort, $0.order.isReversed) = (sort, isReversed) }
  }

  private mutating func findProblem(_ rest: String, isForward: Bool) throws(CommandTable.Mistake) {
    guard screen == .messages || screen == .ladder else {
      throw CommandTable.Mistake(text: "only messages can be searched for problems; :messages lists them")
    }
    var kinds: ProblemKinds = []
    if !rest.isEmpty {
      let word = try CommandTable.word(rest, of: ProblemNames.all, "problem")
      kinds = ProblemNames.all.firstIndex(of: word).map { ProblemNames.kind($0) } ?? []
    }
    findProblem(kinds, isForward: isForward)
  }

  // MARK: Places and times

  private mutating func goto(_ rest: String) throws(CommandTable.Mistake) {
    guard !rest.isEmpty else { throw CommandTable.Mistake(text: "expected a number or a time") }
    cursorMoved()
    let digits = rest.filter { $0 != "," }
    if let number = Int64(digits) {
      switch screen {
      case .sessions:
        guard let found = sessions.items.firstIndex(where: { $0.id == number }) else {
          throw CommandTable.Mistake(text: "no session #\(number) is listed")
        }
        sessions.select(found)
      case .messages: messages.jump(to: number)
      case .ladder: ladder.jump(to: number)
      case .connections:
        guard let found = connections.rows.items.firstIndex(where: { $0.id == number }) else {
          throw CommandTable.Mistake(text: "no connection #\(number) is listed")
        }
        connections.rows.select(found)
      case .problems, .types, .frame:
        throw CommandTable.Mistake(text: "nothing to go to here; open sessions, connections or messages first")
      }
      return
    }
    guard let moment = moment(rest) else {
      throw CommandTable.Mistake(
        text: "'\(rest)' is neither a number nor a time such as 12:31:04 or '2026-11-21 12:31:04'")
    }
    if screen != .messages, screen != .ladder { showAllMessages() }
    momentAwaited = MomentRequest(
      generation: momentAwaited.map { $0.generation + 1 } ?? 0, moment: moment, choice: momentChoice)
    if let momentAwaited { outbox.append(.moment(momentAwaited)) }
  }

  private var momentChoice: PageRequest.Choice {
    screen == .ladder ? PageRequest.Choice(ladder.choice) : messages.choice
  }

  /// Goes to the message that was looked for.
  mutating func arrive(_ request: MomentRequest, _ found: Int64?) {
    guard request == momentAwaited else { return }
    guard let found else {
      note = "no message at or after this time"
      return
    }
    if screen == .ladder { ladder.jump(to: found) } else { messages.jump(to: found) }
  }

  private mutating func time(_ rest: String, at now: Duration) throws(CommandTable.Mistake) {
    if rest.isEmpty { return setTimes(nil, at: now) }
    // Both may have a blank between date and time.
    let words = rest.split(separator: " ").map(String.init)
    let halves: [(String, String)] = (1..<max(1, words.count)).map {
      (words[..<$0].joined(separator: " "), words[$0...].joined(separator: " "))
    }
    for (first, second) in halves {
      // What the second time means to the second, is all of that second.
      guard let from = moment(first), let end = moment(second) else { continue }
      let to = lastNanosecond(of: end, readFrom: second).advanced(by: 1)
      guard from < to else { throw CommandTable.Mistake(text: "the end is before the start") }
      return setTimes(from..<to, at: now)
    }
    throw CommandTable.Mistake(text: "expected two times, such as 12:31:04 12:32:00")
  }

  /// A moment as it is typed: a time of the day of what is selected, or with a date.
  private func moment(_ text: String) -> Timestamp? {
    var plain = text
    plain.removeAll { $0 == "'" || $0 == "\"" }
    if let moment = readMoment(plain, zone: zone) { return moment }
    guard plain.first?.isNumber ?? false, plain.contains(":"), let day = selectedMoment ?? timeline.firstMoment else {
      return nil
    }
    return readMoment(MessageItem.date(day, zone) + "T" + plain, zone: zone)
  }
}
