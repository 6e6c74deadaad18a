import Foundation
import Glibc
import IMTestSupport
import Testing

/// Output that is lost never ends in status 0, and is told with `-q`, too.
@Suite struct LostOutputTests {
  private static let weak = "Samples/tjp-weak-network.pcap"
  private static let rules = "Samples/alerts/im.yml"

  /// Whether a file system can be mounted here.
  static let mayMount: Bool = {
    guard geteuid() == 0, let folder = try? Scratch() else { return false }
    guard mount("tmpfs", folder.url.path, "tmpfs", 0, "size=16k") == 0 else { return false }
    return umount2(folder.url.path, Int32(MNT_DETACH)) == 0
  }()

  /// A file system of 16 KiB of which a little is left.
  private final class FullDisk {
    let folder: Scratch

    init() throws {
      let place = try Scratch()
      let isMounted = mount("tmpfs", place.url.path, "tmpfs", 0, "size=16k") == 0
      folder = place
      try #require(isMounted)
      _ = try folder.file("fill", [UInt8](repeating: 0, count: 12 << 10))
    }

    deinit { umount2(folder.url.path, Int32(MNT_DETACH)) }

    func path(_ name: String) -> String { folder.path(name) }
  }

  /// A run, and the folder or file that its errors name.
  static let runs: [[String]] = [
    ["check", weak, "--rules", rules, "--evidence", "@"],
    ["-r", weak, "--rules", rules, "--evidence", "@"],
    ["-r", weak, "-w", "@"],
    ["-r", weak, "-w", "@", "-C", "1"],
    ["-r", weak, "--format", "ecs", "--log-dir", "@"],
    ["-r", weak, "--metrics-file", "@"],
    ["streams", weak, "--write", "@"],
  ]

  @Test(.enabled(if: mayMount, "only root may mount a small disk"), arguments: runs)
  func aFullDiskIsTold(_ words: [String]) throws {
    let disk = try FullDisk()
    let name = disk.path("out")
    let result = try Command.run(words.map { $0 == "@" ? name : $0 } + ["-q"])
    #expect(result.status == 74, "\(words): \(result.errors)")
    #expect(result.errors.lowercased().contains("no space left on device"), "\(words): \(result.errors)")
    #expect(result.errors.contains(disk.folder.url.lastPathComponent), "\(words): \(result.errors)")
  }

  @Test(arguments: [["-r", weak, "--print"], ["stats", weak], ["messages", weak, "--json"], ["streams", weak]])
  func aFullStandardOutputIsTold(_ words: [String]) throws {
    let quoted = (words + ["-q"]).map { "'\($0)'" }.joined(separator: " ")
    let result = try Self.shell("'\(Command.program.path)' \(quoted) > /dev/full")
    #expect(result.status == 74)
    #expect(result.errors == "imdump: standard output: no space left on device\n")
  }

  @Test func aCaptureIntoTheVoidIsTold() throws {
    let result = try Command.run(["-q", "-r", Self.weak, "-w", "/dev/full"])
    #expect(result.status == 74)
    #expect(result.errors == "imdump: /dev/full: write: no space left on device\n")
  }

  @Test(arguments: [["check", weak], ["-r", weak]]) func aHookThatFailsIsTold(_ words: [String]) throws {
    let result = try Command.run(words + ["-q", "--rules", Self.rules, "--hook", "/bin/false"])
    #expect(result.status == 74)
    #expect(result.errors.contains("alerts, hook: 0 delivered, "))
    let fine = try Command.run(words + ["-q", "--rules", Self.rules, "--hook", "/bin/true"])
    #expect(fine.status == (words[0] == "check" ? 2 : 0))
    #expect(fine.errors == "")
  }

  /// A run without an alert has nothing to deliver, and nothing is wrong with it.
  @Test func withoutAnAlertNothingIsLost() throws {
    let clean = Samples.path("tjp-clean-chat.pcap")
    let run = try Command.run(["-q", "-r", clean, "--rules", Self.rules, "--hook", "/bin/false"])
    #expect(run.status == 0 && run.errors == "" && run.output == "")
  }

  /// Nobody listens on the port of discard here.
  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "curl is not installed"),
    arguments: ["--webhook", "--alertmanager"])
  func aPostThatFailsIsTold(_ option: String) throws {
    let result = try Command.run(
      ["check", "-q", Self.weak, "--rules", Self.rules, option, "http://127.0.0.1:9/alerts"])
    #expect(result.status == 74)
    #expect(result.errors.contains("alerts, http://127.0.0.1:9"))
    #expect(result.errors.contains("0 delivered, "))
  }

  private static func shell(_ line: String) throws -> (errors: String, status: Int32) {
    let run = try Program.run(
      "/bin/sh", ["-c", line], environment: Command.environment, folder: Command.folder.path)
    return (run.errors, run.ending.status)
  }
}
