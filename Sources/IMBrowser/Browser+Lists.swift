import IMStore
import IMTerminal
import IMWire

/// The list of connections, and what it was asked for with.
struct ConnectionList: Sendable {
  var rows = SelectableList<StoredConnection, Int64> { $0.id }
  var signal = CombinedSignal(ConnectionsRequest(), quiet: .milliseconds(30), patience: .milliseconds(250))
  var awaited: ConnectionsRequest?
  /// When the awaited list was asked for.
  var askedAt: Duration?
  /// What the rows were asked for with; `nil` before the first ones.
  var shown: ConnectionsRequest?

  /// Whether the requested list is being read. It is not requested again with each commit: that would cancel every read before its answer.
  var isReading: Bool {
    awaited.map { $0.filter == signal.value.filter && $0.times == signal.value.times } ?? false
  }

  /// Since when the rows differ from the requested ones, apart from what the store has got since; `nil` while they do not.
  var busySince: Duration? {
    guard let shown, shown.filter != signal.value.filter || shown.times != signal.value.times else { return nil }
    return signal.waitsSince ?? askedAt
  }

  /// Takes an answer.
  mutating func accept(_ request: ConnectionsRequest, _ found: [StoredConnection]) {
    guard request == awaited else { return }
    (awaited, askedAt, shown) = (nil, nil, request)
    rows.replace(found)
  }
}

/// The list of types and topics, and what it was asked for with.
struct TypeList: Sendable {
  var rows = SelectableList<StoredTypeCount, StoredTypeCount.Key> { $0.key }
  /// It reads every message, so commits are looked at in long intervals.
  var signal = CombinedSignal(TypesRequest(), quiet: .milliseconds(200), patience: .seconds(3))
  var awaited: TypesRequest?
  /// The answer; `nil` before the first one.
  var found: StoredTypes?
  /// What it was asked for with.
  var shown: TypesRequest?

  /// Whether the requested list is being read.
  var isReading: Bool { awaited.map { $0.times == signal.value.times } ?? false }

  /// Takes an answer.
  mutating func accept(_ request: TypesRequest, _ found: StoredTypes) {
    guard request == awaited else { return }
    (awaited, shown, self.found) = (nil, request, found)
    rows.replace(found.types + found.topics)
  }
}

/// Messages of what is selected in a list, in the lower half of its screen.
struct Preview: Sendable {
  /// Messages that fit; 0 without room.
  var height = 0
  /// What was asked for last; its generation counts up.
  private(set) var request: PageRequest?
  private(set) var isAwaited = false
  private var items: [MessageItem]?
  /// Whether the store has got more since they were read.
  var isStale = false

  /// The messages of `choice`; `nil` while they are on their way, and where what they are of has changed since.
  func items(of choice: PageRequest.Choice) -> [MessageItem]? { request?.choice == choice ? items : nil }

  /// The request for other messages than those that are there or on their way; `nil` for none.
  mutating func next(_ choice: PageRequest.Choice, _ place: PageRequest.Place) -> PageRequest? {
    let isSame = request.map { $0.choice == choice && $0.place == place && $0.count == height } ?? false
    guard !isSame || isStale && !isAwaited else { return nil }
    let wanted = PageRequest(
      generation: (request?.generation ?? 0) + 1, choice: choice, place: place, count: height)
    // What is read again stays on the screen meanwhile.
    if !isSame { items = nil }
    (request, isAwaited, isStale) = (wanted, true, false)
    return wanted
  }

  /// Takes an answer.
  mutating func accept(_ page: PageAnswer) {
    guard page.request == request else { return }
    (items, isAwaited) = (page.items, false)
  }

  /// Reading failed.
  mutating func fail() { (items, isAwaited) = ([], false) }
}

/// The lists of connections and of types, and the preview beneath lists.
extension Browser {
  /// The process that writes the store has written more.
  mutating func commitLists(_ number: Int, at now: Duration) {
    connections.signal.change(at: now) { $0.commit = number }
    types.signal.change(at: now) { $0.commit = number }
    preview.isStale = true
  }

  /// Whether types are wanted: on their screen, and on all for the medians of the header once the store grows no more.
  private var wantsTypes: Bool { screen == .types || !progress.isLoading && !progress.isLive }

  /// When lists have something to ask for although nothing happens.
  var listDeadline: Duration? {
    [
      screen == .connections && !connections.isReading ? connections.signal.deadline : nil,
      wantsTypes && !types.isReading ? types.signal.deadline : nil,
    ].compactMap { $0 }.min()
  }

  /// Asks for the lists that are shown, and for the preview.
  mutating func takeListRequests(at now: Duration) {
    let changed = connections.signal.waitsSince
    if screen == .connections, !connections.isReading, let request = connections.signal.take(at: now) {
      (connections.awaited, connections.askedAt) = (request, changed ?? now)
      outbox.append(.connections(request))
    }
    if wantsTypes, !types.isReading, let request = types.signal.take(at: now) {
      types.awaited = request
      outbox.append(.types(request))
    }
    guard preview.height > 0, let (choice, place) = previewChoice else { return }
    if let request = preview.next(choice, place) { outbox.append(.preview(request)) }
  }

  /// The messages that the preview shows; `nil` where nothing is selected, or what is selected has no messages.
  var previewChoice: (PageRequest.Choice, PageRequest.Place)? {
    func lastProblems(_ page: PageChoice) -> (PageRequest.Choice, PageRequest.Place) {
      (PageRequest.Choice(page), .before(.max))
    }
    switch screen {
    case .problems:
      guard let row = problems.selected, let bit = row.bit else { return nil }
      let page = PageChoice(problems: ProblemKinds(rawValue: bit), times: times)
      return (PageRequest.Choice(page, filter: row.cause.map { "cause == \($0)" } ?? ""), .after(0))
    case .sessions:
      return sessions.selected.map { lastProblems(PageChoice(session: $0.id, problems: .all, times: times)) }
    case .connections:
      return connections.rows.selected.map { lastProblems(PageChoice(connection: $0.id, problems: .all, times: times)) }
    case .types:
      guard var page = types.rows.selected.flatMap({ page(of: $0) }) else { return nil }
      page.problems = .all
      return lastProblems(page)
    case .messages, .frame, .ladder: return nil
    }
  }

  /// Shows the list of a tab; its rows stay as they were.
  mutating func show(_ tab: BrowserTab) {
    askedAt = nil
    switch tab {
    case .problems: showProblems()
    case .sessions: showSessions()
    case .connections: screen = .connections
    case .messages:
      let page = messages.choice.page
      guard messages.isBegun, page == PageChoice(times: times) else { return showAllMessages() }
      if screen != .frame, screen != .ladder, screen != .messages { messagesCameFrom = screen }
      screen = .messages
    case .types: screen = .types
    }
  }
}
