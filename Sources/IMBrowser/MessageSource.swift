package import IMStore
package import IMWire

/// Where pages of messages come from: a store, or what a test puts in its place.
package protocol MessageSource: AnyObject {
  /// The messages behind a number; at most `count`, in order.
  func messages(after id: Int64, _ choice: PageChoice, count: Int) throws(StoreError) -> [StoredMessage]
  /// The messages in front of a number; at most `count`, in order.
  func messages(before id: Int64, _ choice: PageChoice, count: Int) throws(StoreError) -> [StoredMessage]
  /// The name of a session.
  func name(ofSession id: Int64) throws(StoreError) -> String?
  /// The client and the server of a connection.
  func ends(ofConnection id: Int64) throws(StoreError) -> (client: String, server: String)?
  /// A message's texts, as far as there are some.
  func texts(ofMessage id: Int64) throws(StoreError) -> StoredMessageTexts
  /// Runs `body`; all it reads is of one moment.
  func atOnce<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value
}

extension MessageSource {
  /// Runs `body`, where nobody writes meanwhile.
  package func atOnce<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value { try body() }
}

extension StoreReader: MessageSource {
  /// The name of a session.
  package func name(ofSession id: Int64) throws(StoreError) -> String? { try session(id)?.name }
}

/// Reads pages of messages, through a filter where there is one. Of one thread.
package final class PageFinder {
  /// Messages that are read at once while a filter looks for some that it lets through.
  private static let scanCount = StoreReader.maximumPage
  /// Names and connections that are remembered.
  private static let cacheLimit = 20_000

  private let source: any MessageSource
  private let zone: LocalZone
  private var filter: (text: String, compiled: StoredFilter?)?
  private var ends: [Int64: (client: String, server: String)] = [:]
  private var names: [Int64: String?] = [:]

  /// A finder over a source; `zone` says what local time is.
  package init(_ source: any MessageSource, zone: LocalZone) {
    self.source = source
    self.zone = zone
  }

  /// The page that is wanted; `nil` when `isStale` says that nobody wants it any more.
  package func page(_ request: PageRequest, isStale: () -> Bool = { false }) throws(StoreError) -> PageAnswer? {
    let (before, after): ((id: Int64, count: Int)?, (id: Int64, count: Int)?) =
      switch request.place {
      case .after(let id): (nil, (id, request.count))
      case .from(let id): (nil, (id &- 1, request.count))
      case .before(let id): ((id, request.count), nil)
      case .around(let id): ((id, request.count / 2), (id &- 1, request.count - request.count / 2))
      }
    var messages: [StoredMessage] = []
    var isFirst = false, isLast = false
    if let before {
      guard let found = try find(before.id, request.choice, before.count, isForward: false, isStale) else { return nil }
      messages = found.messages
      isFirst = found.isEnd
      isLast = request.place == .before(.max)
    }
    if let after {
      guard let found = try find(after.id, request.choice, after.count, isForward: true, isStale) else { return nil }
      messages += found.messages
      isLast = found.isEnd
      if request.place == .after(0) { isFirst = true }
    }
    let items = try source.atOnce { () throws(StoreError) in
      var items: [MessageItem] = []
      for message in messages {
        items.append(
          MessageItem(
            message, client: try ends(message.connection)?.client ?? "",
            texts: try source.texts(ofMessage: message.id), zone: zone))
      }
      return items
    }
    return PageAnswer(request: request, items: items, isFirst: isFirst, isLast: isLast)
  }

  /// All messages of a list behind a number, as many as are looked at at once, and whether there are no others.
  package func listed(
    after id: Int64, _ choice: PageRequest.Choice, isStale: () -> Bool = { false }
  ) throws(StoreError) -> (messages: [StoredMessage], isEnd: Bool)? {
    try find(id, choice, Self.scanCount, isForward: true, isStale)
  }

  /// How many messages have come; `nil` when `isStale` says that nobody wants to know any more.
  package func news(_ request: UpdatesRequest, isStale: () -> Bool = { false }) throws(StoreError) -> UpdatesAnswer? {
    guard var last = request.after else {
      // Where a filter lets nothing through, everything is looked at once.
      guard let found = try find(.max, request.choice, 1, isForward: false, isStale) else { return nil }
      return UpdatesAnswer(request: request, count: 0, last: found.messages.last?.id ?? 0)
    }
    var count = 0
    while true {
      guard let found = try find(last, request.choice, Self.scanCount, isForward: true, isStale) else { return nil }
      count += found.messages.count
      last = found.messages.last?.id ?? last
      if found.isEnd { return UpdatesAnswer(request: request, count: count, last: last) }
    }
  }

  /// A message that was looked for, or that there is none.
  package struct Found: Equatable, Sendable {
    /// Its number; `nil` for none.
    package let id: Int64?
  }

  /// The message with a problem that is wanted; `nil` when `isStale` says that nobody wants it any more.
  package func problem(_ request: ProblemRequest, isStale: () -> Bool = { false }) throws(StoreError) -> Found? {
    var choice = request.choice
    let wanted = request.kinds == [] ? ProblemKinds.all : request.kinds
    // Where all of the list have one kind of problem, those of another kind are looked for among them.
    let both = choice.page.problems != [] && !wanted.isSuperset(of: choice.page.problems)
    if !both { choice.page.problems = choice.page.problems == [] ? wanted : choice.page.problems }
    var from = request.from
    while true {
      guard let found = try find(from, choice, 1, isForward: request.isForward, isStale) else { return nil }
      guard let message = found.messages.first else { return Found(id: nil) }
      if !message.problems.isDisjoint(with: wanted) { return Found(id: message.id) }
      from = message.id
    }
  }

  /// The first message from a time on; `nil` when `isStale` says that nobody wants it any more.
  package func moment(_ request: MomentRequest, isStale: () -> Bool = { false }) throws(StoreError) -> Found? {
    var choice = request.choice
    let end = choice.page.times?.upperBound ?? .distantFuture
    guard request.moment < end else { return Found(id: nil) }
    choice.page.times = max(request.moment, choice.page.times?.lowerBound ?? .distantPast)..<end
    return try find(0, choice, 1, isForward: true, isStale).map { Found(id: $0.messages.first?.id) }
  }

  private func find(
    _ id: Int64, _ choice: PageRequest.Choice, _ count: Int, isForward: Bool, _ isStale: () -> Bool
  ) throws(StoreError) -> (messages: [StoredMessage], isEnd: Bool)? {
    let filter = compiled(choice.filter)
    let step = filter == nil ? count : Self.scanCount
    var (place, found) = (id, [StoredMessage]())
    while true {
      if isStale() { return nil }
      let page =
        isForward
        ? try source.messages(after: place, choice.page, count: step)
        : try source.messages(before: place, choice.page, count: step)
      var matching: [StoredMessage] = []
      for message in isForward ? page : page.reversed() {
        guard found.count + matching.count < count else { break }
        if try isWanted(message, filter) { matching.append(message) }
      }
      found += matching
      let isEnd = page.count < step
      if found.count >= count || isEnd {
        return (isForward ? found : found.reversed(), isEnd && found.count < count || page.isEmpty)
      }
      place = (isForward ? page.last : page.first)?.id ?? place
    }
  }

  private func isWanted(_ message: StoredMessage, _ filter: StoredFilter?) throws(StoreError) -> Bool {
    guard let filter else { return true }
    let session = filter.needsSession ? try name(message.session) : nil
    let ends = filter.needsEnds ? try ends(message.connection) : nil
    return filter.matches(
      message, session: session, client: ends.flatMap { Endpoint(text: $0.client) },
      server: ends.flatMap { Endpoint(text: $0.server) })
  }

  private func compiled(_ text: String) -> StoredFilter? {
    if text.isEmpty { return nil }
    if let filter, filter.text == text { return filter.compiled }
    let first = (try? source.messages(after: 0, PageChoice(), count: 1))?.first?.time
    let compiled = try? StoredFilter(text, zone: zone, begin: first)
    filter = (text, compiled)
    return compiled
  }

  private func ends(_ connection: Int64) throws(StoreError) -> (client: String, server: String)? {
    if let known = ends[connection] { return known }
    // While a store is being written, a connection's row follows its first messages.
    guard let read = try source.ends(ofConnection: connection) else { return nil }
    if ends.count >= Self.cacheLimit { ends = [:] }
    ends[connection] = read
    return read
  }

  private func name(_ session: Int64) throws(StoreError) -> String? {
    if let known = names[session] { return known }
    guard let read = try source.name(ofSession: session) else { return nil }
    if names.count >= Self.cacheLimit { names = [:] }
    names[session] = read
    return read
  }
}

extension Endpoint {
  /// `10.0.0.7:51234`, or `[fd00::1]:51234`; `nil` where the text is neither.
  init?(text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var address = text[..<colon]
    if address.first == "[", address.last == "]" { address = address.dropFirst().dropLast() }
    guard let parsed = IPAddress(address) else { return nil }
    self.init(address: parsed, port: port)
  }
}
