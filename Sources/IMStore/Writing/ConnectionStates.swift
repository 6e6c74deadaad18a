/// How far connections have come: `connection.state`.
///
/// A connection's end may be told before its first message has a row, and rows of connections are written at intervals. So a state waits
/// here until its connection has a row, or gets one.
struct ConnectionStates: ~Copyable {
  /// States that wait for rows behind a `flush`, at most: one of a connection without messages would wait for good. Then the oldest half
  /// goes: its connections have been silent for longest.
  private static let limit = 65_536

  private var waiting: [UInt32: ConnectionState] = [:]
  /// Connections whose states were told since the last time: they may have rows.
  private var fresh: Set<UInt32> = []
  private var update: Statement
  private let database: Connection

  init(_ database: Connection) throws(StoreError) {
    update = try database.prepare("UPDATE connection SET state = ?2 WHERE id = ?1", "write connections")
    self.database = database
  }

  /// Takes note of a state.
  mutating func note(_ serial: UInt32, _ state: ConnectionState) {
    waiting[serial] = state
    fresh.insert(serial)
  }

  /// Takes the state of a connection whose row is written now.
  mutating func take(_ serial: UInt32) -> ConnectionState? {
    guard let state = waiting.removeValue(forKey: serial) else { return nil }
    fresh.remove(serial)
    return state
  }

  /// States that were told since the last `flush`, which their memory makes necessary.
  var count: Int { fresh.count }

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
    guard waiting.count > Self.limit else { return }
    for serial in waiting.keys.sorted().prefix(waiting.count - Self.limit / 2) { waiting[serial] = nil }
  }
}
