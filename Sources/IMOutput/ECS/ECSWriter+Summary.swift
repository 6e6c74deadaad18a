import IMEngine
import IMMetrics
import IMWire

extension ECSWriter {
  /// What the capture lost in the period, as far as it is known.
  struct CaptureLoss {
    /// The part of the packets that the kernel or the interface dropped.
    var ratio: Double?
    /// Whether packets were dropped.
    var isLossy = false
  }

  /// The document of one endpoint and one period: counts of this period only.
  func summary(
    _ key: ServerKey, _ metrics: borrowing PeriodMetrics, _ period: Period, _ loss: CaptureLoss,
    _ lines: inout JSONLines
  ) -> Bool {
    let profile = profile(key.plan)
    begin(.summary, at: period.end, &lines)
    event(.summary, types: "[\"info\"]", &lines)
    lines.text("id", "\(run)-s-\(profile?.name ?? "unknown")-\(key.endpoint)-\(period.boundary.seconds)")
    span(period.start, period.end, &lines)
    lines.close()
    open("server", key.endpoint, &lines)
    lines.close()
    lines.open("network")
    lines.members("\"transport\":\"tcp\",\"type\":\"\(key.endpoint.address.isIPv6 ? "ipv6" : "ipv4")\"")
    if let profile { lines.members(profile.networkMember) }
    lines.close()

    openOwn(key.plan, &lines)
    server(key.endpoint, &lines)
    lines.open("summary")
    lines.number("period_s", UInt64(PeriodClock.length / 1_000_000_000))
    lines.flag("partial", period.isPartial)
    messages(metrics.messages, &lines)
    connections(metrics.connections, active: metrics.active, &lines)
    if profile?.checksumName != nil {
      checksums(metrics.checksums[0], metrics.checksums[1], metrics.checksums[2], metrics.checksums[3], &lines)
    }
    if !metrics.heartbeats.isEmpty { heartbeats(metrics.heartbeats, &lines) }
    ratios(metrics.ratios, connections: metrics.connections.success, &lines)
    if metrics.roundTrips.count > 0 { periodRoundTrips(metrics.roundTrips, &lines) }
    lines.open("bytes")
    lines.number("client_to_server", metrics.bytes[0])
    lines.number("server_to_client", metrics.bytes[1])
    lines.close()
    lines.open("tcp")
    lines.number("retransmits", metrics.retransmits)
    lines.number("out_of_order", metrics.outOfOrder)
    lines.close()
    lines.flag("lossy", loss.isLossy || metrics.captureGaps > 0)
    lines.decimal("capture_loss_ratio", loss.ratio)
    lines.close()
    lines.close()
    sentence(key, metrics, period, profile, &lines)
    return lines.end()
  }

  func connections(_ counts: ConnectionCounts, active: UInt64, _ lines: inout JSONLines) {
    lines.open("connections")
    lines.number("attempts", counts.attempts)
    lines.number("succeeded", counts.succeeded)
    lines.number("refused", counts.refused)
    lines.number("timed_out", counts.timedOut)
    lines.number("active", active)
    lines.number("opened", counts.opened)
    lines.number("closed", counts.closed)
    lines.number("reset", counts.reset)
    lines.number("reconnects", counts.reconnects)
    lines.close()
  }

  private func heartbeats(_ counts: HeartbeatCounts, _ lines: inout JSONLines) {
    lines.open("heartbeat")
    lines.number("sent", counts.sent)
    lines.number("answered", counts.answered)
    lines.number("missed", counts.missed)
    lines.number("unknown", counts.unknown)
    lines.milliseconds("interval_ms", counts.interval)
    lines.milliseconds("jitter_ms", counts.jitter)
    lines.milliseconds("expected_ms", counts.expected)
    lines.milliseconds("rtt_p95_ms", counts.roundTrips.percentile(95))
    lines.close()
  }

  func periodRoundTrips(_ histogram: RTTHistogram, _ lines: inout JSONLines) {
    lines.open("rtt")
    lines.number("count", histogram.count)
    lines.milliseconds("min_ms", histogram.minimum)
    lines.milliseconds("mean_ms", histogram.mean)
    lines.milliseconds("max_ms", histogram.maximum)
    lines.milliseconds("p50_ms", histogram.percentile(50))
    lines.milliseconds("p90_ms", histogram.percentile(90))
    lines.milliseconds("p95_ms", histogram.percentile(95))
    lines.milliseconds("p99_ms", histogram.percentile(99))
    lines.milliseconds("p999_ms", histogram.percentile(99.9))
    var values: [Double] = []
    var counts: [UInt64] = []
    histogram.forEachBucket {
      values.append($0)
      counts.append($1)
    }
    lines.open("histogram")
    lines.key("values")
    for (i, value) in values.enumerated() {
      lines.writer.byte(UInt8(ascii: i == 0 ? "[" : ","))
      lines.writer.decimal(value, 3)
    }
    lines.writer.byte(UInt8(ascii: "]"))
    lines.key("counts")
    for (i, count) in counts.enumerated() {
      lines.writer.byte(UInt8(ascii: i == 0 ? "[" : ","))
      lines.writer.number(count)
    }
    lines.writer.byte(UInt8(ascii: "]"))
    lines.close()
    lines.close()
  }

  /// `203.0.113.9:8080 tjp, 60.0 s: success 99.83 %, loss 0.17 %, RTT p95 160.1 ms, 311 connections`.
  private func sentence(
    _ key: ServerKey, _ metrics: borrowing PeriodMetrics, _ period: Period, _ profile: Profile?,
    _ lines: inout JSONLines
  ) {
    let units = metrics.messages.both.units
    lines.key("message")
    lines.writer.byte(UInt8(ascii: "\""))
    lines.writer.endpoint(key.endpoint)
    lines.writer.byte(UInt8(ascii: " "))
    lines.writer.text(profile?.name ?? "tcp")
    lines.writer.literal(", ")
    lines.writer.decimal(Double(period.end.microseconds - period.start.microseconds) / 1e6, 2)
    lines.writer.literal(" s: ")
    lines.writer.number(units)
    lines.writer.literal(units == 1 ? " message" : " messages")
    sentence(metrics.ratios, &lines)
    if let p95 = metrics.roundTrips.percentile(95) {
      lines.writer.literal(", RTT p95 ")
      lines.writer.thousandths(p95)
      lines.writer.literal(" ms")
    }
    lines.writer.literal(", ")
    lines.writer.number(metrics.active)
    lines.writer.literal(metrics.active == 1 ? " connection\"" : " connections\"")
  }
}
