import IMCommandLine
import IMPipeline

/// `imdump fields`: the named fields of protocols.
struct Fields: Subcommand {
  static var about: About {
    About(
      "fields", "List the fields of protocols by name, as -v, JSON and filters have them.",
      usage: ["imdump fields [<profile> ...]"])
  }
  var profiles: [String] = []

  static var table: [Option<Self>] {
    [
      .list(
        "<profile> ...", \.profiles, "Profiles: files, or built-in ones by name; by default those in use.",
        completing: .wordsAndFiles(builtInProfiles))
    ]
  }

  func perform() throws(UsageError) -> ExitStatus { try listFields(profiles) }
}
