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

  /// A program that was started, and the files that it writes to.
  struct Running {
    let process: Process
    let output: URL, errors: URL

    /// Interrupts the program, and waits for its end.
    func stop() -> Int32 {
      process.interrupt()
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  /// Runs a program to its end.
  static func run(_ arguments: [String], program: String = "impeer", in scratch: URL) throws -> Result {
    let running = try start(arguments, program: program, in: scratch)
    running.process.waitUntilExit()
    return Result(
      output: try String(contentsOf: running.output, encoding: .utf8),
      errors: try String(contentsOf: running.errors, encoding: .utf8), status: running.process.terminationStatus)
  }

  /// Starts a program. Its output goes to files: a full pipe would hold it up.
  static func start(_ arguments: [String], program: String = "impeer", in scratch: URL) throws -> Running {
    func file() throws -> URL {
      let url = scratch.appending(path: UUID().uuidString)
      try Data().write(to: url)
      return url
    }
    let (output, errors) = (try file(), try file())
    let process = Process()
    process.executableURL = programs.appending(path: program)
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    return Running(process: process, output: output, errors: errors)
  }

  /// Starts a server on a port of the system's choice, and gives the port once it listens.
  static func serve(_ arguments: [String], in scratch: URL) throws -> (server: Running, port: String) {
    let server = try start(["serve", "--port", "0"] + arguments, in: scratch)
    while server.process.isRunning {
      let text = try String(contentsOf: server.errors, encoding: .utf8)
      if let line = text.split(separator: "\n").first, text.hasSuffix("\n"), let port = line.split(separator: ":").last
      {
        return (server, String(port))
      }
      usleep(5_000)
    }
    throw NoServer(errors: try String(contentsOf: server.errors, encoding: .utf8))
  }

  /// A server ended before it listened.
  struct NoServer: Error {
    var errors: String
  }

  /// Lends a folder that is taken away afterwards.
  static func withScratch<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let scratch = URL(filePath: NSTemporaryDirectory()).appending(path: "impeer-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    return try body(scratch)
  }
}
