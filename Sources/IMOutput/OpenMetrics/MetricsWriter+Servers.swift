import IMEngine
import IMMetrics
import IMWire

extension MetricsWriter {
  /// The metrics that have the labels `profile` and `endpoint`.
  func servers(_ figures: MetricsFigures, _ sink: MetricsSink, _ text: inout MetricText) {
    text.begin(.endpoints)
    text.sample("", UInt64(figures.endpoints.count))
    text.begin(.endpointsLimit)
    text.sample("", UInt64(max(0, sink.maximumEndpoints)))
    let rows = rows(figures, sink)
    fates(.messages, rows, &text) { $0.messages }
    late(.messagesLate, rows, &text) { $0.messages }
    causes(.messageCauses, rows, &text) { $0.messages.decided($1, $2) }
    causes(.messageCausesLate, rows, &text) { $0.messages.late($1, $2) }
    refusals(rows, figures, sink, &text)
    text.begin(.handshakesRefused)
    for row in rows { text.sample(row.labels, row.series.handshakesRefused) }
    text.begin(.oneWay)
    for row in rows {
      for way in 0...1 {
        text.sample(
          row.ways[way], row.series.messages.decided(way == 0 ? .clientToServer : .serverToClient, .unacknowledged))
      }
    }
    fates(.control, rows, &text) { $0.control }
    late(.controlLate, rows, &text) { $0.control }
    heartbeats(rows, &text)
    histograms(rows, &text)
    summaries(rows, &text)
    ended(rows, &text)
  }

  /// A server's figures and its labels, alone and with each direction.
  private struct Row {
    let series: EndpointSeries
    let labels: String
    let ways: [String]
  }

  private func rows(_ figures: MetricsFigures, _ sink: MetricsSink) -> [Row] {
    func row(_ series: EndpointSeries, _ profile: String, _ endpoint: String) -> Row {
      let labels = MetricText.label("profile", profile) + "," + MetricText.label("endpoint", endpoint)
      return Row(series: series, labels: labels, ways: Self.directions.map { labels + "," + $0 })
    }
    func name(_ plan: Int) -> String { plan < figures.summary.plans.count ? figures.summary.plans[plan].name : "other" }
    var rows: [Row] = []
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

  // MARK: Fates

  /// The fates that are counted, the three that are answers first.
  private static let fates: [(Fate, StaticString)] = [
    (.acked, "fate=\"acked\""), (.ackedAfterRetry, "fate=\"acked_after_retry\""), (.rejected, "fate=\"rejected\""),
    (.unanswered, "fate=\"unanswered\""), (.damaged, "fate=\"damaged\""), (.pending, "fate=\"pending\""),
    (.unknown, "fate=\"unknown\""),
  ]

  private func fates(
    _ family: MetricFamily, _ rows: [Row], _ text: inout MetricText, _ part: (EndpointSeries) -> FateSeries
  ) {
    text.begin(family)
    for row in rows {
      let series = part(row.series)
      for (fate, label) in Self.fates {
        text.sample(row.ways[0], series.decided(.clientToServer, fate), label)
        text.sample(row.ways[1], series.decided(.serverToClient, fate), label)
      }
    }
  }

  private func late(
    _ family: MetricFamily, _ rows: [Row], _ text: inout MetricText, _ part: (EndpointSeries) -> FateSeries
  ) {
    text.begin(family)
    for row in rows {
      let series = part(row.series)
      // Whoever is answered late was answered.
      for (fate, label) in Self.fates.prefix(3) {
        text.sample(row.ways[0], series.late(.clientToServer, fate), label)
        text.sample(row.ways[1], series.late(.serverToClient, fate), label)
      }
    }
  }

  /// The causes, as labels.
  private static let causes: [(Cause, StaticString)] = [
    (.network, "cause=\"network\""), (.peer, "cause=\"peer\""), (.capture, "cause=\"capture\""),
    (.status, "cause=\"status\""), (.checksum, "cause=\"checksum\""),
  ]

  private func causes(
    _ family: MetricFamily, _ rows: [Row], _ text: inout MetricText,
    _ count: (EndpointSeries, Direction, Cause) -> UInt64
  ) {
    text.begin(family)
    for row in rows {
      for (cause, label) in Self.causes {
        text.sample(row.ways[0], count(row.series, .clientToServer, cause), label)
        text.sample(row.ways[1], count(row.series, .serverToClient, cause), label)
      }
    }
  }

  private func refusals(_ rows: [Row], _ figures: MetricsFigures, _ sink: MetricsSink, _ text: inout MetricText) {
    text.begin(.refusals)
    for row in rows {
      let counts = row.series.figures.refusals
      for refusal in RefusalRow.rows(counts, figures.summary.plans, sink.statuses) {
        let labels = [
          ("type", refusal.type), ("status", refusal.status.map { "\($0)" } ?? ""), ("status_name", refusal.name ?? ""),
        ]
        text.sample(row.labels + labels.map { "," + MetricText.label($0.0, $0.1) }.joined(), refusal.count)
      }
      if counts.others > 0 {
        text.sample(
          row.labels + ["type", "status", "status_name"].map { "," + MetricText.label($0, "other") }.joined(),
          counts.others)
      }
    }
  }

  private func heartbeats(_ rows: [Row], _ text: inout MetricText) {
    func decided(_ series: FateSeries, _ fates: Fate...) -> UInt64 {
      fates.reduce(0) { $0 &+ series.decided(.clientToServer, $1) &+ series.decided(.serverToClient, $1) }
    }
    text.begin(.heartbeats)
    for row in rows {
      let series = row.series.heartbeats
      let pings = row.series.figures.heartbeats.pings
      text.sample(
        row.labels, decided(series, .acked, .ackedAfterRetry, .rejected) &+ pings.answered, "fate=\"answered\"")
      text.sample(row.labels, decided(series, .unanswered, .damaged) &+ pings.missed, "fate=\"missed\"")
      text.sample(row.labels, decided(series, .unknown), "fate=\"unknown\"")
      text.sample(row.labels, decided(series, .pending) &+ pings.pending, "fate=\"pending\"")
    }
    text.begin(.heartbeatsLate)
    for row in rows {
      let series = row.series.heartbeats
      text.sample(
        row.labels,
        [Fate.acked, .ackedAfterRetry, .rejected].reduce(0) {
          $0 &+ series.late(.clientToServer, $1) &+ series.late(.serverToClient, $1)
        })
    }
  }

  // MARK: Times

  private func histograms(_ rows: [Row], _ text: inout MetricText) {
    text.begin(.roundTrips)
    for row in rows {
      let series = row.series.roundTrips
      series.forEachBound { bound, count in
        text.part("_bucket", row.labels, count, bound)
      }
      text.part("_bucket", row.labels, series.count, "le=\"+Inf\"")
      text.part("_sum", row.labels, microseconds: series.sum)
      text.part("_count", row.labels, series.count)
    }
  }

  private func summaries(_ rows: [Row], _ text: inout MetricText) {
    text.begin(.runRoundTrips)
    for row in rows {
      let trips = row.series.figures.roundTrips
      summary(row.labels, trips.count, trips.sum, &text) { trips.percentile($0) }
    }
    text.begin(.heartbeatTrips)
    for row in rows {
      let trips = row.series.figures.heartbeats.roundTrips
      summary(row.labels, trips.count, trips.sum, &text) { trips.percentile($0) }
    }
    text.begin(.heartbeatIntervals)
    for row in rows {
      let intervals = row.series.figures.heartbeats.spacing
      summary(row.labels, intervals.count, intervals.sum, &text) { intervals.percentile($0) }
    }
    text.begin(.reads)
    for row in rows {
      for way in 0...1 {
        let reads = row.series.figures.reads[way]
        summary(row.ways[way], reads.count, reads.sum, &text) { reads.percentile($0) }
      }
    }
  }

  /// Percentiles, sum and count; without samples there is no percentile, which is not 0.
  private func summary(
    _ labels: String, _ count: UInt64, _ sum: Int64, _ text: inout MetricText, _ percentile: (Double) -> Int64?
  ) {
    let names: [StaticString] = [
      "quantile=\"0.5\"", "quantile=\"0.9\"", "quantile=\"0.95\"", "quantile=\"0.99\"", "quantile=\"0.999\"",
    ]
    for (name, percent) in zip(names, RunFigures.percentiles) {
      if let value = percentile(percent) { text.part("", labels, microseconds: value, name) }
    }
    text.part("_sum", labels, microseconds: sum)
    text.part("_count", labels, count)
  }

  // MARK: Connections that are over

  private func ended(_ rows: [Row], _ text: inout MetricText) {
    text.begin(.ended)
    for row in rows {
      let counts = row.series.figures.connections
      text.sample(row.labels, counts.reset, "by=\"reset\"")
      text.sample(row.labels, counts.closed &- counts.reset, "by=\"other\"")
    }
    text.begin(.handshakes)
    for row in rows {
      let counts = row.series.figures.handshakes
      text.sample(row.labels, counts.answered, "result=\"answered\"")
      text.sample(row.labels, counts.acknowledged, "result=\"acknowledged\"")
      text.sample(row.labels, counts.refused, "result=\"refused\"")
      text.sample(row.labels, counts.unanswered, "result=\"unanswered\"")
      text.sample(row.labels, counts.pending, "result=\"pending\"")
    }
    ways(.endpointFrames, rows, &text) { $0.frames[$1] }
    ways(.endpointBytes, rows, &text) { $0.wireBytes[$1] }
    ways(.endpointRetransmissions, rows, &text) { UInt64($0.tcp.ways[$1].retransmissions) }
    text.begin(.endpointReconnects)
    for row in rows { text.sample(row.labels, row.series.figures.connections.reconnects) }
  }

  private func ways(
    _ family: MetricFamily, _ rows: [Row], _ text: inout MetricText, _ value: (EndpointMetrics, Int) -> UInt64
  ) {
    text.begin(family)
    for row in rows {
      for way in 0...1 { text.sample(row.ways[way], value(row.series.figures, way)) }
    }
  }
}
