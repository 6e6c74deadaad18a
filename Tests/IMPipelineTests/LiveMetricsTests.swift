import Foundation
import IMEngine
import IMMetrics
import IMTestSupport
import Testing

@testable import IMPipeline
@testable import IMRun

/// The head of `imdump stats -i`, against the truth of a capture.
@Suite struct LiveMetricsTests {
  private struct Message {
    let sentAt: Int64, isLost: Bool, client: String
  }

  /// The messages of a sample, by its truth, and how many retries there were.
  private func messages(_ sample: String) throws -> ([Message], retries: Int) {
    let truth = try JSONSerialization.jsonObject(with: Data(try Samples.bytes("\(sample).truth.json")))
    let all = try #require((truth as? [String: Any])?["messages"] as? [[String: Any]])
    let connections = try #require((truth as? [String: Any])?["connections"] as? [[String: Any]])
    let data = all.filter { $0["type"] as? String == "data" }
    let messages = try data.map { message in
      let first = try #require((message["ts"] as? [Any])?.first as? NSNumber)
      let fate = try #require(message["fate"] as? String)
      let connection = try #require(message["conn"] as? Int)
      let client = try #require(connections[connection]["client"] as? String)
      return Message(
        sentAt: first.int64Value / 1_000_000, isLost: ["unanswered", "damaged"].contains(fate),
        client: String(client.split(separator: " ")[0]))
    }
    return (messages, data.reduce(0) { $0 + ($1["retries"] as? Int ?? 0) })
  }

  /// The two values beside a name, in one block or in the second one.
  private func values(_ name: String, in lines: [String]) throws -> [String] {
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      for place in words.indices where words[place] == name && place + 2 < words.count {
        return Array(words[place + 1...place + 2])
      }
    }
    Issue.record("no \(name) in \(lines)")
    return []
  }

  /// Whatever was asked for before, and however late it is asked.
  @Test(arguments: [80, 40, 200]) func theLastMinuteAndTheWholeRun(width: Int) throws {
    let sample = "tjp-weak-network.pcap"
    let (all, retries) = try messages(sample)
    let plans = try loadProfiles(["tjp"])
    let sink = LiveMetrics(plans: plans)
    var options = EngineOptions(plans: plans)
    options.needs = LiveMetrics.needs
    var engine = Engine(options: options, sink: sink)
    let packets = try Samples.packets(sample)
    for half in [packets[..<(packets.count / 2)], packets[(packets.count / 2)...]] {
      let batch = CaptureBuilder(Array(half)).batch()
      engine.process(batch.bytes.span.bytes, batch.records.span)
      _ = sink.lines(at: 0, EndpointMetrics(), width: width)
    }
    engine.finish()
    let last = try #require(all.map(\.sentAt).max())
    for later in [0, 30, 45, 60, 1_000] as [Int64] {
      let now = last + later
      let lines = sink.lines(at: now, EndpointMetrics(), width: width)
      if width == 80 { #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)") }
      let window = (now / 5 - 11) * 5..<(now / 5 + 1) * 5
      let recent = all.filter { window.contains($0.sentAt) }
      #expect(try values("messages", in: lines) == ["\(recent.count)", "\(all.count)"])
      #expect(try values("retries", in: lines)[1] == "\(retries)")
      let lost = [recent, all].map { "\($0.count { $0.isLost })" }
      #expect(try values("lost", in: lines) == lost)
      // The clients with losses; on a narrow terminal in several blocks.
      guard width >= 80 else { continue }
      let head = try #require(lines.firstIndex { $0.hasPrefix("clients with the most problems") })
      var losses: [String: Int] = [:]
      for message in all where message.isLost { losses[message.client, default: 0] += 1 }
      var told: [String: Int] = [:]
      for line in lines[(head + 1)...] {
        let words = line.split(separator: " ").map(String.init)
        if let count = Int(words[1]), count > 0 { told[words[0]] = count }
      }
      #expect(told == losses)
    }
  }
}
