import IMAlerts
package import IMDelivery
import IMDocuments
import IMFiles
package import IMIndexing
import IMRun
import IMSystem
import IMWeb

/// A feature that the options of a command ask for. It is one type that conforms and one line in `RunFeatures.kinds`.
protocol ChosenFeature: RunFeature {
  /// The option whose files a separate process opens if the user that root switches to may not; nil if nothing needs one.
  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String?

  /// Creates the feature if the options ask for it; nil if they do not. Opens everything that needs privileges, which are dropped later.
  init?(_ place: RunContext) throws(UsageError)
}

/// A feature without an option of its own opens no files.
extension ChosenFeature {
  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String? { nil }
}

/// The options of a run other than its input: those of every feature.
package struct RunChoices: Sendable {
  /// Rules, and the destinations of their alerts.
  package var alerts = AlertOptions()
  /// The format of documents; `nil` for no documents.
  package var documents: DocumentOptions?
  /// The destinations of metrics.
  package var metrics = MetricsOptions()
  /// The page of a live run; `nil` for none.
  package var page: PageOptions?
  /// The style of that page.
  package var pageStyle = PageStyle()
  /// The store that messages are written to; `nil` for none.
  package var store: StoreChoices?
  /// Whether a line is printed for each frame.
  package var printsLines = true
  /// The verdict that is printed at the end instead of the summary; `nil` for none.
  package var verdict: WhyOptions?
  /// The sensor's name, if it was given.
  var sensor: String?

  /// No features.
  package init() {}

  /// The given options.
  package init(alerts: AlertOptions, documents: DocumentOptions?, metrics: MetricsOptions) {
    self.alerts = alerts
    self.documents = documents
    self.metrics = metrics
    sensor = documents?.sensor
  }
}

/// The context from which a feature is created.
struct RunContext {
  /// The run that the feature accompanies.
  let run: Run
  /// The options of the run.
  let choices: RunChoices
  /// The run's name in documents and alerts; `nil` where it has none.
  var identity: RunIdentity?
  /// Standard output.
  let output: Output
  /// The dispatcher of alerts.
  let dispatcher: AlertDispatcher
  /// The process that opens the feature's files, if it asked for one.
  var outputBroker: OutputBroker?
  /// The positions of packets in the files of `-w`; `nil` if no feature needs them.
  var written: WrittenPackets?
  /// The server that serves the feature's texts; `nil` without one.
  var server: WebServer?
}

/// The listeners for the alerts of a run, in the order in which they were added.
final class AlertDispatcher {
  private var listeners: [(AlertEvent) -> Void] = []

  /// Adds a listener, which is notified of each alert.
  func hear(_ listener: @escaping (AlertEvent) -> Void) { listeners.append(listener) }

  /// Notifies all listeners.
  func tell(_ event: AlertEvent) {
    for listener in listeners { listener(event) }
  }
}
