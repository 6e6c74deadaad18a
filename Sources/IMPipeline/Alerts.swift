import IMAlerts
import IMCapture
import IMDelivery
import IMDescriptors
import IMDocuments
import IMEngine
import IMFiles
import IMOutput
import IMOwners
import IMProfile
import IMRun
package import IMSystem
import IMWire
import IMYAML

/// The alerts of a run: the rules at work, and everything that hears of an alert.
final class Alerts: ChosenFeature {
  /// Holds the rules against what the engine tells.
  let monitor: AlertMonitor
  private let run: Run
  /// The file of rules of a live run, which SIGHUP has read again, and what its filters became.
  private let file: ReloadableFile?
  private let filters: RuleFilters?
  /// The packets of late, where evidence is wanted.
  private let evidence: Evidence?
  private let deliverer: Deliverer?
  /// What the rules have counted and told, for the next run; and the text of the rules, which it names.
  private let state: AlertStateFile?
  private var text: String
  /// Whether the state of an earlier run was taken up, or none is there.
  private var hasResumed = false
  /// What was told when the state was last handed on.
  private var toldBefore: UInt64 = 0
  private var isLive: Bool { run.input.interface != nil }

  /// The alerts that the options ask for. Their delivery is started here, before privileges are dropped.
  init?(_ place: RunContext) throws(UsageError) {
    let (run, options) = (place.run, place.choices.alerts)
    guard let path = options.rules else {
      let other =
        options.evidence != nil || options.isDelivered || options.spool != nil || options.state != nil
      if other {
        throw UsageError(
          message:
            "--evidence, --hook, --webhook, --alertmanager, --alert-spool and --state need --rules")
      }
      return nil
    }
    if options.spool != nil, !options.isDelivered {
      throw UsageError(
        message: "--alert-spool needs --hook, --webhook or --alertmanager")
    }
    self.run = run
    let isLive = run.input.interface != nil
    self.file = isLive ? ReloadableFile(path) : nil
    let text = try rulesText(path)
    let file = try Self.parse(text, path, run)
    self.text = text
    if let problem = Self.problem(file, run) { throw UsageError(message: problem) }
    let evidence = try options.evidence.map { folder throws(UsageError) in
      try Evidence(folder: folder, maximumBytes: options.evidenceLimit)
    }
    let sensor = place.choices.sensor ?? (run.input.interface != nil ? hostName() : nil)
    let deliverer =
      options.isDelivered
      ? try Deliverer(options, isQuiet: run.report.isQuiet, user: run.sandbox.owner, sensor: sensor) : nil
    (self.evidence, self.deliverer) = (evidence, deliverer)
    var limits = AlertLimits()
    // An eighth of the memory, at half a kilobyte each.
    limits.connections = min(limits.connections, max(1_024, run.decode.memory >> 12))
    limits.series = min(limits.series, max(256, run.decode.memory >> 14))
    state = try options.state.map { path throws(UsageError) in
      try AlertStateFile(path: path, maximumSeries: limits.series)
    }
    let dispatcher = place.dispatcher
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
      dispatcher.tell(event)
      deliverer?.send(event)
    }
    // Files are read one after another, and a message that is lost in one counts only there.
    monitor.countsPendingAsUnknown = isLive && options.state != nil
    guard !run.report.isQuiet else { return }
    monitor.overflowed = { rule in
      logError(
        "rule \(rule.name) has reached max_series (\(rule.maximumSeries ?? 0)): samples of new groups are not counted"
      )
    }
  }

  /// What rules ask that this run cannot tell; `nil` for nothing.
  private static func problem(_ file: AlertRules, _ run: Run) -> String? {
    guard run.owners == nil else { return nil }
    return file.rules.first { $0.scope == .owner || $0.grouping == .owner }.map {
      "rule \($0.name): the \($0.scope == .owner ? "scope" : "group") owner needs a live capture on the host of the sockets"
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

  func confine(_ privileges: inout Privileges) {
    if file != nil { privileges.hearsHangup = true }
    if let state {
      privileges.folders.append(state.folder)
      privileges.places.append(Privileges.Place(folder: state.folder, pattern: state.pattern))
    }
    guard let evidence else { return }
    if let user = privileges.user { evidence.give(to: user) }
    privileges.folders.append(evidence.folder)
    privileges.places.append(Privileges.Place(folder: evidence.folder, pattern: "*.pcap"))
  }

  func confined() throws(CaptureError) {
    try evidence?.checkRights()
    try state?.checkRights()
  }

  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int {
    if !hasResumed, isLive || !records.isEmpty {
      resume(at: records.isEmpty ? .wallClock.advanced(by: -1_000_000_000) : records[0].timestamp)
    }
    evidence?.keep(bytes, records)
    return records.count
  }

  /// Takes up the state of an earlier run, now that it is known when this one begins.
  private func resume(at time: Timestamp) {
    hasResumed = true
    guard let state, let kept = state.take() else { return }
    state.resume(
      kept, at: time, isQuiet: run.report.isQuiet, deliverer,
      rules: { [run] text throws(UsageError) in try Self.parse(text, "rules of the state", run).rules }
    ) { old in (monitor.resume(kept, rules: old, watchedFrom: isLive ? time : nil), monitor.firing) }
  }

  /// Reads the rules again. Where something is wrong with them, that is said, and the run goes on with those that it had.
  func hangup(_ driver: Driver) throws(CaptureError) {
    guard let file else { return }
    do throws(UsageError) {
      let text = try Self.words { () throws(SourceError) in try file.text("rules file") }
      let rules = try Self.parse(text, file.path, run)
      if let problem = Self.problem(rules, run) { throw UsageError(message: "\(file.path): \(problem)") }
      let moves = try filters?.replace(rules.filters) ?? FilterMoves(filters: [], answers: [])
      let changes = monitor.replace(rules: rules.rules, moves: moves)
      self.text = text
      guard !run.report.isQuiet else { return }
      logError(
        "\(file.path): reloaded: \(count(UInt64(rules.rules.count), "rule")), \(changes.words)")
    } catch {
      logError("\(error.message); the old rules stay in use")
    }
  }

  /// The rules in the text of the file at `path`, for this run.
  private static func parse(_ text: String, _ path: String, _ run: Run) throws(UsageError) -> AlertRules {
    try words { [plans = run.plans] () throws(SourceError) in
      try AlertRules(text, source: path, profiles: plans.map(\.name)) { RuleFilters.examine($0, plans) }
    }
  }

  private static func words<R>(_ body: () throws(SourceError) -> R) throws(UsageError) -> R {
    do throws(SourceError) { return try body() } catch { throw UsageError(message: error.description) }
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
      try keepState()
    }
    evidence?.write()
  }

  /// Has the state written, when it is time.
  private func keepState() throws(CaptureError) {
    let told = monitor.figures.fired &+ monitor.figures.resolved
    let now = MonotonicClock.seconds()
    guard let state, state.isDue(now, isTold: told != toldBefore) else { return }
    toldBefore = told
    try state.write(at: now) { monitor.snapshot(text: text) }
  }

  /// The last evaluation. Where the state is kept, what is not over is left to the next run.
  func finish(_ driver: Driver) {
    guard state == nil else {
      monitor.suspend(at: driver.engine.totals.lastAt)
      evidence?.write()
      return
    }
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
    let isKept = state?.finish(hasResumed ? monitor.snapshot(text: text) : nil) ?? true
    let isLost = !isDelivered || evidence?.hasFailed == true || !isKept
    let status = isLost ? max(status, .ioError) : status
    guard !run.report.isQuiet else { return status }
    logError("\(count(figures.fired, "alert")) fired, \(figures.resolved) resolved")
    if state != nil, !monitor.firing.isEmpty {
      logError(
        "\(count(UInt64(monitor.firing.count), "alert")) still firing: the next run with --state continues them")
    }
    if figures.held > 0 {
      logError(
        "\(count(figures.held, "alert")) held: packets are missing from the capture, so it is not known whether they are true"
      )
    }
    if let deleted = evidence?.deleted, deleted > 0 {
      logError("\(count(deleted, "evidence capture")) deleted, oldest first: the folder had reached --evidence-max")
    }
    if figures.suppressed > 0 {
      logError("\(count(figures.suppressed, "alert")) suppressed: a rule reports at most 100 per minute")
    }
    for (rule, samples) in monitor.refusedByRule {
      logError("rule \(rule): \(count(samples, "sample")) not counted: it had reached max_series")
    }
    if figures.refused + figures.evicted > 0 {
      logError(
        "a limit is reached: rules ignored \(figures.refused) samples and dropped \(figures.evicted) states")
    }
    return status
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
  return printText("\(shown(path)): \(count(UInt64(rules.count), "rule")), no errors\n")
}
