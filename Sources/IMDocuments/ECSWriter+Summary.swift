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
    lines.text("id", "\(run)-s-\(profile?.name ?? "unknown")-\(key.endpoint)-\(period.boundary.seconds)")
    span(period.start, period.end, &lines)
    lines.close()
    openServer(key.endpoint, profile, &lines)

    openOwn(key.plan, &lines)
    server(key.endpoint, &lines)
    lines.open("summary")
    lines.number("period_s", UInt64(PeriodClock.length / 1_000_000_000))
    lines.flag("partial", period.isPartial)
    FigureTrees.write(
      IntervalSnapshot(metrics, hasChecksums: profile?.checksumName != nil), &lines)
    lines.flag("lossy", loss.isLossy || metrics.captureGaps > 0)
    lines.decimal("capture_loss_ratio", loss.ratio)
    lines.close()
    lines.close()
    sentence(key, metrics, period, profile, &lines)
    return lines.end()
  }

  /// `203.0.113.9:8080 tjp, 60.0 s: success 99.83 %, loss 0.17 %, RTT p95 160.1 ms, 311 connections`.
  private func sentence(
    _ key: EndpointKey, _ metrics: PeriodMetrics, _ period: Period, _ profile: Profile?,
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
