import Foundation
import IMEngine
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire
import Testing

@testable import IMReport

/// A verdict on a terminal, and as JSON.
@Suite struct VerdictTextTests {
  private static func text(
    _ model: ReportModel, width: Int = 80, isASCII: Bool = false, isColored: Bool = false, ladder: Ladder? = nil,
    next commands: [String] = []
  ) -> [String] {
    var out = ByteWriter()
    VerdictText(width: width, isASCII: isASCII, isColored: isColored).write(
      Verdict(model), model, ladder: ladder, next: commands, to: &out)
    return out.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  private static func lossy() -> ReportModel {
    MadeReport.model(
      .many(48, .acked) { $0.answerAfter = 26_400 } + .many(2, .unanswered) { $0.cause = .peer }
        + .many(3, .acked) { $0.kind = .heartbeat } + .many(1, .unanswered) { $0.kind = .heartbeat })
  }

  @Test func aTerminalShowsALineForEachTopic() {
    #expect(
      Self.text(Self.lossy(), width: 120, next: ["imdump messages night.pcap --lost"]) == [
        "\u{2717} 2 of 50 messages were lost (4.00 %)",
        "  2023-11-14 22:13:20 to 22:23:20 UTC, 1,234 packets, 2 of 2 connections decoded",
        "\u{2717} lost         2 from the client: the server's TCP received them, no answer was sent (peer)",
        "! heartbeats   1 of 4 heartbeats missed",
        "  round trip   client to server: p50 26.4 ms, p95 26.4 ms, p99 26.4 ms",
        "next: imdump messages night.pcap --lost",
      ])
  }

  @Test(arguments: [
    (Verdict.Level.good, "\u{2713}", "+", "32"), (.warning, "!", "!", "33"), (.bad, "\u{2717}", "x", "31"),
    (.unknown, "?", "?", "90"),
  ])
  func aLevelHasASignAndAColor(_ level: Verdict.Level, _ sign: String, _ ascii: String, _ color: String) {
    let exchanges: [MadeExchange] =
      switch level {
      case .good: .many(1, .acked)
      case .warning: .many(1, .pending)
      case .bad: .many(1, .unanswered)
      case .unknown: []
      }
    let model = MadeReport.model(exchanges, ledger: { if level == .unknown { $0.decodedConnections = 0 } })
    #expect(Verdict(model).level == level)
    #expect(Self.text(model)[0].hasPrefix("\(sign) ") && Self.text(model, isASCII: true)[0].hasPrefix("\(ascii) "))
    let colored = Self.text(model, isColored: true)[0]
    #expect(colored.hasPrefix("\u{1b}[1;\(color)m\(sign) ") && colored.hasSuffix("\u{1b}[0m"))
    #expect(!Self.text(model).joined().contains("\u{1b}"))
  }

  /// Lines fit a terminal of any width, whatever was found, and from 80 columns on their number is limited.
  @Test(arguments: [20, 40, 60, 80, 200]) func linesFit(_ width: Int) {
    var model = Self.lossy()
    model.errors = (0..<40).map { "part-\($0).pcap: ends within a packet, behind which more may have been captured" }
    model.affected = (0..<3).map { .init(name: "a session with a name that is long, number \($0)", lost: 7) }
    (model.affectedCount, model.sessionCount) = (3, 3)
    model.losses = (MadeExchange.begin, MadeExchange.begin)
    let commands = [
      "imdump messages night.pcap --lost", "imdump ladder night.pcap --conn 1", "imdump report night.pcap", "a fourth",
    ]
    let lines = Self.text(model, width: width, isASCII: true, next: commands)
    #expect(lines.allSatisfy { $0.count <= max(40, width) }, "\(lines)")
    if width >= 80 { #expect(lines.count <= VerdictText.maximumLines) }
    #expect(lines.joined().allSatisfy(\.isASCII) && !lines.joined().contains("a fourth"))
    // Every topic keeps its first line, and what is left out is counted or marked.
    for topic in ["lost ", "heartbeats ", "round trip ", "not read "] {
      #expect(lines.contains { $0.dropFirst(2).hasPrefix(topic) }, "\(topic)")
    }
    #expect(lines.contains { $0.hasSuffix(" more: imdump why --json") || $0.hasSuffix("...") || $0.hasSuffix("~") })
  }

  /// Where there is too much for the terminal, whole sentences are left out, and both directions of round trips stay.
  @Test func noSentenceIsCut() throws {
    var exchanges: [MadeExchange] = .many(1, .acked) { $0.answerAfter = 26_400 }
    exchanges += .many(1, .acked) { ($0.answerAfter, $0.direction) = (121_000, .serverToClient) }
    exchanges += .many(2, .ackedAfterRetry)
    exchanges += .many(2, .unanswered) { $0.cause = .peer }
    exchanges += .many(1, .pending)
    exchanges += .many(1, .unanswered) { $0.kind = .heartbeat }
    var model = MadeReport.model(exchanges)
    model.errors = (0..<19).map { "part-\($0).pcap: ends within a packet. Copy the file again, if it was copied" }
    let lines = Self.text(model, next: ["imdump messages night.pcap --lost"])
    #expect(lines.count == VerdictText.maximumLines && lines.allSatisfy { $0.count <= 80 }, "\(lines)")
    #expect(!lines.joined().contains("\u{2026}"), "\(lines)")
    #expect(lines.contains { $0.contains("client to server: p50 26.4 ms") }, "\(lines)")
    #expect(lines.contains { $0.contains("server to client: p50 121.0 ms") }, "\(lines)")
    // Facts come before advice.
    let files = lines.filter { $0.contains("part-") }
    #expect(files.count > 1 && !lines.joined().contains("Copy the file"), "\(lines)")
    #expect(lines.contains { $0.hasSuffix("               \(38 - files.count) more: imdump why --json") }, "\(lines)")
  }

  /// The title of the ladder, the labels and what is said beside an arrow are not cut at 80 columns.
  @Test func theLadderIsNotCut() throws {
    var model = Self.lossy()
    model.worst = ReportModel.WorstMessage(
      MadeExchange(.unanswered) { ($0.cause, $0.id) = (.peer, 5) }.exchange, .message)
    let session = "pgw.example.com;1760000000;41"
    var ladder = Ladder(
      serial: 1, client: "192.0.2.41:42000", server: "203.0.113.30:3868", profile: "diameter", session: session,
      firstSeen: MadeExchange.begin)
    var orphan = Ladder.Step(
      label: "receipt 11529215046068762345", sequence: nil, isFromClient: false, facts: [.answer, .orphan], copy: 0)
    orphan.exchange = nil
    ladder.rows = [Self.row(5), Ladder.Row(at: MadeExchange.begin.advanced(by: 100_000_000), event: .step(orphan))]
    ladder.rows.append(
      Ladder.Row(at: MadeExchange.begin.advanced(by: 40_200_000_000), event: .step(Self.step(6))))
    ladder.heartbeat = (20_000_000, true)
    let lines = Self.text(model, ladder: ladder)
    let text = lines.joined(separator: " ")
    #expect(lines.allSatisfy { $0.count <= 80 } && !text.contains("\u{2026}"), "\(lines)")
    for part in [session, " receipt 11529215046068762345 ", "message not in the capture"] {
      #expect(text.contains(part), "\(part) \(lines)")
    }
    let silence = try #require(lines.firstIndex { $0.hasSuffix(" !  ┄ 40.1 s without a frame ┄") })
    #expect(lines[silence + 1].hasSuffix("     ┄ 1 heartbeat missing, due every 20.0 s ┄"))
  }

  /// Text from traffic cannot control the terminal.
  @Test func namesCommandNoTerminal() {
    var model = Self.lossy()
    model.affected = [.init(name: "\u{1b}[2J\u{7}\u{202e}\r", lost: 1)]
    (model.affectedCount, model.sessionCount) = (1, 1)
    let text = Self.text(model, width: 200, next: ["imdump ladder '\u{1b}[31m.pcap'"]).joined()
    #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f || $0.properties.isBidiControl })
    #expect(text.contains("\\x1b[2J\\x07") && text.contains("\\x1b[31m"))
  }

  /// The first copy of message `i`; the sixth message was lost.
  private static func step(_ i: Int) -> Ladder.Step {
    var step = Ladder.Step(
      label: "data \(i)", sequence: nil, isFromClient: true, facts: [], copy: 1, fate: .acked, exchange: UInt32(i))
    if i == 5 { (step.fate, step.cause) = (.unanswered, .peer) }
    return step
  }

  private static func row(_ i: Int) -> Ladder.Row {
    Ladder.Row(at: MadeExchange.begin.advanced(by: Int64(i) * 10_000_000), event: .step(step(i)))
  }

  /// The worst message is drawn below the findings.
  @Test func theWorstMessageIsDrawn() throws {
    var model = Self.lossy()
    model.worst = ReportModel.WorstMessage(
      MadeExchange(.unanswered) { ($0.cause, $0.id) = (.peer, 5) }.exchange, .message)
    var ladder = Ladder(
      serial: 1, client: "192.0.2.1:40000", server: "198.51.100.1:8080", profile: "tjp", session: "7",
      firstSeen: MadeExchange.begin)
    ladder.rows = (0..<30).map(Self.row)
    let lines = Self.text(model, width: 80, ladder: ladder)
    let title = try #require(
      lines.firstIndex { $0.hasPrefix("  worst message: #1 192.0.2.1:40000 to 198.51.100.1:8080") })
    let drawn = lines[(title + 1)...]
    #expect(drawn.count == 7 && drawn.first?.contains("data 4") == true)
    #expect(drawn.dropFirst().first?.contains("data 5") == true && drawn.contains { $0.contains("no answer (peer)") })
    #expect(lines.count <= VerdictText.maximumLines && lines.allSatisfy { $0.count <= 80 })
    // A message of another connection is not drawn.
    model.worst = ReportModel.WorstMessage(MadeExchange(.unanswered) { $0.id = 99 }.exchange, .message)
    #expect(!Self.text(model, ladder: ladder).contains { $0.contains("worst") })
  }

  // MARK: JSON

  private static func json(_ model: ReportModel, next commands: [String] = []) throws -> [String: Any] {
    var out = ByteWriter()
    VerdictJSON().write(Verdict(model), model, next: commands, to: &out)
    #expect(out.text.hasSuffix("\n") && out.text.count { $0 == "\n" } == 1)
    return try #require(try JSONSerialization.jsonObject(with: Data(out.text.utf8)) as? [String: Any])
  }

  @Test func aVerdictIsALineOfJSON() throws {
    let object = try Self.json(Self.lossy(), next: ["imdump why"])
    #expect(object["verdict"] as? String == "bad" && object["color"] as? String == "red")
    #expect(object["headline"] as? String == "2 of 50 messages were lost (4.00 %)")
    #expect(object["files"] as? [String] == ["/home/somebody/secret/night.pcap"] && object["interface"] == nil)
    #expect(object["first_packet"] as? String == "2023-11-14T22:13:20.000000Z")
    #expect(object["last_packet"] as? String == "2023-11-14T22:23:20.000000Z")
    #expect(object["next"] as? [String] == ["imdump why"])
    #expect(
      object["thresholds"] as? String == "retries=1%,rejections=1%,heartbeats=0%,reconnects=0%,connections=0%")
    let findings = try #require(object["findings"] as? [[String: Any]])
    #expect(findings.map { $0["topic"] as? String } == ["lost", "heartbeats", "round_trips"])
    #expect(
      findings[0]["count"] as? Int == 2 && findings[0]["of"] as? Int == 50 && findings[0]["level"] as? String == "bad")
    #expect(findings[0]["causes"] as? [String: Int] == ["peer": 2])
    // An unknown value is absent, not 0.
    #expect(findings[2]["count"] == nil && findings[2]["level"] == nil && findings[2]["causes"] == nil)
    #expect((findings[2]["text"] as? [String])?.count == 1)
  }

  @Test func aLiveVerdictHasAnInterface() throws {
    var model = MadeReport.model(.many(1, .acked), live: MadeReport.live(60))
    let object = try Self.json(model)
    #expect(object["interface"] as? String == "eth0" && object["files"] == nil)
    #expect(object["first_packet"] as? String == "2023-11-14T22:22:20.000000Z")
    model.live?.covered = nil
    #expect(try Self.json(model)["first_packet"] == nil)
  }

  @Test func hostileTextIsAString() throws {
    var model = Self.lossy()
    let name = "\"}\u{0}\u{1b}\\\u{2028}</script>"
    model.affected = [.init(name: name, lost: 1)]
    (model.affectedCount, model.sessionCount) = (1, 1)
    let findings = try #require(try Self.json(model, next: [name])["findings"] as? [[String: Any]])
    #expect((findings[0]["text"] as? [String])?.last == "1 of 1 session affected: \(name) (1)")
  }
}
