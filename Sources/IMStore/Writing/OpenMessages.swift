import IMEngine
import IMOutput
import IMWire

/// Rows of messages whose fates are not final: a live store has a row as soon as a message is there, and changes it with what
/// becomes of the message.
struct OpenMessages: ~Copyable {
  private var look: Statement
  private var change: Statement

  init(_ database: Connection) throws(StoreError) {
    let look = try database.prepare(
      "SELECT \(CountedMessage.columns) FROM message WHERE id = ?1", "read messages")
    let names = CountedMessage.columns.split(separator: ", ")
    let sets = names.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
    let change = try database.prepare("UPDATE message SET \(sets) WHERE id = ?1", "write messages")
    self.look = look
    self.change = change
  }

  /// What the row of a message says; `nil` where it has none.
  mutating func counted(_ message: borrowing StoredFacts) throws(StoreError) -> CountedMessage? {
    look.bind(1, message.id)
    defer { look.reset() }
    return try look.step() ? CountedMessage(look.row) : nil
  }

  /// Changes the row of a message that `old` is said of; false where there is nothing to change.
  mutating func update(
    _ message: borrowing StoredFacts, problems: ProblemKinds, status: Int64?, from old: CountedMessage
  ) throws(StoreError) -> Bool {
    let exchange = message.exchange
    let (copies, checksums, answers) = (message.details?.copies, message.details?.checksums, message.details?.answers)
    let isSame =
      old.fate == Int(exchange.fate.rawValue) && old.cause == exchange.cause.map { Int64($0.rawValue) }
      && old.status == status && old.retries == Int64(exchange.repeats) && old.duplicates == Int64(exchange.duplicates)
      && old.latency == exchange.latency?.microseconds && old.kinds == problems && old.flags == Int64(message.flags)
      && old.copies == copies && old.checksums == checksums && old.answers == answers
    if isSame { return false }
    change.bind(1, message.id)
    change.bind(2, Int64(exchange.fate.rawValue))
    change.bind(3, exchange.cause.map { Int64($0.rawValue) })
    change.bind(4, status)
    change.bind(5, Int64(exchange.repeats))
    change.bind(6, Int64(exchange.duplicates))
    change.bind(7, exchange.latency?.microseconds)
    change.bind(8, problems.rawValue)
    change.bind(9, Int64(message.flags))
    change.bind(10, copies)
    change.bind(11, checksums)
    change.bind(12, answers)
    try change.run()
    return true
  }
}
