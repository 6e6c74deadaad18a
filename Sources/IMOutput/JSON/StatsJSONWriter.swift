import IMEngine
import IMMetrics
import IMWire

/// The figures of a run as one JSON object: `imdump stats --json`.
package struct StatsJSONWriter {
  /// A writer.
  package init() {}

  /// Appends one line. `counters` has one name a count, the same for every profile.
  package func write(_ figures: RunFigures, to out: inout ByteWriter) {
    let summary = figures.summary
    var counters: [(String, UInt64)] = []
    var frames: UInt64 = 0, c2s: UInt64 = 0, s2c: UInt64 = 0, body: UInt64 = 0, retries: UInt64 = 0
    for (i, plan) in summary.plans.enumerated() {
      for (k, kind) in summary.kinds[i].enumerated() where kind.frames[0] + kind.frames[1] > 0 {
        let name = k < plan.typeNames.count ? plan.typeNames[k] : "other"
        frames += kind.frames[0] + kind.frames[1]
        c2s += kind.frames[0]
        s2c += kind.frames[1]
        body += kind.bodyBytes[0] + kind.bodyBytes[1]
        retries += kind.retries
        counters.append(("frames_\(name)", kind.frames[0] + kind.frames[1]))
        var fates = kind.fates[0]
        fates.add(kind.fates[1])
        if fates.units > 0 {
          counters.append(("units_\(name)", UInt64(fates.units)))
          counters.append(("acked_\(name)", kind.answered))
        }
      }
    }
    let ledger = summary.ledger
    let all: [(String, UInt64)] =
      [
        ("frames", frames), ("frames_c2s", c2s), ("frames_s2c", s2c), ("body_bytes", body),
        ("stream_bytes", ledger.decodedBytes + ledger.damagedBytes), ("retries", retries),
        ("dup_acks", figures.dupAcks),
        ("reconnects", figures.reconnects), ("connection_attempts", ledger.connectionAttempts),
        ("connection_success", ledger.connectionSuccesses), ("connection_refused", ledger.connectionsRefused),
        ("connection_timeout", ledger.connectionsTimedOut), ("crc_be", summary.checksums[0]),
        ("crc_le", summary.checksums[1]), ("crc_bad", summary.checksums[2]), ("crc_none", summary.checksums[3]),
      ] + counters
    out.literal("{\"counters\":{")
    for (i, (name, value)) in all.sorted(by: { $0.0 < $1.0 }).enumerated() {
      if i > 0 { out.literal(",") }
      out.jsonString(name)
      out.literal(":")
      out.number(value)
    }
    out.literal("},\"ledger\":{")
    let r = summary.reassembly
    let accounts: [(StaticString, UInt64)] = [
      ("packets", ledger.packets), ("segments", ledger.segments), ("payload_bytes", r.payloadBytes),
      ("decoded_bytes", ledger.decodedBytes), ("damaged_bytes", ledger.damagedBytes),
      ("skipped_bytes", ledger.skippedBytes), ("unread_bytes", ledger.unreadBytes),
      ("repeated_bytes", r.repeatedBytes), ("ignored_bytes", r.ignoredBytes), ("capture_duplicates", r.copies),
    ]
    for (i, (name, value)) in accounts.enumerated() {
      if i > 0 { out.literal(",") }
      out.literal("\"")
      out.literal(name)
      out.literal("\":")
      out.number(value)
    }
    out.literal(",\"skipped_packets\":{")
    var isFirst = true
    for reason in SkipReason.allCases where ledger.skipped[Int(reason.rawValue)] > 0 {
      if !isFirst { out.literal(",") }
      isFirst = false
      out.jsonString(reason.name)
      out.literal(":")
      out.number(ledger.skipped[Int(reason.rawValue)])
    }
    out.literal("},\"gaps\":{")
    isFirst = true
    for reason in GapReason.allCases where r.gaps[Int(reason.rawValue)] > 0 {
      if !isFirst { out.literal(",") }
      isFirst = false
      out.jsonString(reason.name)
      out.literal(":{\"count\":")
      out.number(r.gaps[Int(reason.rawValue)])
      out.literal(",\"bytes\":")
      out.number(r.gapBytes[Int(reason.rawValue)])
      out.literal("}")
    }
    out.literal("}},\"total\":")
    server(figures.total, to: &out)
    out.literal(",\"servers\":[")
    for (i, (key, metrics)) in figures.endpoints.enumerated() {
      if i > 0 { out.literal(",") }
      out.literal("{\"server\":\"")
      out.endpoint(key.endpoint)
      out.literal("\",\"profile\":\"")
      out.text(summary.plans[Int(key.plan)].name)
      out.literal("\",\"figures\":")
      server(metrics, to: &out)
      out.literal("}")
    }
    out.literal("]")
    if let others = figures.others {
      out.literal(",\"other_servers\":")
      server(others, to: &out)
    }
    if ledger.clockBackwards > 0 {
      out.literal(",\"clock_backwards\":")
      out.number(ledger.clockBackwards)
    }
    evictions(ledger, to: &out)
    out.literal(",\"issues\":{")
    isFirst = true
    for kind in IssueKind.allCases where figures.count(kind) > 0 {
      if !isFirst { out.literal(",") }
      isFirst = false
      out.jsonString(kind.name)
      out.literal(":")
      out.number(figures.count(kind))
    }
    out.literal("}}\n")
  }

  /// What was forgotten at a limit on memory, where there was anything.
  private func evictions(_ ledger: Ledger, to out: inout ByteWriter) {
    var separator: StaticString = ",\"evicted\":{"
    for eviction in Eviction.allCases where ledger.evicted[eviction] > 0 {
      out.literal(separator)
      out.jsonString(eviction.name)
      out.literal(":")
      out.number(ledger.evicted[eviction])
      separator = ","
    }
    if separator.utf8CodeUnitCount == 1 { out.literal("}") }
  }

  /// The figures of one server or of the run. Ratios and times that nothing was measured for are not there.
  private func server(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    let fates = metrics.messages.both
    out.literal("{\"messages\":{\"units\":")
    out.number(fates.units)
    let named: [(StaticString, UInt32)] = [
      ("acked", fates.acked), ("acked_after_retry", fates.ackedAfterRetry), ("rejected", fates.rejected),
      ("unanswered", fates.unanswered), ("damaged", fates.damaged), ("pending", fates.pending), ("late", fates.late),
    ]
    for (name, value) in named {
      out.literal(",\"")
      out.literal(name)
      out.literal("\":")
      out.number(value)
    }
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
      out.literal(",\"absent\":")
      out.number(beats.absent)
      if beats.intervals > 0 {
        out.literal(",\"interval_us\":")
        out.number(beats.intervalSum / Int64(beats.intervals))
      }
      out.literal("}")
    }
    handshakes(metrics.handshakes, to: &out)
    tcp(metrics.tcp, to: &out)
    out.literal("}")
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
    out.number(max(metrics.seen[0], metrics.seen[1]))
    if let least = metrics.handshakeMinimum, let mean = metrics.handshakeMean, let most = metrics.handshakeMaximum {
      times("handshake_rtt_us", metrics.handshakes, least, mean, most, to: &out)
    }
    for (way, name) in [(0, "client_to_server"), (1, "server_to_client")] as [(Int, StaticString)] {
      guard metrics.seen[way] > 0 else { continue }
      out.literal(",\"")
      out.literal(name)
      out.literal("\":{")
      let figures = metrics.ways[way]
      for (i, field) in SegmentFields(figures, sawBothSides: metrics.seenBoth > 0).counts.enumerated() {
        out.text(i > 0 ? ",\"" : "\"")
        out.literal(field.name)
        out.literal("\":")
        out.number(field.value)
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
