import IMEngine
import IMOutput
import IMWire

/// Where the first copy of a message is, as its row has it.
struct MessagePlace {
  /// The connection's number; 0 from the client to the server and 1 back; the offset in the stream; the length of the body.
  let connection: Int64, direction: Int64, streamOffset: Int64, byteCount: Int64

  init(_ first: FirstCopy) {
    connection = Int64(first.connection.serial)
    direction = first.direction.column
    streamOffset = Int64(clamping: first.streamOffset)
    byteCount = Int64(first.bodyCount)
  }

  init(connection: Int64, direction: Int64, streamOffset: Int64, byteCount: Int64) {
    (self.connection, self.direction) = (connection, direction)
    (self.streamOffset, self.byteCount) = (streamOffset, byteCount)
  }
}

/// Rows of `problem`: a row for each kind of problem of a message, and one for each issue of a stream.
struct ProblemRows: ~Copyable {
  private var add: Statement
  private var remove: Statement

  init(_ database: Connection) throws(StoreError) {
    let attempt = "write problems"
    let add = try database.prepare(
      "INSERT INTO problem (time_us, kind, cause, connection, session, direction, message, stream_offset, byte_count) "
        + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", attempt)
    // By the index on kind and time.
    let remove = try database.prepare(
      "DELETE FROM problem WHERE kind = ?1 AND time_us = ?2 AND message = ?3", attempt)
    self.add = add
    self.remove = remove
  }

  /// Removes what was wrong with a message as long as its fate was another.
  mutating func remove(_ kinds: ProblemKinds, of exchange: borrowing Exchange) throws(StoreError) {
    for bit in 0..<ProblemKinds.names.count where kinds.rawValue >> Int64(bit) & 1 == 1 {
      remove.bind(1, ProblemKinds.id(ofBit: bit))
      remove.bind(2, exchange.firstAt.microseconds)
      remove.bind(3, exchange.row)
      try remove.run()
    }
  }

  /// Writes what is wrong with a message.
  mutating func write(
    _ message: borrowing StoredFacts, _ kinds: ProblemKinds
  ) throws(StoreError) {
    try write(message.exchange, MessagePlace(message.first), kinds)
  }

  /// The same of a message that is at `place`.
  mutating func write(
    _ exchange: borrowing Exchange, _ place: MessagePlace, _ kinds: ProblemKinds
  ) throws(StoreError) {
    for bit in 0..<ProblemKinds.names.count where kinds.rawValue >> Int64(bit) & 1 == 1 {
      let isFate = kinds.isFate(bit)
      add.bind(1, exchange.firstAt.microseconds)
      add.bind(2, ProblemKinds.id(ofBit: bit))
      add.bind(3, isFate ? exchange.cause.map { Int64($0.rawValue) } : nil)
      add.bind(4, place.connection)
      add.bind(5, exchange.sessionRow)
      add.bind(6, place.direction)
      add.bind(7, exchange.row)
      add.bind(8, place.streamOffset)
      add.bind(9, place.byteCount)
      try add.run()
    }
  }

  /// Writes an issue of a stream.
  mutating func write(_ issue: StoreBatch.StreamIssue) throws(StoreError) {
    guard let kind = ProblemKinds.id(of: issue.issue.kind) else { return }
    add.bind(1, issue.issue.timestamp.microseconds)
    add.bind(2, kind)
    add.bind(3, nil as Int64?)
    add.bind(4, Int64(issue.connection.serial))
    add.bind(5, nil as Int64?)
    add.bind(6, issue.issue.direction.column)
    add.bind(7, nil as Int64?)
    add.bind(8, Int64(clamping: issue.issue.streamOffset))
    add.bind(9, Int64(clamping: issue.issue.byteCount))
    try add.run()
  }
}
