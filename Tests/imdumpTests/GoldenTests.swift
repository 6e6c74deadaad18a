import Foundation
import IMProfile
import Testing

/// What the real command prints for the samples, compared with `Golden/NAME.txt`.
///
/// `IMDUMP_RECORD=1 swift test --filter imdumpTests` writes the files anew. Read the difference before it is committed:
/// `Samples/*.truth.json` says what happened. `IMDUMP_GOLDEN=SAMPLE,...` leaves out the other samples, `Scripts/test --quick` does.
@Suite struct GoldenTests {
  /// One run of the command.
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var sample: String?
    var options: [String]
    /// The sample comes on standard input.
    var isPiped = false

    init(_ name: String, _ sample: String?, _ options: String..., isPiped: Bool = false) {
      self.init(name: name, sample: sample, options: options, isPiped: isPiped)
    }

    init(name: String, sample: String?, options: [String], isPiped: Bool = false) {
      self.name = name
      self.sample = sample
      self.options = options
      self.isPiped = isPiped
    }

    var testDescription: String { name }

    /// The options, with `@` replaced by the sample's path in the repository.
    var arguments: [String] { options.map { $0 == "@" ? path : $0 } }

    var path: String { sample.map { $0.contains("/") ? $0 : "Samples/\($0)" } ?? "" }

    /// The command line, as one would type it.
    var line: String {
      let words = arguments.map { $0.contains { " '!\"$()[]{}*?<>|&;#".contains($0) } ? "'\($0)'" : $0 }
      return (["imdump"] + words + (isPiped ? ["<", path] : [])).joined(separator: " ")
    }
  }

  private static let clean = "tjp-clean-chat.pcap"
  private static let weak = "tjp-weak-network.pcap"
  private static let damage = "tjp-damage.pcap"
  private static let vlan = "tjp-ipv6-vlan.pcapng"
  private static let mqtt = "mqtt-mosquitto.pcap"
  private static let mqtt5 = "mqtt5-mosquitto.pcap"
  private static let smpp = "smpp-gateway.pcap"
  private static let diameter = "diameter-charging.pcap"
  private static let goim = "goim-room.pcap"
  private static let jt808 = "jt808-terminals.pcap"
  private static let proxy = "proxy-balancer.pcap"
  private static let webSocket = "mqtt-websocket.pcap"
  private static let deflate = "mqtt-websocket-deflate.pcap"

  static let cases: [Case] = {
    guard let chosen = ProcessInfo.processInfo.environment["IMDUMP_GOLDEN"] else { return written + found }
    let samples = chosen.split(separator: ",")
    return (written + found).filter { one in samples.contains { one.sample?.hasPrefix($0) ?? false } }
  }()

  /// A capture `PROFILE-….pcap` in the folder of samples that no case below names: frames with their elements, messages, counts.
  private static let found: [Case] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: Command.folder.path + "/Samples")) ?? []
    let known = Set(written.compactMap(\.sample))
    let captures = files.filter { $0.hasSuffix(".pcap") || $0.hasSuffix(".pcapng") }.sorted()
    return captures.filter { !known.contains($0) }.flatMap { file -> [Case] in
      // The longest name that fits: "tjp-v2-chat.pcap" is of tjp-v2.
      let profile = BuiltInProfiles.names.filter { file.hasPrefix($0 + "-") }.max { $0.count < $1.count }
      let options = profile.map { ["--profile", $0] } ?? []
      let name = String(file.prefix { $0 != "." })
      return [
        Case(name: name, sample: file, options: options + ["-v", "-r", "@"]),
        Case(name: "\(name)-messages", sample: file, options: ["messages", "-q"] + options + ["@"]),
        Case(name: "\(name)-stats", sample: file, options: ["stats", "-q"] + options + ["@"]),
      ]
    }
  }()

  private static let written: [Case] = [
    // Alerts by the rules of the samples.
    Case("weak-alerts", weak, "check", "@", "--rules", "Samples/alerts/im.yml"),
    Case("damage-alerts", damage, "check", "@", "--rules", "Samples/alerts/im.yml"),
    Case("damage-alerts-json", damage, "check", "@", "--rules", "Samples/alerts/im.yml", "--json", "-q"),
    // Frames: every sample as text, with its TLVs, with dates, and as JSON.
    Case("clean", clean, "-r", "@"),
    Case("clean-v", clean, "-q", "--print", "-v", "-r", "@"),
    Case("clean-tttt", clean, "-q", "--print", "-tttt", "-c", "40", "-r", "@"),
    Case("clean-json", clean, "-q", "--format", "json", "-r", "@"),
    Case("weak", weak, "-r", "@"),
    Case("weak-v", weak, "-q", "--print", "-v", "-r", "@"),
    Case("weak-tttt", weak, "-q", "--print", "-tttt", "-c", "40", "-r", "@"),
    Case("weak-json", weak, "-q", "--format", "json", "-r", "@"),
    Case("damage", damage, "-r", "@"),
    Case("damage-v", damage, "-q", "--print", "-v", "-r", "@"),
    Case("damage-tttt", damage, "-q", "--print", "-tttt", "-c", "40", "-r", "@"),
    Case("damage-json", damage, "-q", "--format", "json", "-r", "@"),
    Case("vlan", vlan, "-r", "@"),
    Case("vlan-v", vlan, "-q", "--print", "-v", "-r", "@"),
    Case("vlan-tttt", vlan, "-q", "--print", "-tttt", "-c", "40", "-r", "@"),
    Case("vlan-json", vlan, "-q", "--format", "json", "-r", "@"),
    Case("mqtt", mqtt, "-r", "@"),
    Case("mqtt-v", mqtt, "-q", "--print", "-v", "-r", "@"),
    Case("mqtt-tttt", mqtt, "-q", "--print", "-tttt", "-c", "40", "-r", "@"),
    Case("mqtt-json", mqtt, "-q", "--format", "json", "-r", "@"),
    Case("mqtt5", mqtt5, "-vA", "-r", "@"),
    Case("mqtt5-json", mqtt5, "-q", "-vA", "--format", "json", "-c", "150", "-r", "@"),
    Case("smpp", smpp, "-v", "-r", "@"),
    Case("diameter", diameter, "-v", "-r", "@"),
    Case("diameter-text", diameter, "-q", "--print", "-vA", "-c", "12", "-r", "@"),
    Case("goim", goim, "-r", "@"),
    Case("jt808", jt808, "-r", "@"),
    Case("jt808-text", jt808, "-vA", "-r", "@"),

    // Carriers.
    Case("proxy", proxy, "-r", "@"),
    Case("proxy-json", proxy, "-q", "--format", "json", "-r", "@"),
    Case("proxy-messages", proxy, "messages", "-q", "@"),
    Case("proxy-filter", proxy, "-q", "--print", "-Y", "client.ip == 192.0.2.78", "-r", "@"),
    Case("proxy-streams", proxy, "streams", "@"), Case("proxy-ranges", proxy, "streams", "--ranges", "@"),
    Case("proxy-ecs", proxy, "-q", "--format", "ecs", "--sensor", "test", "-r", "@"),
    Case("websocket", webSocket, "-r", "@"),
    Case("websocket-vv", webSocket, "-q", "--print", "-vv", "-c", "60", "-r", "@"),
    Case("websocket-stats-json", webSocket, "stats", "-q", "--json", "@"),
    Case("websocket-ecs", webSocket, "-q", "--format", "ecs", "--sensor", "test", "-r", "@"),
    Case("deflate", deflate, "-r", "@"),
    Case("deflate-messages", deflate, "messages", "-q", "@"),
    Case("deflate-stats", deflate, "stats", "@"),
    Case("deflate-ecs", deflate, "-q", "--format", "ecs", "--sensor", "test", "-r", "@"),

    // Other ways to show a frame.
    Case("clean-text", clean, "-q", "--print", "-vv", "-A", "-c", "40", "-r", "@"),
    Case("clean-hex", clean, "-q", "--print", "-x", "-c", "30", "-r", "@"),
    Case("clean-t", clean, "-q", "--print", "-t", "-c", "20", "-r", "@"),
    Case("clean-tt", clean, "-q", "--print", "-tt", "-c", "20", "-r", "@"),
    Case("clean-ttt", clean, "-q", "--print", "-ttt", "-c", "20", "-r", "@"),
    Case("clean-colour", clean, "-q", "--print", "--color", "always", "-c", "20", "-r", "@"),
    Case("clean-stdin", clean, "-c", "20", isPiped: true),
    Case("weak-count", weak, "-c", "4", "-r", "@"),
    Case("weak-tcpdump-flags", weak, "-nnvv", "-c10", "-s0", "-r", "@", "tcp", "port", "8080"),
    Case("weak-not-port", weak, "-c", "10", "-r", "@", "!", "port", "22"),
    Case("weak-host", weak, "-r", "@", "host", "203.0.113.99"),
    Case("weak-other-port", weak, "-r", "@", "port", "9000"),
    Case("weak-wrong-profile", weak, "--profile", "mqtt", "-r", "@"),

    // Messages and their fates.
    Case("clean-messages", clean, "messages", "-q", "@"),
    Case("clean-messages-json", clean, "messages", "-q", "--json", "@"),
    Case("weak-messages", weak, "messages", "@"),
    Case("weak-messages-json", weak, "messages", "-q", "--json", "@"),
    Case("damage-messages", damage, "messages", "@"),
    Case("damage-messages-json", damage, "messages", "-q", "--json", "@"),
    Case("vlan-messages", vlan, "messages", "-q", "@"),
    Case("vlan-messages-json", vlan, "messages", "-q", "--json", "@"),
    Case("mqtt-messages", mqtt, "messages", "-q", "@"),
    Case("mqtt-messages-json", mqtt, "messages", "-q", "--json", "@"),
    Case("mqtt5-messages", mqtt5, "messages", "-q", "@"),
    Case("mqtt5-stats", mqtt5, "stats", "-q", "@"),
    Case("smpp-messages", smpp, "messages", "-q", "@"),
    Case("smpp-stats", smpp, "stats", "-q", "@"),
    Case("diameter-messages", diameter, "messages", "-q", "@"),
    Case("diameter-stats", diameter, "stats", "-q", "@"),
    Case("goim-stats", goim, "stats", "-q", "@"),
    Case("jt808-elements", jt808, "-vA", "--format", "json", "-Y", "type in {location, media}", "-r", "@"),
    Case("jt808-stats", jt808, "stats", "-q", "@"),
    Case("weak-lost", weak, "messages", "-q", "--lost", "@"),
    Case("weak-retried", weak, "messages", "-q", "--retried", "@"),
    Case("weak-damaged", weak, "messages", "-q", "--damaged", "@"),
    Case("damage-lost", damage, "messages", "-q", "--lost", "@"),
    Case("damage-retried", damage, "messages", "-q", "--retried", "@"),
    Case("damage-damaged", damage, "messages", "-q", "--damaged", "@"),
    Case("weak-lost-tttt", weak, "messages", "-q", "-tttt", "--lost", "@"),
    Case("weak-sessions", weak, "messages", "-q", "--by", "session", "@"),
    Case("weak-sessions-ttt", weak, "messages", "-q", "-ttt", "--by", "session", "@"),
    Case("weak-messages-stdin", weak, "messages", "-q", "--lost", isPiped: true),

    // Filters.
    Case("filter-slow", weak, "-q", "--print", "-Y", "rtt_ms > 300", "-r", "@"),
    Case("filter-retries", weak, "-q", "--print", "-Y", "retry or duplicate", "-r", "@"),
    Case("filter-not-ack", damage, "-q", "--print", "-Y", "not ack and client.ip == 192.0.2.3", "-r", "@"),
    Case("filter-checksum", damage, "-q", "--print", "-Y", "crc in {bad, le} and type == data", "-r", "@"),
    Case("filter-nested", damage, "-q", "--print", "-v", "-Y", "tlv[0xFFFF.0xFFFF]", "-r", "@"),
    Case("filter-text", clean, "-q", "--print", "-v", "-A", "-Y", "tlv[0x1001] matches \"地铁|[0-9]+\"", "-r", "@"),
    Case("filter-client", mqtt, "-q", "--print", "-Y", "session == \"reader\" and type == publish", "-r", "@"),
    Case("filter-gap", damage, "-q", "--print", "-Y", "gap", "-r", "@"),
    Case("filter-flags", damage, "-q", "--print", "-Y", "flags in {incomplete_tag, incomplete_value}", "-r", "@"),
    Case("filter-fate", weak, "messages", "-q", "-Y", "fate in {unanswered, pending}", "@"),
    Case("filter-after-retry", weak, "messages", "-q", "-Y", "fate == acked_after_retry and not rtt_ms", "@"),

    // Counts.
    Case("clean-stats", clean, "stats", "-q", "@"),
    Case("clean-stats-json", clean, "stats", "-q", "--json", "@"),
    Case("weak-stats", weak, "stats", "@"),
    Case("weak-stats-json", weak, "stats", "-q", "--json", "@"),
    Case("damage-stats", damage, "stats", "@"),
    Case("damage-stats-json", damage, "stats", "-q", "--json", "@"),
    Case("vlan-stats", vlan, "stats", "-q", "@"),
    Case("vlan-stats-json", vlan, "stats", "-q", "--json", "@"),
    Case("mqtt-stats", mqtt, "stats", "-q", "@"),
    Case("mqtt-stats-json", mqtt, "stats", "-q", "--json", "@"),

    // Streams.
    Case("clean-streams", clean, "streams", "@"), Case("clean-ranges", clean, "streams", "--ranges", "@"),
    Case("weak-streams", weak, "streams", "@"), Case("weak-ranges", weak, "streams", "--ranges", "@"),
    Case("weak-streams-json", weak, "streams", "-q", "--json", "--sort", "conn", "@"),
    Case("weak-streams-csv", weak, "streams", "-q", "--format", "csv", "@"),
    Case("weak-streams-problems", weak, "streams", "-q", "--top", "3", "@"),
    Case("weak-ranges-json", weak, "streams", "-q", "--ranges", "--json", "@"),
    Case("damage-streams", damage, "streams", "@"), Case("damage-ranges", damage, "streams", "--ranges", "@"),
    Case("damage-streams-json", damage, "streams", "-q", "--json", "--sort", "conn", "@"),
    Case("damage-ranges-json", damage, "streams", "-q", "--ranges", "--json", "@"),
    Case("vlan-streams", vlan, "streams", "@"), Case("vlan-ranges", vlan, "streams", "--ranges", "@"),
    Case("mqtt-streams", mqtt, "streams", "@"), Case("mqtt-ranges", mqtt, "streams", "--ranges", "@"),

    // Documents.
    Case("weak-ecs", weak, "-q", "--format", "ecs", "--sensor", "test", "-r", "@"),
    Case("weak-ecs-errors", weak, "-q", "--format", "ecs", "--message-log", "errors", "--sensor", "test", "-r", "@"),
    Case(
      "damage-ecs-errors", damage, "-q", "--format", "ecs", "--message-log", "errors", "--sensor", "test", "-r", "@"),
    Case(
      "weak-ecs-lean", weak, "-q", "--format", "ecs", "--message-log", "errors", "--log-lean", "--sensor", "test", "-r",
      "@"),
    Case("mqtt-ecs", mqtt, "-q", "--format", "ecs", "--sensor", "test", "-r", "@"),

    // Profiles.
    Case("profile-list", nil, "profile", "list"),
    Case("profile-check", "Sources/IMProfile/Profiles/mqtt.yaml", "profile", "check", "@"),
    Case("profile-check-not-yaml", "./LICENSE", "profile", "check", "@"),
    Case("profile-test", diameter, "profile", "test", "diameter", "@"),
    Case("profile-test-other", weak, "profile", "test", "mqtt", "@"),
    Case("profile-lua", nil, "profile", "export", "goim", "--wireshark"),
    Case("profile-markdown", nil, "profile", "export", "Sources/IMProfile/Profiles/goim.yaml", "--markdown"),
    Case(
      "profile-file", mqtt, "-q", "--print", "-c", "20", "--profile", "Sources/IMProfile/Profiles/mqtt.yaml", "-r", "@"),

    // What goes wrong, with its exit status.
    Case("error-filter-field", weak, "-Y", "rtt > 5", "-r", "@"),
    Case("error-filter-value", weak, "messages", "-Y", "type == data and len >", "@"),
    Case("error-filter-word", weak, "messages", "-Y", "fate == gone", "@"),
    Case("error-capture-filter", weak, "-r", "@", "tcp", "prt", "80"),
    Case("error-profile", weak, "--profile", "nope", "-r", "@"),
    Case("error-profile-file", weak, "--profile", "nope.yaml", "-r", "@"),
    Case("error-profile-show", nil, "profile", "show", "nope"),
    Case("error-profile-export", nil, "profile", "export", "nope", "--wireshark"),
    Case("error-profile-export-form", nil, "profile", "export", "goim"),
    Case("error-option", weak, "--no-such-thing", "-r", "@"),
    Case("error-option-value", weak, "-c", "many", "-r", "@"),
    Case("error-format", weak, "--format", "xml", "-r", "@"),
    Case("error-interface-and-file", weak, "-i", "lo", "-r", "@"),
    Case("error-filter-twice", weak, "-F", "Makefile", "-r", "@", "port", "8080"),
    Case("error-no-file", nil, "-r", "nothing.pcap"),
    Case("error-one-of-two", clean, "stats", "@", "nothing.pcap"),
    Case("error-empty", nil, "stats"),
    Case("error-no-capture", "./Makefile", "-r", "@"),
    Case("error-folder", "Samples/generator", "messages", "@"),
    Case("error-no-interface", nil, "-i", "nope0"),
    Case("error-ecs-filter", weak, "--format", "ecs", "-Y", "ack", "-r", "@"),
    Case("error-ecs-capture", weak, "--format", "ecs", "-w", "-", "-r", "@"),
    Case("error-message-log", weak, "--format", "ecs", "--message-log", "some", "-r", "@"),
    Case("error-shell", nil, "completion", "tcsh"),
  ]

  @Test(arguments: cases)
  func printsWhatItPrinted(_ one: Case) throws {
    let result = try Command.run(one.arguments, input: one.isPiped ? one.path : nil)
    try compare(one.name, one.line, result)
  }

  /// A capture cut inside a record: everything before it comes out, the message has the offset, the status is 1.
  @Test(arguments: [("cut-record", 30_010), ("cut-record-header", 29_992), ("cut-header", 20)])
  func processesACutCapture(_ name: String, _ count: Int) throws {
    let path = "/tmp/imdump-\(name)-\(ProcessInfo.processInfo.processIdentifier).pcap"
    let whole = try Data(contentsOf: Command.folder.appending(path: "Samples/\(Self.weak)"))
    try whole.prefix(count).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    var result = try Command.run(["messages", "--retried", path])
    result.errors = result.errors.replacing(path, with: "CUT.pcap")
    try compare(name, "imdump messages --retried CUT.pcap (the first \(count) bytes of \(Self.weak))", result)
  }

  @Test func namesAreDifferent() {
    #expect(Set(Self.cases.map(\.name)).count == Self.cases.count)
  }

  /// Compares with the golden file, or writes it.
  private func compare(_ name: String, _ line: String, _ result: Command.Result) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name).txt")
    let text = "$ \(line)\n\(result.output)-- status \(result.status)\n\(result.errors)"
    if ProcessInfo.processInfo.environment["IMDUMP_RECORD"] == "1" {
      try text.write(to: file, atomically: true, encoding: .utf8)
      return
    }
    let expected = try String(contentsOf: file, encoding: .utf8)
    if text != expected {
      let (new, old) = (
        text.split(separator: "\n", omittingEmptySubsequences: false),
        expected.split(separator: "\n", omittingEmptySubsequences: false)
      )
      let first = zip(new, old).enumerated().first { $1.0 != $1.1 }?.offset ?? min(new.count, old.count)
      let got = first < new.count ? new[first] : "(nothing)"
      let wanted = first < old.count ? old[first] : "(nothing)"
      Issue.record("Golden/\(name).txt, line \(first + 1)\n  is:     \(got)\n  wanted: \(wanted)")
    }
  }
}
