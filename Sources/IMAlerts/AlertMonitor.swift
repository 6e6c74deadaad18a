package import IMEngine
import IMMetrics
package import IMWire

/// Holds rules against what the engine tells, in packet time.
///
/// It is an `EngineSink`, or a part of one that passes every call on, and wants the needs of `needs`. Rules are evaluated at
/// whole multiples of their step since 1970, `AlertRule.lag` after the time has come, so that what an engine tells late is there:
/// the same packets give the same alerts, however they are cut into batches and whatever else is in the capture.
///
///     let monitor = AlertMonitor(rules: rules, plans: plans) { event in write(event) }
///     engine.process(bytes, records)
///     monitor.captured(received: r, dropped: d, at: now)     // live only
///     monitor.advance(to: now)                               // live only: silence is noticed though nothing comes
///     engine.finish()
///     monitor.finish(at: engine.totals.lastAt)
package final class AlertMonitor: EngineSink {
  /// What it must be told by an engine.
  package static let needs: EngineOptions.Needs = [.frames, .resolved, .issues, .connections]
  /// What it keeps of a connection that a plan decodes, in bytes.
  package static let costPerConnection = 256
  /// One rule at work.
  struct Watch {
    var rule: AlertRule
    /// The index of the rule's profile; `nil` for all.
    let plan: UInt8?
    /// The keys of a connection's states, by its number: of rules about connections whose messages have groups.
    var groups: [UInt32: [AlertSeries.Key]] = [:]
    /// Samples that were not kept, because the rule has as many states as it may; and whether that was said.
    var refused: UInt64 = 0, isRefusalTold = false
    /// Whether all that could be forgotten was, at the current boundary.
    var isSwept = false
    var series: [AlertSeries.Key: AlertSeries] = [:]
    /// Those that the next evaluation looks at.
    var active: [AlertSeries] = []
    var created = 0
    /// Keys of the series that an earlier run kept and to which no connection of this one belongs yet.
    var unbound: [UnboundSubject: [AlertSeries.Key]] = [:]
    /// Whether time has come to its end, so that there is no further step.
    var isExhausted = false
    /// The boundary of the next evaluation, and when it is due.
    var next = Timestamp.distantFuture
    var due: Timestamp { next.advanced(by: rule.lag) }
    /// Alerts told in the minute that began at `minute`, and those that were not told since the last one that was.
    var minute = Timestamp.distantPast
    var told: UInt64 = 0, suppressed: UInt64 = 0
  }

  /// What the alerts came to.
  package internal(set) var figures = AlertMetrics()

  // One thread calls a sink, and no call is made within another.

  let plans: [ProtocolPlan]
  let limits: AlertLimits
  let collectsEvidence: Bool
  /// Is told when a rule has as many states as it may, once for each rule.
  package var overflowed: ((AlertRule) -> Void)?
  /// Whether messages that are pending when the run ends count as unknown: the next run resumes the counters, but it cannot tell which answers belong
  /// to messages of this one, nor whether they came in between.
  @exclusivity(unchecked) package var countsPendingAsUnknown = false
  /// Says which messages the filters of the rules choose; `nil` where no rule has one, or will.
  let selector: (any MessageSelector)?
  @exclusivity(unchecked) var selected = SelectedMessages()
  /// Who has the end of this host of a connection; `nil` where nobody knows.
  let owner: ((ConnectionInfo) -> String?)?
  /// The places of owners in series' keys.
  var owners: [String: UInt32] = [:]
  let tell: (AlertEvent) -> Void
  @exclusivity(unchecked) var watches: [Watch]
  /// The rules by what they want to hear of.
  @exclusivity(unchecked) var interests: AlertInterests
  /// Sessions by the tracker's number, where a rule has groups of them.
  @exclusivity(unchecked) var sessions: [UInt32: AlertGroup] = [:]
  @exclusivity(unchecked) private(set) var roles: RoleTable
  var servers = ServerRegistry()
  @exclusivity(unchecked) var connections: [UInt32: MonitoredConnection] = [:]
  @exclusivity(unchecked) var lastConnection: MonitoredConnection?
  /// Connections that are over, oldest first: late answers may still come for a while.
  var finished: [UInt32] = []
  /// Exchanges that were resolved before the frame of their first transmission was reported, which comes next.
  @exclusivity(unchecked) var early: [Exchange] = []
  /// By how many microseconds the interval before the heartbeat whose frame is told next differs from the one before it.
  @exclusivity(unchecked) var beatChange: Nanoseconds?
  /// Messages that wait for an answer; only where a rule asks for their age.
  @exclusivity(unchecked) var open: Set<UInt32> = []
  /// Connections that are a session's further one, and when they began; their first frame comes next.
  var reconnected: [UInt32: (at: Timestamp, previous: UInt32)] = [:]
  var seriesCount = 0
  /// Whether all that could be forgotten was, at the current boundary.
  var isSwept = false
  /// The latest time heard of, and the time at which the next evaluation is due.
  @exclusivity(unchecked) var clock = Timestamp.distantPast
  @exclusivity(unchecked) var due = Timestamp.distantPast
  /// The latest time at which a fate was decided.
  @exclusivity(unchecked) var horizon = Timestamp.distantPast
  /// When the capture last dropped packets, how many since it began to without a long quiet time, and its last counts.
  var lastDropAt: Timestamp?
  var dropped: UInt64 = 0
  /// The same of packets that the kernel or the interface dropped.
  var lastKernelDropAt: Timestamp?
  var kernelDropped: UInt64 = 0
  /// The statuses that answers gave.
  var statuses = StatusRegistry()
  var captureCounts: (received: UInt64, dropped: UInt64)?
  /// When this run began to watch, where an earlier one had left its state: nothing is known of the time in between.
  var unwatchedUntil: Timestamp?
  /// Whether a rule has series of an earlier run to which no connection of this one belongs yet.
  @exclusivity(unchecked) var hasUnbound = false

  /// A monitor of `rules` over what `plans` decode. `collectsEvidence` keeps in mind which connections an alert is about;
  /// `selector` knows the filters of the rules, and `owner` whose connections are.
  package init(
    rules: [AlertRule], plans: [ProtocolPlan], limits: AlertLimits = AlertLimits(), collectsEvidence: Bool = false,
    selector: (any MessageSelector)? = nil, owner: ((ConnectionInfo) -> String?)? = nil,
    tell: @escaping (AlertEvent) -> Void
  ) {
    self.plans = plans
    self.limits = limits
    self.collectsEvidence = collectsEvidence
    self.selector = selector
    self.owner = owner
    self.tell = tell
    watches = rules.map { Self.watch($0, plans) }
    interests = AlertInterests(rules)
    roles = RoleTable(plans: plans)
  }

  static func watch(_ rule: AlertRule, _ plans: [ProtocolPlan]) -> Watch {
    Watch(rule: rule, plan: rule.profile.flatMap { name in plans.firstIndex { $0.name == name } }.map { UInt8($0) })
  }

  /// What types are for has changed.
  package func reloaded(_ plans: [ProtocolPlan]) { roles = RoleTable(plans: plans) }

  // MARK: Time

  /// Packet time has come to `time`: perhaps rules have to be evaluated.
  @inline(__always)
  func tick(_ time: Timestamp) {
    if time > clock { clock = time }
    if clock >= due { evaluate() }
  }

  /// Moves the clock on when no packet does. Live only: it makes the alerts depend on when it is called.
  package func advance(to time: Timestamp) { tick(time) }

  /// Takes note of what the capture has received and dropped since it began. Live only.
  package func captured(received: UInt64?, dropped: UInt64, at time: Timestamp) {
    tick(time)
    defer { captureCounts = (received ?? 0, dropped) }
    let before = captureCounts ?? (0, 0)
    let lost = dropped >= before.dropped ? dropped - before.dropped : 0
    if lost > 0 {
      drop(lost, at: time)
      let quiet = watches.map(\.rule.window).max() ?? 0
      kernelDropped = time.nanoseconds(since: lastKernelDropAt ?? .distantPast) > quiet ? lost : kernelDropped &+ lost
      lastKernelDropAt = max(lastKernelDropAt ?? .distantPast, time)
    }
    guard let received, received > before.received, !interests.drops.isEmpty else { return }
    for index in interests.drops {
      guard let series = series(index, .max, AlertSeries.Subject(), at: time) else { continue }
      touch(index, series)
      series.window[time].samples &+= received - before.received
      series.window[time].affected &+= min(lost, received - before.received)
    }
  }

  /// Takes note of packets that the capture lost, or of holes that show it.
  func drop(_ count: UInt64, at time: Timestamp) {
    let last = lastDropAt ?? .distantPast
    let quiet = watches.map(\.rule.window).max() ?? 0
    dropped = time.nanoseconds(since: last) > quiet ? count : dropped &+ count
    lastDropAt = max(last, time)
  }

  /// Ends the last step, in which the last packet came or the time for the last answer ran out, and evaluates once more.
  /// After the engine's `finish`; `time` is that of the last packet.
  package func finish(at time: Timestamp?) {
    if let time { tick(time) }
    for exchange in early { resolve(exchange) }
    early.removeAll()
    guard clock > .distantPast else { return }
    evaluate(throughStepOf: max(clock, horizon))
  }
}
