import IMAlerts
import IMCapture
import IMEngine
import IMOutput
import IMOwners
import IMProfile
import IMWire
import IMYAML

/// Rules and what becomes of their alerts: `--rules` and what belongs to it.
package struct AlertOptions: Equatable, Sendable {
  /// The file of rules; `nil` for no alerts.
  package var rules: String?
  /// The folder for captures of the packets behind each alert.
  package var evidence: String?
  /// How many bytes the captures in that folder may have.
  package var evidenceLimit: Int64 = 1 << 30
  /// A program and its arguments, run for each alert.
  package var hook: [String] = []
  /// Addresses that each alert is posted to.
  package var webhooks: [String] = []
  /// Alertmanagers that are kept up to date.
  package var alertmanagers: [String] = []

  /// No alerts.
  package init() {}

  /// Whether alerts leave the process other than as lines.
  var isDelivered: Bool { !hook.isEmpty || !webhooks.isEmpty || !alertmanagers.isEmpty }
}

/// The alerts of a run: the rules at work, and everything that hears of an alert.
final class Alerts: RunFeature {
  /// Holds the rules against what the engine tells.
  let monitor: AlertMonitor
  private let run: Run
  /// The packets of late, where evidence is wanted.
  private let evidence: Evidence?
  private let deliverer: Deliverer?
  private var isLive: Bool { run.input.interface != nil }

  /// The alerts that the choices ask for. What delivers them is started here, before rights are given up.
  init?(_ place: RunContext) throws(UsageError) {
    let (run, options) = (place.run, place.choices.alerts)
    guard let path = options.rules else {
      let other = options.evidence != nil || options.isDelivered
      if other {
        throw UsageError(message: "--evidence, --hook, --webhook and --alertmanager are about the alerts of --rules")
      }
      return nil
    }
    self.run = run
    let file = try loadRules(path, profiles: run.plans.map(\.name)) { RuleFilters.mistake(in: $0, run.plans) }
    if run.owners == nil, let rule = file.rules.first(where: { $0.scope == .owner }) {
      throw UsageError(message: "rule \(rule.name): the scope owner is known of this host's sockets, live only")
    }
    let evidence = try options.evidence.map { folder throws(UsageError) in
      try Evidence(folder: folder, maximumBytes: options.evidenceLimit)
    }
    let sensor = place.choices.sensor ?? (run.input.interface != nil ? hostName() : nil)
    let deliverer =
      options.isDelivered
      ? try Deliverer(options, isQuiet: run.report.isQuiet, user: run.confinement.owner, sensor: sensor) : nil
    (self.evidence, self.deliverer) = (evidence, deliverer)
    var limits = AlertLimits()
    // An eighth of the memory, at half a kilobyte each.
    limits.connections = min(limits.connections, max(1_024, run.decode.memory >> 12))
    limits.series = min(limits.series, max(256, run.decode.memory >> 14))
    let desk = place.desk
    monitor = AlertMonitor(
      rules: file.rules, plans: run.plans, limits: limits, collectsEvidence: options.evidence != nil,
      selector: RuleFilters(file.filters, run.plans, run.owners), owner: run.owners.map(Self.names)
    ) { event in
      var event = event
      evidence?.want(&event)
      desk.tell(event)
      deliverer?.send(event)
    }
  }

  /// What an owner is called in alerts: the unit, or the whole number of the container.
  private static func names(_ owners: ConnectionOwners) -> (ConnectionInfo) -> String? {
    { info in
      let owner = owners.owner(of: info.serial, client: info.peer, server: info.server)
      return owner?.unit ?? owner?.container
    }
  }

  var needs: EngineOptions.Needs { AlertMonitor.needs }
  var cost: (connection: Int, exchange: Int, server: Int) { (AlertMonitor.costPerConnection, 0, 0) }

  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? { other.map { PairSink(monitor, $0) } ?? monitor }

  func confine(_ rights: inout Rights) {
    guard let evidence else { return }
    if let user = rights.user { evidence.give(to: user) }
    rights.folders.append(evidence.folder)
    rights.places.append(Rights.Place(folder: evidence.folder, pattern: "*.pcap"))
  }

  func confined() throws(CaptureError) { try evidence?.checkRights() }

  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int {
    evidence?.keep(bytes, records)
    return records.count
  }

  /// Silence is noticed, evidence is written.
  func afterBatch(_ driver: Driver) throws(CaptureError) {
    if isLive {
      let statistics = driver.statistics
      // What the kernel still holds is a little older than now.
      let now = Timestamp.wallClock.advanced(by: -1_000_000_000)
      monitor.captured(
        received: statistics.received,
        dropped: (statistics.droppedByKernel ?? 0) + (statistics.droppedByInterface ?? 0),
        at: now)
    }
    evidence?.write()
  }

  /// The last evaluation.
  func finish(_ driver: Driver) {
    monitor.finish(at: driver.engine.totals.lastAt)
    // No later run would resolve an alert of this one.
    if isLive { monitor.end() }
    evidence?.write()
  }

  /// Says what the alerts came to, and waits for what is being delivered. Evidence that could not be written and alerts that
  /// could not be delivered are lost output.
  func conclude(_ status: ExitStatus) -> ExitStatus {
    let figures = monitor.figures
    let isDelivered = deliverer?.end() ?? true
    let isLost = !isDelivered || evidence?.hasFailed == true
    let status = isLost ? max(status, .ioError) : status
    guard !run.report.isQuiet else { return status }
    logError("\(count(figures.fired, "alert")) fired, \(figures.resolved) resolved")
    if figures.held > 0 {
      logError(
        "\(count(figures.held, "alert")) held, because of what the capture lacks: whether they are true is not known")
    }
    if let refused = evidence?.refused, refused > 0 {
      logError(
        "\(count(UInt64(refused), "alert")) without evidence: captures in the folder have reached --evidence-max; move some away"
      )
    }
    if figures.suppressed > 0 { logError("\(count(figures.suppressed, "alert")) not told: a rule tells 100 a minute") }
    if figures.refused + figures.evicted > 0 {
      logError(
        "a limit is reached: rules kept no state of \(figures.refused) samples and forgot \(figures.evicted) states")
    }
    return status
  }
}

/// Reads a file of rules; errors name file, line and column. `mistake` says what is wrong with a filter over messages.
func loadRules(
  _ path: String, profiles: [String], mistake: ((String) -> String?)? = nil
) throws(UsageError) -> AlertRules {
  do throws(SourceError) {
    return try AlertRules(
      readSource(path, subject: "rules file"), source: path, profiles: profiles, mistake: mistake)
  } catch {
    throw UsageError(message: error.description)
  }
}

/// Checks a file of rules: `imdump rules check`.
package func checkRules(_ path: String, profiles names: [String]) throws(UsageError) -> ExitStatus {
  var plans: [ProtocolPlan]?
  let profiles: [String]
  do throws(ProfileError) {
    try confineReader(of: [path] + names.filter(isProfileFile))
    if !names.isEmpty { plans = try loadProfiles(profileNames(names)) }
    // What the usual ones are called is known without reading them.
    profiles = plans?.map(\.name) ?? BuiltInProfiles.usual
  } catch {
    throw UsageError(message: error.description)
  }
  let rules = try loadRules(path, profiles: profiles) { text in
    let known = plans ?? (try? loadProfiles([])) ?? []
    plans = known
    return RuleFilters.mistake(in: text, known)
  }.rules
  return printText("\(shown(path)): \(count(UInt64(rules.count), "rule")), in order\n")
}
