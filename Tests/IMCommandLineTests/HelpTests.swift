import IMCommandLine
import Testing

/// What help looks like, and that it says all of the table.
@Suite struct HelpTests {
  private let tree = CommandTree(.group(Tool.self))

  @Test func theRootHasTheOptionsOfItsFallback() {
    #expect(
      tree.help == """
        OVERVIEW: Fetch things.

        USAGE: tool [<options>] [<word> ...]
               tool <subcommand>

        ARGUMENTS:
          <word> ...              What to fetch.

        OPTIONS:
          -r <file>               Read this file.
          -c <count>              End after so many.
          -v                      Say more.
          -q                      Say less.
          -K, --no-checks         Verify nothing.
          --colour <colour>       In which colour, of which there are three, if one
                                  counts them one by one. (values: red, green, blue;
                                  default: red)
          -j, --jobs <count>      How many at once. (default: 1)
          --home-port <port>      From where.
          --port <port>           Where to.
          --size <size>           How much.
          --folder <folder>       Into this folder.
          --version               Show the version.
          -h, --help              Show help information.

        SUBCOMMANDS:
          count                   Count.
          lists                   Lists of things.
          paint                   Paint.

          See 'tool help <subcommand>' for detailed help.

        """)
  }

  @Test func aCommandWithoutUsageGetsItFromItsTable() {
    let usages = tree.all.map { $0.usage.joined(separator: "\n") }
    #expect(
      usages == [
        "tool [<options>] [<word> ...]\ntool <subcommand>", "tool [<options>] [<word> ...]",
        "tool count <name> [-r <file>] [-c <count>] [-v] [-q] [--no-checks]\n           <file> ...", "tool count twice",
        "tool lists <subcommand>", "tool lists show", "tool paint <colour>",
      ])
  }

  @Test func aDiscussionKeepsItsLines() {
    guard case .help(let text) = tool(["lists", "show", "-h"]) else { return }
    #expect(text.hasPrefix("OVERVIEW: Show a list.\n\nStatus 0:\n  it was shown.\n\nUSAGE: tool lists show\n\n"))
  }

  @Test func noLineHasMoreThan80Columns() {
    for command in tree.all {
      for line in command.help.split(separator: "\n") { #expect(line.count <= 80) }
      #expect(command.help.hasSuffix("\n"))
    }
  }

  /// A row is its left column: what help prints is what is read.
  @Test(arguments: [
    ("-c <count>", ["-c"], "count", false), ("-K, --no-checksum", ["-K", "--no-checksum"], nil, false),
    ("-o, --output <file>", ["-o", "--output"], "file", false), ("<file> ...", [], "file", true),
    ("--limit <name=value>", ["--limit"], "name=value", false), ("<shell>", [], "shell", false),
  ])
  func aSpellingIsTakenApart(_ text: String, _ names: [String], _ value: String?, _ repeats: Bool) {
    let spelling = OptionSyntax(text)
    #expect(spelling.names == names)
    #expect(spelling.value == value)
    #expect(spelling.repeats == repeats)
    #expect(spelling.isOperand == names.isEmpty)
  }

  /// Every word that can be typed stands in every shell's script; hidden ones in none. Scripts/check-completions types them.
  @Test(arguments: Shell.allCases)
  func completionsNameEverything(_ shell: Shell) {
    let script = shell.completions(of: tree)
    for command in tree.all {
      for member in command.visibleMembers { #expect(script.contains(member.about.name)) }
      for name in command.visibleRows.flatMap(\.spelling.names) {
        let word = shell == .fish ? String(name.drop { $0 == "-" }) : name
        #expect(script.contains(word), "\(shell) says nothing of \(name)")
      }
    }
    #expect(!script.contains("secret"))
    #expect(script.contains("red green blue"))
    #expect(script.hasSuffix("\n"))
  }
}
