package import IMAlerts
import IMCapture
package import IMDocuments
package import IMEngine
import IMOutput
import IMProfile
package import IMSystem
package import IMWire
import IMYAML

/// Rules that an endpoint is held against, and where its alerts go: the same files, hooks and addresses as a capture's.
package final class PeerAlerts {
  /// The rules, in the file's order; none where no file is given.
  package let rules: [AlertRule]
  /// How the endpoint's frames are laid out, and what its fields are called.
  package let plan: ProtocolPlan
  private let deliverer: Deliverer?
  private let sensor: String
  private let isQuiet: Bool
  private let run: RunIdentity
  /// The file in which the rules keep their state for the next run; `nil` for none. It names the text of the rules.
  private let state: AlertStateFile?
  private let text: String
  /// The alerts that were told when the state was written last.
  private var toldBefore: UInt64 = 0

  /// The alerts that `options` ask for. What delivers them is started here.
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
      // Said now, and not when hours of work are lost.
      do throws(CaptureError) { try file.checkRights() } catch { throw UsageError(message: error.description) }
      return file
    }
  }

  /// The rules in the text of the file at `path`.
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

  /// Takes up the state of an earlier run, before the first event, at `time`.
  package func resume(_ report: PeerReport, at time: Timestamp) {
    guard let state, let kept = state.take() else { return }
    state.resume(
      kept, at: time, isQuiet: isQuiet, deliverer,
      rules: { [plan] text throws(UsageError) in try Self.parse(text, "rules of the state", plan) }
    ) { old in (report.resume(kept, rules: old, at: time), report.firing) }
  }

  /// Has the state written, when it is time. What fails is said once.
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

  /// Whether the rules go on in the next run: what fires at the end of this one is not resolved.
  package var keepsState: Bool { state != nil }

  /// Writes the last state of `report`; false where that failed.
  package func writeState(of report: PeerReport) -> Bool {
    state?.finish(report.snapshot(text: text)) ?? true
  }

  // MARK: Alerts

  /// What documents say of where they come from.
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

  /// Waits for what is being delivered, and says what became of it; false where something was lost.
  package func end() -> Bool { deliverer?.end() ?? true }
}
