import IMCommandLine
import IMPipeline
import IMRun
import IMSystem

/// `imdump fields`: the named fields of protocols.
struct Fields: Subcommand {
  static var about: About {
    About(
      "fields", "List the named fields of protocols, for -v, JSON and filters.",
      usage: ["imdump fields [<profile> ...]"])
  }
  var profiles: [String] = []

  static var table: [Option<Self>] {
    [
      .list(
        "<profile> ...", \.profiles, "Profiles: files, or names of built-in ones; by default those in use.",
        completing: .wordsAndFiles(builtInProfiles))
    ]
  }

  func perform() throws(UsageError) -> ExitStatus { try listFields(profiles) }
}
