import Foundation
import IMEngineTestSupport
import IMMetrics
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// A run over time: tables, live lines and JSON, and the head of a live screen.
@Suite struct PeriodOutputTests {
  /// Periods of ten seconds.
  private static func bounds(_ number: Int64) -> (start: Int64, end: Int64) { (number * 10, number * 10 + 10) }

  private static func row(_ fates: [Fate], sent: UInt64? = nil, missing: UInt64 = 0) -> PeriodSeries.Row {
    var row = PeriodSeries.Row()
    for fate in fates {
      let exchange = Exchange(
        told: fate, role: 0, direction: .clientToServer, id: 0, connection: 1, sentAt: Timestamp(milliseconds: 1),
        decidedAt: Timestamp(milliseconds: 21), copies: 1)
      row.metrics.resolved(exchange, role: .message, elsewhere: false)
    }
    (row.sent, row.missingBytes) = (sent ?? UInt64(fates.count), missing)
    return row
  }

  private static func writer(isJSON: Bool = false, isLive: Bool = false, width: Int? = nil) -> PeriodWriter {
    PeriodWriter(isJSON: isJSON, isLive: isLive, hasChecksums: false, zone: .utc, width: width, bounds: bounds)
  }

  @Test func table() {
    var writer = Self.writer()
    var out = ByteWriter()
    writer.write(0, Self.row([.acked, .acked, .acked, .unanswered]), to: &out)
    // Followed by a minute and a half without packets.
    writer.write(10, Self.row([.rejected], sent: 3, missing: 1_234), to: &out)
    writer.write(others: Self.row([.acked]), to: &out)
    #expect(out.count == 0)
    writer.finish(to: &out)
    let text = out.text
    #expect(text.contains("\n1 min 30 s of silence\n"))
    let lines = text.split(separator: "\n")
    #expect(lines[0].hasPrefix("from UTC "))
    #expect(lines.count == 5 && lines[1].hasPrefix("1970-01-01 00:00:00") && lines[3].hasPrefix("1970-01-01 00:01:40"))
    #expect(lines[4].hasPrefix("later"))
    let first = lines[1].split(separator: " ").map(String.init)
    // Messages, success, loss, pending, retries, rejected.
    #expect(Array(first[2...9]) == ["4", "75.00", "%", "25.00", "%", "0", "0", "0"])
    let second = lines[3].split(separator: " ").map(String.init)
    #expect(Array(second[2...9]) == ["3", "0.00", "%", "0.00", "%", "2", "0", "1"] && second.contains("1,234"))
  }

  /// Live lines repeat the header every twenty lines, and continue on further lines if the terminal is narrow.
  @Test(arguments: [nil, 80, 40] as [Int?]) func live(_ width: Int?) {
    var writer = Self.writer(isLive: true, width: width)
    var out = ByteWriter()
    for number in 0..<45 as Range<Int64> { writer.write(number, Self.row([.acked]), to: &out) }
    let lines = out.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    #expect(lines.filter { $0.hasPrefix("from UTC ") }.count == 3 && lines.filter { $0.hasPrefix("1970-") }.count == 45)
    if let width {
      #expect(lines.allSatisfy { IMTerminal.cells($0) <= width })
    } else {
      #expect(lines.count == 48)
    }
    // Columns about connections are known only when connections end, so that live lines have none.
    #expect(!out.text.contains("opened") && !out.text.contains("reset") && !out.text.contains("failed"))
    let before = out.count
    writer.finish(to: &out)
    #expect(out.count == before)
  }

  @Test(arguments: [false, true]) func json(_ isLive: Bool) throws {
    var writer = Self.writer(isJSON: true, isLive: isLive)
    var out = ByteWriter()
    writer.write(6, Self.row([.acked, .damaged, .unacknowledged], missing: 7), to: &out)
    writer.write(-4, Self.row([]), to: &out)
    writer.write(others: Self.row([.acked], sent: 9), to: &out)
    writer.finish(to: &out)
    let objects = try out.text.split(separator: "\n").map { line in
      Document(try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]))
    }
    #expect(objects.count == 3)
    #expect(objects[0].number("start_us") == 60_000_000 && objects[0].number("end_us") == 70_000_000)
    #expect(objects[0].text("time") == "1970-01-01T00:01:00.000000Z" && objects[0].number("missing_bytes") == 7)
    #expect(objects[0].number("sent") == 3 && objects[0].number("open") == 0)
    #expect(objects[0].number("messages.client_to_server.units") == 2)
    #expect(objects[0].number("messages.client_to_server.damaged") == 1 && objects[0].number("ratio.success") == 0.5)
    #expect(objects[0].number("rtt.count") == 1 && objects[0].number("rtt.max_ms") == 20)
    #expect(objects[0]["rtt.server_to_client"] == nil && objects[0]["others"] == nil)
    #expect((objects[0]["connections"] == nil) == isLive)
    // The start of a period before 1970 is written as 0; without messages the ratio is absent, not 0.
    #expect(objects[1].number("start_us") == 0 && objects[1]["ratio"] == nil && objects[1]["rtt"] == nil)
    #expect(objects[2].flag("others") == true && objects[2]["start_us"] == nil && objects[2].number("open") == 8)
  }

  /// The last minute next to the whole run: in two blocks on a wide terminal, else in one.
  @Test func lastMinute() {
    let writer = LivePeriodsWriter(hasChecksums: false)
    func lines(_ width: Int) -> [String] {
      writer.lines(
        minute: Self.row([.acked, .unanswered]), whole: Self.row([.acked, .acked, .acked, .unanswered]),
        total: EndpointMetrics(), width: width)
    }
    let (narrow, wide) = (lines(50), lines(200))
    #expect(wide.count == (narrow.count + 2) / 2 && wide.allSatisfy { IMTerminal.cells($0) <= 200 })
    #expect(
      narrow[0].split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) } == [
        "last minute", "since start",
      ])
    func row(_ title: String) -> [String]? {
      narrow.first { $0.hasPrefix(title) }.map { $0.dropFirst(title.count).split(separator: " ").map(String.init) }
    }
    #expect(row("messages") == ["2", "4"] && row("success") == ["50.00", "%", "75.00", "%"])
    #expect(row("loss") == ["50.00", "%", "25.00", "%"] && row("lost") == ["1", "1"])
    // Every row of the narrow layout is in the wide one.
    for line in narrow.dropFirst() {
      let title = line.prefix { $0 != " " }
      #expect(wide.contains { $0.contains(title) }, "\(title)")
    }
  }

  @Test func clientsWithProblems() {
    let writer = LivePeriodsWriter(hasChecksums: false)
    #expect(writer.lines(clients: [], width: 80).isEmpty)
    func client(_ name: String, _ lost: UInt64, _ rejected: UInt64, _ retries: UInt64) -> ClientProblems {
      var client = ClientProblems(name: name)
      (client.lost, client.rejected, client.retries) = (lost, rejected, retries)
      return client
    }
    let clients = [client("b", 1, 0, 5), client("a", 0, 1, 5), client("c", 0, 2, 0), client("d", 0, 0, 9)]
    let sorted = clients.sorted { $0.isWorse(than: $1) }
    #expect(sorted.map(\.name) == ["c", "a", "b", "d"])
    let lines = writer.lines(clients: [client("192.0.2.1", 1_234, 0, 7)], width: 80)
    #expect(lines.count == 2 && lines[1].split(separator: " ").map(String.init) == ["192.0.2.1", "1,234", "0", "7"])
  }
}

/// Two captures compared side by side.
@Suite struct ComparisonOutputTests {
  private static func figure(
    _ name: String, _ unit: ComparedMetric.Unit, _ old: Double?, _ new: Double?, _ differs: Bool? = false
  ) -> ComparedMetric { ComparedMetric(name: name, unit: unit, old: old, new: new, differs: differs) }

  private static let cases: [(figure: ComparedMetric, cells: [String])] = [
    (figure("loss", .ratio, 0.01, 0.025), ["1.00 %", "2.50 %", "+1.50 pp"]),
    (figure("success", .ratio, 1, 0.9929), ["100.00 %", "99.29 %", "-0.71 pp"]),
    (figure("loss", .ratio, 0, 0.000_001), ["0.00 %", "0.01 %", "+0.01 pp"]),
    (figure("rtt_p50", .milliseconds, 40, 45), ["40.000 ms", "45.000 ms", "+12.5 %"]),
    (figure("rtt_p50", .milliseconds, 40, 40), ["40.000 ms", "40.000 ms", ""]),
    (figure("rtt_p50", .milliseconds, 0, 40), ["0.000 ms", "40.000 ms", ""]),
    (figure("rtt_p50", .milliseconds, nil, 0.0125), ["-", "0.013 ms", ""]),
    (figure("messages", .count, 2_000, 1_000), ["2,000", "1,000", "-50.0 %"]),
    (figure("messages", .count, 5, nil), ["5", "-", ""]),
  ]

  @Test func cells() {
    for (figure, expected) in Self.cases {
      let cells = ComparisonWriter().cells(figure)
      #expect([cells.old, cells.new, cells.change] == expected, "\(figure.name)")
    }
    #expect(
      ComparisonWriter.sentence(Self.figure("rtt_p99[c2s]", .milliseconds, 40, 61, true))
        == "rtt_p99[c2s] 61.000 ms, was 40.000 ms (+52.5 %), significant (p < 0.001)")
  }

  @Test func verdictOfATable() {
    func last(_ differs: [Bool?]) -> String? {
      var out = ByteWriter()
      ComparisonWriter().table(
        [(nil, differs.map { Self.figure("loss", .ratio, 0, 0.1, $0) })], width: nil, to: &out)
      return out.text.split(separator: "\n").last.map(String.init)
    }
    #expect(last([false, true, nil])?.hasPrefix("* significant (p < 0.001)") == true)
    #expect(last([false, nil]) == "no significant difference (p < 0.001)")
    #expect(last([nil])?.hasPrefix("too few connections for a significance test") == true)
  }

  /// Tables and JSON contain the same metrics; a metric unknown in both captures is in neither.
  @Test func json() throws {
    let groups: [ComparisonWriter.Group] = [
      (nil, [Self.figure("loss", .ratio, 0.1, 0.2, true), Self.figure("retry", .ratio, nil, nil, nil)]),
      (
        "192.0.2.1:80 \"x\"\n",
        [Self.figure("messages", .count, 5, 9), Self.figure("rtt_p50", .milliseconds, nil, 1.5, nil)]
      ),
    ]
    var out = ByteWriter()
    ComparisonWriter().json(groups, failed: ["loss>+5%"], to: &out)
    let object = Document(
      try #require(try JSONSerialization.jsonObject(with: Data(out.text.utf8)) as? [String: Any]))
    let figures = try #require(object["figures"] as? [[String: Any]]).map { Document($0) }
    #expect(figures.map { $0.text("name") } == ["loss"] && figures[0].number("change") == 0.1)
    #expect(figures[0].number("old") == 0.1 && figures[0].flag("more_than_chance") == true)
    let server = Document(try #require((object["servers"] as? [[String: Any]])?.first))
    #expect(server.text("server") == "192.0.2.1:80 \"x\"\n")
    let others = try #require(server["figures"] as? [[String: Any]]).map { Document($0) }
    #expect(others.map { $0.text("unit") } == ["count", "milliseconds"] && others[0].number("change") == 4)
    #expect(others[1]["old"] == nil && others[1]["change"] == nil && others[1]["more_than_chance"] == nil)
    #expect(object["failed"] as? [String] == ["loss>+5%"])
  }

  @Test func conditions() throws {
    let figures = [
      Self.figure("rtt_p99[c2s]", .milliseconds, 40, 61), Self.figure("rtt_p99[s2c]", .milliseconds, 40, 41),
      Self.figure("success", .ratio, 1, 0.5), Self.figure("loss", .ratio, nil, nil),
    ]
    let conditions = try ["rtt_p99>+10%", "success<99%", "loss>1%", "messages<5"].map {
      try #require(FailCondition($0))
    }
    #expect(
      ComparisonWriter.failures(conditions, in: figures) == [
        "--fail-on rtt_p99>+10% holds: rtt_p99[c2s] 61.000 ms, was 40.000 ms (+52.5 %)",
        "--fail-on success<99% holds: success is 50.00 %",
      ])
    #expect(
      ComparisonWriter.unknown(conditions, in: figures) == [
        "--fail-on loss>1% cannot be evaluated: loss is not known",
        "--fail-on messages<5 cannot be evaluated: messages is not known",
      ])
  }
}
