package import IMStore
import IMTerminal
package import IMWire

/// The screens over a store, as a state machine: keys and answers go in, requests and grids come out. It has no clock, reads nothing and
/// formats only the rows that are seen.
package struct Browser: Sendable {
  /// Which screen is shown.
  package enum Screen: Sendable {
    /// The list of sessions.
    case sessions
    /// Messages.
    case messages
    /// Problems by kind and cause.
    case problems
    /// The bytes and parts of a message.
    case frame
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
  /// A line that says what could not be done, until the next key.
  package internal(set) var note: String?

  /// The sessions, in their order.
  package internal(set) var sessions = SelectableList<StoredSession, Int64> { $0.id }
  var totals = SessionTotals()
  var sessionSignal = CombinedSignal(
    SessionsRequest(), quiet: .milliseconds(30), patience: .milliseconds(60))
  /// What the sessions that are shown were asked for with; `nil` before the first ones.
  var sessionsShown: SessionsRequest?
  var sessionsAwaited: SessionsRequest?

  package internal(set) var messages = MessageWindow()
  /// Their rows as cells.
  package internal(set) var rowBook = RowBook()
  /// The session whose messages are listed; `nil` where it is all or those with a problem.
  var session: StoredSession?
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
  package var names: NameBook?
  /// Sessions whose names were asked for.
  var namesWanted = 0

  var problems = SelectableList<StoredProblemCount, String> { $0.kind + "/" + ($0.cause ?? "") }
  var problemsAwaited = false

  /// The message whose bytes are shown; `nil` while they are on their way.
  package internal(set) var frame: FrameModel?
  var frameAwaited: FrameRequest?

  var hasMouse: Bool
  var wishes: [Wish] = []
  var outbox: [BrowserRequest] = []
  /// Whether something has changed since the last frame.
  package var isDirty = true
  /// The first row of the list on the screen, as it was painted last: for the mouse.
  var listTop = 0

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
    // Sums follow at growing distances: after the first few commits most bring none, and reading them all costs.
    if number <= 16 || number % 8 == 0 || isLast { sessionSignal.change(at: now) { $0.commit = number } }
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
  }

  /// Takes an answer. One that nobody waits for any more is dropped.
  package mutating func accept(_ answer: BrowserAnswer) {
    switch answer {
    case .sessions(let request, let rows, let totals):
      guard request == sessionsAwaited else { return }
      sessionsAwaited = nil
      sessionsShown = request
      self.totals = totals
      sessions.replace(rows)
    case .page(let page):
      guard messages.accept(page) else { return }
      askedAt = nil
      rowBook.change()
    case .rows(let rows):
      // Those that are seen were there already.
      rowBook.accept(rows)
      return
    case .problem(let request, let found):
      guard request == problemAwaited else { return }
      problemAwaited = nil
      if let found {
        messages.jump(to: found)
      } else {
        let name = request.kinds == [] ? "a problem" : "this problem"
        note = "no message with \(name) \(request.isForward ? "further down" : "further up")"
      }
    case .details(let id, let lines):
      guard id == detailsAwaited else { return }
      detailsAwaited = nil
      details = (id, lines)
    case .captures(let paths): source.captures = paths
    case .problems(let counts):
      problems.replace(counts)
      watch.isCountingProblems = false
    case .news(let news): accept(news)
    case .saved(let request, let outcome): accept(request, outcome)
    case .names(let request, let found): _ = names?.accept(request, found)
    case .frame(let request, let anatomy):
      guard request == frameAwaited else { return }
      frameAwaited = nil
      frame = FrameModel(anatomy)
    case .failure(let request, let text):
      note = text
      fail(request)
    }
    isDirty = true
  }

  private mutating func fail(_ request: BrowserRequest) {
    switch request {
    case .sessions: sessionsAwaited = nil
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
      if screen == .frame { screen = .messages }
    }
  }

  // MARK: What is to be done

  /// What is to be asked for now.
  package mutating func takeRequests(at now: Duration) -> [BrowserRequest] {
    watchTurn(at: now)
    wantNames()
    if !isReadingSessions, let request = sessionSignal.take(at: now) {
      sessionsAwaited = request
      outbox.append(.sessions(request))
    }
    if let filter = filterSignal.take(at: now), filter != messages.choice.filter, filterError == nil {
      messages.open(PageRequest.Choice(messages.choice.page, filter: filter), at: place)
    }
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
      outbox.append(.problems)
    }
    defer { outbox = [] }
    return outbox
  }

  /// Where a list begins that has other messages than the one that is shown: around the message that is selected.
  private var place: PageRequest.Place { messages.selected.map { .around($0.message.id) } ?? .after(0) }

  /// When `takeRequests` has something to do although nothing happens.
  package var deadline: Duration? {
    if screen == .messages, rowBook.isWanting { return .zero }
    return [
      isReadingSessions ? nil : sessionSignal.deadline, watch.signal.deadline, filterSignal.deadline,
      isBusy ? askedAt.map { $0 + Self.busyAfter } : nil,
    ]
    .compactMap { $0 }.min()
  }

  /// Time after which it is said that messages are being looked for.
  static let busyAfter = Duration.milliseconds(80)
  /// Whether it is still to be said.
  private var isBusy: Bool { askedAt != nil && !saysBusy }
  /// Whether it is said that messages are being looked for.
  package internal(set) var saysBusy = false

  /// Says that messages are being looked for, when that takes long.
  package mutating func advance(to now: Duration) {
    let says = askedAt.map { now >= $0 + Self.busyAfter } ?? false
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
