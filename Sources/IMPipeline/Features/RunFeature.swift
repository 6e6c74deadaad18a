import IMAlerts
import IMCapture
package import IMDelivery
import IMDocuments
import IMEngine
import IMOutput
import IMSystem
import IMWeb
import IMWire

/// A feature that accompanies a run beside what the command prints: a capture file, alerts, documents, metrics.
///
/// `Run` and `Driver` call every companion at the same points of a run and know none by its type. A feature is one type that
/// conforms and one line in `RunFeatures.kinds`. The calls come in the order in which they stand here; those from `take` to
/// `hangup` repeat. Whoever needs nothing at a point leaves the call out.
protocol RunFeature: AnyObject {
  /// The option whose files are opened by a process of their own where the user that root becomes may not; nil where
  /// nothing needs one.
  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String?

  /// The companion that the choices ask for; nil where they do not. What needs rights that are given up later is opened here.
  init?(_ place: RunContext) throws(UsageError)

  /// What the engine has to tell for it.
  var needs: EngineOptions.Needs { get }
  /// What it keeps, in bytes, of each connection that is decoded, of each exchange and of each server.
  var cost: (connection: Int, exchange: Int, server: Int) { get }
  /// Whether it wants to know of the end of each minute of packet time.
  var hearsMinutes: Bool { get }
  /// Whether, while a live line is quiet, the clock on the wall decides what time alone decides: else the next packet's time does.
  var wantsClock: Bool { get }
  /// A sink that tells this companion first, and then `other`.
  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)?

  /// The run begins: no source is open, no right is given up.
  func start() throws(CaptureError)
  /// A source is open, and nothing is read from it yet.
  func opened(_ source: any PacketSource) throws(CaptureError)
  /// Privileges are about to be given up: takes what it must keep.
  func confine(_ privileges: inout Privileges)
  /// Privileges are given up.
  func confined() throws(CaptureError)

  /// Packets are about to come. What is known of a file only when all of it was read is learned here, by `Run.learn`.
  func beforePackets(_ run: Run, _ companions: [any RunFeature])
  /// Packets come, before the engine has them. Returns how many belong to this run: fewer than all end it.
  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int
  /// The engine has the packets of a minute of packet time, and the next packet belongs to another one.
  func minuteEnded(_ driver: Driver)
  /// SIGHUP asks that what stands in files be opened or read again.
  func hangup(_ driver: Driver) throws(CaptureError)
  /// Something happened to the interface; it has been told on standard error.
  func note(_ event: CaptureEvent)
  /// After each batch, and about ten times a second while a live line is quiet.
  func afterBatch(_ driver: Driver) throws(CaptureError)

  /// The last packet has been taken; the engine has not finished.
  func ended() throws(CaptureError)
  /// The engine has finished.
  func finish(_ driver: Driver)
  /// Says what it came to, and how the run ends that would end with `status`. The last companion is asked first.
  func conclude(_ status: ExitStatus) -> ExitStatus
}

/// Nothing is done at a point of which a companion says nothing.
extension RunFeature {
  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String? { nil }
  var needs: EngineOptions.Needs { [] }
  var cost: (connection: Int, exchange: Int, server: Int) { (0, 0, 0) }
  var hearsMinutes: Bool { false }
  var wantsClock: Bool { false }
  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? { other }
  func start() throws(CaptureError) {}
  func opened(_ source: any PacketSource) throws(CaptureError) {}
  func confine(_ privileges: inout Privileges) {}
  func confined() throws(CaptureError) {}
  func beforePackets(_ run: Run, _ companions: [any RunFeature]) {}
  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int { records.count }
  func minuteEnded(_ driver: Driver) {}
  func hangup(_ driver: Driver) throws(CaptureError) {}
  func note(_ event: CaptureEvent) {}
  func afterBatch(_ driver: Driver) throws(CaptureError) {}
  func ended() throws(CaptureError) {}
  func finish(_ driver: Driver) {}
  func conclude(_ status: ExitStatus) -> ExitStatus { status }
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
