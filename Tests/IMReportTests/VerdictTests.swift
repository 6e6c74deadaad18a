import IMMetrics
import IMWire
import Testing

@testable import IMEngine
@testable import IMReport

/// The verdict on runs with known messages: its level, its headline and its findings.
@Suite struct VerdictTests {
  /// The findings of a verdict, one line each: level, topic, count of total, and sentences.
  private static func findings(_ verdict: Verdict) -> [String] {
    verdict.findings.map { finding in
      "\(finding.level?.rawValue ?? "-") \(finding.topic.rawValue) \(finding.count.map { "\($0)" } ?? "-")/"
        + "\(finding.total.map { "\($0)" } ?? "-"): " + finding.sentences.joined(separator: "; ")
    }
  }

  private typealias Case = (
    name: String, exchanges: [MadeExchange], level: Verdict.Level, sign: String, headline: String, findings: [String]
  )
  private static var peer: (inout MadeExchange) -> Void { { $0.cause = .peer } }

  private static let cases: [Case] = [
    (
      "all answered", .many(24, .acked), .good, "Nothing lost", "No message was lost: all 24 messages were answered", []
    ),
    (
      "one answered", [MadeExchange(.acked)], .good, "Nothing lost",
      "No message was lost: the only message was answered", []
    ),
    ("no message", [], .good, "No messages", "No message asked for an answer", []),
    (
      "heartbeats alone", .many(3, .acked) { $0.kind = .heartbeat }, .good, "No messages",
      "No message asked for an answer: all 3 heartbeats were answered", []
    ),
    (
      "messages that ask for no answer", .many(5, .unacknowledged), .good, "No messages",
      "No message asked for an answer",
      []
    ),
    (
      "two lost, the peer's", .many(48, .acked) + .many(2, .unanswered, peer), .bad, "Messages lost",
      "2 of 50 messages were lost (4.00 %)",
      ["bad lost 2/50: 2 from the client: the server's TCP received them, no answer was sent (peer)"]
    ),
    (
      "one lost, the network's",
      .many(3, .acked) + [
        MadeExchange(.unanswered) { ($0.cause, $0.direction) = (.network, .serverToClient) }
      ], .bad, "Messages lost", "1 of 4 messages was lost (25.00 %)",
      ["bad lost 1/4: 1 from the server: never acknowledged by the client's TCP (network)"]
    ),
    (
      "one of which nobody knows", [MadeExchange(.unanswered)], .bad, "Messages lost",
      "1 of 1 message was lost (100.00 %)",
      ["bad lost 1/1: 1 from the client: no answer; the capture does not show whether it arrived"]
    ),
    (
      "three of which nobody knows, and one of the peer", .many(3, .unanswered) + .many(1, .unanswered, peer), .bad,
      "Messages lost", "4 of 4 messages were lost (100.00 %)",
      [
        "bad lost 4/4: 1 from the client: the server's TCP received it, no answer was sent (peer); "
          + "3 from the client: no answer; the capture does not show whether they arrived"
      ]
    ),
    (
      "one of which nobody knows, among others", .many(1, .unanswered) + .many(2, .unanswered, peer), .bad,
      "Messages lost",
      "3 of 3 messages were lost (100.00 %)",
      [
        "bad lost 3/3: 2 from the client: the server's TCP received them, no answer was sent (peer); "
          + "1 from the client: no answer; the capture does not show whether it arrived"
      ]
    ),
    (
      "damage", .many(999, .acked) + [MadeExchange(.damaged)], .bad, "Messages lost",
      "1 of 1,000 messages was lost (0.10 %)",
      ["bad lost 1/1000: 1 from the client: every copy arrived damaged (checksum)"]
    ),
    (
      "one that needed a retry",
      .many(9, .acked) + .many(1, .ackedAfterRetry) { ($0.repeats, $0.answerAfter) = (1, 5) },
      .warning, "Needs attention", "No message was lost, but 1 needed a retry",
      ["warning retried 1/10: 1 message answered only after a retry (10.00 %)"]
    ),
    (
      "as many retries as may be", .many(99, .acked) + .many(1, .ackedAfterRetry), .good, "Nothing lost",
      "No message was lost: all 100 messages were answered",
      ["good retried 1/100: 1 message answered only after a retry (1.00 %)"]
    ),
    (
      "rejections", .many(8, .acked) + .many(2, .rejected) { ($0.status, $0.answerAfter) = (1, 9) }, .warning,
      "Needs attention", "No message was lost, but 2 were rejected",
      [
        "warning rejected 2/10: 2 messages (20.00 %); data with no_route (3)",
        "- round_trips -/-: client to server: p50 0.009 ms, p95 0.009 ms, p99 0.009 ms",
      ]
    ),
    (
      "pending at the end", .many(3, .acked) + .many(1, .pending), .good, "Nothing lost",
      "No message was lost: all 3 messages were answered",
      ["- pending 1/4: 1 message still pending when the capture ended"]
    ),
    (
      "all pending", .many(2, .pending), .warning, "Outcome pending",
      "The capture ended before all 2 messages were answered",
      ["- pending 2/2: 2 messages still pending when the capture ended"]
    ),
    (
      "the only one pending", .many(1, .pending), .warning, "Outcome pending",
      "The capture ended before the only message was answered",
      ["- pending 1/1: 1 message still pending when the capture ended"]
    ),
    (
      "none known", .many(2, .unknown) + .many(1, .pending), .warning, "Outcome unknown",
      "The outcome of all 3 messages is not known",
      [
        "warning unknown 2/3: 2 messages whose answer may be in bytes missing from the capture",
        "- pending 1/3: 1 message still pending when the capture ended",
      ]
    ),
    (
      "some unknown", .many(7, .acked) + .many(1, .unknown) + .many(2, .unknown) { $0.cause = .limit }, .warning,
      "Needs attention", "No message is known to be lost, but the outcome of 3 messages is unknown",
      [
        "warning unknown 3/10: 1 message whose answer may be in bytes missing from the capture; "
          + "2 messages dropped at the memory limit before an answer came"
      ]
    ),
    (
      "a heartbeat missed",
      .many(2, .acked) + .many(3, .acked) { $0.kind = .heartbeat }
        + .many(1, .unanswered) { $0.kind = .heartbeat }, .warning, "Needs attention",
      "No message was lost, but 1 of 4 heartbeats was missed", ["warning heartbeats 1/4: 1 of 4 heartbeats missed"]
    ),
    (
      "control frames and receipts",
      .many(2, .acked) + .many(1, .rejected) { ($0.kind, $0.status) = (.control, 0) }
        + .many(2, .unanswered) { $0.kind = .receipt }, .warning, "Needs attention",
      "No message was lost, but 1 control frame was rejected and 2 receipts went unanswered",
      [
        "warning control 1/1: 1 control frame rejected: control",
        "warning receipts 2/2: 2 receipts without an answer",
      ]
    ),
    (
      "what was lost comes first", .many(1, .unanswered, peer) + .many(1, .rejected) + .many(1, .ackedAfterRetry), .bad,
      "Messages lost", "1 of 3 messages was lost (33.33 %)",
      [
        "bad lost 1/3: 1 from the client: the server's TCP received it, no answer was sent (peer)",
        "warning rejected 1/3: 1 message (33.33 %); data",
        "warning retried 1/3: 1 message answered only after a retry (33.33 %)",
      ]
    ),
  ]

  @Test func aRunHasAVerdict() {
    for made in Self.cases {
      let model = MadeReport.model(made.exchanges) {
        $0.statuses.met(StatusCode(plan: 0, list: 0, number: 3), place: 1)
      }
      let verdict = Verdict(model)
      #expect(verdict.level == made.level, "\(made.name)")
      #expect(verdict.sign == made.sign, "\(made.name)")
      #expect(verdict.headline == made.headline, "\(made.name)")
      #expect(Self.findings(verdict) == made.findings, "\(made.name)")
    }
  }

  /// If nothing was decoded, the headline gives the reason.
  @Test func nothingDecodedHasAReason() {
    func headline(
      live: ReportModel.Live? = nil, _ change: (inout Ledger) -> Void, _ more: (inout ReportModel) -> Void = { _ in }
    ) -> String {
      let verdict = Verdict(
        MadeReport.model(
          live: live, more,
          ledger: {
            $0.decodedConnections = 0
            change(&$0)
          }))
      #expect(verdict.level == .unknown && verdict.sign == "Nothing decoded" && verdict.level.color == "grey")
      return verdict.headline
    }
    #expect(headline { $0.packets = 0 } == "The capture contains no packets")
    #expect(headline(live: MadeReport.live(60)) { $0.packets = 0 } == "No packet was captured in this time")
    #expect(headline { $0.connections = 0 } == "Nothing was decoded: no TCP connection in 1,234 packets")
    #expect(
      headline { $0.connections = 1 }
        == "Nothing was decoded: 1 TCP connection, none in a protocol that imdump looked for")
    #expect(
      headline { $0.tlsConnections = 1 }
        == "Nothing was decoded: 1 of 2 TCP connections is encrypted; to read it: --keylog FILE")
    #expect(
      headline({ $0.tlsConnections = 2 }, { $0.hasKeyLog = true })
        == "Nothing was decoded: 2 of 2 TCP connections are encrypted; the key log does not open them")
    #expect(
      headline({ $0.tlsConnections = 2 }, { $0.explainsTLS = true })
        == "Nothing was decoded: 2 of 2 TCP connections are encrypted")
  }

  /// A few decoded bytes without a message may be a coincidence; with a message or an answer they are not.
  @Test func almostNothingIsUnknown() {
    func level(_ exchanges: [MadeExchange], decoded: UInt64) -> Verdict.Level {
      Verdict(MadeReport.model(exchanges, ledger: { ($0.decodedBytes, $0.unreadBytes) = (decoded, 10_000 - decoded) }))
        .level
    }
    #expect(level([], decoded: 99) == .unknown && level([], decoded: 100) == .good)
    #expect(level(.many(1, .acked), decoded: 99) == .good)
    #expect(level(.many(1, .unacknowledged), decoded: 99) == .good)
    #expect(level(.many(1, .acked) { $0.kind = .heartbeat }, decoded: 99) == .good)
    #expect(level(.many(1, .acked) { $0.kind = .control }, decoded: 99) == .good)
    #expect(level(.many(1, .unanswered) { $0.kind = .heartbeat }, decoded: 99) == .unknown)
    let verdict = Verdict(MadeReport.model(ledger: { ($0.decodedBytes, $0.unreadBytes) = (28, 1_000_000) }))
    #expect(verdict.headline == "Almost nothing was decoded: 28 of 1,000,028 bytes, and no message")
  }

  /// Unread input turns a good verdict into one that needs attention, and the headline states it.
  @Test func whatWasNotReadIsSaid() {
    let cut = Verdict(MadeReport.model(.many(2, .acked)) { $0.errors = ["night.pcap: ends within a packet"] })
    #expect(
      cut.level == .warning && cut.headline == "In what was read, no message was lost, but not everything could be read"
    )
    #expect(Self.findings(cut) == ["warning unread -/-: not all was read: night.pcap: ends within a packet"])
    let stopped = Verdict(
      MadeReport.model(.many(1, .acked)) { $0.summary.capture.interruption = Interruption(packets: 9, share: 0.415) })
    #expect(stopped.headline.hasPrefix("In what was read, no message was lost"))
    #expect(Self.findings(stopped) == ["warning unread -/-: interrupted at 41 %"])
    for isNotable in [true, false] {
      let part = Verdict(
        MadeReport.model(.many(1, .acked)) { $0.unread = [.init(text: "UDP on port 5222", isNotable: isNotable)] })
      #expect(part.level == (isNotable ? .warning : .good))
      #expect(Self.findings(part) == ["\(isNotable ? "warning" : "-") unread -/-: UDP on port 5222"])
    }
  }

  /// The time of the losses, and the affected sessions.
  @Test func lossesHaveATimeAndSessions() {
    func sentences(_ more: (inout ReportModel) -> Void) -> [String] {
      Array(Verdict(MadeReport.model(.many(1, .unanswered), more)).findings[0].sentences.dropFirst())
    }
    let begin = MadeExchange.begin
    #expect(sentences { $0.losses = (begin, begin.advanced(by: 999_000_000)) } == ["sent at 22:13:20"])
    #expect(
      sentences { $0.losses = (begin.advanced(by: 9_000_000_000), begin.advanced(by: 61_000_000_000)) }
        == ["first sent at 22:13:29, last at 22:14:21"])
    #expect(
      sentences { $0.losses = (begin, begin.advanced(by: 7_200_000_000_000)) }
        == ["first sent at 22:13:20, last at 2023-11-15 00:13:20"])
    func affected(_ count: Int, of all: UInt64) -> (inout ReportModel) -> Void {
      {
        $0.affected = (0..<count).map { .init(name: "s\($0)", lost: UInt64(2_000 - $0)) }
        ($0.affectedCount, $0.sessionCount) = (UInt64(count), all)
      }
    }
    #expect(sentences(affected(1, of: 1)) == ["1 of 1 session affected: s0 (2,000)"])
    #expect(sentences(affected(3, of: 9)) == ["3 of 9 sessions affected: s0 (2,000), s1 (1,999) and s2 (1,998)"])
    #expect(
      sentences(affected(5, of: 9)) == ["5 of 9 sessions affected: s0 (2,000), s1 (1,999), s2 (1,998) and 2 more"])
    #expect(
      sentences {
        affected(1, of: 4)(&$0)
        ($0.hasMoreSessions, $0.hasMoreAffected) = (true, true)
      } == ["more than 1 of more than 4 sessions affected: s0 (2,000)"])
  }

  /// Failed connections, and clients that reconnected.
  @Test func connectionsAreJudged() {
    let failed = [
      ConnectionReport.made(1), .made(2, .refused) { $0.establishedAt = nil },
      .made(3, .timeout) { $0.establishedAt = nil },
    ]
    let verdict = Verdict(MadeReport.model(.many(1, .acked), connections: failed))
    #expect(verdict.headline == "No message was lost, but 2 connection attempts failed")
    #expect(Self.findings(verdict) == ["warning connections 2/3: 2 seen: 1 refused, 1 timed out"])
    #expect(verdict.findings[0].causes.map { "\($0.name) \($0.count)" } == ["refused 1", "timeout 1"])
    let back = ConnectionReport.made(4, .reset) {
      $0.figures = ConnectionMetrics(endpoint: 0)
      $0.rare.reconnectTime = .seconds(3)
    }
    let reconnected = Verdict(MadeReport.model(.many(1, .acked), connections: [back]))
    #expect(reconnected.headline == "No message was lost, but one client reconnected")
    #expect(Self.findings(reconnected) == ["warning connections 0/1: 2 seen: 1 reset, 1 reconnect"])
    // Below a threshold it is still reported, but does not change the level.
    let thresholds = VerdictThresholds("reconnects=100%")
    let patient = Verdict(
      MadeReport.model(.many(1, .acked), connections: [back]) { $0.thresholds = thresholds ?? $0.thresholds })
    #expect(patient.level == .good && Self.findings(patient) == ["- connections 0/1: 2 seen: 1 reset, 1 reconnect"])
  }

  @Test func levelsHaveColors() {
    #expect(Verdict.Level.allCases.map(\.rawValue) == ["good", "warning", "bad", "unknown"])
    #expect(Verdict.Level.allCases.map(\.color) == ["green", "amber", "red", "grey"])
  }
}
