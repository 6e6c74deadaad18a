import Foundation
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
}
