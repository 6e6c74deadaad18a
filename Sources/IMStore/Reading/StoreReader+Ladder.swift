import IMEngine
package import IMWire

/// A message with what a ladder draws of it beside its row: each copy and each answer.
package struct StoredLadderMessage: Equatable, Sendable {
  /// The message.
  package var message: StoredMessage
  /// When its copies came, the first one first, and when its answers came, in microseconds since 1970: the first ones, as far as
  /// `copyLimit` goes.
  package var copies: [Int64], answers: [Int64]
  /// Whether it is a sign of life.
  package var isHeartbeat: Bool
  /// Whether its first copy had a wrong checksum.
  package var isDamaged: Bool
  /// What its answer said, by name or number; `nil` where it said nothing.
  package var status: String?
  /// The type of its answers, or two possible ones: `puback/pubrec`; `nil` if the store does not have it.
  package var answerType: String?

  /// A message of its parts.
  package init(
    message: StoredMessage, copies: [Int64], answers: [Int64], isHeartbeat: Bool = false, isDamaged: Bool = false,
    status: String? = nil, answerType: String? = nil
  ) {
    self.message = message
    self.copies = copies
    self.answers = answers
    self.isHeartbeat = isHeartbeat
    self.isDamaged = isDamaged
    self.status = status
    self.answerType = answerType
  }
}

/// What went wrong on a stream, and when.
package struct StoredStreamIssue: Equatable, Sendable {
  /// Its number.
  package var id: Int64
  /// When.
  package var time: Timestamp
  /// The kind's name, as every output has it.
  package var kind: String
  /// Whose bytes it concerns.
  package var direction: Direction
  /// How many.
  package var byteCount: Int64

  /// An issue of its parts.
  package init(id: Int64, time: Timestamp, kind: String, direction: Direction, byteCount: Int64) {
    self.id = id
    self.time = time
    self.kind = kind
    self.direction = direction
    self.byteCount = byteCount
  }
}

/// What ladders are drawn of.
extension StoreReader {
  /// Copies and answers of one message that are read, at most.
  package static let copyLimit = 20
  /// Messages of a connection among which signs of life are looked for, and issues of streams that are read, at most.
  private static let heartbeatReach = 20_000, issueLimit = 500

  private static let ladderColumns = """
    \(StoredMessage.columns), substr(copies, 1, 400), substr(answers, 1, 400), \
    (SELECT role = 'heartbeat' FROM type WHERE type.id = message.type), \
    (SELECT name = 'bad' FROM checksum AS c WHERE c.id = message.checksum), \
    \(StoredMessage.statusColumn)
    """

  /// The messages behind the one with number `id`, 0 for the first ones; at most `count`, in order.
  package func ladderMessages(
    after id: Int64, _ choice: PageChoice, count: Int
  ) throws(StoreError) -> [StoredLadderMessage] {
    try ladderPage("id > ?1", "id", id, choice, count)
  }

  /// The messages in front of the one with number `id`, `Int64.max` for the last ones; at most `count`, in order.
  package func ladderMessages(
    before id: Int64, _ choice: PageChoice, count: Int
  ) throws(StoreError) -> [StoredLadderMessage] {
    try ladderPage("id < ?1", "id DESC", id, choice, count).reversed()
  }

  private func ladderPage(
    _ condition: String, _ order: String, _ id: Int64, _ choice: PageChoice, _ count: Int
  ) throws(StoreError) -> [StoredLadderMessage] {
    let choice = try bounded(choice)
    var statement = try database.prepare(
      "SELECT \(Self.ladderColumns) FROM message WHERE \(condition)\(choice.conditions) ORDER BY \(order) LIMIT ?2",
      "read a ladder")
    statement.bind(1, id)
    statement.bind(2, Int64(min(max(count, 0), Self.maximumPage)))
    choice.bind(to: &statement)
    var messages: [StoredLadderMessage] = []
    while try statement.step() {
      let row = statement.row
      let types = try typeNames(with: row.number(5))
      let message = StoredMessage(row, types: types)
      let type = row.number(5).flatMap { types[$0] }
      let first = message.time.microseconds
      messages.append(
        StoredLadderMessage(
          message: message, copies: Self.times(row.text(19)) ?? [first],
          answers: Self.times(row.text(20)) ?? message.latency.map { [first + $0] } ?? [],
          isHeartbeat: row.number(21) == 1, isDamaged: row.number(22) == 1, status: row.text(23),
          answerType: type?.answerName(isRejected: message.fate == .rejected)))
    }
    return messages
  }

  /// The numbers of `[1,2,3]`, of which the end may be missing; `nil` without a list.
  private static func times(_ text: String?) -> [Int64]? {
    guard let text else { return nil }
    var numbers = text.dropFirst().split(separator: ",")
    if text.last != "]", numbers.count > 1 { numbers.removeLast() }
    return numbers.prefix(copyLimit).compactMap {
      Int64($0.last == "]" ? $0.dropLast() : $0).map(Row.microseconds)
    }
  }

  /// What went wrong on a connection's streams within a time, both ends included, and concerns no message.
  package func streamIssues(
    ofConnection connection: Int64, from: Timestamp, to: Timestamp
  ) throws(StoreError) -> [StoredStreamIssue] {
    var statement = try database.prepare(
      """
      SELECT p.id, p.time_us, k.name, p.direction, p.byte_count FROM problem AS p JOIN problem_kind AS k ON k.id = p.kind
      WHERE p.connection = ?1 AND p.time_us >= ?2 AND p.time_us <= ?3 AND p.message IS NULL AND k.bit IS NULL
      ORDER BY p.time_us, p.id LIMIT ?4
      """, "read a ladder")
    statement.bind(1, connection)
    statement.bind(2, from.microseconds)
    statement.bind(3, to.microseconds)
    statement.bind(4, Int64(Self.issueLimit))
    var issues: [StoredStreamIssue] = []
    while try statement.step() {
      let row = statement.row
      issues.append(
        StoredStreamIssue(
          id: row.number(0) ?? 0, time: Timestamp(microseconds: row.microseconds(1) ?? 0), kind: row.text(2) ?? "",
          direction: row.number(3) == 0 ? .clientToServer : .serverToClient, byteCount: row.counted(4) ?? 0))
    }
    return issues
  }

  /// Microseconds between a connection's signs of life from its client: the median of the first intervals; `nil` where there are
  /// fewer than three, among as many of its messages as are looked at.
  package func heartbeatInterval(ofConnection connection: Int64) throws(StoreError) -> Int64? {
    var statement = try database.prepare(
      """
      SELECT time_us FROM (SELECT id, time_us, type, direction FROM message WHERE connection = ?1 ORDER BY id LIMIT ?2)
      WHERE direction = 0 AND type IN (SELECT id FROM type WHERE role = 'heartbeat') ORDER BY id LIMIT 65
      """, "read a ladder")
    statement.bind(1, connection)
    statement.bind(2, Int64(Self.heartbeatReach))
    var times: [Int64] = []
    while try statement.step() { times.append(statement.row.microseconds(0) ?? 0) }
    let intervals = zip(times.dropFirst(), times).map { $0 - $1 }.sorted()
    return intervals.count >= 3 ? intervals[intervals.count / 2] : nil
  }
}
