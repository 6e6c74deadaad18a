import IMAlerts
import IMEngine
import IMMetrics
import IMOTLP
import IMOutput
import IMWire

extension OTLPWriter {
  /// The log record of an issue that `WeirdLimiter` lets through.
  func weird(
    _ issue: Issue, _ admission: WeirdLimiter.Admission, _ record: ConnectionRegistry.Record, decidedAt: Timestamp
  ) {
    let info = record.pointee.info
    let profile = ecs.profile(info.plan)
    lines.write(.logs) { out in
      begin("imdump.weird.\(issue.kind.name)", .warning, at: issue.timestamp, observedAt: decidedAt, &out)
      out.text(profile?.name ?? "tcp")
      out.literal(": ")
      out.literal(ECSWriter.sentence(issue.kind))
      attributes(.weird, &out) { ecs.eventID(issue, admission, record, &$0) }
      ecs.common(info, record.pointee.uid(), info.plan, session: record.pointee.session, &out)
      out.attribute("error.type", text: issue.kind.name)
      out.attribute("imdump.weird.name", text: issue.kind.name)
      out.attribute("imdump.weird.count", number: admission.count)
      out.attribute("imdump.weird.suppressed", number: admission.suppressed)
      if !issue.isTrouble { out.attribute("imdump.weird.stream_offset", number: issue.streamOffset) }
      out.literal("]}")
    }
  }

  /// The log record of a connection's report: at its end, or a cumulative one while it lives.
  func connection(
    _ report: ConnectionReport, _ record: ConnectionRegistry.Record, _ told: ReportCounts,
    since last: ConnectionSnapshot.Totals, plan: UInt8, decidedAt: Timestamp
  ) {
    let info = report.info
    let profile = ecs.profile(plan)
    let hasEnded = report.isFinal && report.reason != .open
    let end = report.end
    let isFailure = [.reset, .refused, .timeout].contains(report.reason)
    // The sentence of the document: `"message":"..."`.
    ecs.scratch.writer.removeAll()
    ecs.scratch.part()
    ecs.sentence(report, record, profile, end, hasEnded: hasEnded, &ecs.scratch)
    lines.write(.logs) { out in
      begin(
        hasEnded ? "imdump.connection.connection_end" : "imdump.connection.connection_report",
        isFailure ? .warning : .info, at: report.isFinal ? end : max(end, report.madeAt), observedAt: decidedAt, &out)
      ecs.scratch.writer.withBytes { bytes in
        let text = bytes.dropFirst("\"message\":\"".utf8.count).dropLast()
        out.raw(UnsafeRawBufferPointer(rebasing: text))
      }
      attributes(.connection, &out) { ecs.eventID(report, record, &$0) }
      ecs.common(info, record.pointee.uid(), plan, session: record.pointee.session, &out)
      if isFailure { out.attribute("error.type") { $0.text(report.reason.name) } }
      out.attribute("imdump.conn.state", ECSWriter.state(report))
      out.attribute("imdump.conn.final", flag: report.isFinal)
      out.attribute("imdump.conn.report", number: UInt64(record.pointee.reports))
      out.attribute("imdump.conn.midstream", flag: !report.sawSyn)
      out.attribute("imdump.conn.close_reason") { $0.text(report.reason.name) }
      MetricTrees.forEach(ecs.snapshot(report, record, told, last, profile), isWanted: { $0 != "delta" }) {
        name, isWhole, text in
        out.literal(",{\"key\":\"imdump.conn.")
        out.text(name)
        if isWhole {
          out.literal("\",\"value\":{\"intValue\":\"")
        } else {
          out.literal("\",\"value\":{\"doubleValue\":")
        }
        out.raw(text)
        if isWhole { out.literal("\"}}") } else { out.literal("}}") }
      }
      out.literal("]}")
    }
  }

  /// The log record of an alert that fires, is resolved, held or released.
  func alert(_ alert: AlertEvent) {
    let rule = alert.rule
    let severity: Severity =
      switch alert.state {
      case .firing: rule.severity == .page ? .fatal : .error
      case .resolved: .info
      case .held, .released: .warning
      }
    lines.write(.logs) { out in
      begin("imdump.alert.\(alert.state.rawValue)", severity, at: alert.at, observedAt: alert.at, &out)
      out.text(JSONLines.escaped("\(rule.name) \(alert.state.rawValue): \(alert.reason)"))
      attributes(.alert, &out) { out in
        out.text(JSONLines.escaped(ecs.runPrefix))
        out.text("-a-\(alert.id)-\(alert.state.rawValue)")
      }
      if let connection = alert.connection {
        ecs.common(connection, ConnectionUID.text(of: connection), alert.plan ?? connection.plan, session: .none, &out)
      } else {
        if rule.scope != .capture {
          out.attribute("network.transport", "tcp")
          if let profile = alert.plan.flatMap({ ecs.profile($0) }) {
            out.attribute("network.protocol.name") { $0.text(profile.name.lowercased()) }
          }
        }
        if let server = alert.server { ecs.server(server, attributes: &out) }
      }
      out.attribute("imdump.alert.rule", text: rule.name)
      out.attribute("imdump.alert.id", text: alert.id)
      out.attribute("imdump.alert.fingerprint", text: alert.fingerprint)
      out.attribute("imdump.alert.state", text: alert.state.rawValue)
      out.attribute("imdump.alert.metric", text: rule.metric.rawValue)
      out.attribute("imdump.alert.direction", text: alert.direction.map { "\($0.longName)" })
      out.attribute("imdump.alert.operator", text: rule.comparison.rawValue)
      out.attribute("imdump.alert.value", decimal: alert.value)
      if rule.comparison != .absent {
        out.attribute("imdump.alert.threshold", decimal: rule.threshold)
        out.attribute("imdump.alert.clear_threshold", decimal: rule.clear)
      }
      out.attribute("imdump.alert.scope", text: rule.scope.rawValue)
      out.attribute("imdump.alert.for_s", number: UInt64(max(0, rule.patience / 1_000_000_000)))
      out.attribute("imdump.alert.window_s", number: UInt64(max(0, rule.window / 1_000_000_000)))
      out.attribute("imdump.alert.samples", number: alert.samples)
      out.attribute("imdump.alert.affected", number: alert.affected)
      if alert.unknown > 0 { out.attribute("imdump.alert.unknown", number: alert.unknown) }
      out.attribute("imdump.alert.count", number: alert.count)
      out.attribute("imdump.alert.suppressed", number: alert.suppressed)
      if alert.state == .held { out.attribute("imdump.alert.dropped", number: alert.dropped) }
      out.attribute("imdump.alert.evidence", text: alert.evidence)
      out.attribute("imdump.alert.group_by", text: alert.group.flatMap { _ in rule.grouping?.name })
      out.attribute("imdump.alert.group", text: alert.group?.name)
      out.attribute("imdump.alert.runbook", text: rule.runbook)
      out.literal("]}")
    }
  }
}
