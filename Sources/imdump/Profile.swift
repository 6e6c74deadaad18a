import ArgumentParser
import IMPipeline

/// `imdump profile`: the protocols that are known, as data.
struct Profile: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List, show and check protocol profiles.", subcommands: [List.self, Show.self, Check.self])

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
}
