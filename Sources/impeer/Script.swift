import Glibc
import IMCommandLine
import IMYAML

/// `impeer script`.
struct Script: Command {
  static var about: About {
    About(
      "script", "Run scenarios: a server, clients, events and expectations.",
      usage: ["impeer script <file> ... [--json]"],
      discussion: """
        A scenario is a YAML file; impeer(1) describes its keys. Server and clients run in this process and talk over the \
        loopback interface.

        Exit status: 0 if every expectation was met, else 1.
        """)
  }

  var isJSON = false
  var files: [String] = []

  static var table: [Option<Self>] {
    [
      .flag("--json", \.isJSON, "Also print client results, as one JSON object per scenario."),
      .list("<file> ...", \.files, "Scenarios."),
    ]
  }

  func check() throws(ValueError) {
    if files.isEmpty { throw ValueError("expected a file with a scenario") }
  }

  func run() -> Int32 {
    handleSignals()
    var status: Int32 = 0
    do throws(Complaint) {
      for file in files where try !perform(file) { status = 1 }
    } catch {
      logError(error.message)
      return error.status.rawValue
    }
    return status
  }

  /// Runs one file; whether every expectation came true.
  private func perform(_ path: String) throws(Complaint) -> Bool {
    let scenario: Scenario
    do throws(SourceError) { scenario = try Scenario(try Self.text(path), source: path) } catch {
      throw Complaint(error.description, .data)
    }
    say(scenario.name + "\n")
    let run = try ScenarioRun(scenario)
    let results = try run.perform()
    for (words, isMet) in results { say("  \(isMet ? "ok     " : "FAILED ") \(words)\n") }
    if isJSON { say(run.summary.json + "\n") }
    return results.allSatisfy(\.isMet)
  }

  private static func text(_ path: String) throws(SourceError) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw SourceError(source: path, message: String(cString: strerror(errno))) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= YAMLReader.maximumBytes {
      let count = read(file, &piece, piece.count)
      guard count > 0 else { break }
      bytes += piece[..<count]
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SourceError(source: path, message: "the file is not UTF-8 text")
    }
    return text
  }
}
