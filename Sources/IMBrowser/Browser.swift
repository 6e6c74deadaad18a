package import IMStore
import IMTerminal
package import IMWire

/// The screens over a store, as a state machine: keys and answers go in, requests and grids come out. It has no clock, reads nothing and
/// formats only the rows that are seen.
package struct Browser: Sendable {
  /// Which screen is shown.
  package enum Screen: CaseIterable, Sendable {
    /// Problems by kind and cause.
    case problems
    /// The list of sessions.
    case sessions
    /// The list of TCP connections.
    case connections
    /// Messages.
    case messages
    /// Types of messages.
    case types
    /// The bytes and parts of a message.
    case frame
    /// Who sent what to whom, and what became of it.
    case ladder
  }

  /// What lies over the screen.
  enum Overlay: Equatable, Sendable {
    /// The keys; so many lines are scrolled away.
    case help(Int)
    /// The command that prints what is shown.
    case command(String)
  }

  /// What whoever owns the terminal is to do.
  package enum Wish: Equatable, Sendable {
    /// End.
    case quit
    /// Stop, as Ctrl-Z does.
    case suspend
    /// Paint everything again.
    case redraw
    /// Have the mouse reported, or not.
    case mouse(Bool)
    /// Put text on the clipboard.
    case copy(String)
  }

  /// What is browsed.
  package var source: BrowsedSource
  let zone: LocalZone
  /// How far the store is.
  package var progress = LoadProgress() { didSet { if progress != oldValue { isDirty = true } } }

  /// Which screen is shown.
  package internal(set) var screen = Screen.sessions
  /// Where `back` leads from the messages.
  var messagesCameFrom = Screen.sessions
  var overlay: Overlay?
  /// The filter that is being typed; `nil` while none is.
  package internal(set) var input: TextInput?
  /// What was in the filter before it was typed.
  var inputBefore = ""
  /// What is being typed, and the words that a command may go on with.
  var inputPurpose = InputPurpose.filter
  var offered: String?
  /// A line that says what could not be done, until the next key.
  package internal(set) var note: String?

  /// The sessions, in their order.
  package internal(set) var sessions = SelectableList<StoredSession, Int64> { $0.id }
  var totals = SessionTotals()
  var sessionSignal = CombinedSignal(
    SessionsRequest(), quiet: .milliseconds(20), patience: .milliseconds(40))
  /// What the sessions that are shown were asked for with; `nil` before the first ones.
  var sessionsShown: SessionsRequest?
  var sessionsAwaited: SessionsRequest?
  /// Since when the sessions are not those that are wanted.
  var sessionsAskedAt: Duration?

  package internal(set) var messages = MessageWindow()
  /// Their rows as cells.
  package internal(set) var rowBook = RowCache()
  /// The session whose messages are listed; `nil` where it is all or those with a problem.
  var session: StoredSession?
  /// The connection whose messages are listed, where they are one's.
  var connection: StoredConnection?
  /// The type whose messages are listed, where they are one's.
  var type: StoredTypeCount?
  /// The filter over messages as it is typed, which is handed on when typing rests.
  var filterSignal = CombinedSignal("", quiet: .milliseconds(60), patience: .milliseconds(250))
  /// What is wrong with the filter that is being typed.
  package internal(set) var filterError: String?
  /// When messages were asked for that are not there yet.
  var askedAt: Duration?
  var problemAwaited: ProblemRequest?
  var details: (id: Int64, lines: [(name: String, value: String)])?
  var detailsAwaited: Int64?
  /// The message that `details` were asked for of, as it was then.
  var detailsOf: StoredMessage?
  /// What comes while a list is watched.
  var watch = Watch()
  /// What is selected, and what is being saved.
  var saving = Saving()
  /// Names beside ids; `nil` where none were asked for.
  package var names: NameRegistry?
  /// Sessions whose names were asked for.
  var namesWanted = 0

  var problems = SelectableList<StoredProblemCount, String> { $0.kind + "/" + ($0.cause ?? "") }
  var problemsAwaited = false

  /// The list of connections.
  var connections = ConnectionList()
  /// The list of types.
  var types = TypeList()
  /// Messages of what is selected in a list.
  var preview = Preview()
  /// The key that was pressed before the one that is waited for.
  var pressedPrefix: Key?

  /// The message whose bytes are shown; `nil` while they are on their way.
  package internal(set) var frame: FrameModel?
  var frameAwaited: FrameRequest?
  /// The message whose bytes are shown, or on their way, and where `back` leads from them.
  var framed: StoredMessage?
  var frameCameFrom = Screen.messages

  /// The ladder, its session where it is one's, and where `back` leads from it.
  package internal(set) var ladder = LadderView()
  var ladderSession: StoredSession?
  var ladderCameFrom = Screen.sessions

  /// Metrics over time.
  package internal(set) var timeline = Timeline()
  /// How they are drawn.
  package var graph = GraphStyle.ascii
  var stripSignal = CombinedSignal(TimelineRequest(), quiet: .milliseconds(30), patience: .milliseconds(250))
  var stripAwaited: TimelineRequest?
  /// The time to which all lists are limited; `nil` for all times.
  package internal(set) var times: Range<Timestamp>?
  /// On which screen that was chosen.
  var timesScreen = Screen.sessions
  /// What was selected before there was a filter by time, and has not been left since.
  var cursorBefore: Cursor?
  var momentAwaited: MomentRequest?

  /// Whether texts of messages are wrapped, and not cut.
  package internal(set) var wrapsText = false
  /// Whether topics and what messages say are shown, as far as the store has them.
  package internal(set) var showsTexts = true
  /// Whether a ladder has times of day, and not those since its connection began.
  var showsClock = false

  var hasMouse: Bool
  var wishes: [Wish] = []
  var outbox: [BrowserRequest] = []
  /// Whether something has changed since the last frame.
  package var isDirty = true
  /// The first row of the list on the screen, as it was painted last: for the mouse.
  var listTop = 0
  /// The row of the list's heading, as it was painted last.
  var headingRow = 0
  /// The row of the tabs, as it was painted last; `nil` where there is no room for them.
  var tabRow: Int?
  /// The width for which they were painted.
  var tabWidth = 0

  /// A browser over a source; `zone` says what local time is.
  package init(_ source: BrowsedSource, zone: LocalZone, hasMouse: Bool = true) {
    self.source = source
    self.zone = zone
    self.hasMouse = hasMouse
  }

  // MARK: What others have done

  /// Whoever writes the store has written more; `isLast` says that nothing follows.
  package mutating func commit(_ number: Int, isLast: Bool, at now: Duration) {
    if progress.isLive, !isLast { return watchCommit(number, at: now) }
    // Sums follow at growing distances: after the first few commits most bring none, and reading them all costs. Commits that came
    // while the screen was painted are seen as one.
    if number <= 16 || number - sessionSignal.value.commit >= 8 || isLast {
      sessionSignal.change(at: now) { $0.commit = number }
    }
    if isLast, !messages.items.isEmpty || screen == .messages {
      // Rows may have come between those that are shown.
      messages.restart(
        at: messages.follows ? .before(.max) : messages.selected.map { .around($0.message.id) } ?? .after(0))
    } else if messages.follows {
      messages.refresh()
    } else if messages.items.count < MessageWindow.pageCount, messages.isLoaded {
      messages.restart(at: .after(0))
    } else {
      messages.grow()
    }
    if screen == .problems { problemsAwaited = false }
    commitMore(number, isLast: isLast, at: now)
  }

  /// Takes an answer. One that nobody waits for any more is dropped.
  package mutating func accept(_ answer: BrowserAnswer) {
    switch answer {
    case .sessions(let request, let rows, let totals):
      guard request == sessionsAwaited else { return }
      (sessionsAwaited, sessionsAskedAt) = (nil, nil)
      sessionsShown = request
      self.totals = totals
      sessions.replace(rows)
    case .connections(let request, let rows): connections.accept(request, rows)
    case .types(let request, let found): types.accept(request, found)
    case .preview(let page): preview.accept(page)
    case .page(let page):
      guard messages.accept(page) else { return }
      askedAt = nil
      rowBook.change()
    case .rows(let rows):
      // Those that are seen were there already.
      if rowBook.accept(rows) { messages.take(rows.texts) }
      return
    case .problem(let request, let found):
      guard request == problemAwaited else { return }
      problemAwaited = nil
      if let found {
        if screen == .ladder { ladder.jump(to: found) } else { messages.jump(to: found) }
      } else {
        let name = request.kinds == [] ? "a problem" : "this problem"
        note = "no message with \(name) \(request.isForward ? "below" : "above")"
      }
    case .details(let id, let lines):
      guard id == detailsAwaited else { return }
      detailsAwaited = nil
      details = (id, lines)
    case .captures(let paths): source.captures = paths
    case .problems(let counts):
      problems.replace(ProblemNames.worstFirst(counts))
      watch.isCountingProblems = false
    case .news(let news): accept(news)
    case .saved(let request, let outcome): accept(request, outcome)
    case .names(let request, let found, let isLast): _ = names?.accept(request, found, isLast: isLast)
    case .frame(let request, let anatomy):
      guard request == frameAwaited else { return }
      frameAwaited = nil
      frame = FrameModel(anatomy)
    case .ladder(let part): _ = ladder.accept(part)
    case .timeline(let request, let figures):
      guard request == stripAwaited else { return }
      stripAwaited = nil
      timeline.figures = figures
    case .moment(let request, let found): arrive(request, found)
    case .failure(let request, let text):
      note = text
      fail(request)
    }
    isDirty = true
  }

  private mutating func fail(_ request: BrowserRequest) {
    switch request {
    case .sessions: (sessionsAwaited, sessionsAskedAt) = (nil, nil)
    case .connections: connections.awaited = nil
    case .types: types.awaited = nil
    case .preview: preview.fail()
    case .page: messages.fail()
    case .rows(let wanted): rowBook.fail(wanted)
    case .problem: problemAwaited = nil
    case .details(let id): details = (id, [])
    case .problems: watch.isCountingProblems = false
    case .news: watch.awaited = nil
    case .save: saving.awaited = nil
    case .names(let wanted): names?.fail(wanted)
    case .frame(let wanted):
      guard wanted == frameAwaited else { return }
      frameAwaited = nil
      if screen == .frame { screen = frameCameFrom }
    case .ladder: ladder.fail()
    case .timeline: stripAwaited = nil
    case .moment: momentAwaited = nil
    }
  }

  // MARK: What is to be done

  /// What is to be asked for now.
  package mutating func takeRequests(at now: Duration) -> [BrowserRequest] {
    watchTurn(at: now)
    wantNames()
    let (sessionsChanged, filterChanged) = (sessionSignal.waitsSince, filterSignal.waitsSince)
    if !isReadingSessions, let request = sessionSignal.take(at: now) {
      sessionsAwaited = request
      sessionsAskedAt = sessionsChanged ?? now
      outbox.append(.sessions(request))
    }
    if let filter = filterSignal.take(at: now) { apply(filter, changedAt: filterChanged) }
    if screen == .messages {
      if let request = messages.nextRequest() {
        askedAt = askedAt ?? now
        outbox.append(.page(request))
      }
      if let message = messages.selected?.message, message != detailsOf {
        (detailsOf, detailsAwaited) = (message, message.id)
        outbox.append(.details(message.id))
      }
      if let request = rowBook.nextRequest(messages.rows, seen: messages.top..<messages.top + messages.height) {
        outbox.append(.rows(request))
      }
    }
    if screen == .problems, !problemsAwaited {
      problemsAwaited = true
      watch.isCountingProblems = true
      outbox.append(.problems(times))
    }
    takeMoreRequests(at: now)
    defer { outbox = [] }
    return outbox
  }

  /// Applies the filter of messages that the user has ended: keys typed after it act on the list that it selects.
  mutating func applyFilterNow() {
    let changedAt = filterSignal.waitsSince
    if let filter = filterSignal.takeNow() { apply(filter, changedAt: changedAt) }
  }

  private mutating func apply(_ filter: String, changedAt: Duration?) {
    guard filter != messages.choice.filter, filterError == nil else { return }
    messages.open(PageRequest.Choice(messages.choice.page, filter: filter), at: place)
    askedAt = changedAt
  }

  /// Where a list begins that has other messages than the one that is shown: around the message that is selected.
  private var place: PageRequest.Place { messages.selected.map { .around($0.message.id) } ?? .after(0) }

  /// When `takeRequests` has something to do although nothing happens.
  package var deadline: Duration? {
    if screen == .messages, rowBook.isWanting { return .zero }
    return [
      isReadingSessions ? nil : sessionSignal.deadline, listDeadline, watch.signal.deadline, filterSignal.deadline,
      isReadingStrip ? nil : stripSignal.deadline, saysBusy ? nil : busySince.map { $0 + Self.busyAfter },
    ]
    .compactMap { $0 }.min()
  }

  /// Time from a change on after which it is said that rows are being looked for; it is on the screen a frame later.
  static let busyAfter = Duration.milliseconds(70)
  /// Whether it is said that rows are being looked for.
  package internal(set) var saysBusy = false

  /// Says that messages are being looked for, when that takes long.
  package mutating func advance(to now: Duration) {
    let says = busySince.map { now >= $0 + Self.busyAfter } ?? false
    if says != saysBusy {
      saysBusy = says
      isDirty = true
    }
  }

  /// What whoever owns the terminal is to do.
  package mutating func takeWishes() -> [Wish] {
    defer { wishes = [] }
    return wishes
  }
}
