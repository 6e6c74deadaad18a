import Foundation
import IMTestSupport

/// Built programs beside the tests, run as a shell would run them.
enum Peer {
  /// What one run printed and how it ended.
  struct Result {
    var output: String
    var errors: String
    var status: Int32
  }

  /// The repository's folder, where every run begins.
  static let folder = URL(filePath: Samples.folder).deletingLastPathComponent()

  /// The folder of the tests' own program, in which the others lie.
  private static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

  private static let environment = ProcessInfo.processInfo.environment
    .filter { ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key) }
    .merging(["PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "COLUMNS": "80"]) { it, _ in it }

  /// Where the command is, for a shell.
  static var path: String { programs.appending(path: "impeer").path }

  /// Runs a program to its end: one beside the tests, or one that has a path.
  static func run(_ arguments: [String], program: String = "impeer") throws -> Result {
    let run = try Program.run(
      program.hasPrefix("/") ? program : programs.appending(path: program).path, arguments, environment: environment,
      folder: folder.path)
    return Result(output: run.output, errors: run.errors, status: run.ending.status)
  }

  /// Lends the port of a server while it runs, then interrupts it.
  static func withServer<Value>(_ arguments: [String], _ body: (String) throws -> Value) throws -> Value {
    let errors = Program.scratchFile()
    defer { close(errors) }
    let server = try Program(
      programs.appending(path: "impeer").path, ["serve", "--port", "0"] + arguments, environment: environment,
      folder: folder.path, errors: errors)
    // It says where it listens as soon as it does; half a minute is for a machine that is very busy.
    var text = ""
    for _ in 0..<6_000 {
      text = Program.text(of: errors)
      if text.hasSuffix("\n") { break }
      usleep(5_000)
    }
    let value: Value
    do {
      guard text.contains("listening on"), let port = text.split(separator: "\n").first?.split(separator: ":").last
      else { throw NoServer(errors: text) }
      value = try body(String(port))
    } catch {
      kill(server.id, SIGKILL)
      _ = server.wait()
      throw error
    }
    kill(server.id, SIGINT)
    let ending = server.wait()
    guard ending == .exit(0) else { throw NoServer(errors: "ended with \(ending): \(Program.text(of: errors))") }
    return value
  }

  /// A server did not listen, or did not end in order.
  struct NoServer: Error {
    var errors: String
  }

  /// Lends a folder that is taken away afterwards.
  static func withScratch<Value>(_ body: (URL) throws -> Value) throws -> Value {
    let scratch = URL(filePath: NSTemporaryDirectory()).appending(path: "impeer-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    return try body(scratch)
  }
}
