import Foundation
import Glibc
import IMTestSupport
import Testing

/// What root gives up to read a file, and what it keeps: its outputs.
@Suite(.enabled(if: geteuid() == 0 && getpwnam("nobody") != nil, "only root gives something up"))
struct RootReadingTests {
  private static let sample = "tjp-weak-network.pcap"

  /// A folder that is root's alone, with captures that are root's alone.
  private static func folder(_ names: [String] = ["a.pcap"]) throws -> Scratch {
    let folder = try Scratch()
    for name in names { _ = try folder.file(name, Samples.bytes(sample), mode: 0o600) }
    #expect(chmod(folder.url.path, 0o700) == 0)
    return folder
  }

  private static func facts(_ process: Int32) throws -> [String: String] {
    var facts: [String: String] = [:]
    for line in try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8).split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { facts[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    return facts
  }

  private static func owner(_ path: String) -> uid_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_uid : nil
  }

  /// While packets are read: a user who is not root, no capability, no_new_privs, the filter; and what opts out of it.
  @Test(
    .timeLimit(.minutes(2)), arguments: [[], ["-Z", "root"], ["--no-sandbox"], ["-Z", "nobody"]],
    ["stats", "messages", "streams", "check"])
  func whoReads(_ words: [String], _ command: String) throws {
    // These have no -Z.
    guard !words.contains("-Z") || command == "stats" || command == "messages" else { return }
    let folder = try Scratch()
    let pipe = folder.path("pipe.pcap")
    try #require(mkfifo(pipe, 0o600) == 0)
    let rules = command == "check" ? ["--rules", Command.folder.appending(path: "Samples/alerts/im.yml").path] : []
    let run = try Program(
      Command.program.path, [command, "-q", pipe] + rules + words, environment: Command.environment,
      folder: folder.url.path)
    defer {
      kill(run.id, SIGKILL)
      _ = run.wait()
    }
    // Not for writing alone, which would wait for a run that has failed.
    let end = open(pipe, O_RDWR | O_CLOEXEC)
    defer { close(end) }
    let bytes = try Samples.bytes(Self.sample)
    #expect(bytes.withUnsafeBytes { write(end, $0.baseAddress, 4_096) } == 4_096)
    let keeps = words == ["-Z", "root"] || words == ["--no-sandbox"]
    // It has given up everything when the filter is there, or when it waits for more.
    var facts = try Self.facts(run.id)
    for _ in 0..<5_000 {
      if facts["Seccomp"] == "2" || words == ["--no-sandbox"] && facts["NoNewPrivs"] == "1" { break }
      usleep(2_000)
      facts = try Self.facts(run.id)
    }
    #expect(facts["NoNewPrivs"] == "1")
    #expect(facts["Seccomp"] == (words == ["--no-sandbox"] ? "0" : "2"))
    let isRoot = facts["Uid"]?.split(whereSeparator: \.isWhitespace).contains("0") ?? true
    #expect(isRoot == keeps, "\(facts["Uid"] ?? "")")
    guard !keeps else { return }
    #expect(facts["Groups"] == "")
    for name in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
      #expect(facts[name].flatMap { UInt64($0, radix: 16) } == 0, "\(name)")
    }
  }

  /// Whatever is written is made in root's folder, is root's, and is what it is without a sandbox.
  @Test(arguments: [
    (["index", "-q", "a.pcap", "-o", "out"], ["out"]), (["report", "-q", "a.pcap", "-o", "out"], ["out"]),
    (["export", "-q", "a.pcap", "--lost", "-w", "out.pcapng"], ["out.pcapng"]),
    (["export", "-q", "a.pcap", "--redact", "-w", "out.pcap"], ["out.pcap"]),
    (["-q", "-r", "a.pcap", "-w", "out.pcap"], ["out.pcap"]),
    (["-q", "-r", "a.pcap", "-w", "out", "-C", "20k"], ["out", "out1", "out2"]),
    (["-q", "-r", "a.pcap", "--format", "ecs", "--log-dir", "out"], ["out"]),
    (["-q", "-r", "a.pcap", "--metrics-file", "out.prom"], ["out.prom"]),
    (["-q", "-r", "a.pcap", "--store", "out.db"], ["out.db"]),
    (["streams", "-q", "a.pcap", "--write", "out"], ["out"]),
  ])
  func whatIsWrittenIsTheCallers(_ words: [String], _ made: [String]) throws {
    let folder = try Self.folder()
    func run(_ more: [String]) throws -> Program.Result {
      try Program.run(
        Command.program.path, words + more, environment: Command.environment, folder: folder.url.path)
    }
    let confined = try run([])
    #expect(confined.ending == .exit(0), "\(confined.errors)")
    var first: [String: Data] = [:]
    for name in made {
      let path = folder.path(name)
      #expect(Self.owner(path) == 0, "\(name)")
      let inside = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
      for file in inside { #expect(Self.owner("\(path)/\(file)") == 0, "\(file)") }
      #expect(inside.isEmpty == (try? Data(contentsOf: URL(filePath: path))).map { !$0.isEmpty } ?? false)
      if inside.isEmpty { first[name] = try Data(contentsOf: URL(filePath: path)) }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(
      names.allSatisfy { name in
        name == "a.pcap" || made.contains { name.hasPrefix($0) } && !name.hasSuffix("-wal") && !name.hasSuffix("-shm")
      }, "\(names)")
    for name in made { try FileManager.default.removeItem(atPath: folder.path(name)) }
    #expect(try run(["--no-sandbox"]).ending == .exit(0))
    // A redacted copy has a key of its own, a page its date.
    guard !words.contains("--redact"), words[0] != "report", words[0] != "index", !words.contains("--store") else {
      return
    }
    for (name, bytes) in first where !name.hasSuffix(".prom") {
      #expect(try Data(contentsOf: URL(filePath: folder.path(name))) == bytes, "\(name)")
    }
  }

  /// With a user of `-Z`, a folder that the run makes is that user's, who makes files in it.
  @Test(arguments: [
    ["--format", "ecs", "--log-dir", "out"], ["--rules", "rules.yml", "--evidence", "out"],
  ]) func whatIsMadeForAUserIsTheUsers(_ words: [String]) throws {
    let folder = try Scratch()
    _ = try folder.file("a.pcap", Samples.bytes(Self.sample))
    _ = try folder.file(
      "rules.yml",
      "version: 1\nrules: [{name: lost, metric: loss, scope: profile, window: 10s, op: '>', threshold: 0%}]\n".utf8)
    #expect(chmod(folder.url.path, 0o755) == 0)
    let run = try Program.run(
      Command.program.path, ["-q", "-r", "a.pcap", "-Z", "nobody"] + words, environment: Command.environment,
      folder: folder.url.path)
    #expect(run.ending == .exit(0), "\(run.errors)")
    let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
    #expect(Self.owner(folder.path("out")) == nobody)
    let inside = try FileManager.default.contentsOfDirectory(atPath: folder.path("out"))
    #expect(!inside.isEmpty)
    for file in inside { #expect(Self.owner(folder.path("out/\(file)")) == nobody, "\(file)") }
  }

  /// Databases are asked and added to, with all that SQLite has beside them.
  @Test func storesAreTheCallers() throws {
    let folder = try Self.folder(["a.pcap"])
    _ = try folder.file("b.pcap", Samples.bytes("tjp-clean-chat.pcap"), mode: 0o600)
    func run(_ words: String...) throws -> Program.Result {
      try Program.run(Command.program.path, words, environment: Command.environment, folder: folder.url.path)
    }
    #expect(try run("index", "-q", "a.pcap", "-o", "s.db").ending == .exit(0))
    let added = try run("index", "--append", "s.db", "b.pcap")
    #expect(
      added.ending == .exit(0) && added.errors.contains("58 rows of messages, heartbeats and control frames added"),
      "\(added.errors)")
    #expect(try run("query", "s.db", "SELECT count(*) FROM messages").output.hasSuffix(" 178\n"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["a.pcap", "b.pcap", "s.db"])
    #expect(Self.owner(folder.path("s.db")) == 0)
  }

  /// More files than are held open come from the broker, one at a time.
  @Test func manyFilesAreRead() throws {
    let names = (0..<300).map { "f\(1_000 + $0).pcap" }
    let folder = try Self.folder(names)
    let run = try Program.run(
      Command.program.path, ["stats"] + names, environment: Command.environment, folder: folder.url.path)
    #expect(run.ending == .exit(0), "\(run.errors)")
    #expect(run.errors.contains("imdump: 179,700 packets captured"), "\(run.errors)")
  }

  /// Files that tell how to decode are read by somebody who may do nothing else.
  @Test func checksAreConfined() throws {
    let folder = try Self.folder([])
    let profile = try folder.file("p.yaml", Command.run(["profile", "show", "tjp"]).output.utf8, mode: 0o600)
    let rules = try folder.file(
      "r.yml", Data(contentsOf: Command.folder.appending(path: "Samples/alerts/im.yml")), mode: 0o600)
    for words in [
      ["profile", "check", profile], ["rules", "check", rules], ["rules", "check", rules, "--profile", profile],
    ] {
      #expect(try Command.run(words).status == 0, "\(words)")
    }
    // Of a pipe whose writer says nothing more, the process is there to be looked at.
    let pipe = folder.path("pipe.yaml")
    try #require(mkfifo(pipe, 0o600) == 0)
    let end = open(pipe, O_RDWR | O_CLOEXEC)
    defer { close(end) }
    for words in [["profile", "check", pipe], ["rules", "check", pipe]] {
      let run = try Program(Command.program.path, words, environment: Command.environment)
      defer {
        kill(run.id, SIGKILL)
        _ = run.wait()
      }
      var facts = try Self.facts(run.id)
      for _ in 0..<5_000 where facts["Seccomp"] != "2" {
        usleep(2_000)
        facts = try Self.facts(run.id)
      }
      #expect(facts["Seccomp"] == "2" && facts["CapEff"].flatMap { UInt64($0, radix: 16) } == 0)
      #expect(facts["Uid"]?.hasPrefix("0\t") == false)
    }
  }

  /// Two runs that write one store: one of them ends with a line that says so, and the store is the other's.
  @Test(.timeLimit(.minutes(1))) func oneRunWritesAStore() throws {
    let folder = try Scratch()
    let pipe = folder.path("pipe.pcap"), store = folder.path("s.db")
    try #require(mkfifo(pipe, 0o600) == 0)
    let run = try Program(
      Command.program.path, ["index", "-q", pipe, "-o", store], environment: Command.environment,
      folder: folder.url.path)
    let end = open(pipe, O_WRONLY | O_CLOEXEC)
    let bytes = try Samples.bytes(Self.sample)
    #expect(bytes[..<4_096].withUnsafeBytes { write(end, $0.baseAddress, $0.count) } == 4_096)
    while (try? FileManager.default.attributesOfItem(atPath: store)[.size] as? Int) ?? 0 == 0 { usleep(2_000) }
    let second = try Command.run(["index", "-q", Samples.path("tjp-clean-chat.pcap"), "-o", store])
    #expect(
      second.status == 74
        && second.errors == "imdump: \(store): is being written by another imdump; name another file\n",
      "\(second.errors)")
    #expect(bytes[4_096...].withUnsafeBytes { write(end, $0.baseAddress, $0.count) } == bytes.count - 4_096)
    close(end)
    #expect(run.wait() == .exit(0))
    #expect(try Command.run(["query", store, "SELECT count(*) FROM messages"]).output.hasSuffix(" 120\n"))
  }

  /// A program file that gives its caller privileges does not use them.
  @Test(arguments: [0o4755, 0o2755]) func aSetuidProgramDoesNothing(_ mode: Int) throws {
    let folder = try Scratch()
    var system = statvfs()
    try #require(statvfs(folder.url.path, &system) == 0 && chmod(folder.url.path, 0o755) == 0)
    // If the bit has no effect, there is nothing to refuse.
    guard system.f_flag & UInt(ST_NOSUID) == 0, try Self.facts(getpid())["NoNewPrivs"] == "0" else { return }
    let program = folder.path("imdump")
    // Copied by another process: a program that a concurrent test starts would inherit this process's descriptor of the copy, and the
    // copy could not be executed.
    let copy = try Program.run("/bin/cp", [Command.program.path, program], environment: [:], folder: "/")
    try #require(copy.ending == .exit(0))
    try #require(chmod(program, mode_t(mode)) == 0)
    let run = try Program.run(
      "/usr/bin/setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", program, "--version"],
      environment: Command.environment, folder: "/")
    #expect(run.ending == .exit(77) && run.output.isEmpty)
    #expect(run.errors.hasPrefix("imdump: imdump must not be setuid or setgid: "), "\(run.errors)")
  }
}
