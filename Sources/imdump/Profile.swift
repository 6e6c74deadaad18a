import IMCommandLine
import IMPipeline
import IMRun
import IMSystem

/// `imdump profile`: the protocols that are known, as data.
enum Profile: CommandGroup {
  static var about: About { About("profile", "List, show, generate, check, test and export protocol profiles.") }
  static var members: [Member] {
    [
      .command(List.self), .command(Show.self), .command(New.self), .command(Check.self), .command(Test.self),
      .command(Export.self),
    ]
  }

  struct List: Subcommand {
    static var about: About { About("list", "List the built-in profiles.") }
    static var table: [Option<Self>] { [] }
    func perform() throws(UsageError) -> ExitStatus { listProfiles() }
  }

  struct Show: Subcommand {
    static var about: About { About("show", "Print the YAML of a built-in profile.") }
    var name = ""
    static var table: [Option<Self>] {
      [.value("<name>", \.name, "The profile's name.", completing: .words(builtInProfiles))]
    }
    func perform() throws(UsageError) -> ExitStatus { try showProfile(name) }
  }

  struct New: Subcommand {
    static var about: About {
      About(
        "new", "Generate a skeleton profile from a capture.",
        usage: ["imdump profile new <file> ... [--port <n>] [--name <name>] [<options>]"])
    }
    var source = SourceOptions()
    var port: UInt16?
    var name = "skeleton"

    static var table: [Option<Self>] {
      [
        .value("--port <n>", \.port, "The servers' port; by default the one with the most bytes."),
        .value("--name <name>", \.name, "The profile's name."),
        .group(\.source),
        .list("<file> ...", \.source.operands, captureFiles),
      ]
    }

    func check() throws(ValueError) {
      let isName =
        (1...32).contains(name.utf8.count)
        && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 95 }
      guard isName else { throw ValueError("--name: expected 1 to 32 characters of a-z, 0-9, - and _") }
    }

    func perform() throws(UsageError) -> ExitStatus {
      try guessProfile(source.files(), port: port, name: name, report: ReportOptions())
    }
  }

  struct Check: Subcommand {
    static var about: About { About("check", "Check a profile in a file; errors name line and column.") }
    var file = ""
    static var table: [Option<Self>] { [.value("<file>", \.file, "The file.")] }
    func perform() throws(UsageError) -> ExitStatus { try checkProfile(file) }
  }

  struct Test: Subcommand {
    static var about: About {
      About(
        "test", "Decode captures with one profile and report what does not fit.",
        usage: ["imdump profile test <profile> <file> ... [<options>]"])
    }
    var profile = ""
    var source = SourceOptions()
    var walks = false

    static var table: [Option<Self>] {
      [
        .value("<profile>", \.profile, profileOperand, completing: .wordsAndFiles(builtInProfiles)),
        .flag(
          "-v", \.walks, "Show all problems, and step through the frame of each and the first frame of each type."),
        .group(\.source),
        .list("<file> ...", \.source.input.files, "Capture files; '-' is standard input."),
      ]
    }

    func perform() throws(UsageError) -> ExitStatus {
      try testProfile(profile, input: source.files(), walks: walks)
    }
  }

  struct Export: Subcommand {
    static var about: About {
      About(
        "export", "Write a Wireshark dissector, or a page that describes the protocol.",
        usage: ["imdump profile export <profile> --wireshark | --markdown [-o <file>]"])
    }
    var profile = ""
    var isDissector = false
    var isPage = false
    var output: String?

    static var table: [Option<Self>] {
      [
        .value("<profile>", \.profile, profileOperand, completing: .wordsAndFiles(builtInProfiles)),
        .flag("--wireshark", \.isDissector, "A dissector in Lua, also for tshark -X lua_script:."),
        .flag("--markdown", \.isPage, "A page in Markdown."),
        .value("-o, --output <file>", \.output, "Write to a file."),
      ]
    }

    func check() throws(ValueError) {
      guard isDissector != isPage else {
        throw ValueError("expected one of --wireshark and --markdown")
      }
    }

    func perform() throws(UsageError) -> ExitStatus {
      try exportProfile(profile, as: isDissector ? .wireshark : .markdown, to: output)
    }
  }

  private static var profileOperand: String { "The profile: a file, or the name of a built-in one." }
}
