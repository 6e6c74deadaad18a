/// How far connections have come: `connection.state`.
///
/// A connection's end is told a few seconds behind it, and its messages are final a minute behind their last copies. So a state waits here
/// until its connection has a row.
struct ConnectionStates: ~Copyable {
  /// States that wait, at most: one of a connection without messages would wait for good.
  private static let limit = 65_536

  private var waiting: [UInt32: ConnectionState] = [:]
  /// Connections whose states may be written: they were told, or their rows came, since the last time.
  private var fresh: Set<UInt32> = []
  private var update: Statement
  private let database: Connection

  init(_ database: Connection) throws(StoreError) {
    update = try database.prepare("UPDATE connection SET state = ?2 WHERE id = ?1", "write connections")
    self.database = database
  }

  /// Takes note of a state.
  mutating func note(_ serial: UInt32, _ state: ConnectionState) {
    if waiting.count >= Self.limit { (waiting, fresh) = ([:], []) }
    waiting[serial] = state
    fresh.insert(serial)
  }

  /// A connection has a row.
  mutating func hasRow(_ serial: UInt32) {
    if waiting[serial] != nil { fresh.insert(serial) }
  }

  /// Writes the states of connections that have rows.
  mutating func flush() throws(StoreError) {
    for serial in fresh.sorted() {
      guard let state = waiting[serial] else { continue }
      update.bind(1, Int64(serial))
      update.bind(2, state.rawValue)
      try update.run()
      if database.changes > 0 { waiting[serial] = nil }
    }
    fresh.removeAll(keepingCapacity: true)
  }
}
