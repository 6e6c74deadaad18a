import IMEngine
import IMWire

/// What the row of a message says of its fate, and its sums have counted: as it was when the row was written last.
struct CountedMessage: Equatable {
  /// The fate and its cause, by their numbers.
  let fate: Int, cause: Int64?
  /// The number of the answer's status.
  let status: Int64?
  /// Copies after the first, up to the answer; copies behind it.
  let retries: Int64, duplicates: Int64
  /// Microseconds to the first answer.
  let latency: Int64?
  /// What is wrong with it.
  let kinds: ProblemKinds
  /// The remarks on its copies.
  let flags: Int64
  /// Its lists, as text.
  let copies: String?, checksums: String?, answers: String?

  /// The columns in the order in which `init` reads them.
  static let columns = "fate, cause, status, retries, duplicates, rtt_us, problems, flags, copies, checksums, answers"

  /// What a row says.
  init(_ row: Row) {
    fate = Int(clamping: row.number(0) ?? 0)
    cause = row.number(1)
    status = row.number(2)
    retries = row.number(3) ?? 0
    duplicates = row.number(4) ?? 0
    latency = row.number(5)
    kinds = ProblemKinds(rawValue: row.number(6) ?? 0)
    flags = row.number(7) ?? 0
    copies = row.text(8)
    checksums = row.text(9)
    answers = row.text(10)
  }

  /// What the row of a message says in which nothing has changed since.
  init(
    _ exchange: borrowing Exchange, _ kinds: ProblemKinds, status: Int64?, flags: Int64, copies: String?,
    checksums: String?, answers: String?
  ) {
    fate = Int(exchange.fate.rawValue)
    cause = exchange.cause.map { Int64($0.rawValue) }
    self.status = status
    retries = Int64(exchange.repeats)
    duplicates = Int64(exchange.duplicates)
    latency = exchange.latency?.microseconds
    self.kinds = kinds
    self.flags = flags
    (self.copies, self.checksums, self.answers) = (copies, checksums, answers)
  }

  /// What the row of a live message says.
  init(_ message: borrowing StoredFacts, _ kinds: ProblemKinds, status: Int64?) {
    let details = message.details
    self.init(
      message.exchange, kinds, status: status, flags: Int64(message.flags), copies: details?.copies,
      checksums: details?.checksums, answers: details?.answers)
  }

  /// What the row of a message of a file says, which said `old` before `change`.
  init(_ old: CountedMessage, _ change: MessageChange, _ kinds: ProblemKinds, status: Int64?, checksum: Int64) {
    let (exchange, later) = (change.exchange, change.later)
    let begun = exchange.firstAt.microseconds
    let first = ChecksumStatus(rawValue: UInt8(clamping: checksum)) ?? .unchecked
    var answers = old.answers
    // The only answer stands in no list where the round trip tells of it.
    answers = MessageLists.adding(
      later.answers.map { "\($0)" }, to: answers, first: old.latency.map { "\(begun + $0)" })
    if let latency = exchange.latency, answers == "[\(begun + latency.microseconds)]" { answers = nil }
    self.init(
      exchange, kinds, status: status, flags: old.flags | Int64(later.flags),
      copies: MessageLists.adding(later.copies.map { "\($0)" }, to: old.copies, first: "\(begun)"),
      checksums: MessageLists.adding(
        later.checksums.map(MessageLists.quoted), to: old.checksums, first: MessageLists.quoted(first)),
      answers: answers)
  }

  /// Whether its answer came late.
  var isLate: Bool { kinds.contains(.late) }
  /// The round trip, by Karn's rule as in `Exchange.roundTrip`; `karn` is the same in SQL.
  var roundTrip: Int64? { retries == 0 || fate == Int(Fate.acked.rawValue) ? latency : nil }

  /// Whether the row `message` has a round trip by Karn's rule, where it has an answer: SQL for the names of its columns behind `prefix`.
  static func karn(_ prefix: String = "") -> String {
    "(\(prefix)retries = 0 OR \(prefix)fate = \(Fate.acked.rawValue))"
  }
}
