package import IMAlerts
import IMEngine
import IMMetrics
import IMOutput
import IMWire

extension ECSWriter {
  /// The document of an alert that fires, is resolved, or is held because of what the capture lacks, and no longer.
  func alert(_ alert: AlertEvent, _ lines: inout JSONLines) -> Bool {
    let rule = alert.rule
    begin(.alert, at: alert.at, &lines)
    event(.alert, types: "[\"info\"]", &lines)
    lines.name("action", "alert_\(alert.state.rawValue)")
    lines.text("id", "\(runPrefix)-a-\(alert.id)-\(alert.state.rawValue)")
    lines.number("severity", rule.severity.number)
    lines.text("reason", alert.reason)
    switch alert.state {
    case .firing:
      lines.members("\"outcome\":\"failure\"")
      lines.instant("start", alert.since)
    case .held, .released:
      lines.members("\"outcome\":\"unknown\"")
      lines.instant("start", alert.since)
    case .resolved:
      lines.members("\"outcome\":\"success\"")
      span(alert.since, alert.at, &lines)
    }
    lines.close()
    lines.text("message", "\(rule.name) \(alert.state.rawValue): \(alert.reason)")
    lines.open("rule")
    lines.members("\"ruleset\":\"imdump\",\"version\":\"1\"")
    lines.name("id", rule.name)
    lines.text("name", rule.summary)
    lines.name("category", rule.metric.rawValue)
    lines.text("reference", rule.runbook)
    lines.close()
    if let server = alert.server {
      open("server", server, &lines)
      lines.close()
    }
    if let connection = alert.connection {
      open("client", connection.client, &lines)
      if let networks = options.networks {
        network(networks[networks.index(of: connection.client.address)], &lines)
      }
      lines.close()
    }
    if let owner = alert.owner {
      lines.open("service")
      lines.text("name", owner)
      lines.close()
    }
    if rule.scope != .capture {
      lines.open("network")
      lines.members("\"transport\":\"tcp\"")
      if let profile = alert.plan.flatMap({ profile($0) }) { lines.members(profile.networkMember) }
      lines.close()
    }
    lines.open("labels")
    for label in rule.labels { lines.pair(label.name, label.value) }
    lines.name("severity", rule.severity.rawValue)
    lines.close()
    lines.members("\"tags\":[\"imdump\",\"alert\"]")
    openOwn(alert.plan ?? .max, &lines)
    if let server = alert.server { self.server(server, &lines) }
    if let connection = alert.connection {
      let uid = ConnectionUID.text(of: connection)
      // A connection that only an earlier run saw has no number in this one.
      if connection.serial > 0 || uid != nil {
        lines.open("conn")
        connectionIDs(connection.serial, uid, &lines)
        lines.close()
      }
    }
    own(alert, &lines)
    lines.close()
    return lines.end()
  }

  /// `imdump.alert`.
  private func own(_ alert: AlertEvent, _ lines: inout JSONLines) {
    let rule = alert.rule
    lines.open("alert")
    lines.name("id", alert.id)
    lines.name("fingerprint", alert.fingerprint)
    lines.name("state", alert.state.rawValue)
    lines.name("metric", rule.metric.rawValue)
    if let direction = alert.direction { lines.name("direction", direction.longName) }
    lines.name("operator", rule.comparison.rawValue)
    lines.decimal("value", alert.value)
    if rule.comparison != .absent {
      lines.decimal("threshold", rule.threshold)
      lines.decimal("clear_threshold", rule.clear)
    }
    lines.name("scope", rule.scope.rawValue)
    lines.signed("for_s", rule.patience / 1_000_000_000)
    lines.signed("window_s", rule.window / 1_000_000_000)
    lines.number("samples", alert.samples)
    lines.number("affected", alert.affected)
    lines.instant("since", alert.since)
    if alert.unknown > 0 { lines.number("unknown", alert.unknown) }
    lines.number("count", alert.count)
    lines.number("suppressed", alert.suppressed)
    if alert.state == .held { lines.number("dropped", alert.dropped) }
    if let first = alert.first { affected("first", first, &lines) }
    if let last = alert.last { affected("last", last, &lines) }
    lines.text("evidence", alert.evidence)
    if let group = alert.group, let grouping = rule.grouping {
      lines.name("group_by", grouping.name)
      lines.text("group", group.name)
    }
    lines.close()
  }

  private func affected(_ key: StaticString, _ affected: SlidingWindow.Affected, _ lines: inout JSONLines) {
    lines.open(key)
    if affected.connection.serial > 0 {
      lines.key("conn_id")
      connectionID(affected.connection.serial, &lines)
    }
    lines.name("client", "\(affected.connection.client)")
    lines.name("server", "\(affected.connection.server)")
    lines.instant("at", affected.at)
    lines.close()
  }
}

extension ECSSink {
  /// Writes the document of an alert.
  package func alert(_ alert: AlertEvent) {
    // The first line is that of the capture's start.
    begin(at: alert.at)
    if log(.alert, { otlp, _ in otlp.alert(alert) }) { return }
    write(.alert) { writer, lines in writer.alert(alert, &lines) }
  }
}
