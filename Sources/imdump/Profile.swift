import ArgumentParser
import IMPipeline

/// `imdump profile`: the protocols that are known, as data.
struct Profile: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List, show, check, test and export protocol profiles.",
    subcommands: [List.self, Show.self, Check.self, Test.self, Export.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The built-in profiles, a line each.")
    func run() throws { throw ExitCode(listProfiles().rawValue) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The YAML of a built-in profile.")
    @Argument(help: "The profile's name.") var name: String
    func run() throws { try finish { () throws(UsageError) in try showProfile(name) } }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a profile in a file; mistakes name line and column.")
    @Argument(help: "The file.") var file: String
    func run() throws { try finish { () throws(UsageError) in try checkProfile(file) } }
  }

  struct Test: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Decode captures with one profile; say what fits and what does not.",
      usage: "imdump profile test <profile> <file> ... [<options>]")
    @Argument(help: "The profile: a file, or a built-in one's name.") var profile: String
    @OptionGroup var source: SourceOptions
    @Argument(help: ArgumentHelp("Capture files; - is standard input.", valueName: "file")) var files: [String] = []

    func run() throws {
      let input = try source.input(files: files)
      try finish { () throws(UsageError) in try testProfile(profile, input: input) }
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a dissector for Wireshark, or a page that describes the protocol.",
      usage: "imdump profile export <profile> --wireshark | --markdown [-o <file>]")
    @Argument(help: "The profile: a file, or a built-in one's name.") var profile: String
    @Flag(help: "A dissector in Lua, for tshark -X lua_script: too.") var wireshark = false
    @Flag(help: "A page in Markdown.") var markdown = false
    @Option(name: [.customShort("o"), .long], help: ArgumentHelp("Write to a file.", valueName: "file"))
    var output: String?

    func validate() throws {
      guard wireshark != markdown else {
        throw ValidationError("one of --wireshark and --markdown is wanted")
      }
    }

    func run() throws {
      try finish { () throws(UsageError) in
        try exportProfile(profile, as: wireshark ? .wireshark : .markdown, to: output)
      }
    }
  }
}
