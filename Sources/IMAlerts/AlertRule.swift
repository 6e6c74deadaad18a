import IMMetrics
package import IMWire

/// One rule: what is watched, when it is wrong, and how long it has to be. See imdump-rules(5).
package struct AlertRule: Equatable, Sendable {
  /// What names it everywhere: 1 to 64 of a-z, 0-9, - and _.
  package var name: String
  /// The name for people; `name` where there is none.
  package var summary: String
  /// What is watched.
  package var metric: AlertMetric
  /// What has a state of its own.
  package var scope: AlertScope
  /// Only connections of this profile; `nil` for all.
  package var profile: String?
  /// The window, in nanoseconds: a whole number of steps.
  package var window: Int64
  /// From one evaluation to the next, in nanoseconds: a whole number of seconds.
  package var step: Int64
  /// How the value is compared with `threshold`.
  package var comparison: AlertOperator
  /// The value beyond which it is wrong, in the metric's unit; 0 for `absent`.
  package var threshold: Double
  /// The value beyond which it stays wrong once it fires: not above `threshold` for `>`, not below it for `<`.
  package var clear: Double
  /// How long it has to be wrong before it fires, in nanoseconds.
  package var patience: Int64 = 0
  /// How long it has to be right before it is resolved, in nanoseconds.
  package var keepFiring: Int64 = 0
  /// Only answers with one of these statuses count against; empty for all that refuse.
  package var statuses: Set<UInt64> = []
  /// Only round trips of messages sent in this direction; `nil` for each of the two, by itself. Of round trips only.
  package var direction: Direction?
  /// Only messages that this filter takes; `nil` for all.
  package var filter: String?
  /// Whether the filter asks what became of a message, so that it is answered when that is decided.
  package var filterAsksFate = false
  /// The place of `filter` among the filters of the rules.
  package var filterPlace = 0
  /// What has a state of its own within the scope; `nil` for the scope alone.
  package var grouping: AlertGrouping?
  /// States of the rule, at most; what has none is not counted.
  package var maximumSeries: Int?
  /// The bit of `filter` in what a `MessageSelector` says; 0 for none.
  var filterBit: UInt64 { filter == nil ? 0 : 1 << UInt64(filterPlace) }
  /// With fewer samples in the window there is no value.
  package var minimumSamples: UInt64 = 1
  /// How bad it is.
  package var severity = AlertSeverity.warning
  /// What else an alert carries, by name, in order.
  package var labels: [Label] = []
  /// The address of a page that says what to do; `nil` for none.
  package var runbook: String?

  /// A name and a value.
  package struct Label: Hashable, Sendable {
    /// `[a-zA-Z_][a-zA-Z0-9_]*`, as Prometheus has them.
    package var name: String
    /// Not empty.
    package var value: String

    /// A label of its parts.
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// A rule of its parts; the others have their defaults.
  package init(
    name: String, metric: AlertMetric, scope: AlertScope, window: Int64, step: Int64, comparison: AlertOperator,
    threshold: Double
  ) {
    self.name = name
    summary = name
    self.metric = metric
    self.scope = scope
    self.window = window
    self.step = step
    self.comparison = comparison
    self.threshold = threshold
    clear = threshold
  }

  /// How long after its time a boundary is evaluated, in nanoseconds.
  package var lag: Int64 {
    metric.samples.areToldLate || countsDecided ? 7_000_000_000 : 250_000_000
  }
  /// Whether it counts messages when their fate is decided, and not when they are sent: its filter asks for the fate.
  var countsDecided: Bool { metric.samples == .messages && filterAsksFate }
  /// Whether the counts and the state of this rule are valid for `other` as well: only the summary, the runbook and the filter's index
  /// may differ.
  package func isEquivalent(to other: AlertRule) -> Bool {
    var same = other
    (same.summary, same.runbook, same.filterPlace) = (summary, runbook, filterPlace)
    return same == self
  }
  /// The metric's name, with the direction of the round trips that it is of: `rtt_p95[c2s]`.
  package func metricName(_ direction: Direction?) -> String {
    metric.rawValue + (direction.map { "[\($0.shortName)]" } ?? "")
  }
  /// Whether packets that the capture dropped could make it fire.
  package var isHeldByDrops: Bool { metric.samples.areDistortedByDrops || comparison == .absent }
  /// Whether samples of the metric are events of which none is 0, and not the lack of a value.
  var isCounting: Bool { metric.samples.areEvents }
  /// Whether a verdict follows from how few samples there were, so that those which were not seen could turn it.
  func dependsOnAbsence(_ verdict: AlertState.Verdict) -> Bool {
    guard verdict != .over else { return false }
    if comparison == .absent { return verdict == .wrong }
    guard isCounting || metric.samples == .messages else { return false }
    return switch comparison {
    case .above, .atLeast: verdict != .wrong
    case .below, .atMost: verdict != .right
    case .equal, .absent: true
    }
  }
  /// Whether no sample at all is a value, too: too few messages are also none.
  var seesZero: Bool {
    metric.samples == .messages && (comparison == .below || comparison == .atMost || comparison == .equal)
  }
}
