import Foundation
import IMBrowser
import IMStore
import IMTestSupport
import Testing

/// One word is one number in every output: messages, lost, rejected, pending, unknown, retries, answered after a retry, lost
/// heartbeats, and round trips by direction. `stats --json`, which the tests of truths hold against the truths, is what the others are compared with.
@Suite struct VocabularyTests {
  /// Counts by their words.
  private typealias Counts = [String: Int]

  private static let fates = ["acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unknown"]
  private static let ways = [("client_to_server", "c2s"), ("server_to_client", "s2c")]

  private static func number(_ object: [String: Any]?, _ path: String) -> Int {
    var value: Any? = object
    for part in path.split(separator: ".") { value = (value as? [String: Any])?[String(part)] }
    return (value as? NSNumber)?.intValue ?? 0
  }

  /// Of fates, which words they are.
  private static func counts(
    _ fate: (String) -> Int, heartbeats: Int, trips: (_ long: String, _ short: String) -> Int
  ) -> Counts {
    var counts: Counts = [
      "lost": fate("unanswered") + fate("damaged"), "rejected": fate("rejected"), "pending": fate("pending"),
      "unknown": fate("unknown"), "retried": fate("acked_after_retry"), "heartbeats lost": heartbeats,
    ]
    for (long, short) in ways { counts["round trips \(short)"] = trips(long, short) }
    return counts
  }

  private static func sum(_ objects: [[String: Any]], _ path: String) -> Int {
    objects.reduce(0) { $0 + number($1, path) }
  }

  @Test(arguments: try Samples.captures()) func everyOutputSaysTheSame(_ sample: String) throws {
    try Self.check(Samples.path(sample))
  }

  /// Captures that end anywhere: what is pending then is pending everywhere.
  @Test(arguments: ["tjp-weak-network.pcap", "mqtt5-mosquitto.pcap", "smpp-gateway.pcap", "goim-room.pcap"])
  func cutCapturesSayTheSame(_ sample: String) throws {
    let folder = try Scratch()
    let bytes = try Samples.bytes(sample)
    var random = SeededRandom(45)
    for i in 0..<3 {
      let count = 24 + Int(random.next() % UInt64(bytes.count - 24))
      try Self.check(try folder.file("cut-\(i).pcap", bytes.prefix(Self.wholePackets(bytes, count))), isCut: true)
    }
  }

  /// The bytes of whole packets in the first `count` bytes of a pcap file of little endian.
  private static func wholePackets(_ bytes: [UInt8], _ count: Int) -> Int {
    var at = 24
    while at + 16 <= count {
      let length = bytes[at + 8..<at + 12].reversed().reduce(0) { $0 << 8 | Int($1) }
      guard at + 16 + length <= count else { break }
      at += 16 + length
    }
    return at
  }

  private static func check(_ path: String, isCut: Bool = false) throws {
    let stats = try #require(try Store.objects(["stats", "-q", "--json", path]).first)
    let wanted = counts(
      { number(stats, "total.messages.\($0)") }, heartbeats: number(stats, "total.heartbeats.missed"),
      trips: { long, _ in number(stats, "total.rtt_us.\(long).count") })
    let messages = number(stats, "total.messages.units")
    // Those of the messages, which the tests of truths hold against the truths, too.
    let listed = try Store.objects(["messages", "-q", "--json", "-Y", "role == message", path])
    let retries = sum(listed, "retries")
    let oneWay = listed.count { $0["fate"] as? String == "unacknowledged" }
    #expect(listed.count - oneWay == messages, "messages of \(path)")
    func compare(_ found: Counts, _ output: String) {
      #expect(found == wanted, "\(output) of \(path)")
    }

    // Groups of messages.
    for command in ["messages", "stats"] {
      for grouping in ["session", "client", "type", "direction"] {
        let rows = try Store.objects([command, "-q", "--json", "--by", grouping, path])
        compare(
          counts(
            { sum(rows, $0) }, heartbeats: sum(rows, "heartbeats_lost"),
            trips: { long, _ in sum(rows, "rtt_ms.\(long).count") }), "\(command) --by \(grouping)")
        #expect(sum(rows, "lost") == wanted["lost"] && sum(rows, "messages") == messages, "\(grouping) of \(path)")
        #expect(sum(rows, "unacknowledged") == oneWay, "one-way messages by \(grouping) of \(path)")
        #expect(sum(rows, "retries") == retries, "retries by \(grouping) of \(path)")
      }
    }
    for (option, word) in [("--lost", "lost"), ("--rejected", "rejected")] {
      let lines = try Command.run(["messages", "-q", option, path]).output.split(separator: "\n")
      #expect(lines.count == wanted[word], "messages \(option) of \(path)")
    }

    // Connections, and the text of the run.
    let connections = try Store.objects(["streams", "-q", "--json", "--sort", "conn", path])
    #expect(sum(connections, "messages") == messages && sum(connections, "retries") == retries, "streams of \(path)")
    #expect(sum(connections, "lost") == wanted["lost"] && sum(connections, "rejected") == wanted["rejected"])
    let text = try Command.run(["stats", "-q", path]).output
    let problems = text.split(separator: "\n").first { $0.hasPrefix("problems:") }?.split(separator: ", ") ?? []
    let told = problems.first { $0.hasPrefix("retries ") || $0.hasPrefix("problems: retries ") }?.split(separator: " ")
      .last
    #expect(told.map { $0.filter { $0 != "," } } ?? "0" == "\(retries)", "stats of \(path)")
    // The number of messages among the unanswered exchanges is the same everywhere.
    let unanswered = text.firstMatch(of: /unanswered\s+[0-9,]+\s+\(([0-9,]+)\s+messages?/)?.output.1
    #expect(
      unanswered.map { $0.filter { $0 != "," } } ?? "0" == "\(number(stats, "total.messages.unanswered"))",
      "problems of \(path)")

    // Periods.
    let periods = try Store.objects(["stats", "-q", "--json", "--per", "1h", path])
    compare(
      counts(
        { fate in ways.reduce(0) { $0 + sum(periods, "messages.\($1.0).\(fate)") } },
        heartbeats: sum(periods, "heartbeat.missed"), trips: { long, _ in sum(periods, "rtt.\(long).count") }),
      "stats --per")
    let table = try Command.run(["stats", "-q", "--per", "1h", path]).output.split(separator: "\n")
    for (title, count) in [("messages", messages), ("retries", retries)] where table.count > 1 {
      // Cells end where their titles end.
      let end = try #require(table[0].range(of: title)).upperBound
      let width = table[0].distance(from: table[0].startIndex, to: end)
      let cells = table.dropFirst().map { $0.prefix(width).split(separator: " ").last ?? "" }
      #expect(cells.reduce(0) { $0 + (Int($1.filter { $0 != "," }) ?? 0) } == count, "\(title) by period of \(path)")
    }

    // The store, its query tables and what browse reads of it.
    let store = try Store([path])
    for table in [
      "session", "connection", "bucket WHERE width_s = 1", "bucket WHERE width_s = 10", "bucket WHERE width_s = 60",
    ] {
      let rows = try store.rows("SELECT * FROM \(table)")
      compare(
        counts(
          { sum(rows, $0) }, heartbeats: sum(rows, "heartbeats_lost"), trips: { sum(rows, "rtt_\($1)_count") }),
        "table \(table)")
      #expect(sum(rows, "messages") == messages && sum(rows, "retries") == retries, "table \(table) of \(path)")
      #expect(sum(rows, "unacknowledged") == oneWay, "table \(table) of \(path)")
    }
    let view = try store.rows(
      """
      SELECT fate, role, dir, count(*) AS n, sum(role <> 'heartbeat' AND rtt_karn_us IS NOT NULL) AS trips
      FROM messages GROUP BY fate, role, dir
      """)
    func count(_ row: (String, String) -> Bool) -> Int {
      view.reduce(0) { $0 + (row($1["fate"] as? String ?? "", $1["role"] as? String ?? "") ? number($1, "n") : 0) }
    }
    compare(
      counts(
        { fate in count { $0 == fate && $1 == "message" } },
        heartbeats: count { ["unanswered", "damaged"].contains($0) && $1 == "heartbeat" },
        trips: { _, short in sum(view.filter { $0["dir"] as? String == short }, "trips") }), "view messages")
    let reader = try StoreReader(store.path)
    let totals = SessionTotals(try reader.sessions())
    #expect(Int(totals.lost) == wanted["lost"] && Int(totals.rejected) == wanted["rejected"])
    #expect(Int(totals.lostHeartbeats) == wanted["heartbeats lost"], "browse of \(path)")
    #expect(Int(totals.messages) == messages && Int(totals.retries) == retries, "browse of \(path)")
    #expect(Int(totals.oneWay) == oneWay, "browse of \(path)")
    if let strip = try reader.periods(limit: 480) {
      func all(_ value: (StoredPeriod) -> Int64) -> Int { Int(strip.periods.reduce(0) { $0 + value($1) }) }
      #expect(all { $0.lost } == wanted["lost"] && all { $0.rejected } == wanted["rejected"], "browse of \(path)")
      #expect(all { $0.lostHeartbeats } == wanted["heartbeats lost"], "browse of \(path)")
      #expect(all { $0.messages } == messages && all { $0.oneWay } == oneWay, "browse of \(path)")
    }

    // The report.
    let page = try Command.run(["report", "-q", "--json", "-o", "-", path]).output
    let begin = try #require(page.range(of: "<script type=\"application/json\" id=\"data\">"))
    let end = try #require(page[begin.upperBound...].range(of: "</script>"))
    let data = try #require(
      try JSONSerialization.jsonObject(with: Data(page[begin.upperBound..<end.lowerBound].utf8)) as? [String: Any])
    compare(
      counts(
        { number(data, "figures.messages.\($0)") }, heartbeats: number(data, "figures.heartbeats.missed"),
        trips: { long, _ in number(data, "figures.rtt_us.\(long).count") }), "report --json")
    let steps = data["steps"] as? [[String: Any]] ?? []
    #expect(sum(steps, "lost") == wanted["lost"] && sum(steps, "rejected") == wanted["rejected"], "steps of \(path)")
    #expect(sum(steps, "unknown") == wanted["unknown"], "steps of \(path)")
    for (long, short) in ways {
      #expect(sum(steps, "rtt_us.\(long).count") == wanted["round trips \(short)"], "steps of \(path)")
    }
    // One row for each lost message, up to 200.
    let root = try PageParser.read(page)
    #expect(PageParser.rows(root, "lost-rows").count == min(200, wanted["lost"] ?? 0), "lost messages of \(path)")

    // Documents and metrics.
    let folder = try Scratch()
    let metrics = folder.path("m.prom")
    let documents = try Store.objects(["-q", "--format", "ecs", "--metrics-file", metrics, "-r", path])
    let summaries = documents.compactMap { ($0["imdump"] as? [String: Any])?["summary"] as? [String: Any] }
    compare(
      counts(
        { fate in ways.reduce(0) { $0 + sum(summaries, "messages.\($1.0).\(fate)") } },
        heartbeats: sum(summaries, "heartbeat.missed"), trips: { long, _ in sum(summaries, "rtt.\(long).count") }),
      "summary documents")
    let samples = MetricsText(try String(contentsOfFile: metrics, encoding: .utf8)).samples
    func metric(_ name: String, _ labels: [String: String]) -> Int {
      Int(
        samples.reduce(0.0) { sum, sample in
          guard sample.key.name == name, labels.allSatisfy({ sample.key.labels[$0] == $1 }) else { return sum }
          return sum + sample.value
        })
    }
    compare(
      counts(
        { metric("imdump_messages_total", ["fate": $0]) },
        heartbeats: metric("imdump_heartbeats_total", ["fate": "missed"]),
        trips: { long, _ in metric("imdump_rtt_seconds_count", ["direction": long]) }), "metrics")

    // The verdict.
    let verdict = try #require(try Store.objects(["why", "--json", path]).first)
    func found(_ topic: String) -> Int {
      (verdict["findings"] as? [[String: Any]] ?? []).filter { $0["topic"] as? String == topic }.reduce(0) {
        $0 + number($1, "count")
      }
    }
    for (topic, word) in [
      ("lost", "lost"), ("rejected", "rejected"), ("retried", "retried"), ("unknown", "unknown"),
      ("pending", "pending"),
      ("heartbeats", "heartbeats lost"),
    ] { #expect(found(topic) == wanted[word], "why: \(topic) of \(path)") }
  }
}
