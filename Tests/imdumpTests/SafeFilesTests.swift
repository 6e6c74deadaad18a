import Foundation
import Glibc
import IMTestSupport
import Testing

/// Files that imdump makes and reads: who may read them, which links are followed, and what messages show of their names.
@Suite struct SafeFilesTests {
  private static let clean = "Samples/tjp-clean-chat.pcap"
  private static let weak = "Samples/tjp-weak-network.pcap"
  private static let rules = "Samples/alerts/im.yml"

  private static func mode(_ path: String) -> UInt32? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  // MARK: Who may read captures

  @Test func capturesAreNotForEverybody() throws {
    let folder = try Scratch()
    // Whatever more the umask takes away.
    let before = umask(0)
    umask(before)
    let allowed = 0o640 & ~before
    #expect(try Command.run(["-q", "-r", Self.clean, "-w", folder.path("one")]).status == 0)
    #expect(Self.mode(folder.path("one")) == allowed)
    #expect(try Command.run(["-q", "-r", Self.clean, "-w", folder.path("many"), "-C", "10k"]).status == 0)
    #expect(Self.mode(folder.path("many")) == allowed && Self.mode(folder.path("many1")) == allowed)
    let run = ["check", "-q", Self.weak, "--rules", Self.rules, "--evidence", folder.path("evidence")]
    #expect(try Command.run(run).status == 2)
    let evidence = try FileManager.default.contentsOfDirectory(atPath: folder.path("evidence"))
    #expect(!evidence.isEmpty)
    for name in evidence { #expect(Self.mode(folder.path("evidence/\(name)")) == allowed, "\(name)") }
  }

  // MARK: Links and files of others

  /// What somebody else laid into a folder in which everybody may make files.
  @Test(
    .enabled(if: geteuid() == 0, "only root can make files of others"), arguments: ["link", "file"],
    [[], ["-C", "1"]] as [[String]])
  func whatOthersLaidInTheWayIsNotWritten(_ what: String, _ more: [String]) throws {
    let folder = try Scratch()
    let place = folder.path("everybody"), victim = try folder.file("victim", "untouched".utf8)
    #expect(mkdir(place, 0o777) == 0 && chmod(place, 0o1777) == 0)
    let trap = place + "/trap.pcap"
    if what == "link" {
      #expect(symlink(victim, trap) == 0 && lchown(trap, 65_534, 65_534) == 0)
    } else {
      try Data("theirs".utf8).write(to: URL(filePath: trap))
      #expect(chown(trap, 65_534, 65_534) == 0)
    }
    let result = try Command.run(["-q", "-r", Self.clean, "-w", trap] + more)
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "untouched")
    if what == "file", more.isEmpty {
      #expect(result.status == 74 && result.errors.contains("is a file of user 65534"))
      #expect(try String(contentsOfFile: trap, encoding: .utf8) == "theirs")
    } else if what == "file" {
      // A file that follows others takes the name and leaves the other file to whoever has it open.
      #expect(result.status == 0 && Self.mode(trap) == 0o640)
    } else {
      #expect(result.status == 74 && result.errors.hasPrefix("imdump: \(trap): "))
    }
  }

  /// Nor does an export write there.
  @Test(
    .enabled(if: geteuid() == 0, "only root can make files of others"), arguments: ["link", "file"],
    ["trap.pcap", "trap.pcapng"])
  func anExportWritesNothingOfOthers(_ what: String, _ name: String) throws {
    let folder = try Scratch()
    let place = folder.path("everybody"), victim = try folder.file("victim", "untouched".utf8)
    #expect(mkdir(place, 0o777) == 0 && chmod(place, 0o1777) == 0)
    let trap = place + "/" + name
    if what == "link" {
      #expect(symlink(victim, trap) == 0 && lchown(trap, 65_534, 65_534) == 0)
    } else {
      try Data("theirs".utf8).write(to: URL(filePath: trap))
      #expect(chown(trap, 65_534, 65_534) == 0)
    }
    let result = try Command.run(["export", Self.clean, "--conn", "1", "-w", trap])
    // The kernel itself may refuse to follow a link that lies there.
    #expect(result.status == 74 && result.errors.hasPrefix("imdump: \(trap): "), "\(result.errors)")
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "untouched")
    guard what == "file" else { return }
    #expect(result.errors.contains("is a file of user 65534"))
    #expect(try String(contentsOfFile: trap, encoding: .utf8) == "theirs")
  }

  /// One's own link is followed: somebody wants it so.
  @Test func onesOwnLinkIsFollowed() throws {
    let folder = try Scratch()
    #expect(symlink(folder.path("target"), folder.path("link")) == 0)
    #expect(try Command.run(["-q", "-r", Self.clean, "-w", folder.path("link")]).status == 0)
    #expect(Self.mode(folder.path("target")) != nil)
  }

  /// What the owner of a folder laid into it is not followed by root, which might become that user: a link in the place of the file, a
  /// link on the way to it, a second name of a file of root's, and a pipe.
  @Test(
    .enabled(if: geteuid() == 0, "only root can make files of others"), arguments: ["link", "way", "name", "pipe"],
    [
      ["-q", "-r", clean, "-w", "@"], ["export", clean, "--conn", "1", "-w", "@"], ["index", clean, "-o", "@"],
      ["report", clean, "-o", "@"], ["profile", "export", "tjp", "--markdown", "-o", "@"],
    ])
  func whatAFoldersOwnerLaidInTheWayIsNotWritten(_ what: String, _ words: [String]) throws {
    let folder = try Scratch()
    #expect(chmod(folder.url.path, 0o755) == 0)
    let place = folder.path("theirs"), target = folder.path("target")
    #expect(mkdir(place, 0o755) == 0 && chown(place, 65_534, 65_534) == 0 && mkdir(target, 0o700) == 0)
    let victim = try folder.file("target/trap.pcap", "untouched".utf8)
    var trap = place + "/trap.pcap"
    switch what {
    case "link": #expect(symlink(victim, trap) == 0 && lchown(trap, 65_534, 65_534) == 0)
    case "way":
      #expect(symlink(target, place + "/way") == 0 && lchown(place + "/way", 65_534, 65_534) == 0)
      trap = place + "/way/trap.pcap"
    case "name": #expect(link(victim, trap) == 0)
    default: #expect(mkfifo(trap, 0o666) == 0 && chown(trap, 65_534, 65_534) == 0)
    }
    // A pipe with a reader.
    let reader = what == "pipe" ? open(trap, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1
    defer { if reader >= 0 { close(reader) } }
    let result = try Command.run(words.map { $0.replacing("@", with: trap) })
    #expect(result.status == 74 && result.errors.contains(trap), "\(result.status) \(result.errors)")
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "untouched")
    if reader >= 0 {
      var byte: UInt8 = 0
      #expect(read(reader, &byte, 1) <= 0)
    }
  }

  /// A file of the folder's owner is written: it was made by an earlier run, which had become that user.
  @Test(.enabled(if: geteuid() == 0, "only root can make files of others"))
  func aFileOfAFoldersOwnerIsWritten() throws {
    let folder = try Scratch()
    let place = folder.path("theirs"), path = place + "/trace.pcap"
    #expect(mkdir(place, 0o755) == 0 && chown(place, 65_534, 65_534) == 0)
    try Data("old".utf8).write(to: URL(filePath: path))
    #expect(chown(path, 65_534, 65_534) == 0)
    #expect(try Command.run(["-q", "-r", Self.clean, "-w", path]).status == 0)
    #expect(try Command.run(["stats", "-q", path]).status == 0)
  }

  /// Names by which a process has what is open already, which are links of the kernel's.
  @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "-"])
  func whatIsOpenIsWritten(_ name: String) throws {
    let folder = try Scratch()
    #expect(try Command.run(["-q", "-r", Self.clean, "-w", folder.path("file")]).status == 0)
    let file = try Data(contentsOf: URL(filePath: folder.path("file")))
    let shell = "'\(Command.program.path)' -q -r \(Self.clean) -w \(name)"
    // A pipe, a file, and a process that reads what the shell gives a name.
    for words in ["\(shell) | cat > @", "\(shell) > @"]
      + (name == "-" ? ["\(shell.dropLast())>(cat > @) && wait $!"] : [])
    {
      let made = folder.path("made")
      try? FileManager.default.removeItem(atPath: made)
      let run = try Program.run(
        "/bin/bash", ["-c", words.replacing("@", with: made)], environment: Command.environment,
        folder: Command.folder.path)
      #expect(run.ending == .exit(0), "\(words): \(run.errors)")
      #expect(try Data(contentsOf: URL(filePath: made)) == file, "\(words)")
    }
  }

  /// A pipe without a reader, and one whose reader takes nothing: the first signal ends the run.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true], [SIGINT, SIGTERM])
  func aPipeIsNotWaitedForWhenARunIsToEnd(_ hasReader: Bool, _ number: Int32) throws {
    let folder = try Scratch()
    let input = folder.path("in.pcap"), pipe = folder.path("out.pcap")
    // More than a pipe holds.
    _ = try folder.file("in.pcap", Store.repeated("tjp-clean-chat.pcap", 10))
    #expect(mkfifo(pipe, 0o600) == 0)
    let reader = hasReader ? open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1
    defer { if reader >= 0 { close(reader) } }
    let run = try Program(
      Command.program.path, ["-q", "-r", input, "-w", pipe], environment: Command.environment, folder: folder.url.path)
    while try !Self.waits(run.id) { usleep(2_000) }
    let begun = ContinuousClock.now
    kill(run.id, number)
    #expect(run.wait() == .exit(130))
    #expect(ContinuousClock.now - begun < .seconds(3))
  }

  /// Whether a process catches signals, and waits in poll(2) for the pipe.
  private static func waits(_ process: Int32) throws -> Bool {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("SigCgt:") }),
      let mask = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16), mask & 1 << 14 != 0
    else { return false }
    return status.contains("State:\tS")
  }

  // MARK: Keys

  @Test func aKeyThatIsNoFileIsRefused() throws {
    let folder = try Scratch()
    #expect(mkfifo(folder.path("fifo"), 0o600) == 0)
    for name in ["fifo", ".", "none"] {
      let result = try Command.run(["stats", "-q", Self.clean, "--hash-key-file", folder.path(name)])
      #expect(result.status == 64, "\(name)")
      #expect(result.errors.hasPrefix("imdump: --hash-key-file \(folder.path(name)): "), "\(name)")
      #expect(result.output == "", "\(name)")
    }
  }

  @Test(arguments: [(0o600, nil), (0o640, "its group may read it"), (0o604, "everybody may read it")])
  func aKeyThatOthersMayReadIsTold(_ mode: Int, _ words: String?) throws {
    let folder = try Scratch()
    let key = try folder.file("key", [UInt8](repeating: 7, count: 32), mode: mode)
    let result = try Command.run(["stats", "-q", Self.clean, "--hash-key-file", key])
    #expect(result.status == 0)
    #expect(result.errors == (words.map { "imdump: --hash-key-file \(key): \($0); use chmod 600\n" } ?? ""))
  }

  // MARK: Names in messages

  /// A name that would clear a terminal and begin a line of its own.
  private static let name = "a\nimdump: all is well\u{1b}[2J\u{9b}31m"
  private static let shown = "a\\x0aimdump: all is well\\x1b[2J"

  @Test(
    arguments: [
      ["-r", "@"], ["stats", "@"], ["messages", "@"], ["streams", "@"], ["check", "@", "--rules", rules],
      ["-r", clean, "-w", "@/x"], ["rules", "check", "@"], ["-r", clean, "--rules", "@"],
      ["-r", clean, "--profile", "./@"],
      ["profile", "check", "@"], ["-r", clean, "-F", "@"], ["-r", clean, "--log-dir", "@/x/y"],
      ["-r", clean, "--metrics-file", "@/x"], ["-r", clean, "--format", "ecs", "--networks", "@"],
      ["-r", clean, "--hash-key-file", "@"],
      ["-r", clean, "--rules", rules, "--evidence", "@/x"], ["-r", clean, "--rules", rules, "--hook", "/@"],
      ["streams", clean, "--write", "@/x"], ["schema", "--templates", "@/x"], ["schema", "diff", "@"],
      ["profile", "export", "tjp", "--markdown", "-o", "@/x"],
    ])
  func aNameCommandsNoTerminal(_ words: [String]) throws {
    // Nothing has this name.
    let result = try Command.run(words.map { $0.replacing("@", with: "/nowhere/" + Self.name) })
    #expect(result.status != 0, "\(words)")
    let text = result.output + result.errors
    #expect(
      !text.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || (0x7f...0x9f).contains($0.value)) }, "\(words)")
    #expect(!text.split(separator: "\n").contains("imdump: all is well"), "\(words)")
    #expect(!result.errors.split(separator: "\n").contains { $0.hasPrefix("imdump: all is well") }, "\(words)")
    #expect(result.errors.contains("\\x0a"), "\(words): \(result.errors)")
  }

  /// Messages of success show names, too.
  @Test func aNameInOrderCommandsNoTerminal() throws {
    let folder = try Scratch()
    let rules = try folder.file(Self.name, Data(contentsOf: Command.folder.appending(path: Self.rules)))
    #expect(
      try Command.run(["rules", "check", rules]).output.hasSuffix("\(Self.shown)\\xc2\\x9b31m: 15 rules, no errors\n"))
    let profile = try folder.file(Self.name, Command.run(["profile", "show", "tjp"]).output.utf8)
    #expect(try Command.run(["profile", "check", profile]).output.contains("\(Self.shown)\\xc2\\x9b31m: profile tjp"))
    let templates = try Command.run(["schema", "--templates", folder.path("t" + Self.name)])
    #expect(templates.status == 0)
    #expect(
      templates.output.split(separator: "\n").allSatisfy { $0.contains("t" + Self.shown) && $0.hasSuffix(".json") })
  }

  /// A text that takes the place of the last one would take that of a link or a device, too.
  @Test func whatTakesAPlaceIsNoLink() throws {
    let scratch = try Scratch()
    let (file, link) = (scratch.path("real.prom"), scratch.path("link.prom"))
    #expect(FileManager.default.createFile(atPath: file, contents: Data()))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    for (path, kind) in [
      (link, "is a link"), ("/dev/null", "is not a regular file"), (scratch.path(""), "is a folder"),
    ] {
      let run = try Command.run(["-q", "-r", Self.clean, "--metrics-file", path])
      #expect(run.status == 64 && run.errors.contains(kind), "\(path): \(run.errors)")
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == file)
    #expect(try Command.run(["-q", "-r", Self.clean, "--metrics-file", file]).status == 0)
  }
}
