import IMEngine
import IMMetrics
import IMWire

/// The figures of a run as one JSON object: `imdump stats --json`. What stands in it, the catalogue says.
package struct StatsJSONWriter {
  /// A writer.
  package init() {}

  /// Appends one line. `counters` has one name a count, the same for every profile.
  package func write(_ figures: RunMetrics, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      lines.open("counters")
      for (name, value) in counters(figures).sorted(by: { $0.key < $1.key }) {
        lines.exact(named: JSONLines.escaped(name), value)
      }
      lines.close()
      MetricTrees.run.write(
        figures.run, &lines,
        aside: { member, lines in
          switch member {
          case "ledger": servers(figures, &lines, server)
          case "traffic":
            types(figures.summary, &lines)
            sequences(figures.summary, &lines)
          default: break
          }
        }, isWanted: { $0 != "counters" })
    }
  }

  /// Appends one line about messages that a filter has chosen: what becomes of messages is of them, and nothing else is told.
  package func write(chosen figures: RunMetrics, by filter: String, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      lines.string("filter", filter)
      servers(figures, &lines, chosen)
    }
  }

  private func chosen(_ metrics: EndpointMetrics, _ figures: RunMetrics, _ lines: inout JSONLines) {
    lines.openObject()
    MetricTrees.server.write(
      ServerSnapshot(metrics), &lines, isWanted: { ["success", "loss", "retry", "messages", "rtt_us"].contains($0) })
    rejections(metrics.rejections, figures, &lines)
    lines.close()
  }

  /// Counts of the run and of its types. Types of several profiles may have the same name: they count together.
  private func counters(_ figures: RunMetrics) -> [String: UInt64] {
    var counters: [String: UInt64] = [:]
    for (name, value) in MetricTrees.run.counts(figures.run, in: "counters") { counters[name] = value }
    for (i, plan) in figures.summary.plans.enumerated() {
      for (k, kind) in figures.summary.kinds[i].enumerated() where kind.frames[0] + kind.frames[1] > 0 {
        let name = k < plan.typeNames.count ? plan.typeNames[k] : "other"
        for figure in Catalogue.types {
          for place in figure.info.json where place.hasSuffix("_") {
            guard let leaf = figure.info.leaves(place).first,
              case .count(let value)? = figure.value(kind, leaf.first, leaf.second)
            else { continue }
            counters[place + name, default: 0] += value
          }
        }
      }
    }
    return counters
  }

  /// `"total":{...},"servers":[...]`, each written by `write`.
  private func servers(
    _ figures: RunMetrics, _ lines: inout JSONLines,
    _ write: (EndpointMetrics, RunMetrics, inout JSONLines) -> Void
  ) {
    lines.key("total")
    write(figures.total, figures, &lines)
    lines.openList("servers")
    for (key, metrics) in figures.endpoints {
      lines.openItem()
      lines.endpoint("server", key.endpoint)
      lines.text("profile", figures.summary.plans[Int(key.plan)].name)
      lines.key("figures")
      write(metrics, figures, &lines)
      lines.close()
    }
    lines.closeList()
    guard let others = figures.others else { return }
    lines.key("other_servers")
    write(others, figures, &lines)
  }

  /// The figures of one server or of the run. Ratios and times that nothing was measured for are not there.
  private func server(_ metrics: EndpointMetrics, _ figures: RunMetrics, _ lines: inout JSONLines) {
    lines.openObject()
    MetricTrees.server.write(ServerSnapshot(metrics), &lines) { member, lines in
      if member == "handshakes" { rejections(metrics.rejections, figures, &lines) }
    }
    lines.close()
  }

  /// What was refused, and with which status: `"rejections":[{"profile":"mqtt","type":"connect","status":5,...}]`.
  private func rejections(_ counts: RejectionCounts, _ figures: RunMetrics, _ lines: inout JSONLines) {
    guard !counts.entries.isEmpty else { return }
    lines.openList("refusals")
    for row in RejectionRow.rows(counts, figures.summary.plans, figures.statuses) {
      lines.openItem()
      lines.text("profile", row.profile)
      lines.text("type", row.type)
      if let status = row.status { lines.number("status", UInt64(status)) }
      if let name = row.name { lines.text("status_name", name) }
      lines.number("count", row.count)
      lines.close()
    }
    lines.closeList()
    if counts.others > 0 { lines.number("refusals_others", counts.others) }
  }

  /// `"types":[{"profile":"tjp","type":"data","frames":{...},"exchanges":{"units":51,...}}]`.
  private func types(_ summary: Summary, _ lines: inout JSONLines) {
    lines.openList("types")
    for (plan, kinds) in zip(summary.plans, summary.kinds) {
      for (k, kind) in kinds.enumerated() where kind.frames[0] + kind.frames[1] > 0 {
        lines.openItem()
        lines.text("profile", plan.name)
        lines.text("type", k < plan.typeNames.count ? plan.typeNames[k] : "other")
        MetricTrees.type.write(kind, &lines)
        lines.close()
      }
    }
    lines.closeList()
  }

  /// `"sequences":[{"profile":"tjp","direction":"client_to_server","category":0,"left_out":3,...}]`.
  private func sequences(_ summary: Summary, _ lines: inout JSONLines) {
    lines.openList("sequences")
    for (plan, all) in zip(summary.plans, summary.sequences) {
      for totals in all {
        lines.openItem()
        lines.text("profile", plan.name)
        lines.name("direction", totals.direction == .clientToServer ? "client_to_server" : "server_to_client")
        lines.number("category", totals.category)
        MetricTrees.sequence.write(totals, &lines)
        lines.close()
      }
    }
    lines.closeList()
  }
}
