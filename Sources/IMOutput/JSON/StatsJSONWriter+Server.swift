import IMEngine
import IMMetrics
import IMWire

extension StatsJSONWriter {
  /// The figures of one server or of the run. Ratios and times that nothing was measured for are not there.
  func server(_ metrics: EndpointMetrics, _ run: RunFigures, to out: inout ByteWriter) {
    let fates = metrics.messages.both
    out.literal("{\"messages\":{\"units\":")
    out.number(fates.units)
    let named: [(StaticString, UInt32)] = [
      ("acked", fates.acked), ("acked_after_retry", fates.ackedAfterRetry), ("rejected", fates.rejected),
      ("unanswered", fates.unanswered), ("damaged", fates.damaged), ("unknown", fates.unknown),
      ("pending", fates.pending), ("late", fates.late),
    ]
    for (name, value) in named {
      out.literal(",\"")
      out.literal(name)
      out.literal("\":")
      out.number(value)
    }
    causes(fates, to: &out)
    out.literal("}")
    for (name, ratio) in [
      ("success", metrics.ratios.success), ("loss", metrics.ratios.loss), ("retry", metrics.ratios.retry),
    ] as [(StaticString, Double?)] {
      guard let ratio else { continue }
      out.literal(",\"")
      out.literal(name)
      out.literal("\":")
      out.decimal(ratio, 6)
    }
    if metrics.roundTrips.count > 0 {
      out.literal(",\"rtt_us\":{\"count\":")
      out.number(metrics.roundTrips.count)
      let names: [StaticString] = ["p50", "p90", "p95", "p99", "p999"]
      for (name, percent) in zip(names, RunFigures.percentiles) {
        guard let value = metrics.roundTrips.percentile(percent) else { continue }
        out.literal(",\"")
        out.literal(name)
        out.literal("\":")
        out.number(value)
      }
      if let minimum = metrics.roundTrips.minimum, let maximum = metrics.roundTrips.maximum {
        out.literal(",\"min\":")
        out.number(minimum)
        out.literal(",\"max\":")
        out.number(maximum)
      }
      out.literal("}")
    }
    if metrics.heartbeats.sent > 0 {
      let beats = metrics.heartbeats
      out.literal(",\"heartbeats\":{\"sent\":")
      out.number(beats.sent)
      out.literal(",\"answered\":")
      out.number(beats.answered)
      out.literal(",\"missed\":")
      out.number(beats.missed)
      out.literal(",\"unknown\":")
      out.number(beats.unknown)
      out.literal(",\"absent\":")
      out.number(beats.absent)
      if beats.intervals > 0 {
        out.literal(",\"interval_us\":")
        out.number(beats.intervalSum / Int64(beats.intervals))
      }
      if let p50 = beats.spacing.percentile(50), let p95 = beats.spacing.percentile(95) {
        out.literal(",\"interval_p50_us\":")
        out.number(p50)
        out.literal(",\"interval_p95_us\":")
        out.number(p95)
      }
      if let jitter = beats.jitter {
        out.literal(",\"jitter_us\":")
        out.number(Int64(jitter.rounded()))
      }
      out.literal("}")
    }
    reads(metrics, to: &out)
    handshakes(metrics.handshakes, to: &out)
    refusals(metrics.refusals, run, to: &out)
    silences(metrics, to: &out)
    tcp(metrics.tcp, to: &out)
    out.literal("}")
  }

  /// Messages that did not succeed, by why: `"causes":{"network":3,"peer":1,...}`.
  private func causes(_ fates: FateCounts, to out: inout ByteWriter) {
    out.literal(",\"causes\":{")
    for (i, cause) in Cause.allCases.enumerated() {
      out.literal(i == 0 ? "\"" : ",\"")
      out.text(cause.name)
      out.literal("\":")
      out.number(fates[cause])
    }
    out.literal("}")
  }

  /// What was refused, and with which status: `"refusals":[{"profile":"mqtt","type":"connect","status":5,...}]`.
  private func refusals(_ counts: RefusalCounts, _ run: RunFigures, to out: inout ByteWriter) {
    guard !counts.entries.isEmpty else { return }
    out.literal(",\"refusals\":[")
    for (i, row) in RefusalRow.rows(counts, run.summary.plans, run.statuses).enumerated() {
      out.literal(i == 0 ? "{\"profile\":" : ",{\"profile\":")
      out.jsonString(row.profile)
      out.literal(",\"type\":")
      out.jsonString(row.type)
      if let status = row.status {
        out.literal(",\"status\":")
        out.number(status)
      }
      if let name = row.name {
        out.literal(",\"status_name\":")
        out.jsonString(name)
      }
      out.literal(",\"count\":")
      out.number(row.count)
      out.literal("}")
    }
    out.literal("]")
    guard counts.others > 0 else { return }
    out.literal(",\"refusals_others\":")
    out.number(counts.others)
  }

  /// How long connections were silent: `"silence":{"longest_survived_us":...,"shortest_before_reset_us":...}`.
  private func silences(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    let named: [(StaticString, Int64?)] = [
      ("longest_survived_us", metrics.longestSilenceSurvived),
      ("shortest_before_reset_us", metrics.shortestSilenceBeforeReset),
    ]
    var separator: StaticString = ",\"silence\":{"
    for (name, value) in named {
      guard let value else { continue }
      out.literal(separator)
      out.literal("\"")
      out.literal(name)
      out.literal("\":")
      out.number(value)
      separator = ","
    }
    if separator.utf8CodeUnitCount == 1 { out.literal("}") }
  }

  /// Messages that were read: `"reads":{"client_to_server":{"count":24,"min_us":...},...}`.
  private func reads(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    var separator: StaticString = ",\"reads\":{"
    for (way, name) in (["client_to_server", "server_to_client"] as [StaticString]).enumerated() {
      let reads = metrics.reads[way]
      guard let minimum = reads.minimum, let mean = reads.mean, let p50 = reads.percentile(50),
        let p95 = reads.percentile(95), let maximum = reads.maximum
      else { continue }
      out.literal(separator)
      out.literal("\"")
      out.literal(name)
      out.literal("\":{\"count\":")
      out.number(reads.count)
      let times: [(StaticString, Int64)] = [
        ("min_us", minimum), ("mean_us", Int64(mean)), ("p50_us", p50), ("p95_us", p95), ("max_us", maximum),
      ]
      for (key, value) in times {
        out.literal(",\"")
        out.literal(key)
        out.literal("\":")
        out.number(value)
      }
      out.literal("}")
      separator = ","
    }
    if separator.utf8CodeUnitCount == 1 { out.literal("}") }
  }

  /// The protocol's own handshakes: `"handshakes":{"requested":5,"answered":3,...,"ready_us":{"min":...}}`.
  private func handshakes(_ counts: HandshakeCounts, to out: inout ByteWriter) {
    guard counts.requested > 0 else { return }
    let named: [(StaticString, UInt64)] = [
      ("requested", counts.requested), ("answered", counts.answered), ("acknowledged", counts.acknowledged),
      ("refused", counts.refused), ("unanswered", counts.unanswered), ("pending", counts.pending),
    ]
    out.literal(",\"handshakes\":{")
    for (i, (name, value)) in named.enumerated() {
      out.literal(i == 0 ? "\"" : ",\"")
      out.literal(name)
      out.literal("\":")
      out.number(value)
    }
    if let (minimum, mean, maximum) = counts.times {
      out.literal(",\"ready_us\":{\"min\":")
      out.number(minimum)
      out.literal(",\"mean\":")
      out.number(mean)
      out.literal(",\"max\":")
      out.number(maximum)
      out.literal("}")
    }
    out.literal("}")
  }

  /// What TCP did: `"tcp":{"handshake_rtt_us":{...},"client_to_server":{...},"server_to_client":{...}}`.
  private func tcp(_ metrics: TCPMetrics, to out: inout ByteWriter) {
    out.literal(",\"tcp\":{\"connections\":")
    out.number(metrics.seen[0] &+ metrics.seen[1] &- metrics.seenBoth)
    if let least = metrics.handshakeMinimum, let mean = metrics.handshakeMean, let most = metrics.handshakeMaximum {
      times("handshake_rtt_us", metrics.handshakes, least, mean, most, to: &out)
    }
    for (way, name) in [(0, "client_to_server"), (1, "server_to_client")] as [(Int, StaticString)] {
      guard metrics.seen[way] > 0 else { continue }
      out.literal(",\"")
      out.literal(name)
      out.literal("\":{")
      let figures = metrics.ways[way]
      var isFirst = true
      SegmentFields.forEach(figures, sawBothSides: metrics.seenBoth > 0) { name, count in
        out.key(name, isFirst: isFirst)
        out.number(count)
        isFirst = false
      }
      let trips = figures.roundTrips
      if let least = trips.minimum, let mean = trips.mean, let most = trips.maximum {
        times("ack_rtt_us", UInt64(trips.count), least, mean, most, to: &out)
      }
      out.literal("}")
    }
    out.literal("}")
  }

  /// `,"name":{"count":2,"min":1.5,"mean":2,"max":2.5}`, microseconds from nanoseconds.
  private func times(
    _ name: StaticString, _ count: UInt64, _ least: Int64, _ mean: Int64, _ most: Int64, to out: inout ByteWriter
  ) {
    out.literal(",\"")
    out.literal(name)
    out.literal("\":{\"count\":")
    out.number(count)
    for (name, value) in [("min", least), ("mean", mean), ("max", most)] as [(StaticString, Int64)] {
      out.literal(",\"")
      out.literal(name)
      out.literal("\":")
      out.thousandths(value)
    }
    out.literal("}")
  }
}
