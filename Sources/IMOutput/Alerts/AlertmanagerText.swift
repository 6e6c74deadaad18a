package import IMAlerts
import IMEngine
package import IMWire

/// Alerts as Prometheus Alertmanager takes them, version 2 of its interface: `POST /api/v2/alerts`.
///
/// Label names are `[a-zA-Z_][a-zA-Z0-9_]*`, and a label without a value is none. What tells two alerts apart are the labels,
/// so the value is an annotation.
package enum AlertmanagerText {
  /// The members of one alert but for `endsAt`, without braces.
  package static func alert(_ event: AlertEvent, sensor: String?) -> String {
    let rule = event.rule
    var lines = JSONLines()
    lines.begin()
    lines.open("labels")
    lines.name("alertname", rule.name)
    lines.name("severity", rule.severity.rawValue)
    lines.name("scope", rule.scope.rawValue)
    if let profile = event.profile, !profile.isEmpty { lines.text("profile", profile) }
    if let server = event.server { lines.name("server", "\(server)") }
    if let client = event.connection?.client { lines.name("client", "\(client)") }
    if let owner = event.owner { lines.text("owner", owner) }
    if let group = event.group, let grouping = rule.grouping { lines.pair(grouping.name, group.name) }
    if let direction = event.direction { lines.name("direction", direction.longName) }
    if let sensor, !sensor.isEmpty { lines.text("sensor", sensor) }
    for label in rule.labels { lines.pair(label.name, label.value) }
    lines.close()
    lines.open("annotations")
    lines.text("summary", rule.summary)
    lines.text("description", event.reason)
    if let value = event.value {
      var out = ByteWriter(capacity: 32)
      out.decimal(value, 6)
      lines.name("value", out.text)
    }
    if let evidence = event.evidence { lines.text("evidence", evidence) }
    if let runbook = rule.runbook { lines.text("runbook_url", runbook) }
    if let run = event.run { lines.text("run", run) }
    lines.close()
    lines.instant("startsAt", event.since)
    return String(lines.writer.text.dropFirst())
  }

  /// The body of a request: alerts as `alert` makes them, each with the time at which it ends or would be forgotten.
  package static func body(_ alerts: [String], endsAt: Timestamp) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(endsAt)
    let end = out.text
    return "[" + alerts.map { "{\($0),\"endsAt\":\"\(end)\"}" }.joined(separator: ",") + "]"
  }
}
