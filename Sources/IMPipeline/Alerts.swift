import IMAlerts
import IMCapture
import IMDocuments
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

  /// The folder for what cannot be delivered; `nil` for none.
  package var spool: String?
  /// How many bytes the files in that folder may have.
  package var spoolLimit = DeliverySpool.usualBytes

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
  /// The file of rules of a live run, which SIGHUP has read again, and what its filters became.
  private let file: ReloadableFile?
  private let filters: RuleFilters?
  /// The packets of late, where evidence is wanted.
  private let evidence: Evidence?
  private let deliverer: Deliverer?
  private var isLive: Bool { run.input.interface != nil }

  /// The alerts that the choices ask for. What delivers them is started here, before rights are given up.
  init?(_ place: RunContext) throws(UsageError) {
    let (run, options) = (place.run, place.choices.alerts)
    guard let path = options.rules else {
      let other = options.evidence != nil || options.isDelivered || options.spool != nil
      if other {
        throw UsageError(
          message: "--evidence, --hook, --webhook, --alertmanager and --alert-spool are about the alerts of --rules")
      }
      return nil
    }
    if options.spool != nil, !options.isDelivered {
      throw UsageError(
        message: "--alert-spool keeps what --hook, --webhook and --alertmanager cannot deliver: give one")
    }
    self.run = run
    let isLive = run.input.interface != nil
    self.file = isLive ? ReloadableFile(path) : nil
    let file = try loadRules(path, profiles: run.plans.map(\.name)) { RuleFilters.examine($0, run.plans) }
    if let problem = Self.problem(file, run) { throw UsageError(message: problem) }
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
    // Rules that are read later may have filters.
    let filters =
      isLive || !file.filters.isEmpty ? try RuleFilters(file.filters, run.plans, run.owners) : nil
    self.filters = filters
    let identity = place.identity
    monitor = AlertMonitor(
      rules: file.rules, plans: run.plans, limits: limits, collectsEvidence: options.evidence != nil,
      selector: filters, owner: run.owners.map(Self.names)
    ) { event in
      var event = event
      event.run = identity?.text
      evidence?.want(&event)
      desk.tell(event)
      deliverer?.send(event)
    }
    guard !run.report.isQuiet else { return }
    monitor.overflowed = { rule in
      logError(
        "rule \(rule.name) has reached max_series (\(rule.maximumSeries ?? 0)): samples of further groups are not counted"
      )
    }
  }

  /// What rules ask that this run cannot tell; `nil` for nothing.
  private static func problem(_ file: AlertRules, _ run: Run) -> String? {
    guard run.owners == nil else { return nil }
    return file.rules.first { $0.scope == .owner || $0.grouping == .owner }.map {
      "rule \($0.name): the \($0.scope == .owner ? "scope" : "group") owner is known of this host's sockets, live only"
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

  /// Messages are lost on a line that is quiet, too.
  var wantsClock: Bool { isLive }

  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? { other.map { PairSink(monitor, $0) } ?? monitor }

  func confine(_ rights: inout Rights) {
    if file != nil { rights.hearsHangup = true }
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

  /// Reads the rules again. Where something is wrong with them, that is said, and the run goes on with those that it had.
  func hangup(_ driver: Driver) throws(CaptureError) {
    guard let file else { return }
    do throws(UsageError) {
      let rules = try parse(file)
      if let problem = Self.problem(rules, run) { throw UsageError(message: "\(file.path): \(problem)") }
      let moves = try filters?.replace(rules.filters) ?? FilterMoves(filters: [], answers: [])
      let changes = monitor.replace(rules: rules.rules, moves: moves)
      guard !run.report.isQuiet else { return }
      logError(
        "\(file.path): read again: \(count(UInt64(rules.rules.count), "rule")), \(Self.words(changes))")
    } catch {
      logError("\(error.message); the rules stay as they were")
    }
  }

  private func parse(_ file: ReloadableFile) throws(UsageError) -> AlertRules {
    do throws(SourceError) {
      return try AlertRules(file.text("rules file"), source: file.path, profiles: run.plans.map(\.name)) {
        [plans = run.plans] in RuleFilters.examine($0, plans)
      }
    } catch {
      throw UsageError(message: error.description)
    }
  }

  private static func words(_ changes: RuleChanges) -> String {
    let parts = [(changes.added, "new"), (changes.changed, "changed"), (changes.removed, "gone")].filter { $0.0 > 0 }
    return parts.isEmpty ? "unchanged" : parts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
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
    if let deleted = evidence?.deleted, deleted > 0 {
      logError("\(count(deleted, "capture")) of evidence deleted, the oldest: the folder had reached --evidence-max")
    }
    if figures.suppressed > 0 { logError("\(count(figures.suppressed, "alert")) not told: a rule tells 100 a minute") }
    for (rule, samples) in monitor.refusedByRule {
      logError("rule \(rule): \(count(samples, "sample")) not counted: it had reached max_series")
    }
    if figures.refused + figures.evicted > 0 {
      logError(
        "a limit is reached: rules kept no state of \(figures.refused) samples and forgot \(figures.evicted) states")
    }
    return status
  }
}

/// Reads a file of rules; errors name file, line and column. `examine` looks at filters over messages.
func loadRules(
  _ path: String, profiles: [String], examine: ((String) -> FilterVerdict)? = nil
) throws(UsageError) -> AlertRules {
  do throws(SourceError) {
    return try AlertRules(
      readSource(path, subject: "rules file"), source: path, profiles: profiles, examine: examine)
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
    return RuleFilters.examine(text, known)
  }.rules
  return printText("\(shown(path)): \(count(UInt64(rules.count), "rule")), in order\n")
}
