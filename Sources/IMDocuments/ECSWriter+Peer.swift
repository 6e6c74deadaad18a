import IMEngine
import IMMetrics
import IMOutput
import IMWire

extension ECSWriter {
  /// The document of one minute of an endpoint: what a server's has as far as an endpoint knows it, and the endpoint's own
  /// counters, of this period only.
  func peerSummary(
    _ role: PeerReport.Role, _ server: Endpoint, _ metrics: PeriodMetrics, _ now: [String: Double],
    since before: [String: Double], _ period: Period, _ lines: inout JSONLines
  ) -> Bool {
    begin(.summary, at: period.end, &lines)
    event(.summary, types: "[\"info\"]", &lines)
    lines.text("id", "\(runPrefix)-p-\(period.boundary.seconds)")
    span(period.start, period.end, &lines)
    lines.close()
    openServer(server, profile(0), &lines)

    openOwn(0, &lines)
    self.server(server, &lines)
    lines.open("summary")
    lines.number("period_s", UInt64(PeriodClock.length / 1_000_000_000))
    lines.flag("partial", period.isPartial)
    MetricTrees.write(IntervalSnapshot(metrics, hasChecksums: false), &lines, isWanted: { $0 != "tcp" })
    lines.close()
    counters(role, now, since: before, &lines)
    lines.close()
    lines.text("message", sentence(role, server, metrics))
    return lines.end()
  }

  private func counters(
    _ role: PeerReport.Role, _ now: [String: Double], since before: [String: Double], _ lines: inout JSONLines
  ) {
    lines.open("peer")
    lines.name("role", role.rawValue)
    for (name, _) in PeerCounter.meanings + PeerCounter.byteMeanings {
      guard let value = now["\(name)"] else { continue }
      lines.number(name, UInt64(max(0, value - (before["\(name)"] ?? 0))))
    }
    for (name, _) in PeerCounter.sizes {
      if let value = now["\(name)"] { lines.number(name, UInt64(max(0, value))) }
    }
    for (name, _) in PeerCounter.durations {
      if let value = now["\(name)"] { lines.decimal(name, max(0, value - (before["\(name)"] ?? 0)) * 1_000) }
    }
    for time in PeerCounter.times {
      if let value = now[time.name] { lines.decimal(time.key, value * 1_000) }
    }
    lines.close()
  }

  private func sentence(_ role: PeerReport.Role, _ server: Endpoint, _ metrics: PeriodMetrics) -> String {
    let units = metrics.messages.both.units
    var text = "\(role == .client ? "clients of " : "server ")\(server): "
    text += "\(units) \(units == 1 ? "message" : "messages") decided"
    let success = Catalogue.value("messages.success", in: Catalogue.ratios, of: metrics.messages)?.ratio
    if let success { text += ", success \(percent(success))" }
    return text + ", \(metrics.active) \(metrics.active == 1 ? "connection" : "connections")"
  }
}
