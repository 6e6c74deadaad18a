import IMStore
import IMTestSupport
import IMWire
import Testing

/// What a reader lists of a store is what SQL says of it.
@Suite struct StoreListTests {
  @Test(arguments: ["tjp-weak-network.pcap", "mqtt-mosquitto.pcap", "tjp-damage.pcap"]) func lists(_ sample: String)
    throws
  {
    let store = try Store(sample, ["--payload"])
    let reader = try StoreReader(store.path)
    let sessions = try reader.sessions()
    let rows = try store.rows(
      "SELECT s.*, c.client, c.server FROM session AS s LEFT JOIN connection AS c ON c.id = s.connection ORDER BY s.id")
    #expect(sessions.count == rows.count && !sessions.isEmpty)
    for (session, row) in zip(sessions, rows) {
      #expect(session.name == row["name"] as? String)
      #expect(session.client == row["client"] as? String && session.server == row["server"] as? String)
      let numbers = [
        "id": session.id, "connection": session.connection, "connections": session.connections,
        "messages": session.messages, "unanswered": session.unanswered, "rejected": session.rejected,
        "damaged": session.damaged, "retries": session.retries, "late": session.late,
        "rtt_c2s_p95_us": session.roundTrip95ToServer, "rtt_s2c_p95_us": session.roundTrip95ToClient,
        "heartbeats": session.heartbeats, "heartbeats_lost": session.lostHeartbeats,
        "last_message": session.lastMessage,
        "first_us": session.first?.microseconds, "last_us": session.last?.microseconds,
      ]
      for (name, number) in numbers { #expect(number.map { Int($0) } == row[name] as? Int, "\(name)") }
      #expect(try reader.session(session.id) == session)
    }
    let counts = try reader.problemCounts().map { "\($0.kind) \($0.cause ?? "-") \($0.count) \($0.first.microseconds)" }
    let wanted = try store.rows(
      "SELECT kind || ' ' || ifnull(cause, '-') || ' ' || count(*) || ' ' || min(time_us) AS t FROM problems GROUP BY kind, cause"
    ).compactMap { $0["t"] as? String }
    #expect(counts.sorted() == wanted.sorted())
    #expect(try reader.captures().count == 1)
    #expect(try reader.session(999_999) == nil && reader.ends(ofConnection: 999_999) == nil)
    #expect(try reader.texts(ofMessage: 999_999) == StoredMessageTexts() && reader.details(ofMessage: 999_999).isEmpty)
    for row in try store.rows(
      "SELECT id, topic, text, other_text, fate, client, conn FROM messages ORDER BY id LIMIT 20")
    {
      let id = Int64(try #require(row["id"] as? Int))
      let texts = StoredMessageTexts(
        topic: row["topic"] as? String, text: row["text"] as? String, other: row["other_text"] as? String)
      #expect(try reader.texts(ofMessage: id) == texts)
      let details = Dictionary(uniqueKeysWithValues: try reader.details(ofMessage: id).map { ($0.name, $0.value) })
      #expect(details["fate"] == row["fate"] as? String && details["text"] == row["text"] as? String)
      #expect(
        try reader.ends(ofConnection: Int64(try #require(row["conn"] as? Int)))?.client == row["client"] as? String)
    }
  }
}
