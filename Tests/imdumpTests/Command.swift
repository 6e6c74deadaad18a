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

  /// The command: that of `IMDUMP_COMMAND`, a path in the repository, else the one in the folder of the tests' own program.
  static let program =
    ProcessInfo.processInfo.environment["IMDUMP_COMMAND"].map { folder.appending(path: $0) }
    ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "imdump")

  /// What every run finds in its environment: nothing of the caller's, but what its sanitizers are told.
  static let environment: [String: String] = {
    let own = ProcessInfo.processInfo.environment
    return ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "Asia/Shanghai", "COLUMNS": "80"]
      .merging(own.filter { ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key) }) { it, _ in it }
  }()

  /// Runs the command. Standard input is the file `input` in the repository, else nothing; `own` is added to the environment.
  static func run(_ arguments: [String], input: String? = nil, environment own: [String: String] = [:]) throws -> Result
  {
    let file = input.map { open(folder.appending(path: $0).path, O_RDONLY | O_CLOEXEC) }
    defer { if let file { close(file) } }
    let run = try Program.run(
      program.path, arguments, environment: environment.merging(own) { $1 }, folder: folder.path, input: file)
    return Result(output: run.output, errors: run.errors, status: run.ending.status)
  }
}
