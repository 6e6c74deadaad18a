import Foundation
import IMEngineTestSupport
import IMMetrics
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// `imdump stats` for hand-made runs, as tables and as JSON, and messages by group.
@Suite struct StatsOutputTests {
  private static func resolution(_ fate: Fate, after milliseconds: Int64 = 20, status: UInt16 = 0) -> Resolution {
    let start = Timestamp(milliseconds: 1_000)
    let exchange = Exchange(
      told: fate, role: 0, direction: .clientToServer, id: 0, connection: 1, sentAt: start,
      decidedAt: start.advanced(by: .milliseconds(milliseconds)), copies: 1)
    var resolution = Resolution(exchange, endpoint: 0)
    resolution.status = status
    return resolution
  }

  /// A run with `servers` servers, each with three answered messages, a rejected one and a lost one, and one connection with problems.
  private static func metrics(servers: Int) -> RunMetrics {
    var server = EndpointMetrics()
    for time in [10, 20, 60] as [Int64] { server.resolved(resolution(.acked, after: time), role: .message) }
    server.resolved(resolution(.rejected, status: 1), role: .message)
    server.resolved(resolution(.unanswered), role: .message)
    var report = MadeReport.decoded(serial: 7)
    report.figures?.frames = [3, 4]
    (report.gapCount, report.packets) = (2, [9, 9])
    (report.rare.fates[0].units, report.rare.fates[0].unanswered) = (5, 1)
    server.ended(report, ReportCounts(report))
    var total = EndpointMetrics()
    for _ in 0..<servers { total.add(server) }
    var kinds = [KindTotals](repeating: KindTotals(), count: 65)
    (kinds[0].frames, kinds[64].frames) = ([UInt64(3 * servers), 4], [1, 0])
    var ledger = Ledger()
    ledger.connections = UInt64(servers)
    var worst = WorstConnections()
    worst.add(report)
    var statuses = StatusRegistry()
    statuses.met(StatusCode(plan: 0, list: 0, number: 403), place: 1)
    let summary = Summary(
      plans: [MadePlan.tjp()], ledger: ledger, reassembly: ReassemblyCounters(), capture: CaptureCounts(),
      kinds: [kinds], sequences: [[]], checksums: [0, 0, 0, 0, 0])
    let endpoints = (0..<servers).map { number in
      var endpoint = MadeReport.server
      endpoint.port += UInt16(number)
      return (key: EndpointKey(endpoint: endpoint, plan: 0), metrics: server)
    }
    return RunMetrics(
      run: RunSnapshot(summary: summary, total: total, reconnects: 0, repeatedAnswers: 0), endpoints: endpoints,
      worst: worst, statuses: statuses)
  }

  @Test func json() throws {
    var out = ByteWriter()
    StatsJSONWriter().write(Self.metrics(servers: 2), to: &out)
    let object = Document(
      try #require(try JSONSerialization.jsonObject(with: Data(out.text.utf8)) as? [String: Any]))
    let expected = [
      "counters.frames": 11, "counters.frames_c2s": 7, "counters.frames_data": 10, "counters.frames_other": 1,
      "total.messages.units": 10, "total.messages.acked": 6, "total.messages.rejected": 2, "total.success": 0.6,
      "total.loss": 0.2, "total.rtt_us.count": 6, "total.rtt_us.min": 10_000, "total.rtt_us.max": 60_000,
      "total.rtt_us.client_to_server.mean": 30_000, "total.tcp.connections": 2,
    ]
    for (name, value) in expected { #expect(object.number(name) == value, "\(name)") }
    let servers = try #require(object["servers"] as? [[String: Any]]).map { Document($0) }
    #expect(servers.map { $0.text("server") } == ["192.0.2.9:8080", "192.0.2.9:8081"])
    #expect(servers.allSatisfy { $0.number("figures.messages.units") == 5 && $0.text("profile") == "tjp" })
    // Metrics without any sample are absent.
    for name in [
      "total.heartbeats", "total.handshakes", "total.reads", "total.rtt_us.server_to_client", "other_servers",
    ] {
      #expect(object[name] == nil, "\(name)")
    }
    let refusal = Document(try #require((servers[0]["figures.refusals"] as? [[String: Any]])?.first))
    #expect(refusal.number("status") == 403 && refusal.number("count") == 1 && refusal.text("type") == "data")
    let types = try #require(object["types"] as? [[String: Any]]).map { Document($0) }
    #expect(types.map { $0.text("type") } == ["data", "other"] && types[0].number("frames.client_to_server") == 6)
    // The same metrics produce the same bytes.
    var again = ByteWriter()
    StatsJSONWriter().write(Self.metrics(servers: 2), to: &again)
    #expect(out.text == again.text)
  }

  @Test(arguments: [nil, 60, 100] as [Int?]) func tables(_ width: Int?) {
    let metrics = Self.metrics(servers: 3)
    var out = ByteWriter()
    StatsTextWriter(width: width).write(metrics, to: &out)
    let lines = out.text.split(separator: "\n").map(String.init)
    // A name that is wider than the terminal is not cut; everything else fits.
    if let width { #expect(lines.allSatisfy { cells($0) <= width || !$0.contains(", ") }) }
    #expect(lines.allSatisfy { !$0.hasSuffix(" ") })
    let server = lines.first { $0.hasPrefix("192.0.2.9:8081 tjp") }.map { $0.split(separator: " ").map(String.init) }
    #expect(server?.prefix(7) == ["192.0.2.9:8081", "tjp", "5", "60.00", "%", "20.00", "%"])
    let all = lines.first { $0.hasPrefix("all ") }.map { $0.split(separator: " ").map(String.init) }
    #expect(all?.prefix(2) == ["all", "15"])
    #expect(lines.contains { $0.hasPrefix("rejected: data with 403: 3") } && lines.contains { $0.hasPrefix("#7 ") })
  }

  /// Only the first fifty of many servers have a line.
  @Test func serversAreBounded() {
    var out = ByteWriter()
    StatsTextWriter().write(Self.metrics(servers: 60), to: &out)
    let lines = out.text.split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("  and 10 more servers") }.count == 2)
    #expect(lines.filter { $0.hasPrefix("192.0.2.9:") && $0.contains("60.00 %") }.count == 50)
  }

  @Test func aRunWithoutAnything() throws {
    var text = ByteWriter(), json = ByteWriter()
    StatsTextWriter().write(Self.metrics(servers: 0), to: &text)
    #expect(!text.text.contains("%"))
    StatsJSONWriter().write(Self.metrics(servers: 0), to: &json)
    let object = Document(
      try #require(try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any]))
    #expect(object["total.success"] == nil && (object["servers"] as? [Any])?.isEmpty == true)
  }

  /// Hostile topics: one line each in the table, and unchanged in JSON.
  @Test func groupsWithHostileNames() throws {
    let names = ["a\nb", "\u{1b}[31m", "\u{202e}x", "消息", "\"\\", String(repeating: "y", count: 300), ""]
    var table = GroupTable()
    for (number, name) in names.enumerated() {
      for _ in 0...number {
        let start = Timestamp(milliseconds: 1_000 + Int64(number))
        let exchange = Exchange(
          told: .unanswered, role: 0, direction: .clientToServer, id: 0, connection: 1, sentAt: start, decidedAt: start,
          copies: 1)
        let info = ConnectionInfo(told: 1, client: MadeReport.client, server: MadeReport.server)
        table.count(exchange, role: .message, on: info, group: name)
      }
    }
    var json = ByteWriter(), text = ByteWriter()
    GroupWriter(plans: [MadePlan.tjp()], grouping: .topic, isJSON: true).write(table, to: &json)
    let objects = try json.text.split(separator: "\n").map { line in
      Document(try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]))
    }
    #expect(
      objects.map { $0.text("topic") } == names.reversed()
        && objects.map { $0.number("lost") } == [7, 6, 5, 4, 3, 2, 1])
    GroupWriter(plans: [MadePlan.tjp()], grouping: .topic, limit: 5, isJSON: false).write(table, to: &text)
    let lines = text.text.split(separator: "\n").map(String.init)
    #expect(lines.count == 6 && Set(lines.map { cells($0) }).count == 1)
    #expect(!text.text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x202e })
    #expect(text.text.contains(String(repeating: "y", count: 64) + "...") && !text.text.contains("yyyyy\n"))
  }

  // MARK: Large messages

  /// Parts in any order, some of them sent twice, and one lost and sent again.
  @Test func transfers() {
    let plan = MadePlan.tjp()
    var frame = Frame(kind: Self.kept(FrameKind()))
    frame.count = 28
    let info = ConnectionInfo(told: 1, client: MadeReport.client, server: MadeReport.server)
    let record = MessageRecord(FirstCopy(frame, info, .clientToServer, plan, capture: 0, place: nil))
    func piece(_ fate: Fate, _ bytes: Range<Int>, at start: Int64, copies: Int = 1) -> (Exchange, TransferPart) {
      let sent = Timestamp(milliseconds: start)
      let exchange = Exchange(
        told: fate, role: 0, direction: .clientToServer, id: 0, connection: 1, sentAt: sent,
        decidedAt: sent.advanced(by: .milliseconds(30)), copies: copies)
      return (exchange, TransferPart(transfer: 9, bytes: bytes, total: 100))
    }
    let first = piece(.acked, 0..<40, at: 1_000)
    var summary = TransferSummary(record, first.0, first.1)
    let pieces = [
      first, piece(.unanswered, 40..<70, at: 1_010), piece(.acked, 60..<100, at: 1_020),
      piece(.acked, 0..<40, at: 1_030),
      piece(.unknown, 40..<41, at: 1_035),
    ]
    for (exchange, part) in pieces { summary.add(record, exchange, part) }
    #expect(summary.pieces == 5 && summary.lost == 1 && summary.answeredBytes == 80 && !summary.isWhole)
    let last = piece(.ackedAfterRetry, 40..<60, at: 1_040, copies: 3)
    summary.add(record, last.0, last.1)
    #expect(summary.isWhole && summary.answeredBytes == 100 && summary.retries == 2)
    #expect(summary.answeredAfter == .milliseconds(70) && summary.receipts.isEmpty)
    record.readAfter = .milliseconds(500)
    summary.add(record, last.0, last.1)
    #expect(summary.receipts.map(\.after) == [.milliseconds(540)])
  }

  /// A kind in memory of its own, for frames to point to.
  private static func kept(_ kind: FrameKind) -> UnsafePointer<FrameKind> {
    let memory = UnsafeMutablePointer<FrameKind>.allocate(capacity: 1)
    memory.initialize(to: kind)
    return UnsafePointer(memory)
  }
}
