import Foundation
import IMCommandLine
import IMTestSupport
import Testing

@testable import impeer

/// `man/impeer.1` names everything that the command's tables have, and nothing else.
@Suite struct ManualTests {
  private static func page() throws -> String {
    try String(contentsOf: Peer.folder.appending(path: "man/impeer.1"), encoding: .utf8)
  }

  /// Every command, with its rows.
  private static var commands: [CommandTree] { CommandTree(.group(Impeer.self)).all }

  private static func options(_ command: CommandTree) -> [String] { command.visibleRows.flatMap(\.spelling.names) }

  @Test func everyOptionAndCommandStandsInThePage() throws {
    let page = try Self.page()
    #expect(Self.commands.count == 7)
    for command in Self.commands {
      let name = command.path.joined(separator: " ")
      if command.path.count > 1 {
        #expect(page.contains("\n.It Cm \(command.path[1])\n"), "the page has no entry for \(name)")
      }
      for option in Self.options(command) where option != "--version" && option != "-h" && option != "--help" {
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

  /// A subsection is about the commands that its title names, and they have what it describes.
  @Test func optionsStandUnderTheirCommands() throws {
    var commands: [CommandTree] = []
    for line in try Self.page().split(separator: "\n") {
      if line.hasPrefix(".Sh ") { commands = [] }
      if line.hasPrefix(".Ss ") {
        let names = line.dropFirst(4).split(separator: ":").last?.split(separator: ",").map {
          $0.trimmingCharacters(in: .whitespaces)
        }
        commands = Self.commands.filter { names?.contains($0.path.last ?? "") ?? false }
        #expect(commands.count == names?.count, "\(line)")
      }
      guard line.hasPrefix(".It Fl ") else { continue }
      let option = "-" + line.dropFirst(".It Fl ".count).prefix { $0 != " " }
      for command in commands {
        #expect(Self.options(command).contains(option), "\(command.path.joined(separator: " ")) has no \(option)")
      }
    }
  }

  @Test func theHelpFitsATerminal() throws {
    for command in Self.commands {
      for line in command.help.split(separator: "\n") where line.count > 80 {
        Issue.record("\(command.path.joined(separator: " ")) --help, \(line.count) columns: \(line)")
      }
      #expect(command.help.hasSuffix("\n"))
    }
  }

  @Test func theManualRendersWithoutWarnings() throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/man") else { return }
    let result = try Program.run(
      "/usr/bin/man", ["--warnings=w", "-l", "man/impeer.1"],
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"],
      folder: Peer.folder.path)
    #expect(result.errors == "")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func aShellGetsItsCompletions(_ shell: String) throws {
    let result = try Peer.run(["completion", shell])
    #expect(result.status == 0)
    for name in ["serve", "chat", "load", "script", "--ledger"] {
      #expect(result.output.contains(shell == "fish" && name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : name))
    }
  }

  @Test(
    arguments: [
      (["laod"], "unknown subcommand 'laod'; did you mean 'load'?"),
      (["load", "--connection", "3"], "unknown option '--connection'; did you mean '--connections'?"),
      (["load", "--rate", "x"], "the value 'x' is invalid for '--rate <n>': expected a number from 0 to 10000000"),
      (["chat", "--name", "ann"], "expected --to, of at most 256 bytes"),
      (["script"], "expected a file with a scenario"),
      (["load", "--hook", "true"], "--hook, --webhook, --alertmanager and --state need --rules"),
    ])
  func mistakesAreToldWithTheUsage(_ words: [String], _ message: String) throws {
    let result = try Peer.run(words)
    #expect(result.status == 64)
    #expect(result.errors.hasPrefix("impeer: \(message)\n"))
    #expect(result.output == "")
  }
}
