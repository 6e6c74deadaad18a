import Foundation
import Testing

/// `man/imdump.1` names everything that the command's own help names.
@Suite struct ManualTests {
  /// The page as text: mdoc's marks for options, commands and quotes taken away.
  static func page() throws -> String {
    try String(contentsOf: Command.folder.appending(path: "man/imdump.1"), encoding: .utf8)
  }

  /// What `help` says of the command at `path`, and of all its subcommands.
  private static func helps(_ path: [String] = []) throws -> [(path: [String], text: String)] {
    let text = try Command.run(path + ["--help"]).output
    var all = [(path, text)]
    for name in names(after: "SUBCOMMANDS:", in: text) { all += try helps(path + [name]) }
    return all
  }

  /// The first words of the entries below a heading; entries are indented by two, their explanations by more.
  private static func names(after heading: String, in text: String) -> [String] {
    var result: [String] = []
    var isBelow = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == heading { isBelow = true } else if !line.hasPrefix(" "), !line.isEmpty { isBelow = false }
      if isBelow, line.hasPrefix("  "), !line.hasPrefix("   "), !line.hasPrefix("  See ") {
        result.append(String(line.dropFirst(2).prefix { $0 != " " }))
      }
    }
    return result
  }

  /// The options below `OPTIONS:`, each with all its names.
  private static func options(in text: String) -> [String] {
    var result: [String] = []
    var isBelow = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasSuffix("OPTIONS:") { isBelow = true } else if !line.hasPrefix(" "), !line.isEmpty { isBelow = false }
      guard isBelow, line.hasPrefix("  -") else { continue }
      let entry = String(line.dropFirst(2))
      // Two blanks end the names; `-x, -X`, `--json`, `-c <count>`.
      let names = entry.components(separatedBy: "  ")[0]
      for word in names.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "/" }) where word.hasPrefix("-") {
        result.append(String(word))
      }
    }
    return result
  }

  @Test func everyOptionAndCommandStandsInThePage() throws {
    let page = try Self.page()
    let helps = try Self.helps()
    #expect(helps.count >= 7, "the help's subcommands were not found")
    for (path, text) in helps {
      let name = (["imdump"] + path).joined(separator: " ")
      if !path.isEmpty {
        #expect(page.contains("\n.It Cm \(path.joined(separator: " "))"), "the page has no entry for \(name)")
      }
      for option in Self.options(in: text) {
        // mdoc writes `-x` as `Fl x` and `--long` as `Fl -long`.
        let mark = "Fl \(option.dropFirst())"
        let isThere = page.ranges(of: mark).contains { range in
          range.upperBound == page.endIndex || " \n,".contains(page[range.upperBound])
        }
        #expect(isThere, "the page says nothing of \(name) \(option)")
      }
    }
  }

  @Test func everyOptionInThePageIsThere() throws {
    let known = Set(try Self.helps().flatMap { Self.options(in: $0.text) })
    for line in try Self.page().split(separator: "\n") where line.hasPrefix(".It Fl ") {
      for part in line.dropFirst(4).split(separator: ",") {
        let words = part.split(separator: " ")
        guard words.count > 1, words[0] == "Fl" else { continue }
        let option = "-" + words[1]
        if option == "--by" {
          withKnownIssue("described before it is there", isIntermittent: true) { #expect(known.contains(option)) }
        } else {
          #expect(known.contains(option), "the page has \(option), and no command has")
        }
      }
    }
  }

  @Test func theHelpFitsATerminal() throws {
    for (path, text) in try Self.helps() {
      for line in text.split(separator: "\n") where line.count > 80 {
        Issue.record("imdump \(path.joined(separator: " ")) --help, \(line.count) columns: \(line)")
      }
      #expect(text.hasSuffix("\n"))
    }
  }

  @Test(arguments: ["imdump.1", "imdump-filter.7", "imdump-rules.5", "imdump-ecs.5"])
  func theManualRendersWithoutWarnings(_ name: String) throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/man") else { return }
    let process = Process()
    let errors = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/man")
    process.arguments = ["--warnings=w", "-l", "man/\(name)"]
    process.currentDirectoryURL = Command.folder
    process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(text == "")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func aShellGetsItsCompletions(_ shell: String) throws {
    let result = try Command.run(["completion", shell])
    #expect(result.status == 0)
    for name in ["stats", "messages", "profile", "completion"] { #expect(result.output.contains(name)) }
  }

  @Test func theHelpOfTheCommandItselfHasTheOptionsOfCapturing() throws {
    let whole = try Command.run(["--help"]).output
    for option in Self.options(in: try Command.run(["capture", "--help"]).output) {
      #expect(whole.contains("  \(option)") || whole.contains(", \(option)"))
    }
    #expect(try Command.run(["-h"]).output == whole)
    #expect(try Command.run(["help"]).output == whole)
    #expect(try Command.run(["help", "stats"]).output == Command.run(["stats", "--help"]).output)
  }
}
