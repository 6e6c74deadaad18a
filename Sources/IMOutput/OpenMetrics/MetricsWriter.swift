package import IMEngine
import IMMetrics
import IMWire

/// Writes the metrics of a run: the figures of the catalogue that have a family, first those of the whole, then those by type
/// and by server.
package struct MetricsWriter {
  private let plans: [ProtocolPlan]
  /// Labels that do not change, made once: of each profile's types.
  private var types: [[String]]

  /// A writer of what `plans` decode.
  package init(plans: [ProtocolPlan]) {
    self.plans = plans
    types = Self.types(plans)
  }

  /// Takes the names of types from the plans again.
  package mutating func reload() { types = Self.types(plans) }

  private static func types(_ plans: [ProtocolPlan]) -> [[String]] {
    plans.map { plan in
      (0..<65).map { kind in
        MetricText.label("profile", plan.name) + ","
          + MetricText.label("type", kind < plan.typeNames.count ? plan.typeNames[kind] : "other")
      }
    }
  }

  /// The labels of a server.
  static let serverLabels = ["profile", "endpoint"]

  /// The whole text in one dialect.
  package func text(_ dialect: MetricText.Dialect, _ figures: MetricsFigures, _ sink: MetricsSink) -> MetricText {
    var text = MetricText(dialect)
    let run = RunSnapshot(
      summary: figures.summary, total: sink.total, reconnects: figures.reconnects, repeatedAnswers: 0,
      process: RunSnapshot.Process(
        version: figures.version, servers: figures.endpoints.count, serversLimit: sink.maximumEndpoints,
        memoryBytes: figures.memoryBytes, memoryLimit: figures.memoryLimit, connections: figures.connections,
        live: figures.process))
    write(MetricGroups.run, [Row(snapshot: run, labels: "")], &text, version: figures.version)
    write(MetricGroups.types, kinds(figures.summary), &text)
    let servers = servers(figures, sink)
    write(MetricGroups.servers, servers, &text)
    rejections(servers, figures, sink, &text)
    text.end()
    return text
  }

  /// A snapshot and the labels of what it is of.
  private struct Row<Snapshot> {
    let snapshot: Snapshot, labels: String
  }

  private func write<Snapshot>(
    _ groups: MetricGroups<Snapshot>, _ rows: [Row<Snapshot>], _ text: inout MetricText, version: String = ""
  ) {
    for (family, samples) in groups.groups {
      text.begin(family)
      for row in rows {
        for sample in samples {
          guard let value = sample.figure.value(row.snapshot, sample.leaf.first, sample.leaf.second) else { continue }
          let own = family.kind == .info ? MetricText.label("version", version) : sample.labels
          text.sample(row.labels.isEmpty || own.isEmpty ? row.labels + own : "\(row.labels),\(own)", value)
        }
      }
    }
  }

  /// Only types that have been seen have samples.
  private func kinds(_ summary: Summary) -> [Row<KindTotals>] {
    zip(types, summary.kinds).flatMap { names, kinds in
      zip(names, kinds).compactMap { name, kind in
        kind.frames[0] + kind.frames[1] > 0 ? Row(snapshot: kind, labels: name) : nil
      }
    }
  }

  private func servers(_ figures: MetricsFigures, _ sink: MetricsSink) -> [Row<ServerSnapshot>] {
    func row(_ series: EndpointSeries, _ profile: String, _ endpoint: String) -> Row<ServerSnapshot> {
      Row(
        snapshot: ServerSnapshot(series.figures, series: series),
        labels: MetricText.label("profile", profile) + "," + MetricText.label("endpoint", endpoint))
    }
    func name(_ plan: Int) -> String { plan < figures.summary.plans.count ? figures.summary.plans[plan].name : "other" }
    var rows: [Row<ServerSnapshot>] = []
    for (index, series) in sink.endpoints.enumerated() {
      if index < figures.endpoints.count {
        let key = figures.endpoints[index]
        rows.append(row(series, name(Int(key.plan)), "\(key.endpoint)"))
      } else {
        // Those that the engine had no memory for share one index.
        rows.append(row(series, "other", "other"))
      }
    }
    if figures.endpoints.count > sink.maximumEndpoints {
      for (plan, series) in sink.others.enumerated() { rows.append(row(series, name(plan), "other")) }
    }
    return rows
  }

  private func rejections(
    _ rows: [Row<ServerSnapshot>], _ figures: MetricsFigures, _ sink: MetricsSink, _ text: inout MetricText
  ) {
    text.begin(.rejections)
    for row in rows {
      let counts = row.snapshot.metrics.rejections
      for refusal in RejectionRow.rows(counts, figures.summary.plans, sink.statuses) {
        let labels = [
          ("type", refusal.type), ("status", refusal.status.map { "\($0)" } ?? ""), ("status_name", refusal.name ?? ""),
        ]
        text.sample(
          row.labels + labels.map { "," + MetricText.label($0.0, $0.1) }.joined(), .count(refusal.count))
      }
      if counts.others > 0 {
        text.sample(
          row.labels + ["type", "status", "status_name"].map { "," + MetricText.label($0, "other") }.joined(),
          .count(counts.others))
      }
    }
  }
}
