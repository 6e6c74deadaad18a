import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// Rows of `session`: what messages bring is gathered, and added to the table now and then.
struct SessionRows: ~Copyable {
  private struct Gathered {
    let session: UInt32
    var name: String?
    let nameIsNumber: Bool
    let plan: UInt8
    /// The connection of the exchange that began last, and when that was.
    var newest: UInt32
    var begunAt: Int64
    /// The last message that somebody said something by: no heartbeat, no control frame; 0 for none.
    var lastMessage: Int64 = 0
    /// The other connections; most often there are none.
    var others: Set<UInt32> = []
    var figures = Figures()
  }

  private let limit: Int
  private var gathered: [Gathered] = []
  /// Where in `gathered` a session is.
  private var places = NumberTable<Int>()
  /// Round trips of whole sessions, for percentiles, and where in them a session's are.
  private var roundTrips: [RTTHistogram] = []
  private var roundTripPlaces = NumberTable<Int>()
  private var upsert: Statement
  private var addConnection: Statement
  private let database: Connection

  /// Rows that have a percentile for the first `limit` sessions.
  init(_ database: Connection, limit: Int) throws(StoreError) {
    let upsert = try database.prepare(
      Figures.upsert(
        "session", key: ["id"],
        others: [
          "name", "name_is_number", "profile", "connection", "begun_us", "connections", "last_message", "rtt_p95_us",
        ],
        updates: [
          "name = ifnull(name, excluded.name)",
          // `begun_us` is here what it was before.
          "connection = iif(excluded.begun_us >= begun_us, excluded.connection, connection)",
          "begun_us = max(begun_us, excluded.begun_us)",
          "connections = connections + excluded.connections",
          "last_message = max(ifnull(last_message, excluded.last_message), ifnull(excluded.last_message, last_message))",
          "rtt_p95_us = excluded.rtt_p95_us",
        ]), "write sessions")
    let addConnection = try database.prepare(
      "INSERT OR IGNORE INTO session_connection VALUES (?1, ?2)", "write sessions")
    self.database = database
    self.limit = limit
    self.upsert = upsert
    self.addConnection = addConnection
  }

  /// Sessions of which something waits to be written.
  var count: Int { gathered.count }

  /// Counts a message, `instead` of what it was counted as before, if it was.
  mutating func count(
    _ record: MessageRecord, _ exchange: Exchange, _ sample: Figures.Sample, instead old: CountedMessage? = nil
  ) {
    let session = exchange.session
    let (serial, begunAt) = (record.connection.serial, sample.begun)
    func change(_ row: inout Gathered) {
      row.figures.count(sample, instead: old)
      if row.name == nil { row.name = record.session }
      if row.newest != serial {
        row.others.insert(begunAt >= row.begunAt ? row.newest : serial)
        if begunAt >= row.begunAt { row.newest = serial }
      }
      row.begunAt = max(row.begunAt, begunAt)
      if record.role == .message { row.lastMessage = max(row.lastMessage, MessageRows.id(exchange)) }
    }
    let place: Int
    if let known = places[session] {
      place = known
    } else {
      place = gathered.count
      places[session] = place
      gathered.append(
        Gathered(
          session: session, name: record.session, nameIsNumber: record.sessionIsNumber, plan: exchange.plan,
          newest: serial, begunAt: begunAt))
    }
    change(&gathered[place])
    guard sample.roundTrip >= 0, old?.roundTrip == nil else { return }
    if let known = roundTripPlaces[session] {
      roundTrips[known].record(microseconds: sample.roundTrip, bucket: sample.roundTripBucket)
    } else if roundTrips.count < limit {
      roundTripPlaces[session] = roundTrips.count
      roundTrips.append(RTTHistogram())
      roundTrips[roundTrips.count - 1].record(microseconds: sample.roundTrip, bucket: sample.roundTripBucket)
    }
  }

  /// Writes what was gathered, in the order of the table.
  mutating func flush(_ names: borrowing NameRows) throws(StoreError) {
    for place in gathered.indices.sorted(by: { gathered[$0].session < gathered[$1].session }) {
      let row = gathered[place]
      let session = row.session
      var fresh = try add(session, row.newest)
      for connection in row.others where connection != row.newest { fresh += try add(session, connection) }
      upsert.bind(1, Int64(session) + 1)
      upsert.bind(2, row.name)
      upsert.bind(3, row.nameIsNumber ? 1 : 0)
      upsert.bind(4, names.profile(row.plan))
      upsert.bind(5, Int64(row.newest))
      upsert.bind(6, row.begunAt)
      upsert.bind(7, fresh)
      upsert.bind(8, row.lastMessage > 0 ? row.lastMessage : nil)
      upsert.bind(9, roundTripPlaces[session].flatMap { roundTrips[$0].percentile(95) })
      row.figures.bind(to: &upsert, behind: 9)
      try upsert.run()
    }
    gathered.removeAll(keepingCapacity: true)
    places.removeAll()
  }

  /// Adds a connection to a session; gives 1 where it is a new one.
  private mutating func add(_ session: UInt32, _ connection: UInt32) throws(StoreError) -> Int64 {
    addConnection.bind(1, Int64(session) + 1)
    addConnection.bind(2, Int64(connection))
    try addConnection.run()
    return database.changes
  }
}
