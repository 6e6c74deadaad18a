import Foundation
import IMEndpoint
import Testing

@testable import impeer

/// What a running server says of itself.
@Suite struct StatusTests {
  private static func object(_ text: String) throws -> [String: Int] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Int])
  }

  @Test func aServerSaysWhatItHolds() throws {
    try Peer.withScratch { folder in
      let file = folder.appending(path: "impeer.prom")
      let options = ["--mailbox", "3:1m", "--metrics", file.path, "--store", folder.path, "--store-sync", "normal"]
      try Peer.withServer(options) { port in
        let before = try Self.object(Peer.run(["status", port, "--json"]).output)
        #expect(Set(before.keys) == Set(ServerSnapshot().figures.map(\.name)))
        #expect(before["letters"] == 0 && before["user_letters_limit"] == 3 && before["store"] == 1)
        // Bob is away: three letters wait, and two are refused.
        let file = folder.appending(path: "lines")
        try Data("1\n2\n3\n4\n5\n".utf8).write(to: file)
        let chat = try Peer.run(
          ["-c", "exec \(Peer.path) chat --name ann --to bob --port \(port) < \(file.path)"], program: "/bin/sh")
        #expect(chat.output.components(separatedBy: "[accepted]").count == 4, "\(chat.output)\(chat.errors)")
        let after = try Self.object(Peer.run(["status", port, "--json"]).output)
        #expect(after["letters"] == 3 && after["users"] ?? 0 >= 1 && after["letter_bytes"] ?? 0 > 3 * 256)
        #expect(after["messages_refused_total"] ?? 0 >= 2 && after["devices"] ?? 0 >= 1)
        let text = try Peer.run(["status", port])
        #expect(text.status == 0 && text.output.contains("  Letters in mailboxes\n") && text.errors.isEmpty)
      }
      let metrics = try String(contentsOf: file, encoding: .utf8)
      for line in ["# TYPE impeer_letters gauge\nimpeer_letters 3\n", "\nimpeer_message_send_total "] {
        #expect(metrics.contains(line), "\(line)")
      }
      #expect(try !FileManager.default.contentsOfDirectory(atPath: folder.path).contains("impeer.prom.tmp"))
    }
  }

  @Test func withoutAServerThereIsNone() throws {
    let run = try Peer.run(["status", "1"])
    #expect(run.status == 69 && run.errors.hasPrefix("impeer: no server on port 1 of this host: "))
  }

  /// What stands behind the name may be anything.
  @Test func linesThatAreNoFiguresAreLeftOut() {
    let text = "letters 3\nLETTERS 4\nx\"y 1\nsessions -1\nusers 99999999999999999999\n\nwaiting_bytes 7"
    #expect(Status.json(text) == "{\"letters\":3,\"waiting_bytes\":7}")
    #expect(Status.table("letters 30\nunknown 7\n") == "30  Letters in mailboxes\n 7  unknown\n")
  }

  @Test func metricsAreWhatPrometheusReads() {
    var snapshot = ServerSnapshot()
    (snapshot.letters, snapshot.refused) = (5, 7)
    let lines = MetricsText.text(snapshot, EndpointMetrics()).split(separator: "\n")
    var names: Set<Substring> = []
    for line in lines where !line.hasPrefix("#") {
      let words = line.split(separator: " ")
      #expect(words.count == 2 && Double(words[1]) != nil && names.insert(words[0]).inserted, "\(line)")
    }
    #expect(lines.contains("impeer_letters 5") && lines.contains("impeer_messages_refused_total 7"))
    #expect(lines.contains("# TYPE impeer_messages_refused_total counter"))
  }
}
