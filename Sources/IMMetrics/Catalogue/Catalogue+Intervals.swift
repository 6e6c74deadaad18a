import IMEngine
import IMWire

/// The figures of one server in one minute.
package final class IntervalSnapshot {
  /// What was counted.
  package let metrics: PeriodMetrics
  /// Whether the protocol has checksums.
  package let hasChecksums: Bool
  /// Round trips of everything but heartbeats.
  package let roundTrips: RTTReport

  /// A snapshot of its parts.
  package init(_ metrics: PeriodMetrics, hasChecksums: Bool) {
    self.metrics = metrics
    roundTrips = RTTReport(metrics.roundTrips)
    self.hasChecksums = hasChecksums
  }
}

extension Catalogue {
  /// The figures of a server's minute.
  package static let intervals: [Metric<IntervalSnapshot>] =
    (fates.map { $0.of { $0.metrics.messages } } + minuteCopies + minuteConnections + minuteHandshakes
    + [
      Row("checksums.minute", .count, .packet, "frames {result}", by: [.checked], interval: ["checksum.{result}"]) {
        minute, status, _ in minute.hasChecksums ? .count(minute.metrics.frames.checksums[status]) : nil
      }
    ] + minuteHeartbeats + ratios.map { $0.of { $0.metrics.messages } }
    + [
      connectionSuccess.of { $0.metrics.connections }.named {
        $0.interval = ["ratio.connection_success"]
        $0.rule = MetricRule("connection_success", .attempts)
      }
    ] + minuteRoundTrips
    + [
      Row(
        "frames.bytes", .bytes, .packet, "bytes of frames {direction}", by: [.direction],
        interval: ["bytes.{direction}"], text: [.column(.periods, "bytes", width: 11, order: 13)]
      ) { minute, way, _ in .count(minute.metrics.frames.bytes[way]) }
    ] + reports.map { $0.of { $0.metrics.counts } })
    .filter { !$0.info.interval.isEmpty }.map { $0.only(\.interval) }

  private typealias Row = Metric<IntervalSnapshot>

  private static let minuteConnections: [Metric<IntervalSnapshot>] = [
    connection("attempts", "connection attempts") { $0.attempts },
    connection("succeeded", "connection attempts that succeeded") { $0.succeeded },
    connection(
      "refused", "connection attempts that were refused", rule: MetricRule("connections_refused", .refusedConnections)
    ) { $0.refused },
    connection("timed_out", "connection attempts that were not answered") { $0.timedOut },
    Row(
      "connections.active", .count, .now, "connections open at the period's end", interval: ["connections.active"],
      kind: .gauge
    ) { minute, _, _ in .count(minute.metrics.active) },
    connection("opened", "connections that began to carry frames", ("opened", 100)) { $0.opened },
    connection("closed", "connections that ended") { $0.closed },
    connection("reset", "connections that ended with a reset", ("reset", 102)) { $0.reset },
    connection("reconnects", "sessions that resumed on another connection") { $0.reconnects },
  ]

  /// Copies, counted with their frames.
  private static let minuteCopies: [Metric<IntervalSnapshot>] = [
    copies("retries", "copies of frames of any type that were sent deliberately") { $0.deliberateCopies },
    copies("immediate", "copies of frames of any type that were sent back to back with the first") {
      $0.immediateDuplicates
    },
    copies("after_answer", "copies of frames of any type that were sent after the answer") { $0.duplicates },
  ]

  private static func copies(
    _ name: String, _ help: String, _ read: @escaping @Sendable (FrameCounts) -> UInt64
  ) -> Metric<IntervalSnapshot> {
    Row("copies.minute.\(name)", .count, .packet, help, interval: ["copies.\(name)"]) { minute, _, _ in
      .count(read(minute.metrics.frames))
    }
  }

  /// The protocol's own handshakes, of connections whose last report came in the minute.
  private static let minuteHandshakes: [Metric<IntervalSnapshot>] = [
    handshake("requested", "handshakes of the protocol that were requested") { $0.requested },
    handshake("answered", "handshakes of the protocol that were answered") { $0.answered },
    handshake("acknowledged", "handshakes of the protocol that were acknowledged but not answered") { $0.acknowledged },
    handshake("refused", "handshakes of the protocol that were rejected") { $0.refused },
    handshake("unanswered", "handshakes of the protocol that were not answered") { $0.unanswered },
    handshake("pending", "handshakes of the protocol that are pending") { $0.pending },
  ]

  private static func handshake(
    _ name: String, _ help: String, _ read: @escaping @Sendable (HandshakeCounts) -> UInt64
  ) -> Metric<IntervalSnapshot> {
    Row("handshakes.minute.\(name)", .count, .end, help, interval: ["handshakes.\(name)"]) { minute, _, _ in
      minute.metrics.handshakes.requested == 0 ? nil : .count(read(minute.metrics.handshakes))
    }
  }

  private static func connection(
    _ name: String, _ help: String, _ column: (title: String, order: Int)? = nil, rule: MetricRule? = nil,
    _ read: @escaping @Sendable (ConnectionCounts) -> UInt64
  ) -> Metric<IntervalSnapshot> {
    Row(
      "connections.\(name)", .count, .end, help, interval: ["connections.\(name)"], rule: rule,
      text: column.map { [.column(.periods, $0.title, order: $0.order)] } ?? []
    ) { minute, _, _ in .count(read(minute.metrics.connections)) }
  }

  private static let minuteHeartbeats: [Metric<IntervalSnapshot>] = [
    beat("sent", .count, .packet, "heartbeats, not counting copies") { .count($0.sent) },
    beat("answered", .count, .firstFate, "heartbeats answered") { .count($0.answered) },
    beat(
      "missed", .count, .firstFate, "heartbeats not answered in time",
      [.column(.periods, "hb missed", width: 9, absent: "0", order: 10)]
    ) { .count($0.missed) },
    beat("unknown", .count, .firstFate, "heartbeats whose answer may be missing from the capture") {
      .count($0.unknown)
    },
    beat("interval_ms", .time, .packet, "the mean interval between heartbeats") { $0.interval.map { .mean($0) } },
    beat("interval_count", .count, .packet, "heartbeat intervals measured") { .count($0.intervals) },
    beat("jitter_ms", .time, .packet, "the mean difference between successive heartbeat intervals") {
      $0.jitter.map { .mean($0) }
    },
    beat("jitter_count", .count, .packet, "differences between heartbeat intervals measured") { .count($0.changes) },
    beat("expected_ms", .time, .packet, "the mean agreed interval between heartbeats") {
      $0.expected.map { .mean($0) }
    },
    beat("expected_count", .count, .packet, "heartbeats with an agreed interval") { .count($0.expectations) },
    beat("rtt_p95_ms", .time, .firstFate, "the 95th percentile of heartbeat round trips") {
      $0.roundTrips.percentile(95).map { .microseconds($0) }
    },
  ]

  private static func beat(
    _ name: String, _ unit: MetricUnit, _ moment: MetricTiming, _ help: String, _ text: [MetricPresentation] = [],
    _ read: @escaping @Sendable (HeartbeatCounts) -> MetricValue?
  ) -> Metric<IntervalSnapshot> {
    Row(
      "heartbeats.minute.\(name)", unit, moment, help, interval: ["heartbeat.\(name)"], text: text,
      kind: unit == .count ? .counter : .gauge
    ) { minute, _, _ in minute.metrics.heartbeats.isEmpty ? nil : read(minute.metrics.heartbeats) }
  }

  private static let minuteRoundTrips: [Metric<IntervalSnapshot>] =
    coarse(percentiles.map(\.name)).map { $0.of { $0.roundTrips } } + [
      Row(
        "rtt.histogram", .histogram, .firstFate,
        "round trips in buckets that all sensors share, boundaries 1.05 times apart, so that histograms add up",
        interval: ["rtt.histogram"], kind: .gauge
      ) { minute, _, _ in
        minute.roundTrips.both.count == 0 ? nil : .coarse(minute.roundTrips.both)
      },
      Row(
        "rtt.direction.histogram", .histogram, .firstFate,
        "round trips of messages {direction}, in the same buckets as rtt.histogram", by: [.direction],
        interval: ["rtt.{direction}.histogram"], kind: .gauge
      ) { minute, way, _ in
        let trips = minute.roundTrips.byDirection[way]
        return trips.count == 0 ? nil : .coarse(trips)
      },
    ]

  /// Round trips with these percentiles: of both directions, for documents that had only these, and of each. `accuracy` is said of
  /// percentiles.
  static func coarse(_ names: [String], accuracy: String = "") -> [Metric<RTTReport>] {
    let chosen = percentiles.filter { names.contains($0.name) }
    func row(
      _ name: String, _ help: String, _ read: @escaping @Sendable (RTTHistogram) -> MetricValue?
    ) -> Metric<RTTReport> {
      Metric(
        "rtt.coarse.\(name)", name == "count" ? .count : .time, .firstFate, help, connection: ["rtt.\(name)"],
        interval: ["rtt.\(name)"], kind: name == "count" ? .counter : .gauge
      ) { trips, _, _ in trips.both.count == 0 ? nil : read(trips.both) }
    }
    return [
      row("count", "round trips measured: messages sent once and answered") { .count($0.count) },
      row("min_ms", "the shortest round trip") { $0.minimum.map { .microseconds($0) } },
      row("mean_ms", "the mean round trip") { $0.mean.map { .mean($0) } },
      row("max_ms", "the longest round trip") { $0.maximum.map { .microseconds($0) } },
    ]
      + chosen.map { name, percent in
        row("\(name)_ms", "the \(percentText(percent))th percentile of round trips\(accuracy)") {
          $0.percentile(percent).map { .microseconds($0) }
        }
      } + coarseByDirection(chosen, accuracy)
  }

  /// The same of each direction; text has these only.
  private static func coarseByDirection(
    _ percentiles: [(name: String, percent: Double)], _ accuracy: String
  ) -> [Metric<RTTReport>] {
    func row(
      _ name: String, _ help: String, column: String? = nil,
      _ read: @escaping @Sendable (RTTHistogram) -> MetricValue?
    ) -> Metric<RTTReport> {
      let columns = [("client_to_server", "c2s", 7), ("server_to_client", "s2c", 8)]
      return Metric(
        "rtt.coarse.direction.\(name)", name == "count" ? .count : .time, .firstFate, help, by: [.direction],
        connection: ["rtt.{direction}.\(name)"], interval: ["rtt.{direction}.\(name)"],
        text: column.map { column in
          columns.map { way, short, order in
            .columns(.periods, [(way, "\(column) \(short)")], width: 8, order: order)
          }
        } ?? [], kind: name == "count" ? .counter : .gauge
      ) { trips, way, _ in
        let trips = trips.byDirection[way]
        return trips.count == 0 ? nil : read(trips)
      }
    }
    return [
      row("count", "round trips of messages {direction}") { .count($0.count) },
      row("min_ms", "the shortest round trip of messages {direction}") { $0.minimum.map { .microseconds($0) } },
      row("mean_ms", "the mean round trip of messages {direction}") { $0.mean.map { .mean($0) } },
    ]
      + percentiles.map { name, percent in
        row(
          "\(name)_ms",
          "the \(percentText(percent))th percentile of round trips of messages {direction}\(accuracy)",
          column: ["p50", "p99"].contains(name) ? name : nil
        ) { $0.percentile(percent).map { .microseconds($0) } }
      } + [
        row("max_ms", "the longest round trip of messages {direction}", column: "max ms") {
          $0.maximum.map { .microseconds($0) }
        }
      ]
  }
}
