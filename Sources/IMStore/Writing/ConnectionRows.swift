import IMEngine
import IMOutput

/// Rows of `connection`: what messages bring is gathered, and added to the table now and then.
struct ConnectionRows: ~Copyable {
  private var gathered: [UInt32: (info: ConnectionInfo, figures: Figures)] = [:]
  private var upsert: Statement
  private var out = ByteWriter(capacity: 128)

  init(_ database: Connection) throws(StoreError) {
    upsert = try database.prepare(
      Figures.upsert(
        "connection", key: ["id"], others: ["client", "server", "via", "carrier", "profile"],
        updates: [
          "client = excluded.client", "via = excluded.via", "carrier = excluded.carrier", "profile = excluded.profile",
        ]), "write connections")
  }

  /// Counts a message, `instead` of what it was counted as before, if it was.
  mutating func count(_ record: MessageRecord, _ exchange: Exchange, instead old: CountedMessage? = nil) {
    gathered[record.connection.serial, default: (record.connection, Figures())].figures.count(exchange, instead: old)
  }

  /// Takes note of a connection that has an issue; it may have no message.
  mutating func note(_ info: ConnectionInfo) {
    if gathered[info.serial] == nil { gathered[info.serial] = (info, Figures()) }
  }

  /// Connections of which something waits to be written.
  var count: Int { gathered.count }

  /// Writes what was gathered, in the order of the table.
  mutating func flush(_ names: borrowing NameRows) throws(StoreError) {
    for serial in gathered.keys.sorted() {
      guard let row = gathered[serial] else { continue }
      let info = row.info
      upsert.bind(1, Int64(serial))
      upsert.bind(2, text { $0.endpoint(info.client) })
      upsert.bind(3, text { $0.endpoint(info.server) })
      upsert.bind(4, info.peer == info.client ? nil : text { $0.endpoint(info.peer) })
      upsert.bind(5, info.carriers.isEmpty ? nil : text { $0.names(info.carriers) })
      upsert.bind(6, names.profile(info.plan))
      row.figures.bind(to: &upsert, behind: 6)
      try upsert.run()
    }
    gathered.removeAll(keepingCapacity: true)
  }

  private mutating func text(_ write: (inout ByteWriter) -> Void) -> String {
    out.removeAll()
    write(&out)
    return out.text
  }
}
