import IMEngine
import IMOutput
import IMWire

/// Rows of `connection`: what messages bring is gathered, and added to the table now and then.
struct ConnectionRows: ~Copyable {
  private var gathered: [(info: ConnectionInfo, figures: Figures)] = []
  /// Where in `gathered` a connection is.
  private var places = NumberTable<UInt32>()
  /// What changes of rows have brought whose connections are in their table already.
  private var changed: [UInt32: Figures] = [:]
  private var upsert: Statement
  private var update: Statement
  private var states: ConnectionStates
  /// What `upsert` has as the server and as the profile: many connections in a row have the same.
  private var boundServer: Endpoint?
  private var boundPlan: UInt8?
  private var out = ByteWriter(capacity: 128)

  init(_ database: Connection) throws(StoreError) {
    let upsert = try database.prepare(
      Figures.upsert(
        "connection", key: ["id"], others: ["client", "server", "via", "carrier", "profile", "state"],
        updates: [
          "client = excluded.client", "via = excluded.via", "carrier = excluded.carrier", "profile = excluded.profile",
          "state = ifnull(excluded.state, state)",
        ]), "write connections")
    let states = try ConnectionStates(database)
    let update = try database.prepare(Figures.update("connection", key: "id"), "write connections")
    self.upsert = upsert
    self.update = update
    self.states = states
  }

  /// Counts a message, `instead` of what it was counted as before, if it was.
  mutating func count(_ message: borrowing StoredFacts, _ sample: Figures.Sample, instead old: Figures.Counted? = nil) {
    let place = place(message.first.connection)
    gathered[place].figures.count(sample, instead: old)
  }

  /// Counts a message whose row has changed, `instead` of what it was counted as before. The row of its connection, which has the number
  /// `serial`, is there, or waits to be written.
  mutating func count(_ serial: Int64, _ sample: Figures.Sample, instead old: Figures.Counted) {
    let serial = UInt32(clamping: serial)
    if let place = places[serial] { return gathered[Int(place)].figures.count(sample, instead: old) }
    changed[serial, default: Figures()].count(sample, instead: old)
  }

  private mutating func place(_ info: ConnectionInfo) -> Int {
    if let place = places[info.serial] { return Int(place) }
    places[info.serial] = UInt32(truncatingIfNeeded: gathered.count)
    gathered.append((info, Figures()))
    return gathered.count - 1
  }

  /// Takes note of a connection that has an issue; it may have no message.
  mutating func note(_ info: ConnectionInfo) {
    _ = place(info)
  }

  /// Takes note of how far a connection has come. One without messages and issues gets no row by that.
  mutating func note(_ info: ConnectionInfo, _ state: ConnectionState) {
    states.note(info.serial, state)
  }

  /// How much waits to be written: figures of connections, or states.
  var count: Int { max(gathered.count, states.count, changed.count) }

  /// Writes what was gathered, in the order of the table.
  mutating func flush(_ names: borrowing NameRows) throws(StoreError) {
    for place in gathered.map(\.info.serial).sortedPlaces {
      let row = gathered[place]
      let info = row.info
      upsert.bind(1, Int64(info.serial))
      upsert.bind(2, text { $0.endpoint(info.client) })
      if info.server != boundServer {
        upsert.bind(3, text { $0.endpoint(info.server) })
        boundServer = info.server
      }
      upsert.bind(4, info.peer == info.client ? nil : text { $0.endpoint(info.peer) })
      upsert.bind(5, info.carriers.isEmpty ? nil : text { $0.names(info.carriers) })
      if info.plan != boundPlan {
        upsert.bind(6, names.profile(info.plan))
        boundPlan = info.plan
      }
      upsert.bind(7, states.take(info.serial)?.rawValue)
      row.figures.bind(to: &upsert, behind: 7)
      try upsert.run()
    }
    for (serial, figures) in changed.sorted(by: { $0.key < $1.key }) {
      update.bind(1, Int64(serial))
      figures.bind(to: &update, behind: 1)
      try update.run()
    }
    changed = [:]
    try states.flush()
    gathered.removeAll(keepingCapacity: true)
    places.removeAll()
  }

  private mutating func text(_ write: (inout ByteWriter) -> Void) -> String {
    out.removeAll()
    write(&out)
    return out.text
  }
}
