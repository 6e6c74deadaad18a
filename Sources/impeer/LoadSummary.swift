import IMEndpoint
import IMMetrics
import IMOutput

/// What a load came to, as it is printed.
struct LoadSummary {
  private let tally: LoadTally
  private let metrics: IMEndpoint.EndpointMetrics
  /// What both ends of a ring say; nil without one.
  private let ring: (arrived: UInt64, late: UInt64, differences: RingDifferences)?

  init(_ run: LoadRun) {
    tally = run.tally
    metrics = run.metrics
    ring = run.isRing ? (run.arrived, run.late, run.differences) : nil
  }

  /// One JSON object. What is not known is left out: duplicates without a server that sends messages back, reconnects where
  /// there was none.
  var json: String {
    JSONLines.text { lines in
      lines.exact("sent", tally.sent)
      lines.exact("delivered", tally.delivered)
      lines.exact("failed", tally.failed)
      lines.open("delivered_within")
      for (place, limit) in LoadTally.limits.enumerated() { lines.exact(named: "\(limit)", tally.within[place]) }
      lines.close()
      if tally.echoed > 0 {
        lines.exact("echoed", tally.echoed)
        lines.exact("duplicates_delivered", tally.echoedTwice)
      }
      if let ring {
        let differences = ring.differences
        lines.open("ring")
        lines.counts([
          ("arrived", ring.arrived), ("late", ring.late), ("lost", differences.lost),
          ("duplicates_by_device", differences.duplicates), ("out_of_order", differences.disordered),
          ("delivered_early", differences.deliveredEarly), ("failed_and_arrived", differences.failedAndArrived),
          ("strange", differences.strange),
        ])
        lines.close()
      }
      if tally.connectionKills > 0 {
        lines.counts([("connection_kills", tally.connectionKills), ("process_kills", tally.processKills)])
      }
      if tally.backlogDelivered > 0 { lines.exact("backlog_delivered", tally.backlogDelivered) }
      times("latency_ms", tally.latency, &lines)
      buckets("latency_buckets", tally.latency, &lines)
      times("connect_ms", tally.connecting, &lines)
      times("reconnect_ms", tally.reconnecting, &lines)
      lines.counts([
        ("connections", metrics.connectionSuccesses), ("connection_attempts", metrics.connectionAttempts),
        ("racing_connections", metrics.racingConnections), ("reconnects", metrics.reconnects),
        ("retransmitted", metrics.messagesRetried), ("duplicate_acknowledgments", metrics.duplicateAcknowledgments),
        ("duplicates_received", metrics.duplicatesReceived), ("heartbeats", metrics.heartbeatsSent),
        ("heartbeats_lost", metrics.heartbeatsLost), ("parse_errors", metrics.parseErrors),
        ("wire_bytes", metrics.bytesSent + metrics.bytesReceived),
      ])
    }
  }

  private func times(_ name: StaticString, _ times: RTTHistogram, _ lines: inout JSONLines) {
    guard let mean = times.mean, let most = times.maximum else { return }
    lines.open(name)
    lines.thousandth("mean", mean)
    for (word, percent): (StaticString, Double) in [("p50", 50), ("p95", 95), ("p99", 99)] {
      lines.thousandth(word, Double(times.percentile(percent) ?? 0))
    }
    lines.thousandth("max", Double(most))
    lines.close()
  }

  /// Milliseconds and counts, so that runs can be added up: the buckets of imdump's own round trips.
  private func buckets(_ name: StaticString, _ times: RTTHistogram, _ lines: inout JSONLines) {
    var buckets: [(milliseconds: Double, count: UInt64)] = []
    times.forEachBucket { buckets.append(($0, $1)) }
    lines.openList(name)
    for bucket in buckets {
      lines.openList()
      lines.item(decimal: bucket.milliseconds, 3)
      lines.item(Int64(clamping: bucket.count))
      lines.closeList()
    }
    lines.closeList()
  }

  /// Lines for a person.
  var text: String {
    var lines = [
      "sent                \(tally.sent)",
      "delivered           \(tally.delivered)" + share(tally.delivered),
    ]
    for (place, limit) in LoadTally.limits.enumerated() {
      let name = "  within \(limit) s"
      lines.append(
        name + String(repeating: " ", count: 20 - name.count) + "\(tally.within[place])" + share(tally.within[place]))
    }
    lines.append("failed              \(tally.failed)")
    if tally.echoed > 0 { lines.append("duplicates          \(tally.echoedTwice) of \(tally.echoed) sent back") }
    if let ring {
      let differences = ring.differences
      lines.append("arrived             \(ring.arrived), \(ring.late) of them late")
      lines.append(
        "  differences       \(differences.count): \(differences.lost) lost, \(differences.duplicates) twice, "
          + "\(differences.disordered) out of order, \(differences.deliveredEarly) reported delivered too early, "
          + "\(differences.failedAndArrived) failed but arrived, \(differences.strange) unexpected")
    }
    if tally.connectionKills > 0 {
      lines.append("kills               \(tally.connectionKills) of connections, \(tally.processKills) of processes")
    }
    lines.append("latency             " + words(tally.latency))
    lines.append("connecting          " + words(tally.connecting))
    if tally.reconnecting.count > 0 { lines.append("reconnecting        " + words(tally.reconnecting)) }
    lines.append(
      "connections         \(metrics.connectionSuccesses) of \(metrics.connectionAttempts) attempts, "
        + "\(metrics.racingConnections) raced against a stalled one")
    lines.append("retried             \(metrics.messagesRetried)")
    lines.append("bytes               \(metrics.bytesSent) out, \(metrics.bytesReceived) in")
    return lines.joined(separator: "\n") + "\n"
  }

  private func share(_ count: UInt64) -> String {
    guard tally.sent > 0 else { return "" }
    let hundredths = Int((Double(count) / Double(tally.sent) * 10_000).rounded(.down))
    let rest = hundredths % 100
    return "  \(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) %"
  }

  private func words(_ times: RTTHistogram) -> String {
    guard let mean = times.mean, let most = times.maximum else { return "-" }
    func part(_ percent: Double) -> String { milliseconds(Double(times.percentile(percent) ?? 0)) }
    return "mean \(milliseconds(mean))  p50 \(part(50))  p95 \(part(95))  p99 \(part(99))  "
      + "max \(milliseconds(Double(most))) ms"
  }
}
