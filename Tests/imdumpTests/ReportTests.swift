import Foundation
import IMTestSupport
import IMWire
import Testing

/// `imdump report` against what `imdump stats` and `imdump messages` say of the same captures.
@Suite struct ReportTests {
  private static func page(_ arguments: [String]) throws -> (text: String, root: PageParser.Element) {
    let run = try Command.run(["report", "-q", "-o", "-"] + arguments)
    #expect(run.status == 0, "\(run.errors)")
    return (run.output, try PageParser.read(run.output))
  }

  private static func stats(_ arguments: [String]) throws -> [String: Any] {
    let run = try Command.run(["stats", "-q", "--json"] + arguments)
    return try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
  }

  private static func lines(_ arguments: [String]) throws -> [[String: Any]] {
    try Command.run(arguments).output.split(separator: "\n").compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
  }

  private static func value(_ object: [String: Any], _ path: String) -> Double? {
    (path.split(separator: ".").reduce(object as Any?) { ($0 as? [String: Any])?[String($1)] } as? NSNumber)?
      .doubleValue
  }

  /// The number that a cell begins with.
  private static func number(_ text: String) -> Double? {
    Double(text.replacing(",", with: "").prefix { $0.isNumber || $0 == "." })
  }

  private static func tiles(_ root: PageParser.Element) -> [String: (value: String, remark: String)] {
    let list = root.all.first { $0.attributes["class"] == "tiles" }
    return Dictionary(
      uniqueKeysWithValues: (list?.children ?? []).map {
        ($0.children[0].text, ($0.children[1].text, $0.children[2].text))
      })
  }

  // MARK: Metrics

  @Test(arguments: try Samples.captures()) func tilesAreThoseOfStats(_ sample: String) throws {
    let (_, root) = try Self.page([Samples.path(sample)])
    let stats = try Self.stats([Samples.path(sample)])
    let tiles = Self.tiles(root)
    for (tile, path) in [
      ("Success", "total.success"), ("Loss", "total.loss"), ("Retry", "total.retry"),
      ("Heartbeats missed", "total.heartbeats.loss"),
    ] {
      // Where nothing is decoded, there is no tile of what is not known.
      guard let shown = tiles[tile]?.value else {
        #expect(Self.value(stats, path) == nil && tiles["Connections decoded"]?.value == "0", "\(tile)")
        continue
      }
      guard path != "total.heartbeats.loss" else {
        let (answered, missed) = (
          Self.value(stats, "total.heartbeats.answered") ?? 0, Self.value(stats, "total.heartbeats.missed") ?? 0
        )
        let expected = answered + missed == 0 ? nil : missed / (answered + missed) * 100
        #expect(Self.matches(shown, expected), "\(tile): \(shown)")
        continue
      }
      #expect(Self.matches(shown, Self.value(stats, path).map { $0 * 100 }), "\(tile): \(shown)")
    }
    for (way, place) in [("c2s", "client_to_server"), ("s2c", "server_to_client")] {
      for percent in ["p50", "p95"] {
        let (shown, value) = (
          tiles["Round trip \(percent) \(way)"]?.value, Self.value(stats, "total.rtt_us.\(place).\(percent)")
        )
        #expect(shown.map { Self.isLength($0, value) } ?? (value == nil), "\(percent) \(way): \(shown ?? "none")")
      }
    }
    let decoded = Self.value(stats, "counters.connections_decoded") ?? Self.value(stats, "connections.decoded")
    if let decoded { #expect(Self.number(tiles["Connections decoded"]?.value ?? "") == decoded) }
  }

  /// Whether a percentage is the value, or a dash where there is none.
  private static func matches(_ shown: String, _ value: Double?) -> Bool {
    guard let value else { return shown == "–" }
    return number(shown).map { abs($0 - value) < 0.0101 } ?? false
  }

  private static func isLength(_ shown: String, _ microseconds: Double?) -> Bool {
    guard let microseconds else { return shown == "–" }
    if let parts = shown.wholeMatch(of: /(\d+) min (\d+) s/), let minutes = Int(parts.1), let seconds = Int(parts.2) {
      return minutes * 60 + seconds == Int((microseconds / 1e6).rounded())
    }
    guard let number = number(shown) else { return false }
    let scale = shown.hasSuffix(" ms") ? 1_000.0 : 1_000_000
    return abs(number * scale - microseconds) <= scale * 0.051
  }

  @Test(arguments: try Samples.captures()) func tablesAddUpToMessages(_ sample: String) throws {
    let (_, root) = try Self.page([Samples.path(sample)])
    let stats = try Self.stats([Samples.path(sample)])
    let messages = try Self.lines(["messages", "-q", "--json", Samples.path(sample)])

    // Messages by type, up to the types that are put together.
    let heads = PageParser.heads(root, "rate-rows")
    let rates = PageParser.rows(root, "rate-rows")
    let types = Dictionary(messages.map { ($0["type"] as? String ?? "", 1) }, uniquingKeysWith: +)
    #expect(
      rates.reduce(0.0) { sum, row in sum + row.dropFirst().reduce(0) { $0 + (Self.number($1) ?? 0) } }
        == Double(messages.count))
    for (i, head) in heads.enumerated().dropFirst() where types[head] != nil {
      #expect(rates.reduce(0.0) { $0 + (Self.number($1[i]) ?? 0) } == Double(types[head] ?? 0), "\(head)")
    }

    func sum(_ table: String, _ column: String) -> Double? {
      guard let place = PageParser.heads(root, table).firstIndex(of: column) else { return nil }
      return PageParser.rows(root, table).reduce(0.0) { $0 + (Self.number($1[place]) ?? 0) }
    }
    for (table, way) in [("rtt-rows", "client_to_server"), ("rtt-rows-s2c", "server_to_client")] {
      #expect((sum(table, "round trips") ?? 0) == (Self.value(stats, "total.rtt_us.\(way).count") ?? 0), "\(way)")
    }
    let lost =
      (Self.value(stats, "total.messages.unanswered") ?? 0) + (Self.value(stats, "total.messages.damaged") ?? 0)
    #expect((sum("trouble-rows", "lost") ?? 0) == lost)
    #expect((sum("connection-rows", "lost") ?? 0) == lost)
    #expect((sum("connection-rows", "messages") ?? 0) == (Self.value(stats, "total.messages.units") ?? 0))
    // The table of connections is that of `imdump streams`.
    let streams = try Command.run(["streams", "--format", "csv", Samples.path(sample)]).output.split(separator: "\n")
      .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    for (column, name) in [
      ("bytes c2s", "c2s.bytes"), ("bytes s2c", "s2c.bytes"), ("packets c2s", "c2s.packets"),
      ("packets s2c", "s2c.packets"), ("gaps", "gaps"), ("rejected", "rejected"), ("retrans", "retransmissions"),
    ] {
      let place = try #require(streams.first?.firstIndex(of: name))
      let all = streams.dropFirst().reduce(0.0) { $0 + (Double($1[place]) ?? 0) }
      #expect((sum("connection-rows", column) ?? 0) == all, "\(column)")
    }
    let columns = PageParser.heads(root, "connection-rows")
    let (number, length) = (try #require(columns.firstIndex(of: "#")), try #require(columns.firstIndex(of: "length")))
    let (conn, duration) = (
      try #require(streams.first?.firstIndex(of: "conn")), try #require(streams.first?.firstIndex(of: "duration_us"))
    )
    let kind = try #require(columns.firstIndex(of: "protocol"))
    let (decoder, tls, sni) = (
      try #require(streams.first?.firstIndex(of: "profile")), try #require(streams.first?.firstIndex(of: "tls")),
      try #require(streams.first?.firstIndex(of: "sni"))
    )
    for row in PageParser.rows(root, "connection-rows") {
      let stream = try #require(streams.first { $0[conn] == row[number] })
      #expect(Self.isLength(row[length], Double(stream[duration])), "\(row[length])")
      let (name, version, profile) = (stream[sni], stream[tls], stream[decoder])
      let expected = name.isEmpty ? version.isEmpty ? profile : version : "TLS \(name)"
      #expect(row[kind] == (expected.isEmpty ? "–" : expected), "#\(row[number])")
    }
    // Pings of WebSocket have no intervals here, and stats has all of them.
    if let intervals = sum("beat-rows", "intervals") {
      let sent = try Self.lines([
        "-q", "--print", "--format", "json", Samples.path(sample), "-Y", "type contains \"heartbeat\"",
      ])
      #expect(intervals > 0 || sent.isEmpty)
    }
  }

  /// Fates and causes of the table of problems are those of the messages.
  @Test(arguments: try Samples.captures()) func problemsAreThoseOfMessages(_ sample: String) throws {
    let (_, root) = try Self.page([Samples.path(sample)])
    var found: [String: Int] = [:]
    let names: Set = ["unanswered", "damaged", "rejected", "unknown", "acked_after_retry", "pending"]
    for row in PageParser.rows(root, "problem-rows") where names.contains(row[1]) {
      found["\(row[1]) \(row[3])", default: 0] += Int(Self.number(row[4]) ?? 0)
    }
    var expected: [String: Int] = [:]
    for message in try Self.lines(["messages", "-q", "--json", Samples.path(sample)]) {
      guard let fate = message["fate"] as? String, names.contains(fate) else { continue }
      expected["\(fate) \(message["cause"] as? String ?? "–")", default: 0] += 1
    }
    #expect(found == expected)
    // Issues that the engine finds in packets are those of stats.
    let issues = try Self.stats([Samples.path(sample)])["issues"] as? [String: Int] ?? [:]
    for row in PageParser.rows(root, "problem-rows") {
      guard let count = issues[row[1]], !names.contains(row[1]), row[1] != "late_ack", row[1] != "gap" else { continue }
      #expect(Self.number(row[4]) == Double(count), "\(row[1])")
    }
  }

  // MARK: Words

  @Test(arguments: [
    ("tjp-clean-chat.pcap", "No message was lost: all 24 messages were answered.", ""),
    (
      "tjp-weak-network.pcap", "2 of 50 messages were lost (4.00 %).",
      "2 from the client: the server's TCP received them, no answer was sent (peer)"
    ),
    (
      "tjp-damage.pcap", "2 of 38 messages were lost (5.26 %).",
      "missing: 2 gaps in the capture of 1,462 bytes that reached the other side"
    ),
    (
      "tjp-v2-chat.pcap", "Nothing was decoded: 2 TCP connections, none in a protocol that imdump looked for.",
      "the busiest port is 8080 (24,461 bytes)"
    ),
    (
      "mqtt5-mosquitto.pcap",
      "No message was lost, but 2 were rejected and 1 control frame was rejected.",
      "1 control frame rejected: subscribe with not_authorized (135)"
    ),
    // Its frames have types that the default version of the protocol does not name.
    (
      "tjp-article-chat.pcap",
      "No message asked for an answer, but 42 other frames went unanswered and not everything could be read.",
      "44 of 44 frames have types that profile tjp does not name; it may be another version: try --profile tjp-article"
    ),
    (
      "cmpp-gateway.pcap", "Nothing was decoded: 2 TCP connections, none in a protocol that imdump looked for.",
      "Try --profile cmpp, which is built in for port 7890"
    ),
  ]) func theVerdictComesFirst(_ sample: String, _ headline: String, _ more: String) throws {
    let (_, root) = try Self.page([Samples.path(sample)])
    let verdict = try #require(root.all.first { $0.attributes["id"] == "verdict" })
    #expect(verdict.first("h2")?.text == headline)
    #expect(more.isEmpty || verdict.text.contains(more), "\(verdict.text)")
    // It is the first section of the page.
    #expect(root.first("main")?.children.first?.attributes["id"] == "verdict")
  }

  /// The sessions are those that `messages --by session` has, and the times those of the messages.
  @Test func whoIsHurt() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let lost = try Self.lines(["messages", "-q", "--json", "--lost", path]).filter { $0["type"] as? String == "data" }
    let sessions = Set(lost.compactMap { ($0["session"] as? NSNumber)?.intValue })
    let all = try Self.lines(["messages", "-q", "--by", "session", "--json", path])
    let text = try #require(try Self.page([path]).root.all.first { $0.attributes["id"] == "verdict" }).text
    #expect(text.contains("\(sessions.count) of \(all.count) sessions affected: "))
    for session in sessions { #expect(text.contains(String(session))) }
  }

  @Test func whatWasNotReadIsSaid() throws {
    let folder = try Scratch()
    let bytes = try Samples.bytes("tjp-clean-chat.pcap")
    let cut = try folder.file("cut.pcap", bytes.dropLast(7))
    let out = folder.path("r.html")
    let run = try Command.run(["report", cut, "-o", out])
    #expect(run.status == 1)
    let page = try String(contentsOfFile: out, encoding: .utf8)
    #expect(page.contains("Needs attention"))
    #expect(page.contains("In what was read, no message was lost, but not everything could be read"))
    #expect(page.contains("not all was read: cut.pcap: ") && !page.contains(folder.url.lastPathComponent))
  }

  /// An answer that reached the client and not the capture leaves a message whose fate nobody knows: it is not called lost, nor well.
  @Test func aHoleInTheCaptureIsNoLoss() throws {
    let folder = try Scratch()
    let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 40_000)
    var talk = ConversationBuilder(client: client, server: Endpoint(address: IPAddress(v4: 0xc000_0209), port: 8_080))
    let at = { (ms: Int64) in Timestamp(seconds: 1_760_000_000, fraction: 0).advanced(by: ms * 1_000_000) }
    _ = talk.open(at: at(0))
    for (sequence, begin) in [(UInt32(10), Int64(100)), (11, 1_000), (12, 2_000)] {
      _ = talk.send(
        TJPFrameBuilder(text: "hello", sequence: sequence).bytes, .clientToServer, at: at(begin))
      let answer = talk.send(TJPFrameBuilder.echoACK(of: sequence).bytes, .serverToClient, at: at(begin + 20))
      // The segment, and not the client's acknowledgment of it.
      if sequence == 11, let segment = answer.first { talk.drop(segment) }
    }
    _ = talk.close(.fin(by: .clientToServer), at: at(30_000))
    let path = try folder.file("hole.pcap", CaptureBuilder(talk.packets).pcap())
    let fates = try Self.lines(["messages", "-q", "--json", path]).compactMap { $0["fate"] as? String }
    #expect(fates.sorted() == ["acked", "acked", "unknown"])
    let verdict = try #require(try Self.page([path]).root.all.first { $0.attributes["id"] == "verdict" }).text
    #expect(
      verdict.contains("No message is known to be lost, but the outcome of 1 message is unknown"), "\(verdict)")
    #expect(
      verdict.contains("missing: 1 gap in the capture of 28 bytes that reached the other side"), "\(verdict)")
    let ladder = try Command.run(["ladder", "-q", path]).output
    #expect(
      ladder.contains("answer not in the capture") && ladder.contains("28 bytes of the server missing (capture_loss)"),
      "\(ladder)")
  }

  // MARK: The page

  @Test(arguments: try Samples.captures()) func thePageIsWhole(_ sample: String) throws {
    let (text, root) = try Self.page([Samples.path(sample)])
    #expect(
      try Command.run(["report", "-q", "-o", "-", Samples.path(sample)]).output == text, "the same capture, other bytes"
    )
    #expect(!text.contains("http://") && !text.contains("https://") && !text.contains("src=") && !text.contains("url("))
    let policy =
      root.all.first { $0.attributes["http-equiv"] == "Content-Security-Policy" }?.attributes["content"] ?? ""
    #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"))
    let ids = root.all.compactMap { $0.attributes["id"] }
    #expect(Set(ids).count == ids.count, "an id stands twice")
    for element in root.all {
      if let target = element.attributes["href"] {
        #expect(target.first == "#" && ids.contains(String(target.dropFirst())), "\(target)")
      }
      if let label = element.attributes["aria-labelledby"] {
        for id in label.split(separator: " ") { #expect(ids.contains(String(id)), "\(label)") }
      }
      for name in element.attributes.keys { #expect(!name.hasPrefix("on") && name != "style", "\(name)") }
      if element.name == "th" { #expect(element.attributes["scope"] != nil) }
      if element.name == "svg", element.attributes["aria-hidden"] == nil {
        #expect(element.attributes["role"] == "img" && element.first("title")?.text.isEmpty == false)
      }
    }
    // Sections without content are left out, and the others are in their order and in the navigation.
    let sections = root.all.filter { $0.name == "section" }.compactMap { $0.attributes["id"] }
    let order = [
      "verdict", "lost", "tcp-time", "rtt-time", "rtt-distribution", "rates", "troubles", "heartbeats",
      "connections-time",
      "ladders", "problems", "connections", "method",
    ]
    #expect(sections == order.filter(sections.contains) && sections.contains("verdict") && sections.contains("method"))
    let links = (root.all.first { $0.name == "nav" }?.all ?? []).compactMap { $0.attributes["href"] }
    #expect(links == sections.map { "#\($0)" })
    for section in root.all where section.name == "section" && section.attributes["id"] != "method" {
      #expect(!section.text.contains("in this capture."), "\(section.attributes["id"] ?? "")")
    }
  }

  /// The data in the page are those of stats, and the words those of the page.
  @Test(arguments: try Samples.captures()) func thePageHoldsItsData(_ sample: String) throws {
    let (text, root) = try Self.page([Samples.path(sample), "--json", "--percentiles", "90,50,99.9"])
    let stats = try Self.stats([Samples.path(sample)])
    let begin = try #require(text.range(of: "<script type=\"application/json\" id=\"data\">"))
    let end = try #require(text[begin.upperBound...].range(of: "</script>"))
    let bytes = Data(text[begin.upperBound..<end.lowerBound].utf8)
    let data = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    for path in ["success", "loss", "retry"] {
      let (shown, known) = (Self.value(data, "figures." + path), Self.value(stats, "total." + path))
      #expect((shown == nil) == (known == nil) && abs((shown ?? 0) - (known ?? 0)) < 1e-5, "\(path)")
    }
    let trips = ["client_to_server", "server_to_client"].flatMap { way in
      ["count", "p50", "p90"].map { "rtt_us.\(way).\($0)" }
    }
    for path in trips + ["messages.units", "messages.unanswered"] {
      #expect(Self.value(data, "figures." + path) ?? 0 == Self.value(stats, "total." + path) ?? 0, "\(path)")
    }
    let steps = try #require(data["steps"] as? [[String: Any]])
    let lost =
      (Self.value(stats, "total.messages.unanswered") ?? 0) + (Self.value(stats, "total.messages.damaged") ?? 0)
    #expect(steps.reduce(0) { $0 + (Self.value($1, "lost") ?? 0) } == lost)
    #expect((data["connections"] as? [Any])?.count == PageParser.rows(root, "connection-rows").count)
    #expect((data["problems"] as? [Any])?.count == PageParser.rows(root, "problem-rows").count)
    let heads = PageParser.heads(root, "rtt-rows")
    #expect(heads.isEmpty || heads == ["time", "p50", "p90", "p99.9", "round trips"])
    let tiles = Self.tiles(root)
    guard tiles["Success"] != nil else {
      #expect(heads.isEmpty && tiles["Connections decoded"]?.value == "0")
      return
    }
    let ways = [("c2s", "client_to_server"), ("s2c", "server_to_client")].filter {
      Self.value(stats, "total.rtt_us.\($0.1).count") != nil
    }
    for way in ways.isEmpty ? [""] : ways.map({ " " + $0.0 }) {
      #expect(tiles["Round trip p50\(way)"] != nil, "\(way)")
      #expect(tiles["Round trip p90\(way)"].map { way.isEmpty || $0.remark.hasPrefix("p99.9") } == true, "\(way)")
    }
  }

  @Test(arguments: [
    ("--fail-on loss>1%", 2), ("--fail-on loss>50%", 0), ("--fail-on loss>+1pp", 64),
    ("--compare Samples/tjp-clean-chat.pcap --fail-on loss>+1pp", 2), ("--percentiles 50,50", 64),
    ("--percentiles 100", 64), ("--percentiles 1,2,3,4,5,6", 64), ("--listen 127.0.0.1:0", 64), ("--window 10m", 64),
  ]) func statusesOfAReport(_ arguments: String, _ status: Int32) throws {
    let words = arguments.split(separator: " ").map(String.init)
    let run = try Command.run(["report", "-q", "-o", "-", "Samples/tjp-weak-network.pcap"] + words)
    #expect(run.status == status, "\(run.errors)")
    #expect(run.output.isEmpty == (status == 64))
  }

  @Test(arguments: [
    ("-i lo --listen localhost:8080", "expected an address and a port in numbers"), ("-i lo", "--listen"),
    ("-i lo --listen 127.0.0.1:0 --compare x.pcap", "--compare"),
  ]) func whatALivePageCannotBe(_ arguments: String, _ words: String) throws {
    let run = try Command.run(["report", "-q"] + arguments.split(separator: " ").map(String.init))
    #expect(run.status == 64 && run.errors.contains(words), "\(run.errors)")
  }

  @Test func theTimeOfAPageIsSaidWhereItIsAsked() throws {
    let path = Samples.path("tjp-clean-chat.pcap")
    let (stamped, plain) = (try Self.page([path, "--stamp"]).text, try Self.page([path]).text)
    #expect(stamped.contains("<dt>Made at</dt><dd>20") && !plain.contains("Made at"))
  }

  /// Where nothing is decoded, the page draws what TCP shows; the numbers are those of `imdump streams`.
  @Test(
    arguments: [
      ("tjp-v2-chat.pcap", 2, 2), ("cmpp-gateway.pcap", 2, 2), ("tjp-weak-network.pcap", 0, 0),
    ] as [(String, Double, Double)]) func undecodedTrafficHasCharts(
      _ sample: String, _ opened: Double, _ closed: Double
    ) throws
  {
    let (_, root) = try Self.page([Samples.path(sample)])
    func sum(_ table: String, _ column: String) -> Double {
      guard let place = PageParser.heads(root, table).firstIndex(of: column) else { return 0 }
      return PageParser.rows(root, table).reduce(0.0) { $0 + (Self.number($1[place]) ?? 0) }
    }
    #expect(root.all.contains { $0.attributes["id"] == "tcp-time" } == (opened > 0))
    #expect(sum("tcp-rows", "opened") == opened && sum("tcp-rows", "closed") == closed)
    #expect(sum("tcp-rows", "reset") == 0 && sum("tcp-rows", "failed") == 0)
    #expect(sum("handshake-rows", "handshakes") == opened)
    #expect((Self.tiles(root)["Success"] == nil) == (opened > 0))
    guard opened > 0 else { return }
    // The bytes over time are those of all packets, none of which is cut in these files.
    let file = try Samples.bytes(sample)
    var (at, bytes) = (24, 0)
    while at + 16 <= file.count {
      let length = file[at + 8..<at + 12].reversed().reduce(0) { $0 << 8 | Int($1) }
      bytes += length
      at += 16 + length
    }
    #expect(sum("tcp-rows", "bytes") == Double(bytes))
    let streams = try Command.run(["streams", "--format", "csv", Samples.path(sample)]).output.split(separator: "\n")
      .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    let place = try #require(streams.first?.firstIndex(of: "handshake_us"))
    let longest = try #require(streams.dropFirst().compactMap { Double($0[place]) }.max())
    let column = try #require(PageParser.heads(root, "handshake-rows").firstIndex(of: "longest"))
    let shown = PageParser.rows(root, "handshake-rows").map { $0[column] }
    #expect(shown.contains { Self.isLength($0, longest) }, "\(shown)")
  }

  /// The zone is said once, and how to get UTC where times are not UTC.
  @Test(arguments: [("UTC", "UTC", ""), ("Asia/Shanghai", "UTC+08:00", " imdump report --utc shows UTC.")])
  func theMethodSaysTheZone(_ zone: String, _ name: String, _ more: String) throws {
    let arguments = ["report", "-q", "-o", "-", Samples.path("tjp-damage.pcap")]
    let page = try Command.run(arguments, environment: ["TZ": zone]).output
    #expect(page.contains("<dt>Time</dt><dd>All times are \(name), by the clock of the capture.\(more)</dd>"))
    #expect(page.contains("<dt>Gaps</dt><dd>") && !page.contains("Holes"))
    #expect(page.contains("Times are \(name); numbers beside them are those of packets"))
  }

  /// The many columns of connections are narrow, and a port may stand in a line of its own.
  @Test func connectionsFitThePage() throws {
    let (text, root) = try Self.page([Samples.path("tjp-weak-network.pcap")])
    let table = try #require(root.all.first { $0.attributes["id"] == "connection-rows" })
    #expect(table.attributes["class"] == "tight")
    #expect(text.contains("<td>192.0.2.77<wbr>:50110</td><td>203.0.113.10<wbr>:8080</td>"))
    #expect(root.all.filter { $0.attributes["class"] == "scroll high" }.count == 1)
  }

  /// A ladder has the time of day of each frame, and the number of its packet, drawn and as text.
  @Test func aLadderHasClockTimesAndPackets() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let (_, root) = try Self.page([path, "--utc"])
    let frames = try Self.lines(["-q", "--print", "--format", "json", path])
    let lost = try #require(
      try Self.lines(["messages", "-q", "--json", "--lost", path]).first { $0["conn"] as? Int == 1 })
    let at = try #require((lost["ts"] as? [Any])?.first as? Int)
    let frame = try #require(frames.first { $0["conn"] as? Int == 1 && $0["ts"] as? Int == at })
    let packet = try #require(frame["number"] as? Int), sequence = try #require(lost["seq"] as? Int)
    // 2025-10-09T08:53:29.210123Z
    let clock = try #require(frame["time"] as? String).split(separator: "T")[1].prefix(12)
    let ladder = try #require(root.all.first { $0.attributes["id"] == "ladder-1" })
    let row = try #require(
      ladder.first("pre")?.text.split(separator: "\n").first { $0.contains(" \(sequence) ") && $0.contains("!") })
    #expect(row.contains("\(clock)  ") && row.split(separator: " ")[1] == "\(packet)", "\(row)")
    let drawn = ladder.all.filter { $0.name == "g" && $0.attributes["class"] == "bad" }.map { row in
      row.all.filter { $0.name == "text" && $0.attributes["class"] == "tm" }.map(\.text)
    }
    #expect(drawn.contains([String(clock), "\(packet)"]), "\(drawn)")
    let section = try #require(root.all.first { $0.attributes["id"] == "ladders" })
    #expect(
      section.text.contains("Times are UTC; numbers beside them are those of packets, as imdump -vv prints them."))
    #expect(!ladder.text.contains("+8.900"))
  }

  /// A capture in which nothing but resets went wrong has ladders, too.
  @Test func aResetHasALadder() throws {
    let folder = try Scratch()
    let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 40_000)
    var talk = ConversationBuilder(client: client, server: Endpoint(address: IPAddress(v4: 0xc000_0209), port: 8_080))
    let at = { (ms: Int64) in Timestamp(seconds: 1_760_000_000, fraction: 0).advanced(by: ms * 1_000_000) }
    _ = talk.open(at: at(0))
    _ = talk.send(TJPFrameBuilder(text: "hello", sequence: 10).bytes, .clientToServer, at: at(100))
    _ = talk.send(TJPFrameBuilder.echoACK(of: 10).bytes, .serverToClient, at: at(120))
    _ = talk.close(.reset(by: .serverToClient), at: at(30_000))
    let path = try folder.file("reset.pcap", CaptureBuilder(talk.packets).pcap())
    let (_, root) = try Self.page([path])
    let ladder = try #require(root.all.first { $0.attributes["id"] == "ladder-1" })
    #expect(ladder.text.contains("reset (RST)") && ladder.text.contains("data 10"), "\(ladder.text)")
  }

  /// Names that clients give themselves, and names of files, are text whatever they are.
  @Test func hostileNamesAreText() throws {
    let folder = try Scratch()
    let evil = "</script><script>alert('1')</script>\"&\u{202e}<img src=x onerror=y>"
    let mqtt = { (at: Int64) in Timestamp(seconds: 1_760_000_000, fraction: at * 1_000_000) }
    let phone = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000)
    let broker = Endpoint(address: IPAddress(v4: 0xc000_0209), port: 1_883)
    var talk = ConversationBuilder(client: phone, server: broker)
    _ = talk.open(at: mqtt(0))
    _ = talk.send(MQTTPacketBuilder.connect(clientID: evil), .clientToServer, at: mqtt(10))
    _ = talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: mqtt(20))
    _ = talk.send(MQTTPacketBuilder.publish("a", [1], qos: 1, packetID: 7), .clientToServer, at: mqtt(30))
    _ = talk.close(.reset(by: .serverToClient), at: mqtt(20_000))
    var capture = CaptureBuilder()
    for packet in talk.packets { capture.packets.append(packet) }
    let name = "a<b>\"'&c\u{202e}.pcap"
    let path = try folder.file(name, capture.pcap())
    let (text, root) = try Self.page([path])
    #expect(!text.contains("<script>alert") && !text.contains("<img") && !text.contains("a<b>"))
    for scalar in text.unicodeScalars {
      let isControl = (scalar.value < 0x20 && scalar != "\n") || (0x7f...0x9f).contains(scalar.value)
      #expect(!isControl && !scalar.properties.isBidiControl, "U+\(String(scalar.value, radix: 16))")
    }
    let verdict = try #require(root.all.first { $0.attributes["id"] == "verdict" })
    #expect(verdict.text.contains("1 of 1 message was lost"), "\(verdict.text)")
    #expect(verdict.text.contains("</script><script>alert('1')</script>\"&\\xe2\\x80\\xae<img src=x onerror=y>"))
    #expect(root.first("title")?.text == "imdump report: a<b>\"'&c\\xe2\\x80\\xae.pcap")
    // The ladder as a file of its own says it, too.
    let svg = try Command.run(["ladder", "-q", path, "--format", "svg"])
    #expect(svg.status == 0 && svg.output.contains("&lt;img src=x") && !svg.output.contains("<img"))
  }

  // MARK: The command

  @Test func mistakesAreTold() throws {
    let folder = try Scratch()
    let path = Samples.path("tjp-clean-chat.pcap")
    #expect(try Command.run(["report", path]).status == 64)
    let input = try Command.run(["report", "-", "-o", folder.path("r.html")])
    #expect(input.status == 64 && input.errors.contains("read twice"))
    // A capture that is not there, or is a folder, costs no report that is there.
    let old = try folder.file("r.html", "old".utf8)
    #expect(try Command.run(["report", folder.path("none.pcap"), "-o", old]).status == 66)
    #expect(try Command.run(["report", folder.url.path, "-o", old]).status == 1)
    #expect(try String(contentsOfFile: old, encoding: .utf8) == "old")
    // What is read cannot be written.
    let copy = try folder.file("c.pcap", Samples.bytes("tjp-clean-chat.pcap"))
    #expect(try Command.run(["report", copy, "-o", copy]).status == 74)
    #expect(try [UInt8](Data(contentsOf: URL(filePath: copy))) == Samples.bytes("tjp-clean-chat.pcap"))
    #expect(try Command.run(["report", path, "-o", "/dev/full"]).status == 74)
  }

  @Test func severalCapturesAndAFilter() throws {
    let paths = ["tjp-clean-chat.pcap", "goim-room.pcap"].map(Samples.path)
    let (_, root) = try Self.page(paths)
    let messages = try Self.lines(["messages", "-q", "--json"] + paths)
    let total = PageParser.rows(root, "rate-rows").reduce(0.0) { sum, row in
      sum + row.dropFirst().reduce(0) { $0 + (Self.number($1) ?? 0) }
    }
    #expect(total == Double(messages.count))
    let one = try Self.page([paths[0], "host", "192.0.2.21"])
    #expect(one.text.contains("Capture filter") && one.text.contains("host 192.0.2.21"))
    #expect(PageParser.rows(one.root, "connection-rows").count == 1)
  }

  /// The figures beside those of another capture are those of `imdump diff`.
  @Test func anotherCaptureStandsBeside() throws {
    let (old, new) = (Samples.path("tjp-clean-chat.pcap"), Samples.path("tjp-weak-network.pcap"))
    let (_, root) = try Self.page([new, "--compare", old])
    let table = try Command.run(["diff", "-q", old, new]).output.split(separator: "\n").dropFirst()
    let rows = PageParser.rows(root, "comparison-rows")
    #expect(rows.count > 10 && rows.contains { $0[4] == "-" } && rows.contains { $0[4] == "no" })
    for row in rows {
      let line = try #require(table.first { $0.hasPrefix(row[0] + " ") }, "\(row)")
      #expect(line.hasSuffix("*") == (row[4] == "* yes"), "\(row)")
      for cell in row[1...3] where !cell.isEmpty { #expect(line.contains(" \(cell)"), "\(row): \(line)") }
    }
    let same = try Self.page([old, "--compare", old])
    #expect(same.text.contains("There are too few connections for a significance test."))
    #expect(try Command.run(["report", new, "--compare", "none.pcap", "-o", "-"]).status == 66)
    #expect(try Command.run(["report", new, "--compare", "-", "-o", "-"]).status == 64)
  }

  /// The page of many connections, each with a lost message, is bounded, and says what it leaves out.
  @Test func aLargeCaptureMakesNoLargePage() throws {
    let folder = try Scratch()
    let server = Endpoint(address: IPAddress(v4: 0xc000_0209), port: 8_080)
    var capture = CaptureBuilder()
    let count = 700
    for number in 0..<count {
      let client = Endpoint(address: IPAddress(v4: 0x0a00_0000 + UInt32(number)), port: 40_000)
      var talk = ConversationBuilder(client: client, server: server)
      let at = { (ms: Int64) in Timestamp(seconds: 1_760_000_000 + Int64(number) * 5, fraction: ms * 1_000_000) }
      _ = talk.open(at: at(0))
      for (i, delay) in [Int64(100), 300, 500].enumerated() {
        let frame = TJPFrameBuilder(text: "hello", sequence: UInt32(10 + i), session: UInt16(number))
        _ = talk.send(frame.bytes, .clientToServer, at: at(delay))
        guard i > 0 else { continue }
        let answer = TJPFrameBuilder.echoACK(of: UInt32(10 + i), session: UInt16(number))
        _ = talk.send(answer.bytes, .serverToClient, at: at(delay + 20))
      }
      _ = talk.close(.fin(by: .clientToServer), at: at(4_000))
      for packet in talk.packets { capture.packets.append(packet) }
    }
    capture.packets.sort { $0.timestamp < $1.timestamp }
    let path = try folder.file("many.pcap", capture.pcap())
    let (text, root) = try Self.page([path])
    let verdict = try #require(root.all.first { $0.attributes["id"] == "verdict" }).text
    #expect(verdict.contains("700 of 2,100 messages were lost (33.33 %)"), "\(verdict)")
    #expect(verdict.contains("700 of 700 sessions affected") && verdict.contains("697 more"))
    #expect(
      PageParser.rows(root, "connection-rows").count == 300
        && text.contains("400 connections with fewer or later problems"))
    #expect(root.all.filter { $0.attributes["class"] == "ladder" && $0.name == "details" }.count == 20)
    #expect(text.contains("680 further connections with problems left out"))
    #expect(text.contains("670 other sessions"))
    #expect(PageParser.rows(root, "rate-rows").count <= 400)
    #expect(text.utf8.count < 500_000, "\(text.utf8.count) bytes")
  }
}
