import IMStore
import IMTerminal
import IMWire

/// Lists to which messages come while they are on the screen.
extension Browser {
  /// What comes while a list is watched.
  struct Watch: Sendable {
    /// Commits of whoever writes the store, which are looked at together.
    var signal = CombinedSignal(0, quiet: .milliseconds(50), patience: .milliseconds(100))
    /// Messages that have come to a list since its end was seen: up to which one they are counted, and how many they are.
    var news: (choice: PageRequest.Choice, last: Int64, count: Int)?
    /// The count that is on its way.
    var awaited: UpdatesRequest?
    /// Whether problems are being counted.
    var isCountingProblems = false
  }

  /// Whoever writes the store has written more; messages that are shown may be others than they were.
  mutating func watchCommit(_ number: Int, at now: Duration) {
    sessionSignal.change(at: now) { $0.commit = number }
    stripSignal.change(at: now) { $0.commit = number }
    commitLists(number, at: now)
    watch.signal.change(at: now) { $0 = number }
  }

  /// Whether sessions are being read in the order that is wanted: asking anew with every commit would end each reading before it has
  /// an answer.
  var isReadingSessions: Bool { sessionsAwaited.map { $0.order == sessionSignal.value.order } ?? false }

  /// Whether figures over time are being read of the time that is wanted, for the same reason.
  var isReadingStrip: Bool { stripAwaited.map { $0.times == stripSignal.value.times } ?? false }

  /// Has read again what is shown, when commits have come.
  mutating func watchTurn(at now: Duration) {
    beginCount()
    guard watch.signal.take(at: now) != nil, progress.isLive else { return }
    switch screen {
    case .messages:
      messages.refresh()
      countNews()
    case .problems: if !watch.isCountingProblems { problemsAwaited = false }
    case .ladder: ladder.refresh()
    case .sessions, .connections, .types, .frame: break
    }
  }

  /// Learns where a list ends when it is opened, so that what comes behind that can be counted. Through a filter that is a search,
  /// for lists alone that grow.
  private mutating func beginCount() {
    guard screen == .messages, messages.isLoaded, watch.awaited == nil, watch.news?.choice != messages.choice,
      progress.isLive || source.isStore && messages.choice.filter.isEmpty
    else { return }
    countNews()
  }

  private mutating func countNews() {
    guard watch.awaited == nil else { return }
    let choice = messages.choice
    let last = watch.news?.choice == choice ? watch.news?.last : nil
    let request = UpdatesRequest(choice: choice, after: last)
    watch.awaited = request
    outbox.append(.news(request))
  }

  mutating func accept(_ news: UpdatesAnswer) {
    guard news.request == watch.awaited else { return }
    watch.awaited = nil
    guard news.request.choice == messages.choice else { return }
    let before = watch.news?.choice == messages.choice ? watch.news?.count ?? 0 : 0
    watch.news = (messages.choice, news.last, messages.follows ? 0 : before + news.count)
  }

  /// What the heading says of messages that come: none where their place is on the screen.
  mutating func followText() -> String {
    guard progress.isLive || messages.follows else { return "" }
    if messages.follows { return "▼ following" }
    if messages.showsEnd { watch.news?.count = 0 }
    guard let news = watch.news, news.choice == messages.choice, news.count > 0 else { return "" }
    return "▼ \(grouped(UInt64(news.count))) new"
  }

  /// Begins to follow the list, or ends it.
  mutating func toggleFollow() {
    if messages.follows { messages.unfollow() } else { messages.follow() }
  }

  /// Where a list of messages begins: live at its end, which it follows.
  mutating func begin(_ choice: PageRequest.Choice) {
    messages.open(choice, at: progress.isLive ? .before(.max) : .after(0))
    if progress.isLive { messages.follow() }
  }

  /// What the title says of a capture that is running.
  func liveText(width: Int) -> String {
    guard let capture = progress.capture else { return "● live" }
    let dropped = capture.dropped.map { "\(grouped($0)) dropped" }
    if width < 100 { return "● live" + (dropped.map { capture.dropped == 0 ? "" : ", \($0)" } ?? "") }
    return
      (["● live  \(grouped(capture.packets)) \(capture.packets == 1 ? "packet" : "packets")"]
      + [dropped].compactMap { $0 })
      .joined(separator: "  ")
  }
}
