import Foundation
import IMTestSupport

/// The built `imdump` beside the tests, run as a shell would run it.
enum Command {
  /// What one run printed and how it ended.
  struct Result {
    var output: String
    var errors: String
    var status: Int32
  }

  /// The repository's folder, where every run begins.
  static let folder = URL(filePath: Samples.folder).deletingLastPathComponent()

  /// The command: the tests' own program lies in the same folder.
  static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "imdump")

  /// What every run finds in its environment: nothing of the caller's, but what its sanitizers are told.
  static let environment: [String: String] = {
    let own = ProcessInfo.processInfo.environment
    return ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "Asia/Shanghai", "COLUMNS": "80"]
      .merging(own.filter { ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key) }) { it, _ in it }
  }()

  /// Runs the command. Standard input is the file `input` in the repository, else nothing.
  static func run(_ arguments: [String], input: String? = nil) throws -> Result {
    let scratch = URL(filePath: NSTemporaryDirectory()).appending(path: "imdump-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    // Files, not pipes: a full pipe would hold the command up.
    func file(_ name: String) throws -> URL {
      let url = scratch.appending(path: name)
      try Data().write(to: url)
      return url
    }
    let (output, errors) = (try file("output"), try file("errors"))
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.environment = environment
    process.standardInput =
      try input.map { try FileHandle(forReadingFrom: folder.appending(path: $0)) } ?? FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    return Result(
      output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
      errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self), status: process.terminationStatus)
  }
}
