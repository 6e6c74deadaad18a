import Foundation
import Testing

/// Named fields over the real command: in JSON, in filters, in the list, and nothing of credentials.
@Suite struct FieldTests {
  /// The lines of a sample as JSON objects.
  private static func lines(_ sample: String) throws -> [[String: Any]] {
    try Command.run(["-q", "--format", "json", "-r", "Samples/\(sample)"]).output.split(separator: "\n").compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
  }

  private static func fields(_ line: [String: Any]) -> [String: Any] { line["fields"] as? [String: Any] ?? [:] }

  /// Whether `name` has this value in an object, or in what stands in it.
  private static func has(_ object: Any, _ name: String, _ value: String) -> Bool {
    if let list = object as? [Any] { return list.contains { has($0, name, value) } }
    guard let object = object as? [String: Any] else { return false }
    if (object[name] as? String ?? (object[name] as? NSNumber)?.stringValue) == value { return true }
    return object.values.contains { has($0, name, value) }
  }

  /// A filter by a named field lets those lines through whose `fields` say so, in whatever form it asks.
  @Test(arguments: [
    ("qos == 1", "mqtt5-mosquitto.pcap", "qos", "1"), ("qos == at_least_once", "mqtt5-mosquitto.pcap", "qos", "1"),
    ("mqtt.qos == 1", "mqtt5-mosquitto.pcap", "qos", "1"), ("retain", "mqtt5-mosquitto.pcap", "retain", "1"),
    ("keep_alive == 60", "mqtt5-mosquitto.pcap", "keep_alive", "60"),
    ("system_id == \"shop\"", "smpp-gateway.pcap", "system_id", "shop"),
    ("answered_command == 2", "jt808-terminals.pcap", "answered_command", "2"),
    ("cc_request_type == INITIAL_REQUEST", "diameter-charging.pcap", "cc_request_type", "1"),
  ]) func filters(_ filter: String, _ sample: String, _ name: String, _ value: String) throws {
    let wanted = try Self.lines(sample).filter { Self.has(Self.fields($0), name, value) }
    let run = try Command.run(["-q", "--format", "json", "-Y", filter, "-r", "Samples/\(sample)"])
    #expect(run.status == 0)
    let numbers = try run.output.split(separator: "\n").compactMap {
      (try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["number"] as? Int
    }
    #expect(!numbers.isEmpty)
    #expect(numbers == wanted.compactMap { $0["number"] as? Int })
  }

  @Test func aPatternChoosesTopics() throws {
    let run = try Command.run(["-q", "--print", "-Y", "topic matches \"^room/\"", "-r", "Samples/mqtt5-mosquitto.pcap"])
    let topics = try Self.lines("mqtt5-mosquitto.pcap").filter { line in
      let fields = Self.fields(line)
      let all =
        [fields["topic"] as? String]
        + ((fields["subscriptions"] as? [[String: Any]]) ?? []).map { $0["topic"] as? String }
      return all.contains { $0?.hasPrefix("room/") ?? false }
    }
    #expect(run.status == 0)
    #expect(run.output.split(separator: "\n").count == topics.count)
  }

  @Test func aMisspeltFieldHasAdvice() throws {
    let run = try Command.run(["-q", "-Y", "destinatoin == \"1\"", "-r", "Samples/smpp-gateway.pcap"])
    #expect(run.status == 64)
    #expect(run.errors.contains("did you mean \"destination\"?"))
  }

  @Test func aCredentialCannotBeAskedFor() throws {
    let run = try Command.run(["-q", "-Y", "password == \"secret08\"", "-r", "Samples/smpp-gateway.pcap"])
    #expect(run.status == 64)
    #expect(run.output.isEmpty)
  }

  /// Passwords and authentication codes of the samples stand in no output.
  @Test(
    arguments: [
      ["-vvA", "-r"], ["-x", "-r"], ["-A", "-r"], ["-vX", "-r"], ["--format", "json", "-vA", "-r"],
      ["--format", "ecs", "--message-log", "all", "-r"],
      ["messages", "--json"],
    ], [("smpp-gateway.pcap", "secret08", "7365 6372"), ("jt808-terminals.pcap", "key-0", "6b65 792d")])
  func credentialsStandNowhere(_ options: [String], _ secret: (String, String, String)) throws {
    let run = try Command.run(options + ["Samples/\(secret.0)"])
    #expect(run.status == 0)
    #expect(!run.output.contains(secret.1) && !run.output.contains(secret.2), "\(options)")
  }

  /// The fields of tjp's messages are what the truth says, and what their numbers are made of.
  @Test(arguments: ["clean-chat", "weak-network", "ipv6-vlan"]) func fieldsOfTjpAreTrue(_ sample: String) throws {
    let name = "Samples/tjp-\(sample).pcap" + (sample == "ipv6-vlan" ? "ng" : "")
    func objects(_ text: String) throws -> [[String: Any]] {
      try text.split(separator: "\n").compactMap {
        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
      }
    }
    let frames = try objects(Command.run(["-q", "--json", name]).output).filter { $0["copy"] as? Int == 1 }
    let truth = try JSONSerialization.jsonObject(
      with: Data(contentsOf: Command.folder.appending(path: name + ".truth.json")))
    let messages = (truth as? [String: Any])?["messages"] as? [[String: Any]] ?? []
    var seen = 0
    for message in messages {
      let first = (message["ts"] as? [Int])?.first
      let frame = try #require(
        frames.first { frame in
          frame["ts"] as? Int == first && frame["seq"] as? Int == message["seq"] as? Int
            && frame["session"] as? Int == message["session"] as? Int
            && frame["dir"] as? String == message["dir"] as? String
        })
      let fields = try #require(frame["fields"] as? [String: Any])
      let sequence = message["seq"] as? Int ?? 0
      #expect(fields["category"] as? Int == sequence >> 24 && fields["counter"] as? Int == sequence & 0xFF_FFFF)
      #expect(fields["payload_size"] as? Int == message["len"] as? Int)
      let sentAt = (fields["sent_at"] as? Int ?? 0) * 1_000_000
      #expect(abs(sentAt - (first ?? 0)) <= 2_000_000)
      for element in message["tlv"] as? [[Any]] ?? [] {
        let key = [1: "version_request", 2: "version_response", 0x10: "read_sequence", 0x1001: "text"][
          element[0] as? Int ?? 0]
        guard let key else { continue }
        seen += 1
        if key == "text" {
          #expect((fields[key] as? String)?.utf8.count == element[1] as? Int)
        } else {
          #expect(fields[key] != nil, "\(sequence)")
        }
      }
    }
    #expect(seen > 10)
  }

  /// Without fields a line is the same but for them.
  @Test(arguments: ["tjp-clean-chat", "mqtt5-mosquitto", "smpp-gateway"]) func fieldsCanBeLeftOut(_ sample: String)
    throws
  {
    func lines(_ options: String...) throws -> [[String: Any]] {
      try Command.run(options + ["-q", "Samples/\(sample).pcap"]).output.split(separator: "\n").map {
        try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }
    }
    let (with, without) = (try lines("--json"), try lines("--json", "--no-fields"))
    #expect(with.contains { $0["fields"] != nil } && !without.contains { $0["fields"] != nil })
    #expect(with.count == without.count)
    for (one, other) in zip(with, without) {
      var one = one
      one["fields"] = nil
      #expect(NSDictionary(dictionary: one) == NSDictionary(dictionary: other))
    }
    let text = try Command.run(["-v", "--no-fields", "-q", "--print", "Samples/\(sample).pcap"]).output
    #expect(!text.contains("\tpayload_size: "))
  }

  /// A property in a message's line is not repeated below it, and neither is an element that is a named field.
  @Test(arguments: [
    "tjp-weak-network", "tjp-racing", "mqtt5-mosquitto", "smpp-gateway", "diameter-charging", "goim-room",
  ])
  func noPropertyIsShownTwice(_ sample: String) throws {
    for command in [["messages"], ["-q", "--print"]] {
      let text = try Command.run(command + ["-v", "-r", "Samples/\(sample).pcap"]).output
      var numbers: [String: String] = [:]
      var elements: Set<String> = []
      var lineCount = 0
      for line in text.split(separator: "\n") {
        guard line.hasPrefix("\t") else {
          // "..., seq 77, ... len 96: ..." and the number before a comma or colon.
          let words = line.split { " ,:".contains($0) }.map(String.init)
          numbers = [:]
          for (name, number) in zip(words, words.dropFirst()) where ["seq", "len"].contains(name) {
            numbers[name] = number
          }
          elements = []
          lineCount += 1
          continue
        }
        let property = line.drop { $0 == "\t" || $0 == " " }
        if property.hasPrefix("0x") {
          let name = property.split(separator: ",")[0].split(separator: " ").dropFirst().joined(separator: " ")
          elements.insert(name.lowercased().replacingOccurrences(of: "-", with: "_"))
          continue
        }
        let parts = property.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { continue }
        let first = parts[1].split(separator: " ").first.map(String.init)
        #expect(!elements.contains(parts[0]), "\(line)")
        if parts[0] == "payload_size", !sample.hasPrefix("mqtt") { #expect(first != numbers["len"], "\(line)") }
        if ["counter", "packet_id", "sequence"].contains(parts[0]), !line.hasPrefix("\t ") {
          #expect(first != numbers["seq"], "\(line)")
        }
      }
      #expect(lineCount > 5)
    }
    // Tags and lengths of all elements, and the header's numbers unchanged.
    let full = try Command.run(["-q", "--print", "-vv", "-r", "Samples/tjp-weak-network.pcap"]).output
    #expect(full.contains("\t0x0001 version_request, 4 bytes\n") && full.contains("\tpayload_size: 10 bytes\n"))
  }

  @Test func theListHasEachFieldOnce() throws {
    let run = try Command.run(["fields", "mqtt"])
    #expect(run.status == 0)
    let names = run.output.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(Set(names).count == names.count)
    #expect(names.contains("mqtt.topic") && names.contains("mqtt.will_delay_interval"))
    #expect(try Command.run(["fields", "tjp-v2"]).output == "tjp-v2: the profile has no named fields\n")
  }
}
