import IMEngine
import IMWire

/// The figures of one server in one minute.
package struct IntervalSnapshot: Sendable {
  /// What was counted.
  package let metrics: PeriodMetrics
  /// Whether the protocol has checksums.
  package let hasChecksums: Bool

  /// A snapshot of its parts.
  package init(_ metrics: PeriodMetrics, hasChecksums: Bool) {
    self.metrics = metrics
    self.hasChecksums = hasChecksums
  }
}

extension Catalogue {
  /// The figures of a server's minute.
  package static let intervals: [Figure<IntervalSnapshot>] =
    fates.map { $0.of { $0.metrics.messages } } + minuteConnections
    + [
      Row("checksums.minute", .count, .packet, "frames {result}", by: [.checked], interval: ["checksum.{result}"]) {
        minute, status, _ in minute.hasChecksums ? .count(minute.metrics.checksums[status]) : nil
      }
    ] + minuteHeartbeats + ratios.map { $0.of { $0.metrics.messages } }
    + [
      Row(
        "connections.success", .ratio, .end, "attempts that succeeded; 0 to 1", interval: ["ratio.connection_success"],
        rule: "connection_success", kind: .gauge
      ) { minute, _, _ in minute.metrics.connections.success.map { .ratio($0) } }
    ] + minuteRoundTrips
    + [
      Row(
        "frames.bytes", .bytes, .packet, "bytes of frames {direction}", by: [.direction],
        interval: ["bytes.{direction}"]
      ) { minute, way, _ in .count(minute.metrics.bytes[way]) }
    ] + reports.map { $0.of { $0.metrics.counts } }

  private typealias Row = Figure<IntervalSnapshot>

  private static let minuteConnections: [Figure<IntervalSnapshot>] = [
    connection("attempts", "connections that were tried") { $0.attempts },
    connection("succeeded", "of them, those that carried a frame") { $0.succeeded },
    connection("refused", "of them, refused") { $0.refused },
    connection("timed_out", "of them, not answered") { $0.timedOut },
    Row(
      "connections.active", .count, .now, "connections open at the period's end", interval: ["connections.active"],
      kind: .gauge
    ) { minute, _, _ in .count(minute.metrics.active) },
    connection("opened", "connections that began to carry frames") { $0.opened },
    connection("closed", "connections that ended") { $0.closed },
    connection("reset", "of them, by a reset") { $0.reset },
    connection("reconnects", "sessions that came back on another one") { $0.reconnects },
  ]

  private static func connection(
    _ name: String, _ help: String, _ read: @escaping @Sendable (ConnectionCounts) -> UInt64
  ) -> Figure<IntervalSnapshot> {
    Row("connections.\(name)", .count, .end, help, interval: ["connections.\(name)"]) { minute, _, _ in
      .count(read(minute.metrics.connections))
    }
  }

  private static let minuteHeartbeats: [Figure<IntervalSnapshot>] = [
    beat("sent", .count, .packet, "heartbeats, without copies") { .count($0.sent) },
    beat("answered", .count, .firstFate, "heartbeats answered") { .count($0.answered) },
    beat("missed", .count, .firstFate, "heartbeats not answered in time") { .count($0.missed) },
    beat("unknown", .count, .firstFate, "heartbeats whose answer the capture may lack") { .count($0.unknown) },
    beat("interval_ms", .time, .packet, "the mean between two") { $0.interval.map { .mean($0) } },
    beat("jitter_ms", .time, .packet, "the mean difference of neighbouring intervals") { $0.jitter.map { .mean($0) } },
    beat("expected_ms", .time, .packet, "what clients promised") { $0.expected.map { .mean($0) } },
    beat("rtt_p95_ms", .time, .firstFate, "their round trip that 95 % do not exceed") {
      $0.roundTrips.percentile(95).map { .microseconds($0) }
    },
  ]

  private static func beat(
    _ name: String, _ unit: FigureUnit, _ moment: FigureMoment, _ help: String,
    _ read: @escaping @Sendable (HeartbeatCounts) -> FigureValue?
  ) -> Figure<IntervalSnapshot> {
    Row(
      "heartbeats.minute.\(name)", unit, moment, help, interval: ["heartbeat.\(name)"],
      kind: unit == .count ? .counter : .gauge
    ) { minute, _, _ in minute.metrics.heartbeats.isEmpty ? nil : read(minute.metrics.heartbeats) }
  }

  private static let minuteRoundTrips: [Figure<IntervalSnapshot>] =
    coarse(percentiles.map(\.name)).map { $0.of { $0.metrics.roundTrips } } + [
      Row(
        "rtt.histogram", .histogram, .firstFate,
        "round trips on boundaries that all sensors share, 1.05 apart: histograms add up",
        interval: ["rtt.histogram"], kind: .gauge
      ) { minute, _, _ in
        minute.metrics.roundTrips.count == 0 ? nil : .coarse(minute.metrics.roundTrips)
      }
    ]

  /// Round trips in coarse buckets, with these percentiles.
  static func coarse(_ names: [String]) -> [Figure<RTTHistogram>] {
    func row(
      _ name: String, _ help: String, _ read: @escaping @Sendable (RTTHistogram) -> FigureValue?
    ) -> Figure<RTTHistogram> {
      let unit = name == "count" ? FigureUnit.count : .time
      return Figure(
        "rtt.coarse.\(name)", unit, .firstFate, help, connection: ["rtt.\(name)"], interval: ["rtt.\(name)"],
        kind: unit == .count ? .counter : .gauge
      ) { trips, _, _ in trips.count == 0 ? nil : read(trips) }
    }
    return [
      row("count", "round trips measured: messages sent once and answered") { .count($0.count) },
      row("min_ms", "the shortest round trip") { $0.minimum.map { .microseconds($0) } },
      row("mean_ms", "the mean round trip") { $0.mean.map { .mean($0) } },
      row("max_ms", "the longest round trip") { $0.maximum.map { .microseconds($0) } },
    ]
      + percentiles.filter { names.contains($0.name) }.map { name, percent in
        row("\(name)_ms", "the round trip that \(percentText(percent)) % do not exceed, within 2.5 %") {
          $0.percentile(percent).map { .microseconds($0) }
        }
      }
  }
}
