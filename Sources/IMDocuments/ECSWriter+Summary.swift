import IMEngine
import IMMetrics
import IMOutput
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
    _ key: EndpointKey, _ metrics: PeriodMetrics, _ period: Period, _ loss: CaptureLoss,
    _ lines: inout JSONLines
  ) -> Bool {
    let profile = profile(key.plan)
    begin(.summary, at: period.end, &lines)
    event(.summary, types: "[\"info\"]", &lines)
    lines.text("id", "\(runPrefix)-s-\(profile?.name ?? "unknown")-\(key.endpoint)-\(period.boundary.seconds)")
    span(period.start, period.end, &lines)
    lines.close()
    openServer(key.endpoint, profile, &lines)

    openOwn(key.plan, &lines)
    server(key.endpoint, &lines)
    lines.open("summary")
    lines.number("period_s", UInt64(PeriodClock.length / 1_000_000_000))
    lines.flag("partial", period.isPartial)
    let minute = IntervalSnapshot(metrics, hasChecksums: profile?.checksumName != nil)
    MetricTrees.write(minute, &lines)
    lines.flag("lossy", loss.isLossy || metrics.captureGaps > 0)
    lines.decimal("capture_loss_ratio", loss.ratio)
    lines.close()
    lines.close()
    sentence(key, minute, period, profile, &lines)
    return lines.end()
  }

  /// `203.0.113.9:8080 tjp, 60.0 s: success 99.83 %, loss 0.17 %, RTT p95 26.679 ms c2s, 371.875 ms s2c, 311 connections`.
  private func sentence(
    _ key: EndpointKey, _ minute: IntervalSnapshot, _ period: Period, _ profile: Profile?,
    _ lines: inout JSONLines
  ) {
    lines.key("message")
    lines.writer.byte(UInt8(ascii: "\""))
    lines.writer.endpoint(key.endpoint)
    lines.writer.byte(UInt8(ascii: " "))
    lines.writer.text(profile?.name ?? "tcp")
    lines.writer.literal(", ")
    lines.writer.decimal(Double(period.end.microseconds - period.start.microseconds) / 1e6, 2)
    lines.writer.literal(" s: ")
    sentence(minute.metrics.messages, &lines)
    // Each direction by itself.
    var isFirst = true
    for direction in [Direction.clientToServer, .serverToClient] {
      guard let p95 = minute.roundTrips.byDirection[direction].percentile(95) else { continue }
      lines.writer.literal(isFirst ? ", RTT p95 " : ", ")
      lines.writer.thousandths(p95)
      lines.writer.literal(direction == .clientToServer ? " ms c2s" : " ms s2c")
      isFirst = false
    }
    lines.writer.literal(", ")
    let active = Catalogue.count("connections.active", in: Catalogue.intervals, of: minute)
    lines.writer.number(active)
    lines.writer.literal(active == 1 ? " connection\"" : " connections\"")
  }
}
