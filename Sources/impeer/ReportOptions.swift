import IMCommandLine
import IMDelivery

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
      .value("--sensor <name>", \.sensor, "The name of this end in documents and alerts; the host name by default."),
      .value("--rules <file>", \.alerts.rules, "Evaluate these alert rules; see imdump-rules(5)."),
      .custom(
        "--hook <command>",
        "Run this program for each alert, with JSON on its standard input; arguments are split on spaces."
      ) { options, word in options.alerts.hook = word.split(separator: " ").map(String.init) },
      .list("--webhook <url>", \.alerts.webhooks, "POST each alert as JSON to this URL."),
      .list("--alertmanager <url>", \.alerts.alertmanagers, "Send alerts to this Alertmanager."),
      .value(
        "--state <file>", \.alerts.state,
        "Keep the state of the rules in this file, and continue from it in the next run.", completing: .files),
    ]
  }

  /// Whether there is anything to tell.
  var isWanted: Bool { documents != nil || alerts != AlertOptions() }
}
