import Foundation
import IMCommandLine
import IMTestSupport
import Testing

@testable import imdump

/// `man/imdump.1` names everything that the command's tables have, and nothing else.
@Suite struct ManualTests {
  /// The page as text: mdoc's marks for options, commands and quotes taken away.
  static func page() throws -> String {
    try String(contentsOf: Command.folder.appending(path: "man/imdump.1"), encoding: .utf8)
  }

  /// Every command, with its rows.
  private static var commands: [CommandTree] { CommandTree(.group(Imdump.self)).all }

  /// The names of a command's options.
  private static func options(_ command: CommandTree) -> [String] { command.visibleRows.flatMap(\.spelling.names) }

  @Test func everyOptionAndCommandStandsInThePage() throws {
    let page = try Self.page()
    #expect(Self.commands.count >= 17)
    for command in Self.commands {
      let name = command.path.joined(separator: " ")
      if command.path.count > 1 {
        let words = command.path.dropFirst().joined(separator: " ")
        #expect(page.contains("\n.It Cm \(words)"), "the page has no entry for \(name)")
      }
      for option in Self.options(command) {
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
    let known = Set(Self.commands.flatMap(Self.options))
    for line in try Self.page().split(separator: "\n") where line.hasPrefix(".It Fl ") {
      for part in line.dropFirst(4).split(separator: ",") {
        let words = part.split(separator: " ")
        guard words.count > 1, words[0] == "Fl" else { continue }
        #expect(known.contains("-" + words[1]), "the page has -\(words[1]), and no command has")
      }
    }
  }

  /// The value behind an option in the page is called as in the help.
  @Test func valuesHaveTheirNamesInThePage() throws {
    let rows = Self.commands.flatMap(\.visibleRows)
    for line in try Self.page().split(separator: "\n") where line.hasPrefix(".It Fl ") && line.contains(" Ar ") {
      let option = "-" + line.dropFirst(".It Fl ".count).prefix { $0 != " " }
      let value = line[line.range(of: " Ar ").map(\.upperBound)!...].split(separator: " ").filter {
        $0 != "Ns" && $0 != "Ar"
      }
      let names = Set(rows.filter { $0.spelling.names.contains(option) }.compactMap(\.spelling.value))
      #expect(names.contains(value.joined()), "\(line): the help says \(names)")
    }
  }

  @Test func theHelpFitsATerminal() throws {
    for command in Self.commands {
      let text = try Command.run(Array(command.path.dropFirst()) + ["--help"]).output
      #expect(text == command.help)
      for line in text.split(separator: "\n") where line.count > 80 {
        Issue.record("\(command.path.joined(separator: " ")) --help, \(line.count) columns: \(line)")
      }
      #expect(text.hasSuffix("\n"))
    }
  }

  @Test(arguments: ["imdump.1", "imdump-filter.7", "imdump-rules.5", "imdump-ecs.5"])
  func theManualRendersWithoutWarnings(_ name: String) throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/man") else { return }
    let run = try Program.run(
      "/usr/bin/man", ["--warnings=w", "-l", "man/\(name)"],
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"],
      folder: Command.folder.path)
    #expect(run.errors == "")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func aShellGetsItsCompletions(_ shell: String) throws {
    let result = try Command.run(["completion", shell])
    #expect(result.status == 0)
    for name in ["stats", "messages", "profile", "completion"] { #expect(result.output.contains(name)) }
  }

  @Test func theHelpOfTheCommandItselfHasTheOptionsOfCapturing() throws {
    let whole = try Command.run(["--help"]).output
    for row in CommandTree(.command(Capture.self)).visibleRows { #expect(whole.contains("\n  \(row.spelling.text)")) }
    #expect(try Command.run(["-h"]).output == whole)
    #expect(try Command.run(["help"]).output == whole)
    #expect(try Command.run(["help", "stats"]).output == Command.run(["stats", "--help"]).output)
  }
}
