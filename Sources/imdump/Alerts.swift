package import IMCommandLine
package import IMDelivery
import IMOutput
import IMPipeline
import IMRun
import IMSystem

/// `imdump check`: alerts over a capture, for scripts.
struct Check: Subcommand {
  static var about: About {
    About(
      "check", "Evaluate alert rules over a capture; exit 2 if any fired.",
      usage: ["imdump check <file> ... --rules <file> [<options>] [<expression> ...]"],
      discussion: "Exit status: 0 if no alert fired, 2 if one did, 1 if a damaged capture leaves it unknown.")
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var style = TextStyle()
  var alerts = AlertOptions()
  var format = FormatChoice.Choice.text
  var isJSON = false
  var documents = DocumentOptions()

  static var table: [Option<Self>] {
    [
      .group(\.source), .group(\.decode), .group(\.speech), .group(\.style), .group(\.alerts),
      .value("--state <file>", \.alerts.state, AlertOptions.stateHelp, completing: .files),
      .value("--format <format>", \.format, "Output format."),
      .flag("--json", \.isJSON, "The same as --format json: JSON objects, one per line."),
      .value("--sensor <name>", \.documents.sensor, "The sensor's name; the host name by default."),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    guard alerts.rules != nil else { throw UsageError(message: "give a rules file with --rules") }
    return try runCheck(
      input: source.files(), decode: decode, report: speech.report, alerts: alerts,
      format: isJSON ? .json : OutputFormat(rawValue: format.rawValue) ?? .text,
      documents: documents, style: speech.spoken(style))
  }
}

/// `imdump rules`: files of alert rules.
enum Rules: CommandGroup {
  static var about: About { About("rules", "Check alert rules.") }
  static var members: [Member] { [.command(Check.self)] }

  struct Check: Subcommand {
    static var about: About { About("check", "Check a rules file; errors name line and column.") }

    var profiles: [String] = []
    var file = ""

    static var table: [Option<Self>] {
      [
        .list(
          "--profile <name>", \.profiles,
          "A profile that rules may refer to: the name of a built-in one or a YAML file. All built-in ones by default.",
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
      .value("--rules <file>", \.rules, "Evaluate these alert rules; see imdump-rules(5)."),
      .value(
        "--evidence <folder>", \.evidence, "Write the packets that led to each alert to a capture in this folder."),
      .custom(
        "--evidence-max <size>",
        "Delete the oldest evidence when its folder exceeds this size, such as 500M; 1G by default."
      ) { options, word throws(ValueError) in options.evidenceLimit = Int64(clamping: try fileSize(word)) },
      .custom(
        "--hook <command>",
        "Run this program for each alert, with JSON on its standard input; arguments are split on spaces."
      ) { options, word in options.hook = word.split(separator: " ").map(String.init) },
      .list("--webhook <url>", \.webhooks, "POST each alert as JSON to this URL. Repeatable."),
      .list("--alertmanager <url>", \.alertmanagers, "Send alerts to this Alertmanager. Repeatable."),
      .value(
        "--alert-spool <folder>", \.spool, "Queue alerts that cannot be delivered in this folder, and retry them."),
      .custom(
        "--alert-spool-max <size>",
        "Delete the oldest alerts when the spool exceeds this size, such as 100M; 16M by default."
      ) { options, word throws(ValueError) in options.spoolLimit = Int64(clamping: try fileSize(word)) },
    ]
  }
}

extension AlertOptions {
  /// The help of `--state` for commands that evaluate rules over packets.
  static let stateHelp = "Keep the state of the rules in this file, and continue from it in the next run."
}
