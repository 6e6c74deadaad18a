import Foundation
import IMTestSupport
import Testing

/// `imdump diff` against `imdump stats` of each capture.
@Suite struct DiffTests {
  private static func object(_ arguments: [String]) throws -> [String: Any] {
    let run = try Command.run(arguments)
    return try #require(
      try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any], "\(run.errors)")
  }

  private static func value(_ object: [String: Any], _ path: String) -> Double? {
    let found = path.split(separator: ".").reduce(object as Any?) { ($0 as? [String: Any])?[String($1)] }
    return (found as? NSNumber)?.doubleValue
  }

  @Test func figuresAreThoseOfStats() throws {
    let (old, new) = ("Samples/tjp-clean-chat.pcap", "Samples/tjp-weak-network.pcap")
    let diff = try Self.object(["diff", old, new, "--json"])
    let sides = try [old, new].map { try Self.object(["stats", "--json", "-q", $0]) }
    let figures = try #require(diff["figures"] as? [[String: Any]])
    let places = [
      "success": ("total.success", 1.0), "loss": ("total.loss", 1), "retry": ("total.retry", 1),
      "rtt_p50[c2s]": ("total.rtt_us.client_to_server.p50", 1_000),
      "rtt_p99[s2c]": ("total.rtt_us.server_to_client.p99", 1_000),
      "round_trips[c2s]": ("total.rtt_us.client_to_server.count", 1), "messages": ("total.messages.units", 1),
    ]
    for (name, (place, scale)) in places {
      let figure = try #require(figures.first { $0["name"] as? String == name }, "\(name)")
      for (side, key) in zip(sides, ["old", "new"]) {
        let expected = try #require(Self.value(side, place), "\(place)")
        let found = try #require((figure[key] as? NSNumber)?.doubleValue, "\(name) \(key)")
        #expect(abs(found - expected / scale) < 0.00001, "\(name) \(key)")
      }
    }
  }

  /// A gate that has nothing to judge does not open, and says what it could not judge.
  @Test(arguments: ["diff Samples/tjp-clean-chat.pcap", "why"]) func nothingToJudge(_ command: String) throws {
    let words = command.split(separator: " ").map(String.init)
    let run = try Command.run(words + ["Samples/cmpp-gateway.pcap", "--fail-on", "success<99%"])
    #expect(run.status == 1 && run.errors.contains("--fail-on success<99% cannot be evaluated: success is not known\n"))
    // What was decoded has no heartbeats: that is said, and nothing is wrong with it.
    let some = try Command.run(
      words + ["Samples/tjp-clean-chat.pcap", "--fail-on", "loss>0%", "--fail-on", "heartbeat_loss>99%"])
    #expect(some.status == 0, "\(some.errors)")
  }

  /// A document for each figure of the JSON, with its numbers; the conditions that hold, with theirs.
  @Test func documentsHaveTheFigures() throws {
    let (old, new) = ("Samples/tjp-clean-chat.pcap", "Samples/tjp-weak-network.pcap")
    let diff = try Self.object(["diff", old, new, "--json"])
    let figures = try #require(diff["figures"] as? [[String: Any]])
    let run = try Command.run(["diff", old, new, "--format", "ecs", "--fail-on", "loss>1%"])
    #expect(run.status == 2)
    let documents = try run.output.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
    let told = try documents.map { document -> [String: Any] in
      #expect((document["data_stream"] as? [String: Any])?["dataset"] as? String == "imdump.comparison")
      let own = try #require(document["imdump"] as? [String: Any])
      return try #require(own["comparison"] as? [String: Any])
    }
    #expect(told.count == figures.count)
    for (document, figure) in zip(told, figures) {
      #expect(document["figure"] as? String == figure["name"] as? String)
      for key in ["old", "new", "change"] { #expect(document[key] as? Double == figure[key] as? Double, "\(figure)") }
      #expect(document["more_than_chance"] as? Bool == figure["more_than_chance"] as? Bool)
      #expect(document["failed"] as? [String] == (figure["name"] as? String == "loss" ? ["loss>1%"] : nil))
    }
    let again = try Command.run(["diff", old, new, "--format", "ecs", "--fail-on", "loss>1%"])
    #expect(again.output == run.output)
  }

  @Test func theStatusTells() throws {
    let (old, new) = ("Samples/tjp-clean-chat.pcap", "Samples/tjp-weak-network.pcap")
    #expect(try Command.run(["diff", old, new]).status == 0)
    let failed = try Command.run(["diff", old, new, "--fail-on", "rtt_p99>+10%", "--fail-on", "loss>5%"])
    // From 11.564 ms and 20.360 ms: the figures of stats, by hand.
    let lines = [
      "rtt_p99[c2s] 2914.567 ms, was 11.564 ms (+25103.8 %)", "rtt_p99[s2c] 516.442 ms, was 20.360 ms (+2436.6 %)",
    ]
    #expect(failed.status == 2)
    #expect(failed.errors == lines.map { "imdump: --fail-on rtt_p99>+10% holds: \($0)\n" }.joined())
    let same = try Command.run(["diff", old, old, "--fail-on", "rtt_p99>+0%"])
    #expect(same.status == 0 && same.output.hasSuffix("each capture needs about eight\n"))
    #expect(try Command.run(["diff", old, new, "--fail-on", "speed>1"]).status == 64)
    // 3 may be meant for 3 %.
    #expect(try Command.run(["diff", old, new, "--fail-on", "loss>3"]).status == 64)
    #expect(try Command.run(["diff", old, new, "--fail-on", "loss>0.03"]).status == 2)
    #expect(try Command.run(["diff", old, "Samples/none.pcap"]).status == 66)
    #expect(try Command.run(["diff", old]).status == 64)
    #expect(try Command.run(["diff", "-", "-"]).status == 64)
  }

  /// A server that both captures have stands by itself where there are several.
  @Test func serversStandByThemselves() throws {
    let path = "Samples/mqtt-websocket.pcap"
    let servers = try Self.object(["stats", "--json", "-q", path])["servers"] as? [[String: Any]] ?? []
    let diff = try Self.object(["diff", path, path, "--json"])
    let found = (diff["servers"] as? [[String: Any]] ?? []).compactMap { $0["server"] as? String }
    #expect(found.count == (servers.count > 1 ? servers.count : 0))
  }
}
