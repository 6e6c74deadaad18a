package import IMAlerts
import IMEngine
import IMMetrics
import IMWire

/// An alert as one JSON object: `imdump check --json`, the standard input of a hook, the body of a webhook.
///
/// Fields: `ts` (microseconds since the epoch), `time` (the same as text, UTC), `alert` (the rule's name), `state`, `id` (of the episode), `fingerprint`,
/// `severity`, `summary`, `reason`, `at`, `since`, `metric`, `dir` (of round
/// trips), `op`, `threshold`, `clear`, `value`, `samples`, `affected`,
/// `unknown`, `window_s`, `for_s`, `scope`, `profile`, `server`, `client`, `conn`, `owner`, `by` and `group` (of a rule with groups),
/// `first_affected`, `last_affected` (`conn`, `client`, `server`, `at`), `dropped`, `suppressed`, `evidence`, `runbook`, `run` (the run's
/// id, as in documents), `sensor`, `labels`. What is not known is not there.
package struct AlertJSONWriter: Sendable {
  /// The sensor's name, where it is to be told.
  private let sensor: String?

  /// A writer that names `sensor`.
  package init(sensor: String? = nil) { self.sensor = sensor }

  /// Appends the object and a line's end.
  package func write(_ event: AlertEvent, to lines: inout JSONLines) {
    let rule = event.rule
    lines.begin()
    lines.signed("ts", event.at.microseconds)
    lines.instant("time", event.at)
    lines.name("alert", rule.name)
    lines.name("state", event.state.rawValue)
    lines.name("id", event.id)
    lines.name("fingerprint", event.fingerprint)
    lines.name("severity", rule.severity.rawValue)
    lines.text("summary", rule.summary)
    lines.text("reason", event.reason)
    lines.instant("at", event.at)
    lines.instant("since", event.since)
    lines.name("metric", rule.metric.rawValue)
    if let direction = event.direction { lines.name("dir", direction.shortName) }
    lines.name("op", rule.comparison.rawValue)
    if rule.comparison != .absent {
      lines.decimal("threshold", rule.threshold)
      lines.decimal("clear", rule.clear)
    }
    lines.decimal("value", event.value)
    lines.number("samples", event.samples)
    lines.number("affected", event.affected)
    if event.unknown > 0 { lines.number("unknown", event.unknown) }
    lines.signed("window_s", rule.window / 1_000_000_000)
    lines.signed("for_s", rule.patience / 1_000_000_000)
    lines.name("scope", rule.scope.rawValue)
    if let profile = event.profile { lines.text("profile", profile) }
    if let server = event.server { endpoint("server", server, &lines) }
    if let connection = event.connection {
      endpoint("client", connection.client, &lines)
      // One that was seen by an earlier run only has no number in this one.
      if connection.serial > 0 { lines.number("conn", connection.serial) }
    }
    if let owner = event.owner { lines.text("owner", owner) }
    if let group = event.group, let grouping = rule.grouping {
      lines.name("by", grouping.name)
      lines.text("group", group.name)
    }
    if let first = event.first { affected("first_affected", first, &lines) }
    if let last = event.last { affected("last_affected", last, &lines) }
    if event.dropped > 0 { lines.number("dropped", event.dropped) }
    if event.suppressed > 0 { lines.number("suppressed", event.suppressed) }
    lines.text("evidence", event.evidence)
    lines.text("runbook", rule.runbook)
    lines.text("run", event.run)
    lines.text("sensor", sensor)
    Self.labels(rule.labels, &lines)
    _ = lines.end()
  }

  /// `labels`, when there are any.
  static func labels(_ labels: [AlertRule.Label], _ lines: inout JSONLines) {
    guard !labels.isEmpty else { return }
    lines.open("labels")
    for label in labels { lines.pair(label.name, label.value) }
    lines.close()
  }

  private func affected(_ key: StaticString, _ affected: SlidingWindow.Affected, _ lines: inout JSONLines) {
    lines.open(key)
    if affected.connection.serial > 0 { lines.number("conn", affected.connection.serial) }
    endpoint("client", affected.connection.client, &lines)
    endpoint("server", affected.connection.server, &lines)
    lines.instant("at", affected.at)
    lines.close()
  }

  private func endpoint(_ key: StaticString, _ endpoint: Endpoint, _ lines: inout JSONLines) {
    lines.name(key, "\(endpoint)")
  }
}
