import Foundation
import IMDocuments
import IMTestSupport
import Testing

@testable import IMOutput

/// What an end tells of itself: documents whose fields are declared and whose figures are those of its summary, and alerts.
@Suite struct ReportTests {
  private static let rules = """
    version: 1
    rules:
      - {name: slow, metric: rtt_p50, scope: endpoint, window: 6s, op: ">", threshold: 100ms}
      - {name: lost, metric: loss, scope: profile, window: 6s, op: ">", threshold: 1%}
    """

  private typealias Object = [String: Any]

  private static func documents(_ url: URL) throws -> [Object] {
    try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map {
      try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? Object)
    }
  }

  /// The dotted names of everything in an object, except what stands in fields that hold objects themselves.
  private static func names(_ object: Object, _ prefix: String, _ whole: Set<String>) -> [String] {
    object.flatMap { key, value in
      let name = prefix.isEmpty ? key : prefix + "." + key
      guard let inner = value as? Object, !whole.contains(name) else { return [name] }
      return names(inner, name, whole)
    }
  }

  private static func value(_ object: Object, _ path: String) -> Any? {
    path.split(separator: ".").reduce(object as Any?) { ($0 as? Object)?[String($1)] }
  }

  /// A state that cannot be saved ends the run before it begins, with an error message that names this program.
  @Test func aStateThatCannotBeKeptIsToldAtOnce() throws {
    try Peer.withScratch { scratch in
      let rules = scratch.appending(path: "rules.yml")
      try Self.rules.write(to: rules, atomically: true, encoding: .utf8)
      // No user, not even root, can make a file there.
      let result = try Peer.run(["load", "--rules", rules.path(), "--state", "/sys/state"])
      #expect(result.status == 64 && result.output == "")
      #expect(result.errors.hasPrefix("impeer: /sys/state: cannot "), "\(result.errors)")
      #expect(!result.errors.contains("-Z"))
    }
  }

  @Test(.enabled(if: loopbackIsUp)) func aLoadThroughASlowServer() throws {
    try Peer.withScratch { scratch in
      let rules = scratch.appending(path: "rules.yml")
      try Self.rules.write(to: rules, atomically: true, encoding: .utf8)
      let (mine, theirs) = (scratch.appending(path: "client.ndjson"), scratch.appending(path: "server.ndjson"))
      let load = try Peer.withServer(["--echo", "--fault", "slow=200", "--ecs", theirs.path()]) { port in
        try Peer.run([
          "load", "--port", port, "--connections", "2", "--rate", "10", "--duration", "3", "--json", "-q", "--ecs",
          mine.path(), "--rules", rules.path(), "--sensor", "lab", "--hook", "/bin/true",
        ])
      }
      #expect(load.errors == "")
      #expect(load.status == 2, "an alert has fired")
      let summary = try #require(JSONSerialization.jsonObject(with: Data(load.output.utf8)) as? Object)
      let sent = try #require(summary["sent"] as? Int)
      #expect(sent == 30 && summary["delivered"] as? Int == sent)

      let (client, other) = (try Self.documents(mine), try Self.documents(theirs))
      let fields = Dictionary(uniqueKeysWithValues: ECSFields.all.map { ($0.name, $0) })
      let whole = Set(ECSFields.all.filter { [.flattened, .object, .histogram].contains($0.kind) }.map(\.name))
      var found: Set<String> = []
      for document in client + other {
        let dataset = Self.value(document, "data_stream.dataset") as? String
        for name in Self.names(document, "", whole) {
          let field = try #require(fields[name], "\(name) is not declared")
          #expect(field.datasets.contains { $0.name == dataset }, "\(name) is not one of \(dataset ?? "")")
          found.insert(name)
        }
      }
      let declared = Set(fields.keys.filter { $0.hasPrefix("imdump.peer.") })
      // A run this short has no heartbeat.
      #expect(declared.subtracting(found) == ["imdump.peer.heartbeat_rtt_ms", "imdump.peer.heartbeat_interval_ms"])
      func sum(_ documents: [Object], _ path: String) -> Int {
        documents.reduce(0) { $0 + (Self.value($1, path) as? Int ?? 0) }
      }
      // Minutes add up to what the summary says.
      #expect(sum(client, "imdump.summary.messages.client_to_server.units") == sent)
      #expect(sum(client, "imdump.peer.message_send_total") == sent)
      #expect(sum(client, "imdump.peer.message_acked_total") == sent)
      #expect(sum(client, "imdump.summary.connections.succeeded") == summary["connections"] as? Int)
      let bytes = sum(client, "imdump.peer.bytes_send") + sum(client, "imdump.peer.bytes_received")
      #expect(bytes == summary["wire_bytes"] as? Int)
      // What one end has written the other has read.
      #expect(
        sum(other, "imdump.summary.bytes.client_to_server") == sum(client, "imdump.summary.bytes.client_to_server"))
      #expect(sum(other, "imdump.summary.messages.server_to_client.units") == sent)
      for document in client where Self.value(document, "imdump.summary.rtt.p50_ms") != nil {
        #expect(try #require(Self.value(document, "imdump.summary.rtt.p50_ms") as? Double) >= 200)
      }
      let alerts = client.filter { $0["rule"] != nil }
      #expect(!alerts.isEmpty && alerts.allSatisfy { Self.value($0, "rule.id") as? String == "slow" })
      // What fired is resolved when the run ends.
      func told(_ state: String) -> Set<String> {
        Set(
          alerts.filter { Self.value($0, "imdump.alert.state") as? String == state }
            .compactMap { Self.value($0, "imdump.alert.id") as? String })
      }
      #expect(!told("firing").isEmpty && told("firing") == told("resolved"))
      for document in client {
        #expect(Self.value(document, "observer.product") as? String == "impeer")
        #expect(Self.value(document, "observer.name") as? String == "lab")
      }
    }
  }

  @Test(.enabled(if: loopbackIsUp)) func aLoadWithoutAServerSaysSo() throws {
    let port = try Peer.withServer(["--sink"]) { $0 }
    let load = try Peer.run(["load", "--port", port, "--rate", "5", "--duration", "0.5", "--drain", "0.1", "-q"])
    #expect(load.status == 69)
    #expect(load.errors == "impeer: no connection to 127.0.0.1:\(port): refused\n")
  }
}
