import Foundation
import IMProfile
import Testing

/// The real command's output for the samples, compared with `Golden/NAME.txt`.
///
/// `IMDUMP_RECORD=1 swift test --filter imdumpTests` writes the files anew. Read the difference before it is committed:
/// `Samples/*.truth.json` says what happened. `IMDUMP_GOLDEN=SAMPLE,...` leaves out the other samples, `Scripts/test --quick` does.
@Suite struct GoldenTests {
  /// One run of the command.
  struct Run: Sendable, ExpressibleByArrayLiteral {
    /// The options; `@` is the sample.
    var options: [String]
    /// The sample, if it is not that of the file.
    var sample: String?
    /// The sample comes on standard input.
    var isPiped = false

    init(_ options: [String], of sample: String? = nil, isPiped: Bool = false) {
      self.options = options
      self.sample = sample
      self.isPiped = isPiped
    }

    init(arrayLiteral options: String...) { self.init(options) }
  }

  /// A golden file: consecutive runs of one command on one sample, or on one subject.
  struct GoldenFile: Sendable, CustomTestStringConvertible {
    var name: String
    var sample: String?
    var runs: [Run]

    init(_ name: String, _ sample: String?, _ runs: [Run]) {
      self.name = name
      self.sample = sample
      self.runs = runs
    }

    var testDescription: String { name }

    /// A run's sample, as a path in the repository.
    func path(of run: Run) -> String {
      (run.sample ?? sample).map { $0.contains("/") ? $0 : "Samples/\($0)" } ?? ""
    }

    /// A run's options, with the path for `@`.
    func arguments(of run: Run) -> [String] { run.options.map { $0 == "@" ? path(of: run) : $0 } }

    /// A run's command line, as a user would type it.
    func line(of run: Run) -> String {
      let words = arguments(of: run).map { $0.contains { " '!\"$()[]{}*?<>|&;#".contains($0) } ? "'\($0)'" : $0 }
      return (["imdump"] + words + (run.isPiped ? ["<", path(of: run)] : [])).joined(separator: " ")
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

  static let files: [GoldenFile] = {
    guard let chosen = ProcessInfo.processInfo.environment["IMDUMP_GOLDEN"] else { return written + found }
    let samples = chosen.split(separator: ",")
    return (written + found).filter { file in samples.contains { file.sample?.hasPrefix($0) ?? false } }
  }()

  /// Each capture `PROFILE-….pcap` in the folder of samples that no file below names: frames with their elements, messages, statistics.
  private static let found: [GoldenFile] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: Command.folder.path + "/Samples")) ?? []
    let known = Set(written.compactMap(\.sample))
    let captures = names.filter { $0.hasSuffix(".pcap") || $0.hasSuffix(".pcapng") }.sorted()
    return captures.filter { !known.contains($0) }.map { capture in
      // The longest name that fits: "tjp-v2-chat.pcap" is of tjp-v2.
      let profile = BuiltInProfiles.names.filter { capture.hasPrefix($0 + "-") }.max { $0.count < $1.count }
      let options = profile.map { ["--profile", $0] } ?? []
      return GoldenFile(
        String(capture.prefix { $0 != "." }), capture,
        [
          Run(options + ["-v", "-r", "@"]), Run(["messages", "-q"] + options + ["@"]),
          Run(["stats", "-q"] + options + ["@"]),
        ])
    }
  }()

  private static let written: [GoldenFile] = [
    GoldenFile(
      "weak-alerts", weak,
      [
        ["check", "@", "--rules", "Samples/alerts/im.yml"]
      ]),
    GoldenFile(
      "damage-alerts", damage,
      [
        ["check", "@", "--rules", "Samples/alerts/im.yml"],
        ["check", "@", "--rules", "Samples/alerts/im.yml", "--json", "-q"],
      ]),
    GoldenFile(
      "clean", clean,
      [
        ["-r", "@"],
        ["-q", "--print", "-v", "-r", "@"],
        ["-q", "--print", "-tttt", "-c", "40", "-r", "@"],
        ["-q", "--print", "-vv", "-A", "-c", "40", "-r", "@"],
        ["-q", "--print", "-x", "-c", "30", "-r", "@"],
        ["-q", "--print", "-t", "-c", "20", "-r", "@"],
        ["-q", "--print", "-tt", "-c", "20", "-r", "@"],
        ["-q", "--print", "-ttt", "-c", "20", "-r", "@"],
        ["-q", "--print", "--color", "always", "-c", "20", "-r", "@"],
        Run(["-c", "20"], isPiped: true),
      ]),
    GoldenFile(
      "weak", weak,
      [
        ["-r", "@"],
        ["-c", "4", "-r", "@"],
        ["-nnvv", "-c10", "-s0", "-r", "@", "tcp", "port", "8080"],
        ["-c", "10", "-r", "@", "!", "port", "22"],
        ["-r", "@", "host", "203.0.113.99"],
        ["-r", "@", "port", "9000"],
        ["--profile", "mqtt", "-r", "@"],
      ]),
    GoldenFile(
      "weak-json", weak,
      [
        ["-q", "--format", "json", "-r", "@"]
      ]),
    GoldenFile(
      "damage", damage,
      [
        ["-r", "@"],
        ["-q", "--print", "-v", "-r", "@"],
      ]),
    GoldenFile(
      "damage-json", damage,
      [
        ["-q", "--format", "json", "-r", "@"]
      ]),
    GoldenFile(
      "vlan", vlan,
      [
        ["-r", "@"]
      ]),
    GoldenFile(
      "vlan-json", vlan,
      [
        ["-q", "--format", "json", "-r", "@"]
      ]),
    GoldenFile(
      "mqtt", mqtt,
      [
        ["-r", "@"]
      ]),
    GoldenFile(
      "mqtt5", mqtt5,
      [
        ["-vA", "-r", "@"]
      ]),
    GoldenFile(
      "mqtt5-json", mqtt5,
      [
        ["-q", "-vA", "--format", "json", "-c", "150", "-r", "@"]
      ]),
    GoldenFile(
      "smpp", smpp,
      [
        ["-v", "-r", "@"]
      ]),
    GoldenFile(
      "diameter", diameter,
      [
        ["-v", "-r", "@"],
        ["-q", "--print", "-vA", "-c", "12", "-r", "@"],
      ]),
    GoldenFile(
      "goim", goim,
      [
        ["-r", "@"]
      ]),
    GoldenFile(
      "jt808", jt808,
      [
        ["-r", "@"],
        ["-vA", "-r", "@"],
      ]),
    GoldenFile(
      "proxy", proxy,
      [
        ["-r", "@"],
        ["-q", "--print", "-Y", "client.ip == 192.0.2.78", "-r", "@"],
      ]),
    GoldenFile(
      "proxy-json", proxy,
      [
        ["-q", "--format", "json", "-r", "@"]
      ]),
    GoldenFile(
      "proxy-messages", proxy,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "proxy-streams", proxy,
      [
        ["streams", "@"],
        ["streams", "--ranges", "@"],
      ]),
    GoldenFile(
      "proxy-ecs", proxy,
      [
        ["-q", "--format", "ecs", "--sensor", "test", "-r", "@"]
      ]),
    GoldenFile(
      "websocket", webSocket,
      [
        ["-r", "@"],
        ["-q", "--print", "-vv", "-c", "60", "-r", "@"],
      ]),
    GoldenFile(
      "websocket-stats", webSocket,
      [
        ["stats", "-q", "--json", "@"]
      ]),
    GoldenFile(
      "websocket-ecs", webSocket,
      [
        ["-q", "--format", "ecs", "--sensor", "test", "-r", "@"]
      ]),
    GoldenFile(
      "deflate", deflate,
      [
        ["-r", "@"]
      ]),
    GoldenFile(
      "deflate-messages", deflate,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "deflate-stats", deflate,
      [
        ["stats", "@"]
      ]),
    GoldenFile(
      "deflate-ecs", deflate,
      [
        ["-q", "--format", "ecs", "--sensor", "test", "-r", "@"]
      ]),
    GoldenFile(
      "clean-messages", clean,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "weak-messages", weak,
      [
        ["messages", "@"],
        ["messages", "-q", "--json", "@"],
        ["messages", "-q", "--lost", "@"],
        ["messages", "-q", "--retried", "@"],
        ["messages", "-q", "--damaged", "@"],
        ["messages", "-q", "-tttt", "--lost", "@"],
        ["messages", "-q", "--by", "session", "@"],
        ["messages", "-q", "-ttt", "--by", "session", "@"],
        Run(["messages", "-q", "--lost"], isPiped: true),
      ]),
    GoldenFile(
      "damage-messages", damage,
      [
        ["messages", "@"],
        ["messages", "-q", "--lost", "@"],
        ["messages", "-q", "--retried", "@"],
        ["messages", "-q", "--damaged", "@"],
      ]),
    GoldenFile(
      "vlan-messages", vlan,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "mqtt-messages", mqtt,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "mqtt5-messages", mqtt5,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "mqtt5-stats", mqtt5,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "smpp-messages", smpp,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "smpp-stats", smpp,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "diameter-messages", diameter,
      [
        ["messages", "-q", "@"]
      ]),
    GoldenFile(
      "diameter-stats", diameter,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "goim-stats", goim,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "jt808-json", jt808,
      [
        ["-vA", "--format", "json", "-Y", "type in {location, media}", "-r", "@"]
      ]),
    GoldenFile(
      "jt808-stats", jt808,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "filters", nil,
      [
        Run(["-q", "--print", "-Y", "rtt_ms > 300", "-r", "@"], of: weak),
        Run(["-q", "--print", "-Y", "retry or duplicate", "-r", "@"], of: weak),
        Run(["-q", "--print", "-Y", "not ack and client.ip == 192.0.2.3", "-r", "@"], of: damage),
        Run(["-q", "--print", "-Y", "crc in {bad, le} and type == data", "-r", "@"], of: damage),
        Run(["-q", "--print", "-v", "-Y", "tlv[0xFFFF.0xFFFF]", "-r", "@"], of: damage),
        Run(["-q", "--print", "-v", "-A", "-Y", "tlv[0x1001] matches \"地铁|[0-9]+\"", "-r", "@"], of: clean),
        Run(["-q", "--print", "-Y", "session == \"reader\" and type == publish", "-r", "@"], of: mqtt),
        Run(["-q", "--print", "-Y", "gap", "-r", "@"], of: damage),
        Run(["-q", "--print", "-Y", "flags in {incomplete_tag, incomplete_value}", "-r", "@"], of: damage),
        Run(["messages", "-q", "-Y", "fate in {unanswered, pending}", "@"], of: weak),
        Run(["messages", "-q", "-Y", "fate == acked_after_retry and not rtt_ms", "@"], of: weak),
      ]),
    GoldenFile(
      "clean-stats", clean,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "weak-stats", weak,
      [
        ["stats", "@"],
        ["stats", "-q", "--json", "@"],
      ]),
    GoldenFile(
      "damage-stats", damage,
      [
        ["stats", "@"]
      ]),
    GoldenFile(
      "vlan-stats", vlan,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "mqtt-stats", mqtt,
      [
        ["stats", "-q", "@"]
      ]),
    GoldenFile(
      "clean-streams", clean,
      [
        ["streams", "@"],
        ["streams", "--ranges", "@"],
      ]),
    GoldenFile(
      "weak-streams", weak,
      [
        ["streams", "@"],
        ["streams", "--ranges", "@"],
        ["streams", "-q", "--json", "--sort", "conn", "@"],
        ["streams", "-q", "--format", "csv", "@"],
        ["streams", "-q", "--top", "3", "@"],
        ["streams", "-q", "--ranges", "--json", "@"],
      ]),
    GoldenFile(
      "damage-streams", damage,
      [
        ["streams", "@"],
        ["streams", "--ranges", "@"],
      ]),
    GoldenFile(
      "vlan-streams", vlan,
      [
        ["streams", "@"],
        ["streams", "--ranges", "@"],
      ]),
    GoldenFile(
      "mqtt-streams", mqtt,
      [
        ["streams", "@"],
        ["streams", "--ranges", "@"],
      ]),
    GoldenFile(
      "weak-ecs", weak,
      [
        ["-q", "--format", "ecs", "--sensor", "test", "-r", "@"],
        ["-q", "--format", "ecs", "--message-log", "errors", "--sensor", "test", "-r", "@"],
        ["-q", "--format", "ecs", "--message-log", "errors", "--log-lean", "--sensor", "test", "-r", "@"],
      ]),
    GoldenFile(
      "damage-ecs", damage,
      [
        ["-q", "--format", "ecs", "--message-log", "errors", "--sensor", "test", "-r", "@"]
      ]),
    GoldenFile(
      "mqtt-ecs", mqtt,
      [
        ["-q", "--format", "ecs", "--sensor", "test", "-r", "@"]
      ]),
    GoldenFile(
      "profile-commands", nil,
      [
        ["profile", "list"],
        Run(["profile", "check", "@"], of: "Sources/IMProfile/Profiles/mqtt.yaml"),
        Run(["profile", "check", "@"], of: "./LICENSE"),
        Run(["profile", "test", "diameter", "@"], of: diameter),
        Run(["profile", "test", "mqtt", "@"], of: weak),
      ]),
    GoldenFile(
      "profile-lua", nil,
      [
        ["profile", "export", "goim", "--wireshark"]
      ]),
    GoldenFile(
      "profile-markdown", nil,
      [
        ["profile", "export", "Sources/IMProfile/Profiles/goim.yaml", "--markdown"]
      ]),
    GoldenFile(
      "profile-file", mqtt,
      [
        ["-q", "--print", "-c", "20", "--profile", "Sources/IMProfile/Profiles/mqtt.yaml", "-r", "@"]
      ]),
    GoldenFile(
      "errors", nil,
      [
        Run(["-Y", "rtt > 5", "-r", "@"], of: weak),
        Run(["messages", "-Y", "type == data and len >", "@"], of: weak),
        Run(["messages", "-Y", "fate == gone", "@"], of: weak),
        Run(["-r", "@", "tcp", "prt", "80"], of: weak),
        Run(["--profile", "nope", "-r", "@"], of: weak),
        Run(["--profile", "nope.yaml", "-r", "@"], of: weak),
        ["profile", "show", "nope"],
        ["profile", "export", "nope", "--wireshark"],
        ["profile", "export", "goim"],
        Run(["--no-such-thing", "-r", "@"], of: weak),
        Run(["-c", "many", "-r", "@"], of: weak),
        Run(["--format", "xml", "-r", "@"], of: weak),
        Run(["-i", "lo", "-r", "@"], of: weak),
        Run(["-F", "Makefile", "-r", "@", "port", "8080"], of: weak),
        ["-r", "nothing.pcap"],
        Run(["stats", "@", "nothing.pcap"], of: clean),
        ["stats"],
        Run(["-r", "@"], of: "./Makefile"),
        Run(["messages", "@"], of: "Samples/generator"),
        ["-i", "nope0"],
        Run(["--format", "ecs", "-Y", "ack", "-r", "@"], of: weak),
        Run(["--format", "ecs", "-w", "-", "-r", "@"], of: weak),
        Run(["--format", "ecs", "--message-log", "some", "-r", "@"], of: weak),
        ["completion", "tcsh"],
      ]),
  ]

  @Test(arguments: files)
  func printsWhatItPrinted(_ file: GoldenFile) throws {
    let texts = try file.runs.map { run in
      text(file.line(of: run), try Command.run(file.arguments(of: run), input: run.isPiped ? file.path(of: run) : nil))
    }
    try compare(file.name, texts.joined())
  }

  /// A capture cut inside a record: everything before it comes out, the message has the offset, the status is 1.
  @Test func processesCutCaptures() throws {
    let whole = try Data(contentsOf: Command.folder.appending(path: "Samples/\(Self.weak)"))
    // In a record, in a record's header, in the file's header.
    let texts = try [30_010, 29_992, 20].map { count in
      let path = "/tmp/imdump-cut-\(count)-\(ProcessInfo.processInfo.processIdentifier).pcap"
      try whole.prefix(count).write(to: URL(filePath: path))
      defer { try? FileManager.default.removeItem(atPath: path) }
      var result = try Command.run(["messages", "--retried", path])
      result.errors = result.errors.replacing(path, with: "CUT.pcap")
      return text("imdump messages --retried CUT.pcap (the first \(count) bytes of \(Self.weak))", result)
    }
    try compare("cut", texts.joined())
  }

  @Test func namesAreDifferent() {
    #expect(Set(Self.files.map(\.name)).count == Self.files.count)
  }

  /// A run's command line, output, status and error messages.
  private func text(_ line: String, _ result: Command.Result) -> String {
    "$ \(line)\n\(result.output)-- status \(result.status)\n\(result.errors)"
  }

  /// Compares with the golden file, or writes it.
  private func compare(_ name: String, _ text: String) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name).txt")
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
