import Foundation
import IMEngine
import IMMetrics
import IMTestSupport
import Testing

@testable import IMPipeline
@testable import IMRun

@Suite("What stats counts is what a capture's truth says")
struct StatsTruthTests {
  /// What `imdump stats` counts of a sample, and the counters of its truth.
  private func run(_ sample: String) throws -> (StatsSink, [String: Any]) {
    let plans = try loadProfiles(["tjp"])
    let sink = StatsSink(plans: plans)
    var options = EngineOptions(plans: plans)
    options.needs = [.connections, .resolutions, .lateReports]
    var engine = Engine(options: options, sink: sink)
    let batch = CaptureBuilder(try Samples.packets(sample)).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    let truth = try JSONSerialization.jsonObject(with: Data(try Samples.bytes("\(sample).truth.json")))
    return (sink, truth as? [String: Any] ?? [:])
  }

  @Test("the total and the one server agree with the truth")
  func truth() throws {
    let (stats, truth) = try run("tjp-weak-network.pcap")
    let counters = truth["counters"] as? [String: Int] ?? [:]
    let messages = (truth["messages"] as? [[String: Any]] ?? [])
    try #require(stats.endpoints.count == 1)
    for figures in [stats.total, stats.endpoints[0]] {
      for fate in [Fate.acked, .ackedAfterRetry, .unanswered, .damaged, .pending] {
        let expected = messages.filter { $0["type"] as? String == "data" && $0["fate"] as? String == fate.name }.count
        #expect(count(figures.messages.both, fate) == expected, "\(fate.name)")
      }
      #expect(figures.connections.attempts == UInt64(counters["connection_attempts"] ?? -1))
      #expect(figures.connections.succeeded == UInt64(counters["connection_success"] ?? -1))
      #expect(figures.connections.refused == 1)
      #expect(figures.connections.timedOut == 1)
      #expect(figures.heartbeats.sent == UInt64(counters["units_heartbeat"] ?? -1))
      #expect(figures.heartbeats.answered == UInt64(counters["acked_heartbeat"] ?? -1))
      #expect(figures.heartbeats.missed == 1)
      let counts = figures.counts
      let duplicates = messages.compactMap { $0["dup_after_ack"] as? Int }.reduce(0, +)
      #expect(counts[.duplicates] == UInt64(duplicates))
      let copies = messages.compactMap { ($0["ts"] as? [Int])?.count }.reduce(0) { $0 + $1 - 1 }
      #expect(counts[.deliberateCopies] + counts[.immediateDuplicates] + counts[.duplicates] == UInt64(copies))
      let retries = messages.filter { $0["type"] as? String == "data" }.compactMap { $0["retries"] as? Int }
      #expect(counts[.retries] == UInt64(retries.reduce(0, +)))
      #expect(counts[.deliberateCopies] == UInt64(counters["retries"] ?? -1))
      #expect(counts[.rightBigEndian] == UInt64(counters["crc_be"] ?? -1))
      #expect(counts[.rightLittleEndian] == UInt64(counters["crc_le"] ?? -1))
      #expect(counts[.repeatedAnswers] == UInt64(counters["dup_acks"] ?? -1))
      // Karn's rule: a message has a round trip when no copy of it came before its answer.
      let clean = messages.filter {
        ($0["acks"] as? [Int])?.isEmpty == false && $0["retries"] as? Int == 0 && $0["type"] as? String != "heartbeat"
      }
      let samples = clean.compactMap { ($0["rtt_us"] as? NSNumber)?.int64Value }
      #expect(figures.roundTrips.count == UInt64(samples.count))
      #expect(figures.roundTrips.sum == samples.reduce(0, +))
      let median = Double(samples.sorted()[(samples.count + 1) / 2 - 1])
      #expect(abs(Double(figures.roundTrips.percentile(50) ?? 0) - median) <= median * 0.001)
    }
  }

  private func count(_ counts: FateCounts, _ fate: Fate) -> Int {
    switch fate {
    case .acked: Int(counts.acked)
    case .ackedAfterRetry: Int(counts.ackedAfterRetry)
    case .rejected: Int(counts.rejected)
    case .unanswered: Int(counts.unanswered)
    case .damaged: Int(counts.damaged)
    case .pending: Int(counts.pending)
    case .unknown: Int(counts.unknown)
    case .unacknowledged: 0
    }
  }
}
