import IMEngine
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire
import Testing

@testable import IMReport

/// The tables of the page, cell by cell.
@Suite struct PageTableTests {
  private static func rows(_ model: ReportModel, _ id: String) throws -> [String] {
    PageParser.rows(try MadeReport.page(model), id).map { $0.joined(separator: "|") }
  }

  @Test func typesAreCountedByStep() throws {
    let model = MadeReport.model([
      MadeExchange(.acked), MadeExchange(.unanswered) { $0.at = 900 },
      MadeExchange(.acked) { ($0.at, $0.kind) = (2_000, .heartbeat) },
      MadeExchange(.acked) { ($0.at, $0.kind) = (2_999, .control) }, MadeExchange(.unacknowledged) { $0.at = 2_500 },
    ])
    let page = try MadeReport.page(model)
    #expect(PageParser.heads(page, "rate-rows") == ["time", "data", "heartbeat", "control"])
    #expect(try Self.rows(model, "rate-rows") == ["22:13:20|2|0|0", "22:13:21|0|0|0", "22:13:22|1|1|1"])
    #expect(PageParser.heads(page, "trouble-rows") == ["time", "lost"])
    #expect(try Self.rows(model, "trouble-rows") == ["22:13:20|1", "22:13:21|0", "22:13:22|0"])
  }

  /// Types beyond the most frequent ones are combined.
  @Test func typesAreBounded() throws {
    var model = MadeReport.model()
    for kind in 0..<10 as Range<UInt8> {
      for _ in 0..<20 - kind {
        model.series.change(MadeExchange.begin) { $0.count(MadeExchange(.acked).exchange(ofKind: kind), .message) }
      }
    }
    let page = try MadeReport.page(model)
    #expect(
      PageParser.heads(page, "rate-rows") == [
        "time", "data", "heartbeat", "type 2", "control", "receipt", "type 5", "type 6", "3 other types",
      ])
    #expect(try Self.rows(model, "rate-rows") == ["22:13:20|20|19|18|17|16|15|14|36"])
  }

  @Test func roundTripsHaveTheChosenPercentiles() throws {
    let model = MadeReport.model((0..<10).map { i in MadeExchange(.acked) { $0.answerAfter = Int64(100 * (i + 1)) } }) {
      $0.percentiles = PagePercentiles("10,50,99.9") ?? .usual
    }
    let page = try MadeReport.page(model)
    #expect(PageParser.heads(page, "rtt-rows") == ["time", "p10", "p50", "p99.9", "round trips"])
    #expect(try Self.rows(model, "rtt-rows") == ["22:13:20|0.100 ms|0.500 ms|1.0 ms|10"])
    // The usual percentiles are left out if they have too few samples.
    #expect(
      try Self.rows(model, "nines-rows") == [
        "10 %|0.100 ms", "50 %|0.500 ms", "75 %|0.800 ms", "90 %|0.900 ms", "all|1.0 ms",
      ])
    #expect(page.element("rtt-rows-s2c") == nil && page.element("nines-rows-s2c") == nil)
    #expect(page.all.contains { $0.text == "10 round trips from 0.100 ms to 1.0 ms, mean 0.550 ms." })
  }

  @Test func lostMessagesHaveAPlaceAndACause() throws {
    func lost(_ change: (inout MadeExchange) -> Void, session: String? = nil) -> ReportModel.LostMessage {
      .init(MadeExchange(.unanswered, change).exchange, type: "data", session: session)
    }
    let model = MadeReport.model(.many(1, .unanswered)) {
      $0.lost = [
        lost({ ($0.cause, $0.repeats, $0.sequence) = (.peer, 2, 1_234_567) }, session: "7"),
        lost({ ($0.cause, $0.at, $0.direction, $0.connection) = (.network, 1_234, .serverToClient, 2) }),
        lost { ($0.at, $0.sequence, $0.connection) = (86_400_000, 1 << 63 | 5, 3) },
        .init(MadeExchange(.damaged).exchange, type: "receipt", session: nil),
      ]
      $0.lostLeftOut = 4_321
      $0.ladders = [
        Ladder(serial: 1, client: "a", server: "b", profile: "tjp", session: nil, firstSeen: MadeExchange.begin)
      ]
      $0.connections = [
        ConnectionRow(
          serial: 2, client: "a", server: "b", profile: nil, session: nil, state: "fin", firstSeen: MadeExchange.begin,
          length: 0)
      ]
    }
    #expect(
      try Self.rows(model, "lost-rows") == [
        "22:13:20.000|7|client to server|data|1234567|2|peer: the server's TCP received it, no answer was sent|ladder #1",
        "22:13:21.234|–|server to client|data|7|0|network: its bytes were never acknowledged|connection #2",
        "2023-11-15 22:13:20.000|–|client to server|data|–|0|unknown|#3",
        "22:13:20.000|–|client to server|receipt|7|0|every copy arrived damaged|ladder #1",
      ])
    let page = try MadeReport.page(model)
    #expect(page.element("lost")?.first("p")?.text.hasPrefix("The first 4 of them; 4,321 more are left out") == true)
  }

  @Test func problemsHaveAPlace() throws {
    let model = MadeReport.model(.many(1, .acked)) {
      $0.problems = [
        Problem(
          severity: .error, kind: "unanswered", subject: "data", cause: "peer", count: 1_000, first: MadeExchange.begin,
          serials: [9, 2]),
        Problem(severity: .warning, kind: "gap", subject: "stream", count: 1, serials: [8]),
        Problem(severity: .note, kind: "midstream", subject: "connection", count: 2),
      ]
      $0.connections = [
        ConnectionRow(
          serial: 2, client: "192.0.2.1:1", server: "[2001:db8::1]:80", profile: "tjp", session: nil, state: "open",
          firstSeen: MadeExchange.begin, length: 61_000_000)
      ]
      $0.connectionsLeftOut = 1
    }
    #expect(
      try Self.rows(model, "problem-rows") == [
        "\u{2717} error|unanswered|data|peer|1,000|22:13:20|connection #2", "! warning|gap|stream|–|1|–|#8",
        "\u{b7} note|midstream|connection|–|2|–|–",
      ])
    let row = try #require(try Self.rows(model, "connection-rows").first)
    #expect(
      row.hasPrefix("2|22:13:20|61.0 s|192.0.2.1:1|[2001:db8::1]:80|tjp|–|0|0|–|0|0|–|") && row.hasSuffix("|0|–|open|"))
    #expect(
      try MadeReport.page(model).element("connections")?.first("p")?.text
        == "1 connection with fewer or later problems left out.")
  }

  @Test func lanesListTheirConnections() throws {
    func bar(_ serial: UInt32, _ from: Int64, _ to: Int64, reconnect: Int64? = nil, isFailed: Bool = false) -> Lane.Bar
    {
      Lane.Bar(
        serial: serial, from: MadeExchange.begin.advanced(by: from * 1_000_000_000),
        to: MadeExchange.begin.advanced(by: to * 1_000_000_000), state: "fin", isBroken: false, isFailed: isFailed,
        reconnectTime: reconnect)
    }
    var model = MadeReport.model(.many(1, .acked)) { $0.lanes = [Lane(name: "7", bars: [bar(1, 0, 5)], leftOut: 0)] }
    let still = "Every session used one connection: none reconnected, and none was reset or refused."
    #expect(try MadeReport.page(model).element("connections-time")?.first("p")?.text == still)
    model.lanes = [
      Lane(name: "7", bars: [bar(1, 0, 5), bar(3, 8, 9, reconnect: 3_000_000)], leftOut: 2),
      Lane(name: "8", bars: (0..<42).map { bar(10 + $0, 1, 2) }, leftOut: 1),
    ]
    let rows = try Self.rows(model, "lane-rows")
    #expect(rows[0] == "7|#1|22:13:20|22:13:25|fin|–" && rows[1] == "7|#3|22:13:28|22:13:29|fin|3.0 s")
    #expect(rows[2] == "7|2 more||||" && rows.count == 44 && rows[43] == "8|3 more||||")
    model.isCut = true
    #expect(try MadeReport.page(model).element("connections-time")?.first("p")?.text == PageSection.cut)
  }

  @Test func heartbeatsHaveIntervals() throws {
    var model = MadeReport.model(
      .many(3, .acked) { $0.kind = .heartbeat } + .many(1, .unanswered) { $0.kind = .heartbeat })
    func paragraphs() throws -> [String] { try MadeReport.page(model).element("heartbeats")?.texts("p") ?? [] }
    #expect(
      try paragraphs() == [
        "4 heartbeats, 3 answered, 1 without an answer.",
        "No connection has two heartbeats, so there is no interval to draw.",
      ])
    for seconds in [30, 31, 29] as [Int64] {
      model.heartbeats.add(MadeExchange.begin, .seconds(seconds), 1)
      model.series.change(MadeExchange.begin) { $0.heartbeat(after: .seconds(seconds)) }
    }
    model.heartbeats.promise(30_000)
    #expect(try Self.rows(model, "beat-rows") == ["22:13:20|3|29.0 s|30.0 s|31.0 s|1"])
    #expect(
      HeartbeatChart.expected(model.heartbeats, usual: 5).map { "\($0.interval) \($0.words)" } == ["30000000 promised"])
    #expect(HeartbeatChart.expected(HeartbeatMarks(), usual: 5).map { "\($0.interval) \($0.words)" } == ["5 usual"])
    #expect(HeartbeatChart.expected(HeartbeatMarks(), usual: nil).isEmpty)
  }

  @Test func transportIsShownWhereNothingWasDecoded() throws {
    func model(decoded: UInt64) -> ReportModel {
      MadeReport.model(
        [],
        {
          for report in [ConnectionReport.made(1), .made(2, .refused, from: 1_000)] {
            $0.transport.count(ListedConnection(report), closedAt: report.closedAt)
          }
        }, ledger: { $0.decodedConnections = decoded })
    }
    #expect(try Self.rows(model(decoded: 0), "tcp-rows") == ["22:13:20|1|0|0", "22:13:21|0|1|1"])
    #expect(
      PageParser.heads(try MadeReport.page(model(decoded: 0)), "tcp-rows") == ["time", "opened", "closed", "failed"])
    #expect(try MadeReport.page(model(decoded: 1)).element("tcp-time") == nil)
  }

  @Test func anotherCaptureIsCompared() throws {
    func text(_ figures: [ComparedMetric]) throws -> String? {
      try MadeReport.page(MadeReport.model(.many(1, .acked)) { $0.comparison = ("folder/old.pcap", figures) })
        .element("comparison")?.first("p")?.text
    }
    let loss = ComparedMetric(name: "loss", unit: .ratio, old: 0.01, new: 0.05, differs: true)
    #expect(try text([loss])?.hasPrefix("Significant differences (p < 0.001): loss from ") == true)
    #expect(
      try text([ComparedMetric(name: "loss", unit: .ratio, old: 0.01, new: 0.05, differs: false)])
        == "No significant difference (p < 0.001).")
    #expect(
      try text([ComparedMetric(name: "messages", unit: .count, old: 1, new: 5, differs: nil)])
        == "There are too few connections for a significance test.")
    let page = try MadeReport.page(
      MadeReport.model(.many(1, .acked)) {
        $0.comparison = (
          "folder/old.pcap", [loss, ComparedMetric(name: "gone", unit: .ratio, old: nil, new: nil, differs: nil)]
        )
      })
    #expect(page.element("comparison-h")?.text == "Compared with old.pcap")
    #expect(PageParser.rows(page, "comparison-rows").count == 1)
  }

  @Test func theMethodSaysHowItCameAbout() {
    let model = MadeReport.model(.many(1, .acked)) {
      $0.ambiguous = 1
      $0.profiles = [.init(name: "tjp", version: "1", hash: nil)]
      $0.errors = ["night.pcap: cut"]
      $0.summary.capture.droppedByKernel = 3
      $0.summary.reassembly.gaps[0] = 2
      $0.summary.reassembly.gapBytes[0] = 1_462
      $0.madeAt = MadeExchange.begin
    } ledger: {
      ($0.cutPackets, $0.midstreamConnections, $0.tlsConnections) = (1, 2, 3)
    }
    let rows = Dictionary(MethodSection.rows(model)) { first, _ in first }
    #expect(
      rows["Made by"] == "imdump 1.2.3" && rows["Captures"] == "night.pcap"
        && rows["Made at"] == "2023-11-14 22:13:20 UTC")
    #expect(
      rows["Profile"] == "tjp, version 1" && rows["Counted"] == "1,234 packets" && rows["Not read"] == "night.pcap: cut"
    )
    #expect(rows["Round trip"]?.contains("which copy was answered: 1 message is left out.") == true)
    #expect(rows["Capture drops"] == "3 packets dropped by the kernel, according to the capture")
    #expect(rows["Snaplen"] == "1 packet was cut." && rows["Gaps"] == "2 gaps of 1,462 bytes (capture_loss)")
    #expect(
      rows["Already open"]?.hasPrefix("2 connections began before") == true
        && rows["Encrypted"] == "3 TLS connections, not decrypted")
    let clean = Dictionary(MethodSection.rows(MadeReport.model())) { first, _ in first }
    #expect(clean["Capture drops"] == "The capture does not record how many packets were dropped.")
    #expect(
      clean["Snaplen"] == "No packet was cut." && clean["Gaps"] == "No byte of a stream is missing."
        && clean["Made at"] == nil)
  }
}
