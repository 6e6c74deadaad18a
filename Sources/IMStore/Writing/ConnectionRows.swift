import IMEngine
import IMOutput
import IMWire

/// Rows of `connection`: what messages bring is gathered, and added to the table now and then.
struct ConnectionRows: ~Copyable {
  /// What is written of a connection. There are many of them: what few have is kept apart.
  private struct Gathered {
    let serial: UInt32
    /// The server's place in `servers`.
    let server: UInt32
    let client: Endpoint
    let carriers: CarrierSet
    /// The index of the plan that decodes it; that of none as long as no message of it is known.
    var plan: UInt8
    var figures = StoredMetrics()
  }

  private var gathered: [Gathered] = []
  /// Servers, and where they are.
  private var servers: [Endpoint] = []
  private var serverPlaces: [Endpoint: UInt32] = [:]
  /// Load balancers of connections whose clients are told by a PROXY header.
  private var peers: [UInt32: Endpoint] = [:]
  /// Where in `gathered` a connection is.
  private var places = NumberTable<UInt32>()
  /// What changes of rows have brought whose connections are in their table already.
  private var changed: [UInt32: StoredMetrics] = [:]
  /// What is known of connections beside their messages, which waits to be written.
  private var facts: [UInt32: ConnectionFacts] = [:]
  private var upsert: Statement
  private var update: Statement
  private var upsertFacts: Statement
  /// What `upsert` has as the server and as the profile: many connections in a row have the same.
  private var boundServer: Endpoint?
  private var boundPlan: UInt8?
  private var out = ByteWriter(capacity: 128)

  init(_ database: Connection) throws(StoreError) {
    let upsert = try database.prepare(
      StoredMetrics.upsert(
        "connection", key: ["id"], others: ["client", "server", "via", "carrier", "profile"],
        updates: Self.addresses.map { "\($0) = excluded.\($0)" } + ["profile = ifnull(excluded.profile, profile)"]),
      "write connections")
    let columns = ["id", "server"] + Self.addresses + ConnectionFacts.columns
    let sets = (Self.addresses + ConnectionFacts.columns).map { column in
      // What was decoded once stays so.
      column == "profile" ? "profile = ifnull(excluded.profile, profile)" : "\(column) = excluded.\(column)"
    }
    let places = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
    let upsertFacts = try database.prepare(
      "INSERT INTO connection (\(columns.joined(separator: ", "))) VALUES (\(places)) "
        + "ON CONFLICT (id) DO UPDATE SET \(sets.joined(separator: ", "))", "write connections")
    let update = try database.prepare(StoredMetrics.update("connection", key: "id"), "write connections")
    self.upsert = upsert
    self.update = update
    self.upsertFacts = upsertFacts
  }

  /// The columns of who talks that may change: a PROXY header comes after the first packets.
  private static let addresses = ["client", "via", "carrier"]
  /// Connections whose facts may wait to be written, a sixth of a KB each.
  private static let mostFacts = 8_192

  /// Counts a message, `instead` of what it was counted as before, if it was.
  mutating func count(
    _ message: borrowing StoredFacts, _ sample: StoredMetrics.Sample, instead old: StoredMetrics.Counted? = nil
  ) {
    let place = place(message.first.connection)
    gathered[place].plan = message.first.connection.plan
    gathered[place].figures.count(sample, instead: old)
  }

  /// Counts a message whose row has changed, `instead` of what it was counted as before. The row of its connection, which has the number
  /// `serial`, is there, or waits to be written.
  mutating func count(_ serial: Int64, _ sample: StoredMetrics.Sample, instead old: StoredMetrics.Counted) {
    let serial = UInt32(clamping: serial)
    if let place = places[serial] { return gathered[Int(place)].figures.count(sample, instead: old) }
    changed[serial, default: StoredMetrics()].count(sample, instead: old)
  }

  private mutating func place(_ info: ConnectionInfo) -> Int {
    if let place = places[info.serial] { return Int(place) }
    places[info.serial] = UInt32(truncatingIfNeeded: gathered.count)
    gathered.append(
      Gathered(
        serial: info.serial, server: serverPlace(info.server), client: info.client, carriers: info.carriers,
        plan: .max))
    if info.peer != info.client { peers[info.serial] = info.peer }
    return gathered.count - 1
  }

  private mutating func serverPlace(_ server: Endpoint) -> UInt32 {
    // Many connections in a row have the same.
    if let last = gathered.last?.server, servers[Int(last)] == server { return last }
    if let place = serverPlaces[server] { return place }
    let place = UInt32(truncatingIfNeeded: servers.count)
    serverPlaces[server] = place
    servers.append(server)
    return place
  }

  /// Takes note of a connection that has an issue; it may have no message.
  mutating func note(_ info: ConnectionInfo) {
    _ = place(info)
  }

  /// Takes note of what is known of a connection, which gets a row by that.
  mutating func note(_ facts: ConnectionFacts) { self.facts[facts.info.serial] = facts }

  /// How much waits to be written of connections' messages.
  var count: Int { max(gathered.count, changed.count) }

  /// Whether so many facts wait that they are to be written.
  var hasManyFacts: Bool { facts.count >= Self.mostFacts }

  /// Writes what was gathered, in the order of the table.
  mutating func flush(_ names: borrowing NameRows) throws(StoreError) {
    for place in gathered.map(\.serial).sortedPlaces {
      let row = gathered[place]
      let server = servers[Int(row.server)]
      upsert.bind(1, Int64(row.serial))
      upsert.bind(2, text { $0.endpoint(row.client) })
      if server != boundServer {
        upsert.bind(3, text { $0.endpoint(server) })
        boundServer = server
      }
      let peer = peers.isEmpty ? nil : peers[row.serial]
      upsert.bind(4, peer.map { peer in text { $0.endpoint(peer) } })
      upsert.bind(5, row.carriers.isEmpty ? nil : text { $0.names(row.carriers) })
      if row.plan != boundPlan {
        let profile = names.profile(row.plan)
        upsert.bind(6, profile.isEmpty ? nil : profile)
        boundPlan = row.plan
      }
      row.figures.bind(to: &upsert, behind: 6)
      try upsert.run()
    }
    for (serial, figures) in changed.sorted(by: { $0.key < $1.key }) {
      update.bind(1, Int64(serial))
      figures.bind(to: &update, behind: 1)
      try update.run()
    }
    changed = [:]
    gathered.removeAll(keepingCapacity: true)
    (servers, serverPlaces, peers) = ([], [:], [:])
    places.removeAll()
    try flushFacts(names)
  }

  /// Writes what is known of connections beside their messages.
  mutating func flushFacts(_ names: borrowing NameRows) throws(StoreError) {
    for (serial, facts) in facts.sorted(by: { $0.key < $1.key }) {
      let info = facts.info
      upsertFacts.bind(1, Int64(serial))
      upsertFacts.bind(2, text { $0.endpoint(info.server) })
      upsertFacts.bind(3, text { $0.endpoint(info.client) })
      upsertFacts.bind(4, info.peer == info.client ? nil : text { $0.endpoint(info.peer) })
      upsertFacts.bind(5, info.carriers.isEmpty ? nil : text { $0.names(info.carriers) })
      facts.bind(to: &upsertFacts, from: 6, profile: names.profile(info.plan))
      try upsertFacts.run()
    }
    facts.removeAll(keepingCapacity: true)
  }

  private mutating func text(_ write: (inout ByteWriter) -> Void) -> String {
    out.removeAll()
    write(&out)
    return out.text
  }
}
