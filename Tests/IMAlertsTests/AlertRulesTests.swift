import IMYAML
import Testing

@testable import IMAlerts

/// A rule that is wrong says what is wrong, where, and what would be accepted.
@Suite struct AlertRulesTests {
  static let lines = [
    "version: 1",  // 1
    "rules:",
    "  - name: lost",
    "    metric: loss",
    "    scope: endpoint",  // 5
    "    window: 1m",
    "    op: \">\"",
    "    threshold: 2%",
    "    clear: 1%",
    "    for: 90s",  // 10
    "    keep_firing: 1h",
    "    min_samples: 20",
    "    severity: page",
    "    labels: { team: im }",
  ]

  /// The metrics: every figure that declares a rule.
  static let names = AlertMetric.allCases.map(\.rawValue)

  static func read(_ text: String) throws(SourceError) -> [AlertRule] {
    try AlertRules(
      text, source: "im.yml", profiles: ["tjp", "mqtt"],
      examine: {
        $0.contains("nonsense")
          ? .mistake("no field 'nonsense'") : $0.contains("fate") ? .asksFate : .asksFrame
      }
    ).rules
  }

  /// A filter stands once, however many rules have it.
  @Test func filtersOfRules() throws {
    let list = ["a == 1", "b", "a == 1"].enumerated().map { place, filter in
      "  - { name: r\(place), metric: loss, window: 1m, op: '>', threshold: 1, filter: '\(filter)' }"
    }
    let text = "version: 1\nrules:\n" + list.joined(separator: "\n")
    let file = try AlertRules(text, source: "r", profiles: [], examine: { _ in .asksFrame })
    #expect(file.filters == ["a == 1", "b"])
    #expect(file.rules.map(\.filterPlace) == [0, 1, 0])
    #expect(throws: SourceError.self) { try AlertRules(text, source: "r", profiles: []) }
    let many = (0...64).map {
      "  - { name: r\($0), metric: loss, window: 1m, op: '>', threshold: 1, filter: 'f\($0)' }"
    }
    for count in [64, 65] {
      let text = "version: 1\nrules:\n" + many.prefix(count).joined(separator: "\n")
      let file = try? AlertRules(text, source: "r", profiles: [], examine: { _ in .asksFrame })
      #expect((file != nil) == (count == 64))
    }
  }

  private static func one(_ text: String, head: String = "") throws(SourceError) -> AlertRule {
    try read("version: 1\n\(head)rules:\n  - { name: r, window: 1m, op: '>', threshold: 1, \(text) }\n")[0]
  }

  /// `where` and `filter` are one; what asks for the fate is only for metrics that wait for it.
  @Test func whereIsTheFilter() throws {
    let both = try ["where", "filter"].map { try Self.one("metric: loss, \($0): 'a == 1'") }
    #expect(both[0] == both[1] && both[0].filter == "a == 1" && !both[0].filterAsksFate)
    for metric in ["loss", "rtt_p95", "handshakes_refused", "late_answers", "messages"] {
      let rule = try Self.one("metric: \(metric), where: 'fate'")
      #expect(rule.filterAsksFate && rule.lag >= 250_000_000)
    }
    // Messages are waited for until their fate is known.
    #expect(try Self.one("metric: messages, where: 'fate'").lag == 7_000_000_000)
    #expect(try Self.one("metric: messages, where: 'a'").lag == 250_000_000)
    for (text, part) in [
      ("metric: unacked_age, where: 'fate'", "unacked_age is counted before the fate of a message is known"),
      ("metric: crc_error_ratio, where: 'fate'", "is counted before the fate of a message is known"),
      ("metric: loss, where: a, filter: a", "'filter' and 'where' are the same"),
      ("metric: reconnects, where: a", "reconnects is not counted by messages"),
    ] {
      do throws(SourceError) {
        _ = try Self.one(text)
        Issue.record("accepted: \(text)")
      } catch {
        #expect(error.description.contains(part), "\(error.description)")
      }
    }
  }

  @Test func groupsOfRules() throws {
    for (text, grouping) in [
      ("client", .client), ("session", .session), ("type", .type), ("owner", .owner),
      ("network", .network(v4: 24, v6: 64)), ("network/16", .network(v4: 16, v6: 64)),
      ("network/32/128", .network(v4: 32, v6: 128)),
    ] as [(String, AlertGrouping)] {
      let rule = try Self.one("metric: loss, by: \(text)")
      #expect(rule.grouping == grouping && rule.maximumSeries == 1_000, "\(text)")
    }
    #expect(try Self.one("metric: loss, by: client, max_series: 10000").maximumSeries == 10_000)
    #expect(try Self.one("metric: loss").maximumSeries == nil)
    for (text, part) in [
      ("metric: loss, by: server", "'server' is not one of client, session, type, owner, and network"),
      ("metric: loss, by: network/33", "'network/33' is not one of"), ("metric: loss, by: network/0", "is not one of"),
      ("metric: loss, by: network/24/129", "is not one of"), ("metric: loss, by: network/24/64/1", "is not one of"),
      ("metric: loss, by: network/", "is not one of"),
      ("metric: loss, by: client, max_series: 10001", "between 1 and 10000"),
      ("metric: reconnects, by: type", "reconnects is not counted by messages, so not by type"),
      ("metric: loss, scope: connection, by: client", "a connection has one client"),
      ("metric: loss, scope: owner, by: owner", "the scope is owner already"),
      ("metric: capture_drop_ratio, by: client", "the scope capture has no groups"),
      ("metric: loss, by: client, labels: { client: x }", "reserved"),
      ("metric: loss, by: type, labels: { type: x }", "'type' is a label that imdump sets itself, with this 'by'"),
    ] {
      do throws(SourceError) {
        _ = try Self.one(text)
        Issue.record("accepted: \(text)")
      } catch {
        #expect(error.description.contains(part) || part == "reserved", "\(error.description)")
      }
    }
    #expect(try Self.one("metric: loss, by: client, labels: { type: x }").labels.count == 1)
  }

  /// A rule has its own runbook, or the file's.
  @Test func runbooks() throws {
    let head = "runbook: https://example.com/im\n"
    #expect(try Self.one("metric: loss", head: head).runbook == "https://example.com/im")
    #expect(try Self.one("metric: loss, runbook: 'http://other/x'", head: head).runbook == "http://other/x")
    #expect(try Self.one("metric: loss").runbook == nil)
    for bad in ["ftp://x", "example.com", "'https://a b'", "https://" + String(repeating: "x", count: 2_041)] {
      #expect(throws: SourceError.self) { try Self.one("metric: loss, runbook: \(bad)") }
      #expect(throws: SourceError.self) { try Self.one("metric: loss", head: "runbook: \(bad)\n") }
    }
  }

  @Test func aSoundOne() throws {
    let second: Int64 = 1_000_000_000
    var rule = AlertRule(
      name: "lost", metric: try #require(AlertMetric(rawValue: "loss")), scope: .endpoint, window: 60 * second,
      step: 10 * second, comparison: .above,
      threshold: 0.02)
    rule.clear = 0.01
    rule.patience = 90 * second
    rule.keepFiring = 3_600 * second
    rule.minimumSamples = 20
    rule.severity = .page
    rule.labels = [AlertRule.Label(name: "team", value: "im")]
    #expect(try Self.read(Self.lines.joined(separator: "\n")) == [rule])
  }

  @Test(
    arguments: [
      (
        4, "    metric: lost",
        "im.yml:4:13: 'lost' is not one of \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
      ),
      (3, "  - name: Lost", "im.yml:3:11: expected a rule name of 1 to 64 characters a-z, 0-9, - and _"),
      (5, "    scope: host", "im.yml:5:12: 'host' is not one of profile, endpoint, connection, capture and owner"),
      (
        5, "    scope: capture",
        "im.yml:5:12: loss is not counted by capture, but by endpoint, profile, connection and owner"
      ),
      (5, "    profile: xmpp", "im.yml:5:14: no profile 'xmpp'; there are: tjp, mqtt"),
      (12, "    filter: nonsense > 1", "im.yml:12:13: no field 'nonsense'"),
      (6, "    window: 0s", "im.yml:6:13: 0s is not between 1s and 24h"),
      (6, "    window: 25h", "im.yml:6:13: 25h is not between 1s and 24h"),
      (6, "    window: 1d", "im.yml:6:13: '1d' is not a time such as 90s, 2m or 1h"),
      (6, "    window: -1s", "im.yml:6:13: '-1s' is not a time such as 90s, 2m or 1h"),
      (
        6, "    window: 9223372036854775807h", "im.yml:6:13: '9223372036854775807h' is not a time such as 90s, 2m or 1h"
      ),
      (
        6, "    window: 61s",
        "im.yml:6:13: 61s cannot be cut into 60 or fewer equal steps of whole seconds; a multiple of a minute can"
      ),
      (7, "    op: \"!\"", "im.yml:7:9: '!' is not one of >, >=, <, <=, == and absent"),
      (7, "    op: \"<\"", "im.yml:9:12: clear must not be below threshold here"),
      (7, "    op: \"==\"", "im.yml:9:12: clear has no meaning with =="),
      (7, "    op: absent", "im.yml:8:16: absent compares nothing: leave out threshold and clear"),
      (8, "    threshold: 102%", "im.yml:8:16: 102% is not a ratio from 0 to 1, such as 0.02 or 2%"),
      (8, "    threshold: nan", "im.yml:8:16: 'nan' is not a ratio from 0 to 1, such as 0.02 or 2%"),
      (8, "    threshold: -0.1", "im.yml:8:16: '-0.1' is not a ratio from 0 to 1, such as 0.02 or 2%"),
      (8, "    threshold: 1e999", "im.yml:8:16: '1e999' is not a ratio from 0 to 1, such as 0.02 or 2%"),
      (9, "    clear: 3%", "im.yml:9:12: clear must not be above threshold here"),
      (10, "    for: 90", "im.yml:10:10: '90' is not a time such as 90s, 2m or 1h"),
      (12, "    min_samples: 0", "im.yml:12:18: 0 is not between 1 and 1000000000"),
      (13, "    severity: bad", "im.yml:13:15: 'bad' is not one of info, warning, critical and page"),
      (
        14, "    labels: { 1team: im }",
        "im.yml:14:15: expected a label name of 1 to 64 letters, digits and _, not beginning with a digit"
      ),
      (14, "    labels: { severity: im }", "im.yml:14:15: 'severity' is a label that imdump sets itself"),
      (14, "    labels: { team: \"\" }", "im.yml:14:21: expected 1 to 256 bytes in one line"),
      (
        14, "    owner: me",
        "im.yml:14:5: 'owner' is not known here; expected one of: name, summary, metric, scope, profile, window, op, threshold, clear, for, keep_firing, min_samples, severity, labels, status, where, filter, direction, by, max_series, runbook"
      ),
      (1, "version: 2", "im.yml:1:10: 2 is not between 1 and 1"),
    ])
  func aMistakeNamesItsPlace(_ line: Int, _ text: String, _ message: String) {
    var lines = Self.lines
    lines[line - 1] = text
    do throws(SourceError) {
      _ = try Self.read(lines.joined(separator: "\n"))
      Issue.record("'\(text)' was accepted")
    } catch {
      #expect(error.description == message)
    }
  }

  @Test func aFileIsNotTrusted() {
    let rule = "  - { name: r, metric: loss, window: 1m, op: \">\", threshold: 1% }\n"
    let many = (0...256).map { rule.replacing("name: r", with: "name: r\($0)") }.joined()
    let labels = (0...16).map { "l\($0): x" }.joined(separator: ", ")
    for (text, part) in [
      ("version: 1\nrules:\n" + rule + rule, "another rule has the name 'r'"),
      ("version: 1\nrules:\n" + many, "at most 256 rules"),
      ("version: 1\nrules: []\n", "no rules"),
      ("version: 1\nrules: &a [*a]\n", "anchors and aliases are not allowed in a rules file"),
      ("version: 1\nrules: " + String(repeating: "[", count: 100), "a rules file nests at most 32 levels"),
      (String(repeating: "#", count: 300_000), "a rules file has at most 262144 bytes"),
      ("", "the rules file is empty"),
      (
        "version: 1\nrules:\n" + rule.replacing(" }", with: ", labels: { \(labels) } }"), "at most 16 labels"
      ),
    ] {
      do throws(SourceError) {
        _ = try Self.read(text)
        Issue.record("accepted: \(part)")
      } catch {
        #expect(error.description.contains(part))
      }
    }
  }

  @Test(
    arguments: [
      (1, 1), (2, 1), (10, 1), (30, 5), (59, 1), (60, 10), (90, 15), (120, 20), (300, 50), (3_600, 600),
      (86_400, 14_400),
    ])
  func aWindowIsAWholeNumberOfSteps(_ window: Int64, _ step: Int64) {
    #expect(AlertRules.step(seconds: window) == step)
    #expect(window % step == 0)
  }
}
