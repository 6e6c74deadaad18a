import IMAlerts
package import IMDelivery
import IMDocuments
import IMFiles
import IMRun
import IMSystem
import IMWeb

/// A feature that the options of a command ask for. It is one type that conforms and one line in `RunFeatures.kinds`.
protocol ChosenFeature: RunFeature {
  /// The option whose files are opened by a process of their own where the user that root becomes may not; nil where
  /// nothing needs one.
  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String?

  /// The companion that the choices ask for; nil where they do not. What needs rights that are given up later is opened here.
  init?(_ place: RunContext) throws(UsageError)
}

/// Nothing is opened for a feature that does not say so.
extension ChosenFeature {
  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String? { nil }
}

/// What a run was asked for beside its input: the options of every companion.
package struct RunChoices: Sendable {
  /// Rules, and where their alerts go.
  package var alerts = AlertOptions()
  /// How documents are written; `nil` for none.
  package var documents: DocumentOptions?
  /// Where metrics go.
  package var metrics = MetricsOptions()
  /// The page of a live run; `nil` for none.
  package var page: PageOptions?
  /// How that page is written.
  package var pageStyle = PageStyle()
  /// The store that messages are written to; `nil` for none.
  package var store: StoreChoices?
  /// Whether a line is printed for each frame.
  package var printsLines = true
  /// How a verdict at the end is printed instead of the summary; `nil` for none.
  package var verdict: WhyOptions?
  /// The sensor's name, where it was given.
  var sensor: String?

  /// Nothing.
  package init() {}

  /// These.
  package init(alerts: AlertOptions, documents: DocumentOptions?, metrics: MetricsOptions) {
    self.alerts = alerts
    self.documents = documents
    self.metrics = metrics
    sensor = documents?.sensor
  }
}

/// What a companion is made of.
struct RunContext {
  /// The run that it will accompany.
  let run: Run
  /// What was asked for.
  let choices: RunChoices
  /// The run's name in documents and alerts; `nil` where it has none.
  var identity: RunIdentity?
  /// Standard output.
  let output: Output
  /// Where alerts are told.
  let dispatcher: AlertDispatcher
  /// The process that it has asked for.
  var outputBroker: OutputBroker?
  /// Where packets stand in the files of `-w`; `nil` where nobody asks.
  var written: WrittenPackets?
  /// The server that texts are given to; `nil` without one.
  var server: WebServer?
}

/// Those who hear of the alerts of a run, in the order in which they came.
final class AlertDispatcher {
  private var listeners: [(AlertEvent) -> Void] = []

  /// Has `listener` told of each alert.
  func hear(_ listener: @escaping (AlertEvent) -> Void) { listeners.append(listener) }

  /// Tells all.
  func tell(_ event: AlertEvent) {
    for listener in listeners { listener(event) }
  }
}
