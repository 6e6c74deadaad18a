import Foundation
import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMAlerts
@testable import IMEngine
@testable import IMOutput

/// Alerts as lines, as JSON and in the format of Alertmanager.
@Suite struct AlertOutputTests {
  private static func rule(
    _ metric: String, _ comparison: AlertOperator = .above, _ threshold: Double = 0.02, scope: AlertScope = .endpoint
  ) throws -> AlertRule {
    AlertRule(
      name: "a-rule", metric: try #require(AlertMetric(rawValue: metric)), scope: scope, window: 60_000_000_000,
      step: 10_000_000_000, comparison: comparison, threshold: threshold)
  }

  private static func event(
    _ rule: AlertRule, _ state: AlertEvent.State = .firing, value: Double? = 0.041, samples: UInt64 = 1_000,
    affected: UInt64 = 41
  ) -> AlertEvent {
    let at = Timestamp(seconds: 43_240, fraction: 0)
    var event = AlertEvent(
      rule: rule, state: state, at: at, since: at.advanced(by: .seconds(-120)), fingerprint: "0123456789abcdef",
      count: 1,
      episode: at, value: value)
    (event.samples, event.affected, event.server) = (samples, affected, MadeReport.server)
    return event
  }

  private static func affected(_ serial: UInt32, _ port: UInt16) -> SlidingWindow.Affected {
    var client = MadeReport.client
    client.port = port
    return SlidingWindow.Affected(
      connection: ConnectionInfo(told: serial, client: client, server: MadeReport.server),
      at: Timestamp(milliseconds: 500))
  }

  private static func line(_ event: AlertEvent, isColoured: Bool = false) -> String {
    var style = TextStyle()
    style.isColoured = isColoured
    var writer = AlertTextWriter(style: style), out = ByteWriter()
    writer.write(event, to: &out)
    return out.text
  }

  private static func json(_ event: AlertEvent, sensor: String? = nil) throws -> Document {
    var lines = JSONLines()
    AlertJSONWriter(sensor: sensor).write(event, to: &lines)
    let text = lines.writer.text
    #expect(text.hasSuffix("}\n") && text.utf8.filter { $0 < 0x20 }.count == 1)
    return Document(try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]))
  }

  @Test func reasons() throws {
    let on = "on 192.0.2.9:8080"
    var lasting = try Self.rule("loss")
    lasting.patience = 120_000_000_000
    let slow = try Self.rule("rtt_p95", .atLeast, 200), few = try Self.rule("messages", .below, 5)
    let absent = try Self.rule("messages", .absent, 0)
    var ended = Self.event(lasting, .resolved)
    ended.ending = .run
    var held = Self.event(try Self.rule("retry"), .held), doubtful = Self.event(lasting, .held)
    (held.dropped, doubtful.unknown) = (7, 12)
    var oneWay = Self.event(slow, value: 1_234.5)
    oneWay.direction = .clientToServer
    let cases: [(event: AlertEvent, reason: String)] = [
      (Self.event(lasting), "loss 0.041 > 0.02 for 120 s \(on)"),
      (Self.event(try Self.rule("loss")), "loss 0.041 > 0.02 \(on)"),
      (Self.event(lasting, .resolved, value: 0.01), "loss 0.01 <= 0.02 \(on)"),
      (Self.event(lasting, .resolved, value: nil), "loss unknown <= 0.02 \(on)"),
      (ended, "the run has ended, with loss 0.041 \(on)"),
      (held, "retry 0.041 > 0.02 \(on), held: packets are missing from the capture (7 drops or gaps)"),
      (doubtful, "loss 0.041 \(on), held: the fate of 12 messages is unknown, besides the 1000 counted"),
      (Self.event(lasting, .released), "loss 0.041 \(on), no longer held"),
      (oneWay, "rtt_p95[c2s] 1234.5 ms >= 200.0 ms \(on)"),
      (Self.event(few, value: 3), "messages 3 < 5 \(on)"),
      (Self.event(absent, value: nil), "no messages for 60 s \(on)"),
      (Self.event(absent, .resolved, value: 1), "messages are back \(on)"),
    ]
    for (event, reason) in cases { #expect(event.reason == reason) }
  }

  @Test func lines() throws {
    var event = Self.event(try Self.rule("loss"))
    (event.first, event.last) = (Self.affected(2, 51_234), Self.affected(31, 51_111))
    let text = Self.line(event)
    #expect(
      text
        == "12:00:40.000000 ** a-rule firing (warning): loss 0.041 > 0.02 on 192.0.2.9:8080; 41 of 1000; "
        + "10.0.0.7:51234 (#2) to 10.0.0.7:51111 (#31)\n")
    // All samples are of one connection, which an earlier run saw.
    (event.affected, event.first, event.last) = (1_000, Self.affected(0, 1), Self.affected(0, 1))
    event.evidence = "a.pcap"
    #expect(Self.line(event).hasSuffix("on 192.0.2.9:8080; 10.0.0.7:1; evidence a.pcap\n"))
    event.state = .resolved
    #expect(
      Self.line(event)
        == "12:00:40.000000 ** a-rule resolved (warning): loss 0.041 <= 0.02 on 192.0.2.9:8080; evidence a.pcap\n")
    // Colours do not change the text.
    for state in [AlertEvent.State.firing, .resolved] {
      event.state = state
      let coloured = Self.line(event, isColoured: true)
      #expect(coloured.contains(state == .firing ? "\u{1b}[31m" : "\u{1b}[32m") && coloured.contains("\u{1b}[0m"))
      #expect(coloured.replacing(/\u{1b}\[[0-9]+m/, with: "") == Self.line(event))
    }
  }

  /// Names chosen by clients are escaped before they reach a terminal.
  @Test func namesOfGroups() throws {
    var rule = try Self.rule("loss")
    rule.grouping = .session
    var event = Self.event(rule)
    event.group = .session("a\u{1b}[2J\n\u{202e}" + String(repeating: "x", count: 500), isNumber: false)
    let line = Self.line(event)
    #expect(line.unicodeScalars.filter { $0.value < 0x20 || $0.value == 0x202e }.count == 1 && line.utf8.count < 400)
    let text = try Self.json(event).text("group")
    #expect(text?.hasPrefix("a\u{1b}[2J\n\u{202e}") == true)
  }

  @Test func json() throws {
    var rule = try Self.rule("rtt_p95", .above, 200, scope: .connection)
    rule.labels = [AlertRule.Label(name: "team", value: "a \"b\"\n"), AlertRule.Label(name: "region", value: "北京")]
    (rule.runbook, rule.severity, rule.patience) = ("https://example.org/?a=b&c", .page, 30_000_000_000)
    var event = Self.event(rule, value: 250.25)
    (event.direction, event.connection) = (.serverToClient, Self.affected(7, 9).connection)
    (event.first, event.unknown, event.dropped, event.suppressed) = (Self.affected(7, 9), 3, .max, 2)
    event.run = "run-1"
    let object = try Self.json(event, sensor: "s\u{7}1")
    let texts = [
      "alert": "a-rule", "state": "firing", "id": "0123456789abcdef-43240000", "severity": "page", "metric": "rtt_p95",
      "dir": "s2c", "op": ">", "scope": "connection", "server": "192.0.2.9:8080", "client": "10.0.0.7:9",
      "runbook": "https://example.org/?a=b&c", "run": "run-1", "sensor": "s\u{7}1", "labels.team": "a \"b\"\n",
      "labels.region": "北京", "time": "1970-01-01T12:00:40.000000Z", "since": "1970-01-01T11:58:40.000000Z",
      "first_affected.client": "10.0.0.7:9", "first_affected.at": "1970-01-01T00:00:00.500000Z",
      "reason": "rtt_p95[s2c] 250.25 ms > 200.0 ms for 30 s on 10.0.0.7:9 > 192.0.2.9:8080",
    ]
    for (name, text) in texts { #expect(object.text(name) == text, "\(name)") }
    let numbers = [
      "ts": 43_240_000_000, "value": 250.25, "threshold": 200, "clear": 200, "samples": 1_000, "affected": 41,
      "unknown": 3, "window_s": 60, "for_s": 30, "conn": 7, "dropped": 0x1p63, "suppressed": 2,
    ]
    for (name, number) in numbers { #expect(object.number(name) == number, "\(name)") }
    for name in ["owner", "group", "by", "profile", "last_affected", "evidence"] {
      #expect(object[name] == nil, "\(name)")
    }
    // Without a value the member is absent, and a rule for absence has no threshold.
    let absent = try Self.json(Self.event(try Self.rule("messages", .absent, 0), value: nil))
    for name in ["value", "threshold", "clear", "unknown", "dropped", "labels"] {
      #expect(absent[name] == nil, "\(name)")
    }
  }

  @Test func alertmanager() throws {
    var rule = try Self.rule("loss")
    rule.labels = [AlertRule.Label(name: "team", value: "a\"\\")]
    var event = Self.event(rule)
    (event.profile, event.owner) = ("", "x\u{1}.service")
    let alerts = [
      AlertmanagerText.alert(event, sensor: ""),
      AlertmanagerText.alert(Self.event(try Self.rule("retry")), sensor: "s"),
    ]
    let body = AlertmanagerText.body(alerts, endsAt: Timestamp(seconds: 60, fraction: 0))
    let list = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]])
    let objects = list.map { Document($0) }
    #expect(objects.count == 2 && objects[0].text("labels.team") == "a\"\\")
    #expect(objects[0].text("labels.owner") == "x\u{1}.service" && objects[0].text("labels.alertname") == "a-rule")
    #expect(objects[0].text("startsAt") == "1970-01-01T11:58:40.000000Z")
    #expect(objects.allSatisfy { $0.text("endsAt") == "1970-01-01T00:01:00.000000Z" })
    // A label without a value is left out. The value is an annotation, so that it does not make two alerts different.
    #expect(
      objects[0]["labels.profile"] == nil && objects[0]["labels.sensor"] == nil && objects[0]["labels.value"] == nil)
    #expect(objects[0].text("annotations.value") == "0.041" && objects[1].text("labels.sensor") == "s")
    #expect(AlertmanagerText.body([], endsAt: .distantPast) == "[]")
  }
}
