import IMEngine
import IMOutput
package import IMStore
package import IMWire

/// Where ladders come from: a store, or what a test puts in its place.
package protocol LadderSource: AnyObject {
  /// The messages behind a number; at most `count`, in order.
  func ladderMessages(after id: Int64, _ choice: PageChoice, count: Int) throws(StoreError) -> [StoredLadderMessage]
  /// The messages in front of a number; at most `count`, in order.
  func ladderMessages(before id: Int64, _ choice: PageChoice, count: Int) throws(StoreError) -> [StoredLadderMessage]
  /// What went wrong on a connection's streams within a time.
  func streamIssues(
    ofConnection connection: Int64, from: Timestamp, to: Timestamp
  ) throws(StoreError) -> [StoredStreamIssue]
  /// Microseconds between a connection's signs of life; `nil` where that is not known.
  func heartbeatInterval(ofConnection connection: Int64) throws(StoreError) -> Int64?
  /// When a connection's first packet came; `nil` where that is not known.
  func start(ofConnection id: Int64) throws(StoreError) -> Timestamp?
  /// The client and the server of a connection.
  func ends(ofConnection id: Int64) throws(StoreError) -> (client: String, server: String)?
  /// The name of the profile that decodes a connection.
  func profile(ofConnection id: Int64) throws(StoreError) -> String?
  /// The name of a session.
  func name(ofSession id: Int64) throws(StoreError) -> String?
}

extension StoreReader: LadderSource {}

/// Makes parts of ladders: the lines of some 200 messages, however many the connection has.
///
/// A part covers the time from its first message to its last one. What came later of its messages, and what came then of
/// messages in front of them, is in the part in which it came: of 1,000 messages in front it is looked up.
package struct LadderFinder {
  /// Messages of a part, and those in front of it whose answers may be in it.
  static let count = 200, reach = StoreReader.maximumPage

  let source: any LadderSource

  /// A finder over a source.
  package init(_ source: any LadderSource) { self.source = source }

  /// The part that is wanted; `nil` when `isStale` says that nobody wants it any more.
  package func part(_ request: LadderRequest, isStale: () -> Bool = { false }) throws(StoreError) -> LadderAnswer? {
    let choice = request.choice
    var messages: [StoredLadderMessage] = []
    var isFirst = false, isLast = false
    switch request.place {
    case .after(let id):
      messages = try source.ladderMessages(after: id, choice, count: Self.count)
      (isFirst, isLast) = (id <= 0, messages.count < Self.count)
    case .from(let id):
      messages = try source.ladderMessages(after: id &- 1, choice, count: Self.count)
      (isFirst, isLast) = (id <= 1, messages.count < Self.count)
    case .before(let id):
      messages = try source.ladderMessages(before: id, choice, count: Self.count)
      (isFirst, isLast) = (messages.count < Self.count, id == .max)
    case .around(let id):
      let before = try source.ladderMessages(before: id, choice, count: Self.count / 2)
      let after = try source.ladderMessages(after: id &- 1, choice, count: Self.count / 2)
      messages = before + after
      (isFirst, isLast) = (before.count < Self.count / 2, after.count < Self.count / 2)
    }
    var answer = LadderAnswer(request: request, items: [], isFirst: isFirst, isLast: isLast, client: "", server: "")
    guard let first = messages.first, !isStale() else { return messages.isEmpty ? answer : nil }
    if let ends = try source.ends(ofConnection: first.message.connection) {
      (answer.client, answer.server) = ends
    }
    var part = LadderPart(isFirst: isFirst, isLast: isLast, messages)
    if !isFirst {
      for message in try source.ladderMessages(before: first.message.id, choice, count: Self.reach) {
        part.add(message)
      }
    }
    if isStale() { return nil }
    let (from, to) = (isFirst ? Timestamp.distantPast : part.begin, isLast ? .distantFuture : part.end)
    try addIssues(to: &part, choice, from: from, to: to)
    part.sort()
    if choice.session != nil { try part.tellConnections(source) }
    answer.items = part.items(of: try ladder(choice, of: part, first: first.message))
    return answer
  }

  /// Adds what went wrong on the streams of a part within a time.
  func addIssues(to part: inout LadderPart, _ choice: PageChoice, from: Timestamp, to: Timestamp) throws(StoreError) {
    for connection in part.connections {
      for issue in try source.streamIssues(ofConnection: connection, from: from, to: to) {
        // Of a session's connection, what went wrong while the session used it.
        if choice.session == nil || (part.begin...part.end).contains(issue.time) { part.add(issue, connection) }
      }
    }
  }

  /// The ladder that rows of a part belong to, without any rows; `first` is the part's first message.
  func ladder(_ choice: PageChoice, of part: LadderPart, first: StoredMessage?) throws(StoreError) -> Ladder {
    let whole = PageChoice(session: choice.session, connection: choice.connection)
    let connection = first?.connection ?? choice.connection ?? 0
    let ends = try source.ends(ofConnection: connection)
    // As `imdump ladder` has it; of a session, whose rows count from their own connections, that of its first message.
    var begun = choice.session == nil ? try source.start(ofConnection: connection) : nil
    if begun == nil {
      let earliest = try source.ladderMessages(after: 0, whole, count: 1).first?.message
      begun = try source.start(ofConnection: earliest?.connection ?? connection) ?? earliest?.time
    }
    var ladder = Ladder(
      serial: UInt32(clamping: connection), client: ends?.client ?? "", server: ends?.server ?? "",
      profile: try source.profile(ofConnection: connection) ?? "",
      session: try first.flatMap { one throws(StoreError) in try source.name(ofSession: one.session) },
      firstSeen: begun ?? first?.time ?? .distantPast)
    ladder.lastSeen = try source.ladderMessages(before: .max, whole, count: 1).first?.message.time
    // Of several connections no one silence tells of a missed sign of life.
    if part.connections.count == 1 {
      ladder.heartbeat = try source.heartbeatInterval(ofConnection: connection).map { ($0, false) }
    }
    return ladder
  }
}
