import IMCommandLine
import IMPipeline

/// What an end tells of itself beside its summary: documents, and alerts by rules.
struct ReportOptions: OptionGroup {
  var documents: String?
  var sensor: String?
  var alerts = AlertOptions()

  static var table: [Option<Self>] {
    [
      .value(
        "--ecs <file>", \.documents,
        "Write a document for Elasticsearch every minute, and of each alert; - is standard output."),
      .value("--sensor <name>", \.sensor, "In documents and alerts, this end's name; the host's by default."),
      .value("--rules <file>", \.alerts.rules, "Tell alerts by these rules; see imdump-rules(5)."),
      .custom(
        "--hook <command>",
        "Run this program for each alert, with JSON on its standard input; words end at blanks."
      ) { options, word in options.alerts.hook = word.split(separator: " ").map(String.init) },
      .list("--webhook <url>", \.alerts.webhooks, "Post each alert as JSON to this address."),
      .list("--alertmanager <url>", \.alerts.alertmanagers, "Keep this Alertmanager up to date."),
    ]
  }

  /// Whether there is anything to tell.
  var isWanted: Bool { documents != nil || alerts != AlertOptions() }
}
