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
    let volume = Traffic(figures)
    // Types of several profiles may have the same name: they count together.
    var counters: [String: UInt64] = [:]
    var frames: UInt64 = 0, c2s: UInt64 = 0, s2c: UInt64 = 0, body: UInt64 = 0, retries: UInt64 = 0
    for (i, plan) in summary.plans.enumerated() {
      for (k, kind) in summary.kinds[i].enumerated() where kind.frames[0] + kind.frames[1] > 0 {
        let name = k < plan.typeNames.count ? plan.typeNames[k] : "other"
        frames += kind.frames[0] + kind.frames[1]
        c2s += kind.frames[0]
        s2c += kind.frames[1]
        body += kind.bodyBytes[0] + kind.bodyBytes[1]
        retries += kind.retries
        counters["frames_\(name)", default: 0] += kind.frames[0] + kind.frames[1]
        var fates = kind.fates[0]
        fates.add(kind.fates[1])
        if fates.units > 0 {
          counters["units_\(name)", default: 0] += UInt64(fates.units)
          counters["acked_\(name)", default: 0] += kind.answered
        }
      }
    }
    let ledger = summary.ledger
    let fixed: [(String, UInt64)] =
      [
        ("frames", frames), ("frames_c2s", c2s), ("frames_s2c", s2c), ("body_bytes", body),
        ("stream_bytes", volume.frameBytes), ("retries", retries),
        ("dup_acks", figures.dupAcks),
        ("reconnects", figures.reconnects), ("connection_attempts", ledger.connectionAttempts),
        ("connection_success", ledger.connectionSuccesses), ("connection_refused", ledger.connectionsRefused),
        ("connection_timeout", ledger.connectionsTimedOut), ("crc_be", summary.checksums[0]),
        ("crc_le", summary.checksums[1]), ("crc_bad", summary.checksums[2]), ("crc_none", summary.checksums[3]),
        ("crc_unchecked", summary.checksums[4]),
      ]
    for (name, value) in fixed { counters[name, default: 0] += value }
    out.literal("{\"counters\":{")
    for (i, (name, value)) in counters.sorted(by: { $0.key < $1.key }).enumerated() {
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
    if ledger.carrierBytes > 0 {
      out.literal(",\"carrier_bytes\":")
      out.number(ledger.carrierBytes)
    }
    if ledger.webSocketConnections > 0 {
      out.literal(",\"websocket\":{\"connections\":")
      out.number(ledger.webSocketConnections)
      for type in WebSocketFrameType.allCases {
        out.literal(",\"")
        out.literal(type.name)
        out.literal("\":")
        out.number(ledger.webSocketFrames[Int(type.rawValue)])
      }
      out.literal("}")
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
    server(figures.total, figures, to: &out)
    out.literal(",\"servers\":[")
    for (i, (key, metrics)) in figures.endpoints.enumerated() {
      if i > 0 { out.literal(",") }
      out.literal("{\"server\":\"")
      out.endpoint(key.endpoint)
      out.literal("\",\"profile\":\"")
      out.text(summary.plans[Int(key.plan)].name)
      out.literal("\",\"figures\":")
      server(metrics, figures, to: &out)
      out.literal("}")
    }
    out.literal("]")
    if let others = figures.others {
      out.literal(",\"other_servers\":")
      server(others, figures, to: &out)
    }
    traffic(volume, to: &out)
    sequences(summary, to: &out)
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

  /// `"traffic":{"frames":118,...,"transmission_loss":0.01}`.
  private func traffic(_ traffic: Traffic, to out: inout ByteWriter) {
    out.literal(",\"traffic\":{\"frames\":")
    out.number(traffic.frames)
    out.literal(",\"frame_bytes\":")
    out.number(traffic.frameBytes)
    out.literal(",\"body_bytes\":")
    out.number(traffic.bodyBytes)
    if let duration = traffic.duration {
      out.literal(",\"duration_us\":")
      out.number(duration)
    }
    let ratios: [(StaticString, Double?)] = [
      ("frames_per_s", traffic.rate(traffic.frames)), ("frame_bytes_per_s", traffic.rate(traffic.frameBytes)),
      ("overhead", traffic.overhead), ("transmission_loss", traffic.transmissionLoss),
    ]
    for (name, value) in ratios {
      guard let value else { continue }
      out.literal(",\"")
      out.literal(name)
      out.literal("\":")
      out.decimal(value, 6)
    }
    out.literal("}")
  }

  /// `"sequences":[{"profile":"tjp","direction":"client_to_server","category":0,"left_out":3,...}]`.
  private func sequences(_ summary: Summary, to out: inout ByteWriter) {
    out.literal(",\"sequences\":[")
    var isFirst = true
    for (plan, all) in zip(summary.plans, summary.sequences) {
      for totals in all {
        out.literal(isFirst ? "{\"profile\":" : ",{\"profile\":")
        isFirst = false
        out.jsonString(plan.name)
        out.literal(",\"direction\":\"")
        out.literal(totals.direction == .clientToServer ? "client_to_server" : "server_to_client")
        out.literal("\"")
        let counts: [(StaticString, UInt64)] = [
          ("category", UInt64(totals.category)), ("left_out", totals.leftOut), ("reordered", totals.reordered),
          ("missing", totals.missing), ("open", totals.open), ("late", totals.late),
        ]
        for (name, value) in counts {
          out.literal(",\"")
          out.literal(name)
          out.literal("\":")
          out.number(value)
        }
        out.literal("}")
      }
    }
    out.literal("]")
  }
}
