package import IMAlerts
import IMDescriptors
package import IMDocuments
package import IMEngine
import IMOutput
import IMProfile
package import IMSystem
package import IMWire
import IMYAML

/// The alert rules of an endpoint and the delivery of its alerts, with the same files, hooks and addresses as for a capture.
package final class PeerAlerts {
  /// The rules, in the file's order; empty if no file is given.
  package let rules: [AlertRule]
  /// The layout of the endpoint's frames, and the names of its fields.
  package let plan: ProtocolPlan
  private let deliverer: Deliverer?
  private let sensor: String
  private let isQuiet: Bool
  private let run: RunIdentity
  /// The file in which the rules keep their state for the next run, with the text of the rules; `nil` for none.
  private let state: AlertStateFile?
  private let text: String
  /// The number of alerts reported when the state was last written.
  private var toldBefore: UInt64 = 0

  /// Creates the alerts that `options` ask for, and starts their delivery.
  package init(_ options: AlertOptions, sensor: String?, isQuiet: Bool) throws(UsageError) {
    do throws(ProfileError) {
      plan = try BuiltInProfiles.plan("tjp")
    } catch {
      throw UsageError(message: error.description)
    }
    self.sensor = sensor ?? hostName()
    self.isQuiet = isQuiet
    var random = SystemRandomNumberGenerator()
    run = RunIdentity(random: random.next(), random.next())
    guard let path = options.rules else {
      if options.isDelivered || options.state != nil {
        throw UsageError(message: "--hook, --webhook, --alertmanager and --state need --rules")
      }
      rules = []
      (deliverer, state, text) = (nil, nil, "")
      return
    }
    text = try rulesText(path)
    rules = try Self.parse(text, path, plan)
    if let rule = rules.first(where: { $0.scope == .owner }) {
      throw UsageError(message: "rule \(rule.name): the scope owner is for captures of a host's sockets: imdump -i")
    }
    let ofMessages: [AlertGrouping?] = [.session, .type, .owner]
    if let rule = rules.first(where: { $0.grouping != nil && ofMessages.contains($0.grouping) }) {
      throw UsageError(
        message: "rule \(rule.name): an endpoint counts by client and by network; other groups are for captures")
    }
    deliverer =
      options.isDelivered ? try Deliverer(options, isQuiet: isQuiet, user: nil, sensor: self.sensor) : nil
    state = try options.state.map { path throws(UsageError) in
      let file = try AlertStateFile(path: path, maximumSeries: AlertLimits().series)
      // Reported now, and not after hours of work are lost.
      do throws(CaptureError) { try file.checkRights() } catch { throw UsageError(message: error.description) }
      return file
    }
  }

  /// Parses the rules in the text of the file at `path`.
  private static func parse(
    _ text: String, _ path: String, _ plan: ProtocolPlan
  ) throws(UsageError) -> [AlertRule] {
    do throws(SourceError) {
      return try AlertRules(text, source: path, profiles: [plan.name]).rules
    } catch {
      throw UsageError(message: error.description)
    }
  }

  // MARK: State

  /// Resumes the state of an earlier run, before the first event, at `time`.
  package func resume(_ report: PeerReport, at time: Timestamp) {
    guard let state, let kept = state.take() else { return }
    state.resume(
      kept, at: time, isQuiet: isQuiet, deliverer,
      rules: { [plan] text throws(UsageError) in try Self.parse(text, "rules of the state", plan) }
    ) { old in (report.resume(kept, rules: old, at: time), report.firing) }
  }

  /// Writes the state if it is due. A failure is reported once.
  package func keepState(of report: PeerReport) {
    let told = report.alertFigures.fired &+ report.alertFigures.resolved
    let now = MonotonicClock.seconds()
    guard let state, state.isDue(now, isTold: told != toldBefore) else { return }
    toldBefore = told
    do throws(CaptureError) {
      try state.write(at: now) { report.snapshot(text: text) }
    } catch {
      logError(error.description)
    }
  }

  /// Whether the next run resumes the rules: alerts that fire at the end of this one are then not resolved.
  package var keepsState: Bool { state != nil }

  /// Writes the last state of `report`; false if that failed.
  package func writeState(of report: PeerReport) -> Bool {
    state?.finish(report.snapshot(text: text)) ?? true
  }

  // MARK: Alerts

  /// The origin of documents: run, sensor and program version.
  package func context(version: String) -> ECSContext {
    ECSContext(run: run, sensor: sensor, mode: .live, version: version, product: programName)
  }

  /// Prints an alert on standard error, and delivers it.
  package func take(_ event: AlertEvent) {
    var event = event
    event.run = run.text
    if !isQuiet {
      var line = ByteWriter(capacity: 256)
      var style = TextStyle()
      style.zone = .local
      var text = AlertTextWriter(style: style)
      text.write(event, to: &line)
      Output(descriptor: 2, name: "standard error").drain(&line)
    }
    deliverer?.send(event)
  }

  /// Waits for pending deliveries, and reports their result; false if an alert was lost.
  package func end() -> Bool { deliverer?.end() ?? true }
}
