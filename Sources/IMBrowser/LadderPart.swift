import IMEngine
import IMOutput
import IMStore
import IMWire

/// The rows of a part of a ladder, as they are put together.
struct LadderPart {
  private struct Row {
    var at: Timestamp
    var event: Ladder.Event
    var id: LadderItem.ID
    /// The message that it is of; `nil` for what is no message's.
    var message: StoredMessage?
    var connection: Int64
  }

  /// Rows of a part on the screen, at most: a message that was sent over and over has many.
  private static let screenLimit = 5_000
  private let limit: Int

  /// The time that the part covers, unless it begins or ends with the ladder.
  let begin: Timestamp, end: Timestamp
  private let isFirst: Bool, isLast: Bool
  private var rows: [Row] = []
  private let nearest: StoredMessage?
  /// Frames within the part's limits that have no row.
  private(set) var leftOut = 0
  /// The connections of its messages, in the order of their numbers.
  private(set) var connections: [Int64]
  /// When connections began, for times that count from there; empty where all of them count from the ladder's.
  private var starts: [Int64: Timestamp] = [:]

  /// A part of messages, which is over at `end`, or else with the last of them. It has `limit` rows at most.
  init(
    isFirst: Bool, isLast: Bool, _ messages: [StoredLadderMessage], end: Timestamp? = nil,
    limit: Int = screenLimit
  ) {
    (self.isFirst, self.isLast, self.limit) = (isFirst, isLast, limit)
    let times = messages.map(\.message.time)
    begin = times.min() ?? .distantPast
    self.end = end ?? times.max() ?? .distantFuture
    nearest = messages.first?.message
    connections = Set(messages.map(\.message.connection)).sorted()
    for message in messages { add(message) }
  }

  private mutating func add(_ row: Row) {
    guard isFirst || row.at >= begin, isLast || row.at <= end, rows.count < limit else {
      if case .step = row.event { leftOut += 1 }
      return
    }
    rows.append(row)
  }

  /// Adds what of a message came in the part's time.
  mutating func add(_ stored: StoredLadderMessage) {
    let message = stored.message
    let isFromClient = message.direction == .clientToServer
    let number = message.sequence.map { " \($0)" } ?? ""
    let name = message.type + number
    let answerName = stored.answerType.map { $0 + number } ?? "answer to \(name)"
    let sequence = message.sequence.flatMap { UInt64($0) }
    let answered = stored.answers.first
    func row(_ at: Int64, _ kind: LadderItem.ID.Kind, _ step: Ladder.Step) -> Row {
      Row(
        at: Timestamp(microseconds: at), event: .step(step), id: LadderItem.ID(kind: kind, number: message.id),
        message: message, connection: message.connection)
    }
    for (i, at) in stored.copies.enumerated() {
      var facts: Ladder.Facts = stored.isHeartbeat ? .heartbeat : []
      if i > 0 { facts.insert(answered.map { at > $0 } ?? false ? .duplicate : .retry) }
      if i == 0, stored.isDamaged { facts.insert(.damaged) }
      if message.problems.contains(.late) { facts.insert(.late) }
      var step = Ladder.Step(
        label: name, sequence: sequence, isFromClient: isFromClient, facts: facts, copy: UInt16(clamping: i + 1),
        sinceCopy: i > 0 ? at - stored.copies[i - 1] : nil)
      if i == 0 { (step.fate, step.cause) = (message.fate, message.cause) }
      add(row(at, .copy(i), step))
    }
    for (i, at) in stored.answers.enumerated() {
      var step = Ladder.Step(
        label: answerName, sequence: sequence, isFromClient: !isFromClient,
        facts: i == 0 ? .answer : [.answer, .repeatedAnswer], copy: 0)
      if i == 0 {
        step.latency = message.latency.map { .microseconds($0) }
        // Karn's rule: which of several copies was answered nobody knows.
        step.roundTrip = message.retries == 0 ? step.latency : nil
        if let status = stored.status { step.label += ": \(status)" }
      }
      add(row(at, .answer(i), step))
    }
  }

  /// Adds what went wrong on a stream.
  mutating func add(_ issue: StoredStreamIssue, _ connection: Int64) {
    let id = LadderItem.ID(kind: .issue, number: issue.id)
    let isFromClient = issue.direction == .clientToServer
    let event: Ladder.Event
    if issue.kind == IssueKind.orphanAck.name {
      event = .step(
        Ladder.Step(label: "answer", sequence: nil, isFromClient: isFromClient, facts: [.answer, .orphan], copy: 0))
    } else {
      let bytes = issue.byteCount > 0 ? ": \(count(UInt64(issue.byteCount), "byte"))" : ""
      event = .note("\(issue.kind)\(bytes) of the \(isFromClient ? "client" : "server")", isTrouble: true)
    }
    add(Row(at: issue.time, event: event, id: id, message: nil, connection: connection))
  }

  /// Puts the rows in the order of time; what came at once, in the order of the messages.
  mutating func sort() {
    // An answer that was there before its message is an issue in the store, although its message came.
    let answers = Set(rows.filter { if case .answer = $0.id.kind { true } else { false } }.map(\.at))
    rows.removeAll { row in
      guard row.id.kind == .issue, case .step = row.event else { return false }
      return answers.contains(row.at)
    }
    rows.sort { ($0.at, $0.message?.id ?? 0, $0.id.place) < ($1.at, $1.message?.id ?? 0, $1.id.place) }
  }

  /// Has times count from where the connection of each row began, as in its own ladder, and says where the ladder goes on with another
  /// connection: for a session, which may have several.
  mutating func tellConnections(_ source: any LadderSource) throws(StoreError) {
    // Of messages in front of the part, rows may be of yet other connections.
    for connection in Set(rows.map(\.connection)) { starts[connection] = try source.start(ofConnection: connection) }
    guard connections.count > 1 else { return }
    var named: [Row] = []
    var names: [Int64: String] = [:]
    var last: Int64?
    for row in rows {
      if row.connection != last, let message = row.message {
        last = row.connection
        if names[row.connection] == nil {
          let ends = try source.ends(ofConnection: row.connection)
          names[row.connection] = ends.map { ": \($0.client) to \($0.server)" } ?? ""
        }
        let text = "connection #\(row.connection)\(names[row.connection] ?? "")"
        named.append(
          Row(
            at: row.at, event: .note(text, isTrouble: false),
            id: LadderItem.ID(kind: .connection(row.id.place), number: message.id), message: nil,
            connection: row.connection))
      }
      named.append(row)
    }
    rows = named
  }

  /// The rows as a ladder has them.
  var ladderRows: [Ladder.Row] {
    rows.map { Ladder.Row(at: $0.at, event: $0.event, start: starts[$0.connection]) }
  }

  /// The lines, with what tells them apart.
  func items(of ladder: Ladder) -> [LadderItem] {
    guard var near = rows.lazy.compactMap(\.message).first ?? nearest else { return [] }
    var ladder = ladder
    ladder.rows = ladderRows
    let lines = ladder.lines
    return lines.enumerated().map { i, line in
      guard let index = line.row, rows.indices.contains(index) else {
        // A silence belongs to the row behind it.
        let next = i + 1 < lines.count ? lines[i + 1].row : nil
        let id = next.flatMap { rows.indices.contains($0) ? rows[$0].id : nil }
        return LadderItem(
          id: LadderItem.ID(kind: .silence(id?.place ?? 0), number: id?.number ?? near.id), line: line, time: nil,
          message: near,
          isOfMessage: false)
      }
      let row = rows[index]
      // A line that names a connection is in front of its first message.
      let isName = if case .connection = row.id.kind { true } else { false }
      if let message = row.message ?? (isName && index + 1 < rows.count ? rows[index + 1].message : nil) {
        near = message
      }
      return LadderItem(id: row.id, line: line, time: row.at, message: near, isOfMessage: row.message != nil)
    }
  }
}

extension LadderItem.ID {
  /// The place of a line among those of its message that came at once.
  fileprivate var place: Int {
    switch kind {
    case .copy(let place): place
    case .answer(let place): 10_000 + place
    case .issue: 20_000
    case .connection(let place), .silence(let place): 30_000 + place
    }
  }
}
