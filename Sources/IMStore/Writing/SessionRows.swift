import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// Rows of `session`: what messages bring is gathered, and added to the table now and then.
struct SessionRows: ~Copyable {
  private struct Gathered {
    // In an order that leaves no holes: there are many of them.

    let session: UInt32
    /// The connection of the exchange that began last.
    var newest: UInt32
    /// Where the round trips of the session are; `nil` where there are none.
    var roundTrips: UInt32?
    let nameIsNumber: Bool
    let plan: UInt8
    /// When the exchange that began last did.
    var begunAt: Int64
    var name: String?
    /// The last message that somebody said something by: no heartbeat, no control frame; 0 for none.
    var lastMessage: Int64 = 0
    /// The other connections; most often there are none.
    var others: Set<UInt32> = []
    var figures = StoredMetrics()

    @inline(__always)
    mutating func count(
      _ message: borrowing StoredFacts, _ sample: StoredMetrics.Sample, _ serial: UInt32, _ begunAt: Int64,
      instead old: StoredMetrics.Counted?
    ) {
      figures.count(sample, instead: old)
      if name == nil { name = message.sessionText }
      if newest != serial {
        others.insert(begunAt >= self.begunAt ? newest : serial)
        if begunAt >= self.begunAt { newest = serial }
      }
      self.begunAt = max(self.begunAt, begunAt)
      if message.first.role == .message { lastMessage = max(lastMessage, message.id) }
    }
  }

  private let limit: Int
  private var gathered: [Gathered] = []
  /// Where in `gathered` a session is.
  private var places = NumberTable<UInt32>()
  /// Round trips of whole sessions, for percentiles, and where in them a session's are.
  private var roundTrips: [RTTByDirection] = []
  private var room = FineBucketRoom(bytes: 16 << 20)
  private var roundTripPlaces = NumberTable<UInt32>()
  /// Names that sessions have got behind their first messages.
  private var lateNames: [UInt32: String] = [:]
  /// What `upsert` has as the profile.
  private var boundPlan: UInt8?
  private var upsert: Statement
  private var addName: Statement
  private var addConnection: Statement
  private let database: Connection

  /// Rows that have a percentile for the first `limit` sessions.
  init(_ database: Connection, limit: Int) throws(StoreError) {
    let upsert = try database.prepare(
      StoredMetrics.upsert(
        "session", key: ["id"],
        others: [
          "name", "name_is_number", "profile", "connection", "begun_us", "connections", "last_message",
        ] + StoredMetrics.percentiles([95]),
        updates: [
          "name = ifnull(name, excluded.name)",
          // `begun_us` is here what it was before.
          "connection = iif(excluded.begun_us >= begun_us, excluded.connection, connection)",
          "begun_us = max(begun_us, excluded.begun_us)",
          "connections = connections + excluded.connections",
          "last_message = max(ifnull(last_message, excluded.last_message), ifnull(excluded.last_message, last_message))",
        ] + StoredMetrics.percentiles([95]).map { "\($0) = excluded.\($0)" }), "write sessions")
    let addConnection = try database.prepare(
      "INSERT OR IGNORE INTO session_connection VALUES (?1, ?2)", "write sessions")
    let addName = try database.prepare(
      "UPDATE session SET name = ifnull(name, ?2) WHERE id = ?1", "write sessions")
    self.database = database
    self.addName = addName
    self.limit = limit
    self.upsert = upsert
    self.addConnection = addConnection
  }

  /// Sessions of which something waits to be written.
  var count: Int { max(gathered.count, lateNames.count) }

  /// Counts a message, `instead` of what it was counted as before, if it was.
  mutating func count(
    _ message: borrowing StoredFacts, _ sample: StoredMetrics.Sample, instead old: StoredMetrics.Counted? = nil
  ) {
    let place = place(message, sample)
    gathered[place].count(message, sample, message.first.connection.serial, sample.begun, instead: old)
    guard sample.roundTrip >= 0, old?.roundTrip ?? -1 < 0 else { return }
    record(message.exchange.session, sample, place)
  }

  /// Adds a round trip to those of the session at `place`, for its percentile.
  @inline(__always)
  private mutating func record(_ session: UInt32, _ sample: StoredMetrics.Sample, _ place: Int) {
    if gathered[place].roundTrips == nil, roundTrips.count < limit {
      gathered[place].roundTrips = UInt32(truncatingIfNeeded: roundTrips.count)
      roundTripPlaces[session] = gathered[place].roundTrips
      roundTrips.append(RTTByDirection())
    }
    guard let known = gathered[place].roundTrips else { return }
    room.record(into: &roundTrips[Int(known)]) { $0.record(microseconds: sample.roundTrip, sample.direction) }
  }

  /// Counts a message whose row has changed, `instead` of what it was counted as before. The row of its session is there, or waits to
  /// be written. `nameIsNumber` says of what kind the session's name is.
  mutating func count(
    _ change: MessageChange, _ sample: StoredMetrics.Sample, nameIsNumber: Bool, instead old: StoredMetrics.Counted
  ) {
    let place = place(
      change.exchange, change.exchange.connection, nameIsNumber: nameIsNumber, sample.begun, name: change.name)
    gathered[place].figures.count(sample, instead: old)
    if gathered[place].name == nil { gathered[place].name = change.name }
    if sample.roundTrip >= 0, old.roundTrip < 0 { record(change.exchange.session, sample, place) }
  }

  /// Takes note of the name that a session has got behind its first messages.
  mutating func note(_ session: UInt32, _ name: String) { lateNames[session] = name }

  /// Where in `gathered` the session of a message is.
  @inline(__always)
  private mutating func place(_ message: borrowing StoredFacts, _ sample: StoredMetrics.Sample) -> Int {
    place(
      message.exchange, message.first.connection.serial, nameIsNumber: message.first.sessionIsNumber, sample.begun,
      name: message.sessionText)
  }

  @inline(__always)
  private mutating func place(
    _ exchange: borrowing Exchange, _ connection: UInt32, nameIsNumber: Bool, _ begun: Int64,
    name: @autoclosure () -> String?
  ) -> Int {
    if let known = places[exchange.session] { return Int(known) }
    places[exchange.session] = UInt32(truncatingIfNeeded: gathered.count)
    gathered.append(
      Gathered(
        session: exchange.session, newest: connection, roundTrips: roundTripPlaces[exchange.session],
        nameIsNumber: nameIsNumber, plan: exchange.plan, begunAt: begun, name: name()))
    return gathered.count - 1
  }

  /// Writes what was gathered, in the order of the table.
  mutating func flush(_ names: borrowing NameRows) throws(StoreError) {
    for place in gathered.map(\.session).sortedPlaces {
      let row = gathered[place]
      let session = row.session
      var fresh = try add(session, row.newest)
      for connection in row.others.sorted() where connection != row.newest { fresh += try add(session, connection) }
      upsert.bind(1, Int64(session) + 1)
      upsert.bind(2, row.name)
      upsert.bind(3, row.nameIsNumber ? 1 : 0)
      if row.plan != boundPlan {
        upsert.bind(4, names.profile(row.plan))
        boundPlan = row.plan
      }
      upsert.bind(5, Int64(row.newest))
      upsert.bind(6, row.begunAt)
      upsert.bind(7, fresh)
      upsert.bind(8, row.lastMessage > 0 ? row.lastMessage : nil)
      for way in 0...1 {
        upsert.bind(9 + Int32(way), row.roundTrips.flatMap { roundTrips[Int($0)][way].percentile(95) })
      }
      row.figures.bind(to: &upsert, behind: 10)
      try upsert.run()
    }
    gathered.removeAll(keepingCapacity: true)
    places.removeAll()
    for (session, name) in lateNames.sorted(by: { $0.key < $1.key }) {
      addName.bind(1, Int64(session) + 1)
      addName.bind(2, name)
      try addName.run()
    }
    lateNames = [:]
  }

  /// Adds a connection to a session; gives 1 where it is a new one.
  private mutating func add(_ session: UInt32, _ connection: UInt32) throws(StoreError) -> Int64 {
    addConnection.bind(1, Int64(session) + 1)
    addConnection.bind(2, Int64(connection))
    try addConnection.run()
    return database.changes
  }
}
