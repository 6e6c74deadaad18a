import Foundation
@testable import IMStore
import IMTestSupport
import Testing

/// `imdump index`: the store says what other commands say of the same capture.
@Suite struct StoreTests {
  /// What the view `messages`, and what is beside it, tells of a message, in the words of `messages --json`.
  private static let columns = """
    SELECT v.conn, v.client, v.server, v.via, v.carrier, v.dir, v.type, v.role, v.seq, v.session, v.len, v.fate, v.cause, v.status,
      v.status_name, v.retries, v.dup_after_ack, v.rtt_us, v.rtt_karn_us, v.delivered_us, v.read_us, v.late, v.comp, v.time_us, v.time, v.crc,
      m.copies, m.checksums, m.answers,
      (SELECT json_group_array(name) FROM (SELECT name FROM flag WHERE flag.bit & v.flags ORDER BY bit)) AS flags
    FROM messages AS v JOIN message AS m ON m.id = v.id ORDER BY v.id
    """

  private static func list(_ value: Any?) throws -> [Any]? {
    guard let text = value as? String else { return nil }
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any])
  }

  /// A row as `messages --json` would print it.
  private static func message(row: [String: Any]) throws -> String {
    var object = row
    let time = try #require(row["time_us"] as? Int)
    object["ts"] = try list(row["copies"]) ?? [time]
    object["crc"] = try list(row["checksums"]) ?? [try #require(row["crc"] as? String)]
    object["acks"] = try list(row["answers"]) ?? (row["rtt_us"] as? Int).map { [time + $0] } ?? []
    object["carrier"] = try list(row["carrier"])
    object["session"] = row["session"]
    object["late"] = row["late"] as? Int == 1 ? true : nil
    let flags = try #require(try list(row["flags"]))
    object["flags"] = flags.isEmpty ? nil : flags
    for key in ["time_us", "copies", "checksums", "answers"] { object[key] = nil }
    return try Store.text(object)
  }

  /// A line of `messages --json` without what a store does not have; a session's number is a text there.
  private static func message(line: [String: Any]) throws -> String {
    var object = line
    object["tlv"] = nil
    object["session"] = line["session"].map { "\($0)" }
    return try Store.text(object)
  }

  @Test(arguments: try Samples.captures()) func everyRowIsAMessage(_ sample: String) throws {
    let store = try Store(sample)
    let rows = try store.rows(Self.columns).map(Self.message(row:))
    let lines = try Store.objects(["messages", "-q", "--json", Samples.path(sample)]).map(Self.message(line:))
    #expect(rows.sorted() == lines.sorted())
  }

  /// What the writer adds up batch by batch is what SQLite adds up of the rows.
  @Test(arguments: try Samples.captures()) func sumsAreThoseOfTheRows(_ sample: String) throws {
    let store = try Store(sample)
    let (sums, names) = (Store.sums, Store.figures)
    for (table, key) in [("session", "session"), ("connection", "connection")] {
      let kept = try store.rows(
        "SELECT id, \(names) FROM \(table) WHERE messages + unacknowledged + heartbeats + others > 0 ORDER BY id"
      ).map(Store.text)
      let added = try store.rows("SELECT \(key) AS id, \(sums) GROUP BY 1 ORDER BY 1").map(Store.text)
      #expect(kept == added, "\(table)")
    }
    for width in [1, 10, 60] {
      let kept = try store.rows("SELECT start_s, \(names) FROM bucket WHERE width_s = \(width) ORDER BY 1").map(
        Store.text)
      let start = "time_us / \(width * 1_000_000) * \(width)"
      let added = try store.rows("SELECT \(start) AS start_s, \(sums) GROUP BY 1 ORDER BY 1").map(Store.text)
      #expect(kept == added, "\(width) s")
    }
  }

  /// The sessions of a store are those of `messages --by session`, percentiles included.
  @Test(arguments: try Samples.captures()) func sessionsAreThoseOfMessages(_ sample: String) throws {
    let store = try Store(sample)
    let rows = try store.rows(
      """
      SELECT s.name AS session, s.profile, c.client, c.server, s.connections, s.messages, s.unanswered + s.damaged AS lost,
        s.acked, s.acked_after_retry, s.rejected, s.unanswered, s.damaged, s.pending, s.unknown, s.unacknowledged,
        s.retries, s.heartbeats, s.heartbeats_lost, s.first_us, s.last_us,
        nullif(s.rtt_c2s_count, 0) AS c2s_count, s.rtt_c2s_p95_us AS c2s_p95, s.rtt_c2s_max_us AS c2s_max,
        nullif(s.rtt_s2c_count, 0) AS s2c_count, s.rtt_s2c_p95_us AS s2c_p95, s.rtt_s2c_max_us AS s2c_max
      FROM session AS s JOIN connection AS c ON c.id = s.connection
      """)
    let lines = try Store.objects(["messages", "-q", "--by", "session", "--json", Samples.path(sample)]).map { line in
      var line = line
      line["session"] = line["session"].map { "\($0)" }
      line["units"] = nil
      line["time"] = nil
      let times = line["rtt_ms"] as? [String: Any]
      line["rtt_ms"] = nil
      for (long, short) in [("client_to_server", "c2s"), ("server_to_client", "s2c")] {
        let values = (times?[long] as? [String: Any])?.compactMapValues { $0 as? Double }
        line["\(short)_count"] = values?["count"].map { Int($0) }
        for name in ["p95", "max"] { line["\(short)_\(name)"] = values?[name].map { Int(($0 * 1_000).rounded()) } }
      }
      return line
    }
    let (kept, told) = try (rows.map(Store.text).sorted(), lines.map(Store.text).sorted())
    for (kept, told) in zip(kept, told) { #expect(kept == told) }
    #expect(kept.count == told.count)
  }

  /// A problem of a message is a row for each of its bits, and those of streams are the issues that JSON lines have not.
  @Test(arguments: try Samples.captures()) func problemsAreThoseOfTheMessages(_ sample: String) throws {
    let store = try Store(sample)
    let told = try store.rows("SELECT message, kind FROM problem WHERE message IS NOT NULL ORDER BY 1, 2").map(
      Store.text)
    let bits = try store.rows(
      "SELECT m.id AS message, k.id AS kind FROM message AS m JOIN problem_kind AS k ON m.problems & k.bit ORDER BY 1, 2"
    ).map(Store.text)
    #expect(told == bits)
    #expect(
      try store.number("SELECT count(*) FROM problem WHERE connection NOT IN (SELECT id FROM connection)") == 0)
    let lost = try Store.objects(["messages", "-q", "--json", "--lost", Samples.path(sample)]).count
    #expect(
      try store.number("SELECT count(*) FROM problems WHERE message NOT NULL AND kind IN ('unanswered', 'damaged')")
        == lost)
  }

  /// States are those of the documents on connections; a session has that of its latest connection, or has come back on it.
  @Test(arguments: try Samples.captures()) func statesAreThoseOfConnections(_ sample: String) throws {
    let store = try Store(sample)
    let documents = try Store.objects(["-q", "--format", "ecs", "-r", Samples.path(sample)])
    var reasons: [String: String] = [:]
    for document in documents {
      guard let event = document["event"] as? [String: Any], event["action"] as? String == "connection_end" else {
        continue
      }
      let ends = ["source", "destination"].compactMap { document[$0] as? [String: Any] }.map {
        "\($0["ip"] as? String ?? "") \($0["port"] as? Int ?? 0)"
      }
      // Ports that are used twice are told apart by nothing else.
      let key = ends.joined(separator: " ")
      reasons[key] = reasons[key] == nil ? event["reason"] as? String : "several"
    }
    let names = [
      "fin": "closed", "rst": "reset", "refused": "refused", "timeout": "timeout", "reused": "reused",
      "evicted": "evicted",
    ]
    for row in try store.rows("SELECT client, server, state FROM connection WHERE via IS NULL AND messages > 0") {
      let ends = ["client", "server"].compactMap { row[$0] as? String }.compactMap { end in
        end.lastIndex(of: ":").map { "\(end[..<$0].filter { !"[]".contains($0) }) \(end[end.index(after: $0)...])" }
      }
      let reason = reasons[ends.joined(separator: " ")] ?? "open"
      guard reason != "several" else { continue }
      let state = row["state"] as? String
      #expect(
        state.map { $0 == names[reason] || ["open", "half"].contains($0) && reason == "open" } ?? false,
        "\(row) \(reason)")
    }
    let wrong = try store.number(
      """
      SELECT count(*) FROM sessions AS s JOIN connection AS c ON c.id = s.connection
      WHERE s.state <> ifnull(c.state, 'open') AND NOT (s.state = 'reconnected' AND s.connections > 1 AND c.state = 'open')
      """)
    #expect(wrong == 0)
    let reader = try StoreReader(store.path)
    let told = try store.rows("SELECT id, state FROM sessions ORDER BY id").map { $0["state"] as? String }
    #expect(try reader.sessions().map(\.state) == told)
  }

  /// Every connection has a row, decoded or not, with what `imdump streams` says of it.
  @Test(arguments: try Samples.captures()) func connectionsAreThoseOfStreams(_ sample: String) throws {
    let store = try Store(sample)
    let rows = try store.rows(
      "SELECT *, unanswered + damaged AS lost FROM connection ORDER BY id")
    let lines = try Store.objects(["streams", "-q", "--sort", "conn", "--json", Samples.path(sample)])
    #expect(rows.count == lines.count && !rows.isEmpty)
    let ends = ["fin": "closed", "rst": "reset"]
    for (row, line) in zip(rows, lines) {
      func same(_ column: String, _ told: Any?) {
        func text(_ value: Any?) -> String { value.map { $0 is NSNull ? "" : "\($0)" } ?? "" }
        #expect(text(row[column]) == text(told), "\(column) of \(line)")
      }
      let ways = ["c2s", "s2c"].map { line[$0] as? [String: Any] ?? [:] }
      same("id", line["conn"])
      for side in ["client", "server"] {
        // The listed client is the end of the TCP connection.
        let end = (side == "client" ? row["via"] as? String : nil) ?? row[side] as? String ?? ""
        let port = end.lastIndex(of: ":") ?? end.endIndex
        #expect("\(end[..<port].filter { !"[]".contains($0) }) \(end[port...].dropFirst())" == line[side] as? String)
      }
      same("profile", line["profile"])
      let end = line["end"] as? String ?? ""
      #expect(row["state"] as? String == ends[end] ?? end || end == "open" && row["state"] as? String == "half")
      same("rst_by", line["rst_by"])
      for (way, told) in zip(["c2s", "s2c"], ways) {
        same("packets_\(way)", told["packets"])
        same("bytes_\(way)", told["bytes"])
        let mean = (told["ack_rtt_us"] as? [String: Any])?["mean"] as? Double
        same("ack_\(way)_us", mean.map { Int($0) })
      }
      same("handshake_us", (line["handshake_us"] as? Double).map { Int($0) })
      same("retransmissions", line["retransmissions"])
      same("gaps", line["gaps"])
      same("missing_bytes", line["gap_bytes"])
      guard line["profile"] != nil else { continue }
      for column in ["messages", "lost", "rejected", "retries"] { same(column, line[column]) }
    }
  }

  /// Two samples in one store: which capture a packet belongs to.
  @Test func capturesAreToldApart() throws {
    let paths = ["tjp-clean-chat.pcap", "tjp-damage.pcap"].map(Samples.path)
    let store = try Store(paths)
    let rows = try store.rows("SELECT capture, count(*) AS n FROM messages GROUP BY 1 ORDER BY min(id)")
    #expect(rows.map { $0["capture"] as? String } == paths)
    let counts = try paths.map { try Store.objects(["messages", "-q", "--json", $0]).count }
    #expect(rows.map { $0["n"] as? Int } == counts)
  }

  /// A message's packet is that of the first copy's frame.
  @Test func placesAreThoseOfFrames() throws {
    let sample = "tjp-weak-network.pcap"
    let frames = Set(
      try Store.objects(["-q", "--format", "json", "-r", Samples.path(sample)]).map { frame in
        "\(frame["conn"] ?? "") \(frame["dir"] ?? "") \(frame["number"] ?? "") \(frame["ts"] ?? "")"
      })
    let store = try Store(sample)
    let rows = try store.rows("SELECT conn, dir, packet, time_us FROM messages")
    for row in rows {
      let place = "\(row["conn"] ?? "") \(row["dir"] ?? "") \(row["packet"] ?? "") \(row["time_us"] ?? "")"
      #expect(frames.contains(place), "\(place)")
    }
  }

  // MARK: Pages

  @Test(arguments: [PageChoice(), PageChoice(session: 2), PageChoice(connection: 3), PageChoice(problems: .all)])
  func pagesAreTheWholeInPieces(_ choice: PageChoice) throws {
    let store = try Store("tjp-weak-network.pcap")
    let reader = try StoreReader(store.path)
    let all = try reader.messages(after: 0, choice, count: 1_000)
    var condition = "1"
    if let session = choice.session { condition = "session = \(session)" }
    if let connection = choice.connection { condition = "connection = \(connection)" }
    if choice.problems != [] { condition = "problems <> 0" }
    let ids = try store.rows("SELECT id FROM message WHERE \(condition) ORDER BY id").map { $0["id"] as? Int ?? 0 }
    #expect(all.map { Int($0.id) } == ids && !ids.isEmpty)
    for count in [1, 7, 50] {
      var (forth, back): ([StoredMessage], [StoredMessage]) = ([], [])
      while true {
        let page = try reader.messages(after: forth.last?.id ?? 0, choice, count: count)
        guard !page.isEmpty else { break }
        forth += page
      }
      while true {
        let page = try reader.messages(before: back.first?.id ?? .max, choice, count: count)
        guard !page.isEmpty else { break }
        back = page + back
      }
      #expect(forth == all && back == all)
    }
    #expect(try reader.messages(after: all.last?.id ?? 0, choice, count: 5).isEmpty)
    #expect(try reader.isWhole())
  }

  @Test func theNextProblemIsFoundBothWays() throws {
    let store = try Store("tjp-weak-network.pcap")
    let reader = try StoreReader(store.path)
    for kinds in [ProblemKinds.all, .unanswered, .retried, [.unanswered, .late]] {
      let ids = try store.rows("SELECT id FROM message WHERE problems & \(kinds.rawValue) ORDER BY id").map {
        Int64($0["id"] as? Int ?? 0)
      }
      var found: [Int64] = []
      while let next = try reader.problem(after: found.last ?? 0, kinds) { found.append(next.id) }
      #expect(found == ids)
      var back: [Int64] = []
      while let last = try reader.problem(before: back.last ?? .max, kinds) { back.append(last.id) }
      #expect(back == ids.reversed())
    }
  }

  @Test func pagesReadWhatTheyShowAndNoMore() throws {
    let store = try Store("tjp-weak-network.pcap")
    let reader = try StoreReader(store.path)
    for (choice, index) in [
      (PageChoice(), "INTEGER PRIMARY KEY"), (PageChoice(session: 1), "message_session "),
      (PageChoice(connection: 1), "message_connection "), (PageChoice(problems: .late), "message_problem "),
      (PageChoice(session: 1, problems: .late), "message_session_problem "),
    ] {
      let plan = try reader.plan(of: choice)
      #expect(plan.hasPrefix("SEARCH message USING ") && plan.contains(index), "\(plan)")
      #expect(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "\(plan)")
    }
  }
}
