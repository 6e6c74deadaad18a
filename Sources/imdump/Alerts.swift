import ArgumentParser
import IMOutput
import IMPipeline

/// `imdump check`: alerts over a capture, for scripts.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Hold alert rules against a capture; the status tells.",
    usage: "imdump check <file> ... --rules <file> [<options>]",
    discussion: "Status 0: no alert fired. 2: one did. 1: the capture is damaged, so nobody can tell.")

  @OptionGroup var source: SourceOptions
  @OptionGroup var decoding: DecodingOptions
  @OptionGroup var speech: SpeechOptions
  @OptionGroup var time: TimeOptions
  @OptionGroup var alerts: RuleOptions

  @Option(help: "The form of the output.")
  var format: OutputFormat = .text

  @Flag(help: "The same as --format json: one JSON object a line.")
  var json = false

  @Option(help: ArgumentHelp("The sensor's name; the host's by default.", valueName: "name"))
  var sensor: String?

  @Argument(
    help: ArgumentHelp(
      "Capture files; - is standard input, and so is none where that is no terminal.", valueName: "file"))
  var files: [String] = []

  func run() throws {
    guard alerts.rules != nil else { throw misuse("give a file of rules with --rules") }
    let input = try source.input(files: files)
    var style = TextStyle()
    style.isColoured = speech.isColoured
    style.time = time.style
    var documents = DocumentOptions()
    documents.sensor = sensor
    try finish { () throws(UsageError) in
      try runCheck(
        input: input, decode: decoding.decode, report: speech.report, alerts: alerts.alerts,
        format: json ? .json : format, documents: documents, style: style)
    }
  }
}

/// `imdump rules`: files of alert rules.
struct Rules: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Check alert rules.", subcommands: [Check.self])

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a file of rules; mistakes name line and column.")

    @Option(
      help: ArgumentHelp(
        "A profile that rules may speak of: a built-in one's name or a YAML file. All built-in ones by default.",
        valueName: "name"))
    var profile: [String] = []

    @Argument(help: "The file.") var file: String

    func run() throws {
      try finish { () throws(UsageError) in try checkRules(file, profiles: profile) }
    }
  }
}

/// Alerts and where they go.
struct RuleOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Tell alerts by these rules; see imdump-rules(5).", valueName: "file"))
  var rules: String?

  @Option(
    help: ArgumentHelp("Write the packets behind each alert to a capture in this folder.", valueName: "folder"))
  var evidence: String?

  @Option(
    help: ArgumentHelp(
      "Run this program for each alert, with JSON on its standard input; words end at blanks.", valueName: "command"))
  var hook: String?

  @Option(help: ArgumentHelp("Post each alert as JSON to this address.", valueName: "url"))
  var webhook: [String] = []

  @Option(help: ArgumentHelp("Keep this Alertmanager up to date.", valueName: "url"))
  var alertmanager: [String] = []

  /// The pipeline's options.
  var alerts: AlertOptions {
    var options = AlertOptions()
    options.rules = rules
    options.evidence = evidence
    options.hook = hook.map { $0.split(separator: " ").map(String.init) } ?? []
    options.webhooks = webhook
    options.alertmanagers = alertmanager
    return options
  }
}
