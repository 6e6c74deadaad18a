package import IMCommandLine
import IMOutput
package import IMPipeline

/// `imdump check`: alerts over a capture, for scripts.
struct Check: Subcommand {
  static var about: About {
    About(
      "check", "Evaluate alert rules over a capture; exit 2 if any fired.",
      usage: ["imdump check <file> ... --rules <file> [<options>] [<expression> ...]"],
      discussion: "Status 0: no alert fired. 2: one did. 1: the capture is damaged, so it is not known.")
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = SpeechOptions()
  var style = TextStyle()
  var alerts = AlertOptions()
  var format = OutputFormat.text
  var isJSON = false
  var documents = DocumentOptions()

  static var table: [Option<Self>] {
    [
      .group(\.source), .group(\.decode), .group(\.speech), .group(\.style), .group(\.alerts),
      .value("--format <format>", \.format, "The form of the output."),
      .flag("--json", \.isJSON, "The same as --format json: one JSON object a line."),
      .value("--sensor <name>", \.documents.sensor, "The sensor's name; the host's by default."),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    guard alerts.rules != nil else { throw UsageError(message: "give a file of rules with --rules") }
    return try runCheck(
      input: source.files(), decode: decode, report: speech.report, alerts: alerts, format: isJSON ? .json : format,
      documents: documents, style: speech.spoken(style))
  }
}

/// `imdump rules`: files of alert rules.
enum Rules: CommandGroup {
  static var about: About { About("rules", "Check alert rules.") }
  static var members: [Member] { [.command(Check.self)] }

  struct Check: Subcommand {
    static var about: About { About("check", "Check a file of rules; mistakes name line and column.") }

    var profiles: [String] = []
    var file = ""

    static var table: [Option<Self>] {
      [
        .list(
          "--profile <name>", \.profiles,
          "A profile that rules may speak of: a built-in one's name or a YAML file. All built-in ones by default.",
          completing: .wordsAndFiles(builtInProfiles)),
        .value("<file>", \.file, "The file."),
      ]
    }

    func perform() throws(UsageError) -> ExitStatus { try checkRules(file, profiles: profiles) }
  }
}

/// Alerts and where they go.
extension AlertOptions: OptionGroup {
  /// The rows that commands with alerts have in common.
  package static var table: [Option<Self>] {
    [
      .value("--rules <file>", \.rules, "Tell alerts by these rules; see imdump-rules(5)."),
      .value(
        "--evidence <folder>", \.evidence, "Write the packets behind each alert to a capture in this folder."),
      .custom(
        "--hook <command>",
        "Run this program for each alert, with JSON on its standard input; words end at blanks."
      ) { options, word in options.hook = word.split(separator: " ").map(String.init) },
      .list("--webhook <url>", \.webhooks, "Post each alert as JSON to this address."),
      .list("--alertmanager <url>", \.alertmanagers, "Keep this Alertmanager up to date."),
    ]
  }
}
