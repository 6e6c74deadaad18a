import Foundation
import IMEngine
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire
import Testing

@testable import IMReport

/// The whole page: it is well-formed, has the sections that have content, and is reproducible.
@Suite struct PageTests {
  /// A model with content in every section.
  private static func full() -> ReportModel {
    var model = MadeReport.model(
      (0..<40).map { i in
        MadeExchange(i % 10 == 3 ? .unanswered : .acked) {
          ($0.at, $0.cause, $0.answerAfter) = (Int64(i) * 9_000, .peer, i % 10 == 3 ? nil : Int64(1_000 + i))
          $0.direction = i % 2 == 0 ? .clientToServer : .serverToClient
        }
      } + .many(2, .acked) { $0.kind = .heartbeat }
    ) {
      $0.heartbeats.add(MadeExchange.begin, .seconds(30), 1)
      $0.series.change(MadeExchange.begin) { $0.heartbeat(after: .seconds(30)) }
      $0.problems = [
        Problem(severity: .error, kind: "unanswered", subject: "data", cause: "peer", count: 4, serials: [1])
      ]
      $0.connections = [
        ConnectionRow(
          serial: 1, client: "192.0.2.1:40000", server: "198.51.100.1:8080", profile: "tjp", session: "7", state: "fin",
          firstSeen: MadeExchange.begin, length: 5)
      ]
      $0.lost = [.init(MadeExchange(.unanswered) { $0.cause = .peer }.exchange, type: "data", session: "7")]
      $0.profiles = [.init(name: "tjp", version: "1", hash: "00ff")]
      $0.embedsData = true
    }
    let bar = Lane.Bar(
      serial: 1, from: MadeExchange.begin, to: MadeExchange.begin.advanced(by: 5_000_000_000), state: "rst",
      isBroken: true,
      isFailed: false, reconnectTime: nil)
    model.lanes = [Lane(name: "7", bars: [bar], leftOut: 0)]
    var ladder = Ladder(
      serial: 1, client: "192.0.2.1:40000", server: "198.51.100.1:8080", profile: "tjp", session: "7",
      firstSeen: MadeExchange.begin)
    ladder.rows = [Ladder.Row(at: MadeExchange.begin, event: .note("SYN", isTrouble: false))]
    model.ladders = [ladder]
    return model
  }

  @Test func everySectionHasItsPlace() throws {
    let page = try MadeReport.page(Self.full())
    let expected = [
      "verdict", "lost", "rtt-time", "rtt-distribution", "rates", "troubles", "heartbeats", "connections-time",
      "ladders",
      "problems", "connections", "method",
    ]
    #expect(page.sections == expected)
    #expect(page.all.filter { $0.name == "section" }.compactMap { $0.attributes["id"] } == expected)
    // Every link of the page has a target, and anchors are unique.
    let anchors = page.all.compactMap { $0.attributes["id"] }
    #expect(Set(anchors).count == anchors.count)
    for link in page.all.compactMap({ $0.attributes["href"] }) {
      #expect(link.hasPrefix("#") && anchors.contains(String(link.dropFirst())), "\(link)")
    }
    for label in page.all.flatMap({ ($0.attributes["aria-labelledby"] ?? "").split(separator: " ") }) {
      #expect(anchors.contains(String(label)), "\(label)")
    }
  }

  /// Sections without content are left out.
  @Test func nothingIsAVerdictAndAMethod() throws {
    let page = try MadeReport.page(MadeReport.model(ledger: { $0 = Ledger() }))
    #expect(page.sections == ["verdict", "method"])
    #expect(
      page.element("verdict-h")?.text == "The capture contains no packets."
        && page.element("when")?.text == "no packets")
    #expect(page.element("verdict")?.attributes["class"] == "nothing")
  }

  @Test func theSameCaptureIsTheSameBytes() {
    let first = Page().html(Self.full())
    for _ in 0..<3 { #expect(Page().html(Self.full()) == first) }
  }

  /// A page can be sent to others: it contains no folder names, loads nothing, and runs only its own script.
  @Test func aPageNeedsNothingBesideIt() throws {
    let html = String(decoding: Page().html(Self.full()), as: UTF8.self)
    #expect(!html.contains("/home") && !html.contains("secret"))
    #expect(!html.contains("http://") && !html.contains("https://") && !html.contains("src="))
    let page = try PageParser.read(html)
    let policy = try #require(page.all.compactMap { $0.attributes["content"] }.first { $0.hasPrefix("default-src") })
    #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-") && policy.contains("; script-src 'sha256-"))
    #expect(policy.hasSuffix("; base-uri 'none'; form-action 'none'") && !policy.contains("unsafe"))
    #expect(
      page.first("title")?.text == "imdump report: night.pcap"
        && page.element("title")?.text == "imdump report: night.pcap")
    #expect(page.all.filter { $0.name == "script" && $0.attributes["type"] == nil }.count == 1)
  }

  @Test func theHeaderSaysWhatWasCaptured() throws {
    var model = MadeReport.model(.many(1, .acked)) {
      $0.captures = ["a/one.pcap", "-", "three.pcap"]
      $0.filter = "tcp port 8080"
    }
    let page = try MadeReport.page(model)
    #expect(page.first("title")?.text == "imdump report: one.pcap, standard input and three.pcap")
    #expect(
      page.element("when")?.text == "captured 2023-11-14 22:13:20 to 22:23:20 UTC (10 min 0 s), only tcp port 8080")
    model.zone = LocalZone { _ in (28_800, "CST") }
    #expect(
      try MadeReport.page(model).element("when")?.text
        == "captured 2023-11-15 06:13:20 to 06:23:20 UTC+08:00 (10 min 0 s), only tcp port 8080")
    // The clock went back: a capture does not end before it began.
    model.summary.ledger.lastAt = .distantPast
    #expect(
      try MadeReport.page(model).element("when")?.text.contains("06:13:20 to 06:13:20 UTC+08:00 (0.000 ms)") == true)
  }

  /// A live page states which part of the capture it covers, and refreshes itself only if it is served.
  @Test func aLivePageSaysWhatItCovers() throws {
    func when(_ live: ReportModel.Live) throws -> String? {
      try MadeReport.page(MadeReport.model(.many(1, .acked), live: live)).element("when")?.text
    }
    #expect(
      try when(MadeReport.live(600))
        == "2023-11-14 22:13:20 to 22:23:20 UTC: all since the capture began (10 min 0 s)")
    #expect(
      try when(MadeReport.live(60))
        == "2023-11-14 22:22:20 to 22:23:20 UTC: the last 60.0 s and the rest of the step before. "
        + "The capture began 22:13:20 (10 min 0 s); older data is dropped.")
    #expect(try when(ReportModel.Live(interface: "eth0", windowSeconds: 60)) == "no packets yet")
    for isRefreshed in [true, false] {
      var live = MadeReport.live(60)
      live.isRefreshed = isRefreshed
      let html = String(decoding: Page().html(MadeReport.model(.many(1, .acked), live: live)), as: UTF8.self)
      #expect(
        html.contains("connect-src 'self'") == isRefreshed && html.contains("http-equiv=\"refresh\"") == isRefreshed)
      #expect(try PageParser.read(html).first("title")?.text == "imdump report: eth0, live")
    }
  }

  // MARK: Hostile text

  private static let hostile = "<script><img src=x onerror=\"alert('1')\">&amp;\u{0}\u{1b}[2J\u{202e}\u{fffe}"

  /// Names from a capture, of files, clients or types, are text on the page and strings in its data.
  @Test func namesAreText() throws {
    var model = Self.full()
    let name = Self.hostile
    model.captures = ["folder/" + name]
    model.filter = name
    model.errors = [name]
    model.typeNames[0] = name
    model.unread = [.init(text: name, isNotable: true)]
    model.countedLines = [name]
    model.profiles = [.init(name: name, version: name, hash: name)]
    model.affected = [.init(name: name, lost: 1)]
    (model.affectedCount, model.sessionCount) = (1, 1)
    model.lost[0].session = name
    model.lost[0].type = name
    model.lanes[0].name = name
    model.lanes[0].bars[0].state = name
    model.problems[0].kind = name
    model.problems[0].subject = name
    model.problems[0].cause = name
    model.connections[0].client = name
    model.connections[0].server = name + ":1"
    model.connections[0].session = name
    model.connections[0].state = name
    model.ladders[0].session = name
    model.ladders[0].rows = [Ladder.Row(at: MadeExchange.begin, event: .note(name, isTrouble: true))]
    model.comparison = (name: name, figures: [ComparedMetric(name: name, unit: .count, old: 1, new: 2, differs: nil)])
    let bytes = Page().html(model)
    let page = try PageParser.read(String(decoding: bytes, as: UTF8.self))
    #expect(!page.all.contains { $0.name == "img" || $0.attributes["onerror"] != nil })
    #expect(!bytes.contains { $0 < 0x20 && $0 != 10 })
    #expect(page.sections.count == 12)
    let shown = "<script><img src=x onerror=\"alert('1')\">&amp;\\x00\\x1b[2J\\xe2\\x80\\xae\u{fffd}"
    #expect(page.first("title")?.text == "imdump report: \(shown)")
    #expect(PageParser.rows(page, "connection-rows")[0][3] == shown)
    #expect(PageParser.rows(page, "lost-rows")[0][1] == shown && PageParser.rows(page, "problem-rows")[0][1] == shown)
    // The data has the names unescaped.
    let object = try Self.data(page)
    #expect((object["captures"] as? [String]) == [name])
    #expect(((object["connections"] as? [[String: Any]])?[0]["client"] as? String) == name)
  }

  /// Overlong text is cut.
  @Test func longTextIsCut() throws {
    var model = Self.full()
    model.connections[0].client = String(repeating: "x", count: 100_000)
    model.lanes[0].name = String(repeating: "列", count: 10_000)
    let bytes = Page().html(model)
    let usual = Page().html(Self.full())
    #expect(bytes.count < usual.count + 150_000)
    let page = try PageParser.read(String(decoding: bytes, as: UTF8.self))
    #expect(PageParser.rows(page, "connection-rows")[0][3].count <= 1_010)
  }

  // MARK: Data

  private static func data(_ page: PageParser.Element) throws -> [String: Any] {
    let text = try #require(page.element("data")?.text)
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  @Test func theDataIsWhatThePageShows() throws {
    let page = try MadeReport.page(Self.full())
    let object = try Self.data(page)
    #expect(object["version"] as? String == "1.2.3" && object["captures"] as? [String] == ["night.pcap"])
    #expect(
      object["from"] as? String == "2023-11-14T22:13:20.000000Z"
        && object["to"] as? String == "2023-11-14T22:23:20.000000Z")
    let verdict = try #require(object["verdict"] as? [String: Any])
    #expect(verdict["level"] as? String == "bad" && "\(verdict["headline"] ?? "")." == page.element("verdict-h")?.text)
    #expect(verdict["headline"] as? String == "4 of 40 messages were lost (10.00 %)")
    #expect(verdict["sentences"] as? [String] == page.first("dl")?.texts("dd"))
    let steps = try #require(object["steps"] as? [[String: Any]])
    func sum(_ name: String) -> Int { steps.reduce(0) { $0 + ($1[name] as? Int ?? 0) } }
    #expect(sum("messages") == 40 && sum("lost") == 4 && sum("retried") == 0 && sum("missing_bytes") == 0)
    #expect(object["step_s"] as? Int == 1 && steps.count == 352)
    // 20 in each direction; all lost ones were sent by the server.
    func trips(_ way: String) -> Int {
      steps.reduce(0) { $0 + ((($1["rtt_us"] as? [String: Any])?[way] as? [String: Any])?["count"] as? Int ?? 0) }
    }
    #expect(trips("client_to_server") == 20 && trips("server_to_client") == 16)
    let rtt = try #require((object["figures"] as? [String: Any])?["rtt_us"] as? [String: [String: Int]])
    #expect(
      rtt["client_to_server"] == ["count": 20, "min": 1_000, "p50": 1_018, "p95": 1_036, "p99": 1_038, "max": 1_038])
    let types = steps.compactMap { $0["types"] as? [String: Int] }.reduce(into: [:]) {
      $0.merge($1, uniquingKeysWith: +)
    }
    #expect(types == ["data": 40, "heartbeat": 2])
    let problem = try #require((object["problems"] as? [[String: Any]])?.first)
    #expect(
      problem["severity"] as? String == "error" && problem["count"] as? Int == 4
        && problem["connections"] as? [Int] == [1])
    #expect(problem["first"] == nil && object["connections_left_out"] as? Int == 0)
    let connection = try #require((object["connections"] as? [[String: Any]])?.first)
    #expect(
      connection["end"] as? String == "fin" && connection["length_us"] as? Int == 5
        && connection["heartbeats_missed"] == nil)
  }

  @Test func thereIsNoDataUnlessItIsAskedFor() throws {
    #expect(try MadeReport.page(MadeReport.model(.many(1, .acked))).element("data") == nil)
  }
}
