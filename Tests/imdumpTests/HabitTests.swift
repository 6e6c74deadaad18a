import Foundation
import IMTestSupport
import Testing

/// What people type first, as they know it from tcpdump.
@Suite struct HabitTests {
  static let path = "Samples/tjp-clean-chat.pcap"

  @Test func aFileNeedsNoOption() throws {
    let named = try Command.run(["-q", "--print", Self.path, "-c", "60"])
    let plain = try Command.run(["-q", "--print", "-r", Self.path, "-c", "60"])
    #expect(named.status == 0 && named.output == plain.output && !named.output.isEmpty)
    let missing = try Command.run(["Samples/none.pcap"])
    #expect(missing.status == 66 && missing.errors.contains("Samples/none.pcap"))
  }

  /// tcpdump counts 157 of the sample's 306 packets for this host.
  @Test(arguments: [
    [], ["stats"], ["messages"], ["streams"], ["streams", "--ranges"], ["check", "--rules", "Samples/alerts/im.yml"],
  ])
  func aFilterFollowsFiles(_ command: [String]) throws {
    let run = try Command.run(command + [Self.path, "host", "192.0.2.21"])
    #expect(run.status == 0)
    #expect(run.errors.contains("157 packets"), "\(run.errors)")
    #expect(!run.output.contains("198.51.100.35"))
    let whole = try Command.run(command + [Self.path])
    #expect(whole.errors.contains("306 packets"), "\(whole.errors)")
    let wrong = try Command.run(command + [Self.path, "host", "host"])
    #expect(wrong.status == 64 && wrong.output.isEmpty)
    // What can begin no filter is a file that is not there.
    let missing = try Command.run(command + [Self.path, "phone"])
    if !command.isEmpty { #expect(missing.status == 66) }
  }

  /// A word of a filter is no file, though one is called so.
  @Test func aWordOfAFilterIsNoFile() throws {
    let folder = try Scratch()
    let sample = try Data(contentsOf: Command.folder.appending(path: Self.path))
    for name in ["tcp", "phone"] { try sample.write(to: URL(filePath: folder.path(name))) }
    func run(_ words: [String]) throws -> Program.Result {
      try Program.run(
        Command.program.path, words, environment: Command.environment, folder: folder.url.path)
    }
    #expect(try run(["stats", "phone", "tcp"]).errors.contains("306 packets captured"))
    #expect(try run(["-q", "--print", "phone", "tcp", "port", "1"]).output == "")
    #expect(try run(["stats", "phone", "./tcp"]).errors.contains("612 packets captured"))
  }

  @Test func whoWantsFilesWantsNoLines() throws {
    let folder = try Scratch()
    let lines = try Command.run(["-q", "--print", Self.path]).output
    for option in [["-w", folder.path("a.pcap")], ["--log-dir", folder.path("logs")]] {
      let silent = try Command.run(["-q", Self.path] + option)
      #expect(silent.status == 0 && silent.output == "", "\(option)")
      #expect(try Command.run(["-q", Self.path, "--print"] + option).output == lines, "\(option)")
      #expect(try Command.run(["-q", Self.path, "--format", "text"] + option).output == lines, "\(option)")
    }
    let chosen = try Command.run([Self.path, "-w", folder.path("a.pcap"), "-Y", "ack"])
    #expect(chosen.errors.contains("-w writes every packet"))
  }

  /// The first frame was captured at 2025-10-09T08:53:20.286365Z; clocks in Shanghai are eight hours ahead.
  @Test func timesAreLocal() throws {
    func first(_ words: String...) throws -> String {
      String(try Command.run([Self.path, "-c", "10", "-q", "--print"] + words).output.prefix { $0 != " " })
    }
    #expect(try first() == "16:53:20.286365")
    #expect(try first("--utc") == "08:53:20.286365")
    #expect(try first("-tttt") == "2025-10-09T16:53:20.286365+08:00")
    #expect(try first("-tttt", "--utc") == "2025-10-09T08:53:20.286365Z")
    #expect(try first("-tt") == "1760000000.286365")
    #expect(try first("-Y", "ts >= \"2025-10-09 16:53:20.286491\"") == "16:53:20.286491")
    #expect(try first("-Y", "ts >= \"2025-10-09 08:53:20.286491\"", "--utc") == "08:53:20.286491")
    let local = try Command.run(["stats", Self.path]).errors
    #expect(local.contains("captured 2025-10-09 16:53:20 to "), "\(local)")
    #expect(local.contains("(CST, UTC+08:00)"), "\(local)")
    #expect(try Command.run(["stats", Self.path, "--utc"]).errors.contains("captured 2025-10-09 08:53:20 to "))
    let (json, utc) = try (
      Command.run(["-q", Self.path, "--format", "json"]), Command.run(["-q", Self.path, "--format", "json", "--utc"])
    )
    #expect(json.output == utc.output && !json.output.isEmpty)
  }

  /// The pipe is opened behind the handlers of signals, so the signal finds them.
  @Test(
    arguments: [["stats"], ["stats", "--json"], ["messages"], ["streams"], ["streams", "--ranges"], []],
    [SIGINT, SIGTERM])
  func aFileThatWasNotReadToItsEndIsSaid(_ command: [String], _ number: Int32) throws {
    let folder = try Scratch()
    let pipe = folder.path("pipe.pcap")
    try #require(mkfifo(pipe, 0o600) == 0)
    let told = Program.scratchFile()
    let printed = Program.scratchFile()
    defer {
      close(told)
      close(printed)
    }
    let run = try Program(
      Command.program.path, command + [pipe], environment: Command.environment, folder: folder.url.path,
      output: printed, errors: told)
    let end = open(pipe, O_WRONLY | O_CLOEXEC)
    defer { close(end) }
    let sample = try Data(contentsOf: Command.folder.appending(path: Self.path))
    let written = sample.withUnsafeBytes { write(end, $0.baseAddress, 4_096) }
    #expect(written == 4_096)
    kill(run.id, number)
    #expect(run.wait() == .exit(130))
    let text = Program.text(of: told)
    #expect(text.contains("interrupted"), "\(text)")
    #expect(Program.text(of: printed).hasPrefix("interrupted\n") == (command == ["stats"]))
    guard command == ["stats", "--json"] else { return }
    // Of a pipe nobody knows the share.
    let figures = try JSONSerialization.jsonObject(with: Data(Program.text(of: printed).utf8)) as? [String: Any]
    let interrupted = try #require(figures?["interrupted"] as? [String: Int])
    let ledger = figures?["ledger"] as? [String: Any]
    #expect(interrupted == ["packets": try #require(ledger?["packets"] as? Int)])
  }

  /// -A alone shows bodies, as text of a terminal.
  @Test func bodiesAsText() throws {
    let lines = try Command.run(["-q", "--print", "-A", "Samples/mqtt-mosquitto.pcap", "-c", "12"]).output.split(
      separator: "\n")
    #expect(lines.count > 1 && lines[1] == "\t\\x00\\x04MQTT\\x04\\x02\\x00\\x05\\x00\\x07watcher")
    let plain = try Command.run(["-q", "--print", "-vA", "--no-fields", "Samples/tjp-clean-chat.pcap", "-c", "12"])
      .output
    #expect(plain.contains("version_request, 4 bytes: "))
  }
}
