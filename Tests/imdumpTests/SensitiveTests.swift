import Foundation
import Testing

/// A client's name that the profile calls sensitive stands in no output; its hash does, the same everywhere.
@Suite struct SensitiveTests {
  private struct Folder: ~Copyable {
    let url = URL(filePath: NSTemporaryDirectory()).appending(path: "imdump-sensitive-\(UUID().uuidString)")
    init(_ profile: String) throws {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try Data(profile.utf8).write(to: url.appending(path: "mine.yaml"))
      try Data("0123456789abcdef".utf8).write(to: url.appending(path: "key"))
    }
    deinit { try? FileManager.default.removeItem(at: url) }
    func path(_ name: String) -> String { url.appending(path: name).path }
  }

  private static let profile: String = {
    let file = Command.folder.appending(path: "Sources/IMProfile/Profiles/mqtt.yaml")
    return ((try? String(contentsOf: file, encoding: .utf8)) ?? "") + "\nidentity: { sensitive: true }\n"
  }()

  /// By Python: hmac.new(b"0123456789abcdef", b"reader", "sha256").hexdigest()[:16]
  private static let reader = "93ba1af7fedfeed1"

  static let outputs: [[String]] = [
    ["-vvA", "-r"], ["-x", "-r"], ["-A", "-r"], ["--format", "json", "-vA", "-r"],
    ["--format", "ecs", "--message-log", "all", "-r"],
    ["messages"], ["messages", "--json"], ["messages", "--by", "session"], ["messages", "--by", "session", "--json"],
    ["stats"], ["stats", "--json"],
  ]

  @Test(arguments: outputs) func namesStandNowhere(_ options: [String]) throws {
    let folder = try Folder(Self.profile)
    let common = ["--profile", folder.path("mine.yaml"), "--hash-key-file", folder.path("key")]
    let result = try Command.run(options + ["Samples/mqtt5-mosquitto.pcap"] + common)
    #expect(result.status == 0)
    // One's will has its name in the text that its user wrote.
    for name in ["-x", "-A", "-vvA"].contains(options[0]) ? ["writer", "auto-"] : ["reader", "writer", "auto-"] {
      #expect(!result.output.contains(name), "\(options): \(name)")
    }
    if options.first != "stats" { #expect(result.output.contains(Self.reader), "\(options)") }
    if options.contains("ecs") { #expect(result.output.contains("\"user\":{\"hash\":\"\(Self.reader)\"}")) }
  }

  /// A session's number that is sensitive: a hash of 53 bits stands for it, by the same key.
  @Test(arguments: outputs.filter { !$0.contains("-x") }) func numbersStandNowhere(_ options: [String]) throws {
    let file = Command.folder.appending(path: "Sources/IMProfile/Profiles/jt808.yaml")
    let page = try String(contentsOf: file, encoding: .utf8)
    #expect(page.contains("unique: true }"))
    let folder = try Folder(page.replacing("unique: true }", with: "unique: true, sensitive: true }"))
    let common = ["--profile", folder.path("mine.yaml"), "--hash-key-file", folder.path("key")]
    let runs = try (0..<2).map { _ in try Command.run(options + ["Samples/jt808-terminals.pcap"] + common).output }
    #expect(!runs[0].isEmpty && !runs[0].contains("13800138000") && !runs[0].contains("013800138000"), "\(options)")
    if !options.contains("ecs") { #expect(runs[0] == runs[1], "\(options)") }
    let plain = try Command.run(options + ["Samples/jt808-terminals.pcap"]).output
    if options.first != "stats" { #expect(plain.contains("13800138000"), "\(options)") }
  }

  /// Without a key of one's own every run has another.
  @Test func otherRunsOtherHashes() throws {
    let folder = try Folder(Self.profile)
    let runs = try (0..<2).map { _ in
      try Command.run(["-q", "--print", "-r", "Samples/mqtt5-mosquitto.pcap", "--profile", folder.path("mine.yaml")])
        .output
    }
    #expect(runs[0] != runs[1] && runs[0].utf8.count == runs[1].utf8.count)
  }

  @Test func shortKey() throws {
    let folder = try Folder(Self.profile)
    try Data("short".utf8).write(to: URL(filePath: folder.path("key")))
    let result = try Command.run(["-r", "Samples/mqtt5-mosquitto.pcap", "--hash-key-file", folder.path("key")])
    #expect(result.status == 64 && result.errors.contains("expected a key of 16 to 4,096 bytes"))
  }
}
