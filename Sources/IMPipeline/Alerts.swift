import IMCapture
import IMEngine
import IMOutput
import IMProfile
import IMWire
import IMYAML

/// Rules and what becomes of their alerts: `--rules` and what belongs to it.
package struct AlertOptions: Equatable, Sendable {
  /// The file of rules; `nil` for no alerts.
  package var rules: String?
  /// The folder for captures of the packets behind each alert.
  package var evidence: String?
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
final class Alerts {
  /// Holds the rules against what the engine tells.
  private(set) var monitor: AlertMonitor
  /// The packets of late, where evidence is wanted.
  let evidence: Evidence?
  private let deliverer: Deliverer?
  private let desk: Desk
  private let isLive: Bool

  /// Who hears of an alert; made before those are.
  private final class Desk {
    var hear: (AlertEvent) -> Void = { _ in }
  }

  /// The alerts that `options` ask for; `nil` for none. What delivers them is started here, before rights are given up.
  init?(_ options: AlertOptions, run: Run, sensor: String?) throws(UsageError) {
    guard let path = options.rules else {
      let other = options.evidence != nil || options.isDelivered
      if other {
        throw UsageError(message: "--evidence, --hook, --webhook and --alertmanager are about the alerts of --rules")
      }
      return nil
    }
    let rules = try loadRules(path, profiles: run.plans.map(\.name)).rules
    isLive = run.input.interface != nil
    evidence = try options.evidence.map { folder throws(UsageError) in try Evidence(folder: folder) }
    deliverer =
      options.isDelivered
      ? try Deliverer(
        options, isQuiet: run.report.isQuiet, user: run.confinement.user,
        sensor: sensor ?? (isLive ? hostName() : nil)) : nil
    let desk = Desk()
    self.desk = desk
    var limits = AlertLimits()
    // An eighth of the memory, at half a kilobyte each.
    limits.connections = min(limits.connections, max(1_024, run.decode.memory >> 12))
    limits.series = min(limits.series, max(256, run.decode.memory >> 14))
    monitor = AlertMonitor(
      rules: rules, plans: run.plans, limits: limits, collectsEvidence: options.evidence != nil
    ) { desk.hear($0) }
  }

  /// Has `write` told of each alert, before it is delivered.
  func hear(_ write: @escaping (AlertEvent) -> Void) {
    let (evidence, deliverer) = (evidence, deliverer)
    desk.hear = { event in
      var event = event
      evidence?.want(&event)
      write(event)
      deliverer?.send(event)
    }
  }

  /// What must be done between batches: silence is noticed, evidence is written.
  func afterBatch(_ driver: Driver) {
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

  /// The last evaluation, when the engine has finished; and the end of what delivers.
  func finish(_ driver: Driver) {
    monitor.finish(at: driver.engine.totals.lastAt)
    evidence?.write()
  }

  /// Says what the alerts came to, and waits for what is being delivered. Whether anything was lost: evidence that could not be
  /// written, an alert that could not be delivered.
  func conclude(_ run: Run) -> Bool {
    let figures = monitor.figures
    let isDelivered = deliverer?.end() ?? true
    let isLost = !isDelivered || evidence?.hasFailed == true
    guard !run.report.isQuiet else { return isLost }
    complain("\(count(figures.fired, "alert")) fired, \(figures.resolved) resolved")
    if figures.held > 0 {
      complain(
        "\(count(figures.held, "alert")) held, because of what the capture lacks: whether they are true is not known")
    }
    if figures.suppressed > 0 { complain("\(count(figures.suppressed, "alert")) not told: a rule tells 100 a minute") }
    if figures.refused + figures.evicted > 0 {
      complain(
        "a limit is reached: rules kept no state of \(figures.refused) samples and forgot \(figures.evicted) states")
    }
    return isLost
  }
}

/// Reads a file of rules; errors name file, line and column.
func loadRules(_ path: String, profiles: [String]) throws(UsageError) -> AlertRules {
  do throws(SourceError) {
    return try AlertRules(readSource(path, subject: "rules file"), source: path, profiles: profiles)
  } catch {
    throw UsageError(message: error.description)
  }
}

/// Checks a file of rules: `imdump rules check`.
package func checkRules(_ path: String, profiles names: [String]) throws(UsageError) -> ExitStatus {
  let profiles: [String]
  do throws(ProfileError) {
    // What the usual ones are called is known without reading them.
    profiles = names.isEmpty ? BuiltInProfiles.usual : try loadProfiles(profileNames(names)).map(\.name)
  } catch {
    throw UsageError(message: error.description)
  }
  let rules = try loadRules(path, profiles: profiles).rules
  return printText("\(shown(path)): \(count(UInt64(rules.count), "rule")), in order\n")
}
