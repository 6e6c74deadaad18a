import IMEngine
import IMOutput
import IMWire

/// Rows of messages whose fates are not final: a live store has a row as soon as a message is there, and changes it with what
/// becomes of the message; a store of files has some, too.
struct OpenMessages: ~Copyable {
  private var look: Statement
  private var change: Statement

  init(_ database: Connection) throws(StoreError) {
    let look = try database.prepare(
      "SELECT \(CountedMessage.columns), checksum, connection, direction, stream_offset, length FROM message WHERE id = ?1",
      "read messages")
    let names = CountedMessage.columns.split(separator: ", ")
    let sets = names.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
    let change = try database.prepare("UPDATE message SET \(sets) WHERE id = ?1", "write messages")
    self.look = look
    self.change = change
  }

  /// What the row of a message says, with the checksum of its first copy and its place; `nil` where it has no row.
  mutating func counted(
    _ id: Int64
  ) throws(StoreError) -> (said: CountedMessage, checksum: Int64, place: MessagePlace)? {
    look.bind(1, id)
    defer { look.reset() }
    guard try look.step() else { return nil }
    let row = look.row
    func number(_ column: Int32) -> Int64 { row.number(column) ?? 0 }
    let place = MessagePlace(
      connection: number(12), direction: number(13), streamOffset: number(14), byteCount: number(15))
    return (CountedMessage(row), number(11), place)
  }

  /// Changes the row of a message from `old` to `new`; false where there is nothing to change.
  mutating func update(_ id: Int64, to new: CountedMessage, from old: CountedMessage) throws(StoreError) -> Bool {
    if old == new { return false }
    change.bind(1, id)
    change.bind(2, Int64(new.fate))
    change.bind(3, new.cause)
    change.bind(4, new.status)
    change.bind(5, new.retries)
    change.bind(6, new.duplicates)
    change.bind(7, new.latency)
    change.bind(8, new.kinds.rawValue)
    change.bind(9, new.flags)
    change.bind(10, new.copies)
    change.bind(11, new.checksums)
    change.bind(12, new.answers)
    try change.run()
    return true
  }
}
