import Foundation
import IMAlerts
import IMDocuments
import IMProfile
import IMWire
import Testing

@testable import IMOutput

/// Minutes that end while a core is at work.
@Suite struct PeerReportTests {
  /// Events never ask for the core's counters, which they may be about to change; and what came in a minute stands in it.
  @Test func countersAreReadBetweenEvents() throws {
    var written: [[String: Any]] = []
    var isAtWork = false
    let server = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 8080)
    let context = ECSContext(
      run: RunIdentity(random: 1, 2), sensor: "lab", mode: .live, version: "1.0", product: "impeer")
    let report = PeerReport(
      .server, server: server, plan: try BuiltInProfiles.plan("tjp"), rules: [], context: context,
      write: { bytes in
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
          written.append((try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]) ?? [:])
        }
      }, tell: { _ in })
    var bytes = 0.0
    report.counted = {
      #expect(!isAtWork)
      return ["bytes_received": bytes]
    }
    func event(_ count: Int, at second: Int64) {
      isAtWork = true
      bytes += Double(count)
      report.passed(count, .clientToServer, at: Timestamp(seconds: second, fraction: 0))
      isAtWork = false
    }
    for second in stride(from: Int64(30), to: 200, by: 10) {
      event(100, at: second)
      if second % 20 == 0 { report.advance(to: Timestamp(seconds: second, fraction: 0)) }
    }
    report.finish(at: Timestamp(seconds: 200, fraction: 0))
    func figure(_ document: [String: Any], _ path: String) -> Int {
      path.split(separator: ".").reduce(document as Any?) { ($0 as? [String: Any])?[String($1)] } as? Int ?? 0
    }
    // Seconds 30 to 50, 60 to 110, 120 to 170 and the rest.
    #expect(written.map { figure($0, "imdump.summary.bytes.client_to_server") } == [300, 600, 600, 200])
    #expect(written.map { figure($0, "imdump.peer.bytes_received") }.reduce(0, +) == 1_700)
  }

  /// An alert that fires when an endpoint ends continues in the next run, which resumes from the state file, and is resolved there.
  @Test func anAlertOutlivesTheRun() throws {
    let text =
      "version: 1\nrules:\n  - { name: lost, metric: loss, window: 60s, op: '>', threshold: 0.2, min_samples: 3 }\n"
    let rules = try AlertRules(text, source: "r", profiles: ["tjp"]).rules
    let server = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 8080)
    let client = Endpoint(address: IPAddress(v4: 0xc000_0202), port: 40_000)
    func at(_ second: Int64) -> Timestamp { Timestamp(seconds: 1_700_000_000 + second, fraction: 0) }
    /// The alerts of a run that sends a message every ten seconds, and the state that it saves.
    func run(
      _ seconds: Range<Int64>, isAnswered: Bool, from kept: AlertSnapshot?
    ) throws -> (told: [String], firing: Int, kept: AlertSnapshot) {
      var told: [String] = []
      let context = ECSContext(
        run: RunIdentity(random: 1, UInt64(seconds.lowerBound)), sensor: "lab", mode: .live, version: "1.0",
        product: "impeer")
      let report = PeerReport(
        .client, server: server, plan: try BuiltInProfiles.plan("tjp"), rules: rules, context: context,
        write: { _ in }, tell: { told.append("\($0.state) \($0.id)") })
      if let kept {
        let changes = report.resume(kept, rules: rules, at: at(seconds.lowerBound))
        #expect(changes.kept == 1)
      }
      let firing = report.firing.count
      report.opened(1, from: client, wasAsked: true, at: at(seconds.lowerBound))
      for second in stride(from: seconds.lowerBound, to: seconds.upperBound, by: 10) {
        let id = report.sent(by: 1, at: at(second))
        report.resolved(id, by: 1, isAnswered: isAnswered, copies: 1, sentAt: at(second), at: at(second + 6))
        report.advance(to: at(second + 9))
      }
      report.finish(at: at(seconds.upperBound), keepsState: true)
      let bytes = try #require(report.snapshot(text: text)?.bytes)
      return (told, firing, try AlertSnapshot(bytes, maximumSeries: 10))
    }
    let first = try run(0..<300, isAnswered: false, from: nil)
    #expect(first.told.count == 1 && first.told.first?.hasPrefix("firing ") == true)
    let second = try run(310..<400, isAnswered: false, from: first.kept)
    #expect(second.told == [] && second.firing == 1)
    let third = try run(410..<900, isAnswered: true, from: second.kept)
    #expect(third.firing == 1)
    #expect(third.told == first.told.map { $0.replacingOccurrences(of: "firing", with: "resolved") })
    #expect(try run(910..<1_000, isAnswered: true, from: third.kept).firing == 0)
  }
}
