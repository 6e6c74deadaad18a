import Foundation
import IMTestSupport
import Testing

/// A filter means the same in every command.
@Suite struct ChosenTests {
  private static func object(_ arguments: [String]) throws -> [String: Any] {
    let run = try Command.run(arguments + ["-q", "--json"])
    return try #require(
      try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any], "\(run.errors)")
  }

  /// What `stats` counts of all messages is what it counts of those that a filter lets through that takes all.
  @Test(arguments: try Samples.captures()) func allMessages(_ sample: String) throws {
    let path = Samples.path(sample)
    let whole = try #require(try Self.object(["stats", path])["total"] as? [String: Any])
    let chosen = try #require(try Self.object(["stats", path, "-Y", "len >= 0"])["total"] as? [String: Any])
    #expect(!chosen.isEmpty || whole["messages"] == nil)
    for (key, value) in chosen where key != "refusals" {
      #expect(value as? NSObject == whole[key] as? NSObject, "\(key)")
    }
  }

  /// Each fate by itself: as many as `messages` has, and as `stats` counts.
  @Test(arguments: try Samples.captures()) func fates(_ sample: String) throws {
    let path = Samples.path(sample)
    let whole = try #require(try Self.object(["stats", path])["total"] as? [String: Any])
    let counts = whole["messages"] as? [String: Any] ?? [:]
    for fate in ["acked", "acked_after_retry", "rejected", "unanswered", "damaged", "unknown", "pending"] {
      let chosen = try Self.object(["stats", path, "-Y", "fate == \(fate)"])["total"] as? [String: Any]
      let found = (chosen?["messages"] as? [String: Any])?[fate] as? Int ?? 0
      #expect(found == counts[fate] as? Int ?? 0, "\(fate)")
    }
  }

  /// The frames of messages with a fate are their copies and answers, by the numbers that `messages` tells.
  @Test(arguments: ["fate == unanswered", "retries > 0", "cause == peer", "dup > 0", "fate != acked and not heartbeat"])
  func framesOfChosenMessages(_ filter: String) throws {
    for sample in ["tjp-weak-network.pcap", "tjp-damage.pcap", "tjp-racing.pcap", "smpp-gateway.pcap"] {
      let path = Samples.path(sample)
      var expected: Set<Int> = []
      for line in try Command.run(["messages", "-q", "--json", path, "-Y", filter]).output.split(separator: "\n") {
        let message = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        for key in ["ts", "acks"] { for time in message[key] as? [Int] ?? [] { expected.insert(time) } }
      }
      let output = try Command.run(["-q", "--json", path, "-Y", filter]).output
      var found: Set<Int> = []
      for line in output.split(separator: "\n") {
        let frame = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        found.insert(try #require(frame["ts_us"] as? Int ?? (frame["ts"] as? Int)))
      }
      #expect(found == expected, "\(sample)")
    }
  }

  /// A named field chooses the messages whose first copy has it: those of the frames that are no copies and no answers.
  @Test(arguments: [
    ("mqtt-mosquitto.pcap", #"topic matches "a""#), ("mqtt5-mosquitto.pcap", "qos == 1"),
    ("smpp-gateway.pcap", "smpp.destination matches \"1\""),
    ("jt808-terminals.pcap", "jt808.terminal_phone matches \"1\""),
    ("mqtt-mosquitto.pcap", "mqtt.qos == 2 or qos == 1"),
  ]) func namedFields(_ sample: String, _ filter: String) throws {
    let path = Samples.path(sample)
    let frames = try Command.run(["-q", "--json", path, "-Y", "copy == 1 and not ack and (\(filter))"])
    let messages = try Command.run(["messages", "-q", "--json", path, "-Y", filter])
    #expect(messages.status == 0, "\(messages.errors)")
    func key(_ line: Substring, _ time: (([String: Any]) -> Any?)) throws -> String {
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      return "\(object["conn"] ?? 0) \(object["dir"] ?? "") \(time(object) ?? 0) \(object["type"] ?? "")"
    }
    let expected = try frames.output.split(separator: "\n").map { try key($0) { $0["ts"] } }
    let found = try messages.output.split(separator: "\n").map { try key($0) { ($0["ts"] as? [Any])?.first } }
    #expect(expected.sorted() == found.sorted())
  }

  /// Documents of chosen messages are those of the messages that `messages` chooses, by their last document's fate.
  @Test(arguments: try Samples.captures()) func documents(_ sample: String) throws {
    let path = Samples.path(sample)
    for filter in ["fate == acked", "not (fate == acked)", "dup > 0 or retries > 0", "late", "damaged"] {
      let messages = try Command.run(["messages", "-q", "--json", path, "-Y", filter]).output.split(separator: "\n")
      var expected: [String: Int] = [:]
      for line in messages {
        let message = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        // Documents have no type that the profile does not know.
        let type = (message["type"] as? String).map { $0.hasPrefix("type_") ? "" : $0 } ?? ""
        expected["\(type) \(message["fate"] ?? "")", default: 0] += 1
      }
      var last: [String: String] = [:]
      for line in try Command.run(["-q", "--format", "ecs", path, "-Y", filter]).output.split(separator: "\n") {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        guard let message = (object["imdump"] as? [String: Any])?["msg"] as? [String: Any] else { continue }
        let fate = (message["fate"] as? String) ?? ""
        last[try #require(message["id"] as? String)] = "\(message["type"] ?? "") \(fate)"
      }
      #expect(last.values.reduce(into: [:]) { $0[$1, default: 0] += 1 } == expected, "\(filter)")
    }
  }

  /// From a pipe, documents are chosen by what is known when they are written; what is not is refused.
  @Test func documentsOfAPipe() throws {
    let path = "Samples/tjp-weak-network.pcap"
    let piped = try Command.run(["-", "-q", "--format", "ecs", "-Y", "fate == unanswered"], input: path)
    let file = try Command.run([path, "-q", "--format", "ecs", "-Y", "fate == unanswered"])
    func messages(_ output: String) -> Int { output.split(separator: "\n").count { $0.contains("imdump.message") } }
    #expect(messages(file.output) == 3 && messages(piped.output) == 3)
    for field in ["dup > 0", "duplicate", "copy > 1"] {
      let refused = try Command.run(["-", "--format", "ecs", "-Y", field], input: path)
      #expect(refused.status == 64 && refused.errors.contains("imdump messages -Y"), "\(field)")
    }
  }

  /// What is not known yet is refused, with the command that knows it.
  @Test func whatIsNotKnownYet() throws {
    let path = "Samples/tjp-weak-network.pcap"
    for field in ["fate == acked", "cause == peer", "retries > 0", "dup > 0", "late"] {
      let piped = try Command.run(["-", "-Y", field], input: path)
      #expect(piped.status == 64 && piped.output.isEmpty && piped.errors.contains("imdump messages -Y"), "\(field)")
      let live = try Command.run(["-i", "none", "-Y", field])
      #expect(live.status == 64 && live.errors.contains("imdump messages -i none -Y"), "\(field)")
    }
    for field in ["ack", "ack_of == 5"] {
      let refused = try Command.run(["messages", path, "-Y", field])
      #expect(refused.status == 64 && refused.errors.contains("imdump FILE -Y"), "\(field)")
    }
    #expect(try Command.run(["stats", path, "--per", "1m", "-Y", "late"]).status == 64)
  }
}
