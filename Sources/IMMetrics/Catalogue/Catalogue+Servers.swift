import IMEngine
import IMWire

/// The figures of a server, or of all connections of a run.
package final class ServerSnapshot {
  /// What `imdump stats` counts.
  package let metrics: EndpointMetrics
  /// Its round trips, of both directions together.
  package let roundTrips: RTTRecorder
  /// What never goes back; `nil` where nobody counts it.
  package let series: EndpointSeries?

  /// A snapshot of its parts.
  package init(_ metrics: EndpointMetrics, series: EndpointSeries? = nil) {
    self.metrics = metrics
    roundTrips = metrics.roundTrips
    self.series = series
  }
}

extension Catalogue {
  /// The percentiles that are told, by the ends of their names.
  package static let percentiles: [(name: String, percent: Double)] = [
    ("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("p999", 99.9),
  ]

  /// The figures of a server, and of the run's total.
  package static let servers: [Metric<ServerSnapshot>] = everythingOfServers.map(\.withoutDocuments)

  private static let everythingOfServers: [Metric<ServerSnapshot>] = [
    ofMessages, roundTrips, checksumErrors, heartbeats, deliveries, reads, handshakes, silences, compared,
    // The handshakes of TCP stand behind the connections that had them.
    Array(reported.prefix(1)), handshakeTimes, Array(reported.dropFirst()), acknowledgments, ofSeries, series,
  ].flatMap(\.self)

  private static let ofMessages: [Metric<ServerSnapshot>] = (fates + ratios).map { $0.of { $0.metrics.messages } }
  private static let ofSeries: [Metric<ServerSnapshot>] = decisions.map { $0.of(ifAny: { $0.series }) }

  /// What reports count: for people, where it is known; for monitoring systems always, since a counter never goes away.
  private static let reported: [Metric<ServerSnapshot>] =
    reports.filter { !$0.info.json.isEmpty }.map { figure in
      figure.named { $0.metric = nil }.of { $0.metrics.counts }
    }
    + reports.filter { $0.info.metric != nil }.map { figure in
      figure.named { ($0.json, $0.text) = ([], []) }.of { $0.metrics.counts.asGrowth }
    }

  private typealias Row = Metric<ServerSnapshot>

  private static let roundTrips: [Metric<ServerSnapshot>] =
    [
      Row(
        "rtt.count", .count, .fate, "round trips measured: messages sent once and answered", json: ["rtt_us.count"],
        omitsZero: true
      ) { server, _, _ in .count(server.roundTrips.count) }
    ]
    + percentiles.map { name, percent in
      Row(
        "rtt.\(name)", .time, .fate, "the \(percentText(percent))th percentile of round trips",
        json: ["rtt_us.\(name)"], rule: name == "p999" ? nil : MetricRule("rtt_\(name)", .roundTrips(percent: percent)),
        kind: .gauge
      ) { server, _, _ in server.roundTrips.percentile(percent).map { .microseconds($0) } }
    } + [
      Row(
        "rtt.min", .time, .fate, "the shortest round trip", json: ["rtt_us.min"], kind: .gauge
      ) { server, _, _ in server.roundTrips.minimum.map { .microseconds($0) } },
      Row("rtt.mean", .time, .fate, "the mean round trip", json: ["rtt_us.mean"], kind: .gauge) { server, _, _ in
        server.roundTrips.mean.map { .mean($0) }
      },
      Row("rtt.sum", .time, .fate, "all round trips together", json: ["rtt_us.sum"]) { server, _, _ in
        server.roundTrips.count == 0 ? nil : .microseconds(server.roundTrips.sum)
      },
      Row(
        "rtt.max", .time, .fate, "the longest round trip", json: ["rtt_us.max"], kind: .gauge
      ) { server, _, _ in server.roundTrips.maximum.map { .microseconds($0) } },
    ] + roundTripsByDirection

  /// The same of each direction: what a server answers and what its clients answer are two things. Text and comparisons have these only.
  private static let roundTripsByDirection: [Metric<ServerSnapshot>] =
    [
      roundTrip(
        "count", .count, "round trips of messages {direction}",
        [.column(.roundTrips, "count", order: 1), .compared("round_trips", byDirection: true, order: 2)]
      ) { .count($0.count) }
    ]
    + percentiles.map { name, percent in
      roundTrip(
        name, .time, "the \(percentText(percent))th percentile of round trips of messages {direction}",
        [
          .column(.roundTrips, name == "p999" ? "p99.9" : name, order: 3),
          .compared("rtt_\(name)", percent: percent, byDirection: true, order: 3),
        ]
      ) { $0.percentile(percent).map { .microseconds($0) } }
    } + [
      roundTrip(
        "min", .time, "the shortest round trip of messages {direction}", [.column(.roundTrips, "min", order: 2)]
      ) { $0.minimum.map { .microseconds($0) } },
      roundTrip("mean", .time, "the mean round trip of messages {direction}") { $0.mean.map { .mean($0) } },
      roundTrip(
        "max", .time, "the longest round trip of messages {direction}", [.column(.roundTrips, "max ms", order: 4)]
      ) { $0.maximum.map { .microseconds($0) } },
    ]

  private static func roundTrip(
    _ name: String, _ unit: MetricUnit, _ help: String, _ text: [MetricPresentation] = [],
    _ read: @escaping @Sendable (RTTRecorder) -> MetricValue?
  ) -> Metric<ServerSnapshot> {
    Metric(
      "rtt.direction.\(name)", unit, .fate, help, by: [.direction], json: ["rtt_us.{direction}.\(name)"],
      text: text, kind: unit == .count ? .counter : .gauge
    ) { server, way, _ in
      let trips = server.metrics.roundTripsByDirection[way]
      return trips.count == 0 ? nil : read(trips)
    }
  }

  static func percentText(_ percent: Double) -> String { percent == 99.9 ? "99.9" : "\(Int(percent))" }

  /// Heartbeats: what became of them is counted when it is decided, how they were spaced with the connection's end.
  private static let heartbeats: [Metric<ServerSnapshot>] = [
    beats("sent", .end, "heartbeats, not counting copies", MetricPresentation(.heartbeats, "sent", nil, .always)) {
      $0.sent
    },
    beats("answered", .fate, "heartbeats answered", MetricPresentation(.heartbeats, "answered", nil, .always)) {
      // Of heartbeats that ask for no answer, 0 answered would be no fault.
      $0.unacknowledged > 0 && $0.unacknowledged == $0.sent ? nil : $0.answered
    },
    beats(
      "missed", .fate, "heartbeats not answered in time", MetricPresentation(.heartbeats, "missed"),
      MetricPresentation(.also, "heartbeat missed", "heartbeats missed")
    ) { $0.missed },
    beats(
      "unknown", .fate, "heartbeats whose answer may be missing from the capture",
      MetricPresentation(.heartbeats, "unknown")
    ) { $0.unknown },
    beats(
      "unacknowledged", .fate, "heartbeats that ask for no answer", MetricPresentation(.heartbeats, "ask for no answer")
    ) {
      $0.unacknowledged == 0 ? nil : $0.unacknowledged
    },
    beats(
      "absent", .end, "times that no heartbeat came for twice the usual interval",
      MetricPresentation(.heartbeats, "time absent", "times absent"),
      metric: MetricName(
        "imdump_heartbeats_absent",
        help: "Times that a connection was silent for longer than agreed or usual, on ended connections")
    ) { $0.absent },
    beatTime(
      "interval_us", "the mean interval between heartbeats",
      MetricPresentation(.heartbeats, "on average", nil, .value("every"))
    ) { $0.interval.map { .mean($0) } },
    beatCount("interval_count", "heartbeat intervals measured") { $0.intervals },
    beatTime(
      "interval_p50_us", "the 50th percentile of intervals between heartbeats",
      MetricPresentation(.heartbeats, "", nil, .value("p50"))
    ) {
      $0.spacing.percentile(50).map { .microseconds($0) }
    },
    beatTime(
      "interval_p95_us", "the 95th percentile of intervals between heartbeats",
      MetricPresentation(.heartbeats, "", nil, .value("p95"))
    ) {
      $0.spacing.percentile(95).map { .microseconds($0) }
    },
    beatTime(
      "jitter_us", "the mean difference between successive heartbeat intervals",
      MetricPresentation(.heartbeats, "", nil, .value("jitter")),
      rule: MetricRule("heartbeat_jitter", .heartbeatChanges),
      MetricName(
        "imdump_heartbeat_jitter_seconds", .gauge,
        help: "The mean difference between successive heartbeat intervals, on ended connections")
    ) {
      $0.jitter.map { .mean($0) }
    },
    beatCount("jitter_count", "differences between heartbeat intervals measured") { $0.changes },
  ]

  private static func beatCount(
    _ name: String, _ help: String, _ read: @escaping @Sendable (HeartbeatCounts) -> UInt64
  ) -> Metric<ServerSnapshot> {
    Row("heartbeats.\(name)", .count, .end, help, json: ["heartbeats.\(name)"]) { server, _, _ in
      server.metrics.heartbeats.sent == 0 ? nil : .count(read(server.metrics.heartbeats))
    }
  }

  private static func beats(
    _ name: String, _ moment: MetricTiming, _ help: String, _ text: MetricPresentation..., metric: MetricName? = nil,
    read: @escaping @Sendable (HeartbeatCounts) -> UInt64?
  ) -> Metric<ServerSnapshot> {
    Row("heartbeats.\(name)", .count, moment, help, json: ["heartbeats.\(name)"], metric: metric, text: text) {
      server, _, _ in
      // Monitoring systems have a counter from the start.
      server.series == nil && server.metrics.heartbeats.sent == 0
        ? nil : read(server.metrics.heartbeats).map { .count($0) }
    }
  }

  private static func beatTime(
    _ name: String, _ help: String, _ text: MetricPresentation, rule: MetricRule? = nil, _ metric: MetricName? = nil,
    _ read: @escaping @Sendable (HeartbeatCounts) -> MetricValue?
  ) -> Metric<ServerSnapshot> {
    Row(
      "heartbeats.\(name.dropLast(3))", .time, .end, help, json: ["heartbeats.\(name)"], metric: metric, rule: rule,
      text: [text], kind: .gauge
    ) {
      server, _, _ in server.metrics.heartbeats.sent == 0 ? nil : read(server.metrics.heartbeats)
    }
  }

  private static let reads = receipts("reads", .reads, \.reads, "messages that a receipt says were read")
  private static let deliveries = receipts(
    "deliveries", .deliveries, \.deliveries, "messages that a receipt says were delivered")

  /// How many messages receipts say something of, and after how long, by the direction of the messages.
  private static func receipts(
    _ group: String, _ place: MetricPresentation.Place,
    _ recorders: any KeyPath<EndpointMetrics, InlineArray<2, RTTRecorder>> & Sendable, _ help: String
  ) -> [Metric<ServerSnapshot>] {
    func row(
      _ name: String, _ unit: MetricUnit, _ help: String, _ text: MetricPresentation? = nil,
      _ read: @escaping @Sendable (RTTRecorder) -> MetricValue?
    ) -> Metric<ServerSnapshot> {
      Row(
        "\(group).\(name)", unit, .packet, help, by: [.direction], json: ["\(group).{direction}.\(name)"],
        text: text.map { [$0] } ?? [], kind: unit == .count ? .counter : .gauge
      ) { server, way, _ in
        let recorder = server.metrics[keyPath: recorders][way]
        return recorder.count == 0 ? nil : read(recorder)
      }
    }
    func time(_ name: String) -> MetricPresentation { MetricPresentation(place, name, nil, .times("after")) }
    return [
      row("count", .count, help, MetricPresentation(place, "", nil, .always)) { .count($0.count) },
      row("min_us", .time, "the shortest time to the receipt") { $0.minimum.map { .microseconds($0) } },
      row("mean_us", .time, "the mean time to the receipt") { $0.mean.map { .mean($0) } },
      row("p50_us", .time, "the 50th percentile of the time to the receipt", time("p50")) {
        $0.percentile(50).map { .microseconds($0) }
      },
      row("p95_us", .time, "the 95th percentile of the time to the receipt", time("p95")) {
        $0.percentile(95).map { .microseconds($0) }
      },
      row("max_us", .time, "the longest time to the receipt", time("max")) {
        $0.maximum.map { .microseconds($0) }
      },
    ]
  }

  private static let handshakes: [Metric<ServerSnapshot>] =
    [
      handshake("requested", "requested", isFirst: true) { $0.requested },
      handshake("answered", "answered") { $0.answered },
      handshake("acknowledged", "acknowledged without an answer") { $0.acknowledged },
      handshake("refused", "rejected") { $0.refused }, handshake("unanswered", "unanswered") { $0.unanswered },
      handshake("pending", "pending") { $0.pending },
    ]
    + [
      Row(
        "handshakes.readiness", .ratio, .end, "handshakes that made a connection ready, of those that are over; 0 to 1",
        text: [MetricPresentation(.handshakes, "ready", nil, .value(""))], kind: .gauge
      ) { server, _, _ in server.metrics.handshakes.readiness.map { .ratio($0) } },
      Row("handshakes.ready.count", .count, .end, "times to readiness", json: ["handshakes.ready_us.count"]) {
        server, _, _ in
        let counts = server.metrics.handshakes
        return counts.times == nil ? nil : .count(counts.ready)
      },
    ]
    + [
      ("min", "the shortest time to readiness"), ("mean", "the mean time to readiness"),
      ("max", "the longest time to readiness"),
    ].map { name, help in
      Row(
        "handshakes.ready.\(name)", .time, .end, help, json: ["handshakes.ready_us.\(name)"],
        text: [MetricPresentation(.handshakes, name, nil, .times("after"))], kind: .gauge
      ) { server, _, _ in
        guard let times = server.metrics.handshakes.times else { return nil }
        return .microseconds(name == "min" ? times.minimum : name == "mean" ? times.mean : times.maximum)
      }
    }

  private static func handshake(
    _ name: String, _ words: String, isFirst: Bool = false, _ read: @escaping @Sendable (HandshakeCounts) -> UInt64
  ) -> Metric<ServerSnapshot> {
    Row(
      "handshakes.\(name)", .count, .end, "the protocol's own handshakes \(words)", json: ["handshakes.\(name)"],
      metric: isFirst
        ? nil
        : MetricName(
          "imdump_endpoint_handshakes", .counter, ("result", name),
          help: "Handshakes of the protocol, not of TCP, on ended connections, by final outcome"),
      text: [MetricPresentation(.handshakes, words, nil, isFirst ? .always : .part)]
    ) { server, _, _ in
      // Metrics have all results, so that one that comes later is a growth.
      server.series == nil && server.metrics.handshakes.requested == 0 ? nil : .count(read(server.metrics.handshakes))
    }
  }

  private static let checksumErrors: [Metric<ServerSnapshot>] = [
    Row(
      "checksums.errors", .ratio, .report, "frames with a wrong checksum, of those with one; 0 to 1",
      rule: MetricRule("crc_error_ratio", .checksums), text: [.compared("crc_error_ratio", order: 1)], kind: .gauge
    ) { server, _, _ in
      let counts = server.metrics.counts
      let wrong = counts[.wrongChecksum]
      return .part(wrong, of: counts[.rightBigEndian] + counts[.rightLittleEndian] + wrong)
    }
  ]

  /// What only a comparison of captures tells of a server.
  private static let compared: [Metric<ServerSnapshot>] = [
    Row(
      "heartbeats.loss", .ratio, .fate, "heartbeats not answered in time, of those decided; 0 to 1",
      text: [
        .compared("heartbeat_loss", order: 1),
        MetricPresentation(.tiles, "heartbeat", "heartbeats", .tile("Heartbeats missed"), order: 2),
      ], kind: .gauge
    ) { server, _, _ in
      .part(server.metrics.heartbeats.missed, of: server.metrics.heartbeats.decided)
    },
    connectionSuccess.of { $0.metrics.connections },
    Row(
      "tcp.retransmission_ratio", .ratio, .report, "segments retransmitted, of all packets; 0 to 1",
      text: [.compared("retransmission_ratio", order: 1)], kind: .gauge
    ) { server, _, _ in
      .part(server.metrics.counts[.retransmissions], of: server.metrics.counts[.packets])
    },
    Row(
      "connections.opened", .count, .end, "connections that carried frames", text: [.compared("connections", order: 4)]
    ) { server, _, _ in .count(server.metrics.connections.opened) },
  ]

  /// Of a server, and of its minutes.
  static let connectionSuccess = Metric<ConnectionCounts>(
    "connections.success", .ratio, .end, "attempts that succeeded, of those with a known outcome; 0 to 1",
    text: [.compared("connection_success", order: 1)], kind: .gauge
  ) { connections, _, _ in .part(connections.succeeded, of: connections.known) }

  private static let silences: [Metric<ServerSnapshot>] = [
    Row(
      "silence.longest_survived", .time, .end,
      "the longest silence of more than one second that a connection survived",
      json: ["silence.longest_survived_us"],
      metric: MetricName(
        "imdump_endpoint_longest_silence_survived_seconds", .gauge,
        help:
          "The longest silence of more than one second that a connection survived, on ended connections"
      ),
      text: [MetricPresentation(.heartbeats, "", nil, .value("longest silence survived"))],
      kind: .gauge
    ) { server, _, _ in server.metrics.longestSilenceSurvived.map { .microseconds($0) } },
    Row(
      "silence.shortest_before_reset", .time, .end,
      "the shortest silence of more than one second that a connection did not survive: a reset or no answer followed",
      json: ["silence.shortest_before_reset_us"],
      metric: MetricName(
        "imdump_endpoint_shortest_silence_before_reset_seconds", .gauge,
        help: "The shortest silence of more than one second that a connection did not survive, on ended connections"),
      text: [MetricPresentation(.heartbeats, "", nil, .value("shortest silence not survived"))],
      kind: .gauge
    ) { server, _, _ in server.metrics.shortestFatalSilence.map { .microseconds($0) } },
  ]

  private static let handshakeTimes: [Metric<ServerSnapshot>] = [
    Row(
      "tcp.handshakes", .count, .end, "TCP handshakes that were timed", json: ["tcp.handshake_rtt_us.count"],
      text: [MetricPresentation(.tcp, "")]
    ) { server, _, _ in
      let count = server.metrics.tcp.handshakes
      return count == 0 ? nil : .count(count)
    },
    Row(
      "tcp.handshake.min", .time, .end, "the shortest round trip of a TCP handshake",
      json: ["tcp.handshake_rtt_us.min"], text: [MetricPresentation(.tcp, "min", nil, .times("round trip"))],
      kind: .gauge
    ) { server, _, _ in server.metrics.tcp.handshakeMinimum.map { .nanoseconds($0.count) } },
    Row(
      "tcp.handshake.mean", .time, .end, "the mean round trip of a TCP handshake",
      json: ["tcp.handshake_rtt_us.mean"], text: [MetricPresentation(.tcp, "mean", nil, .times("round trip"))],
      kind: .gauge
    ) { server, _, _ in server.metrics.tcp.handshakeMean.map { .nanoseconds($0.count) } },
    Row(
      "tcp.handshake.max", .time, .end, "the longest round trip of a TCP handshake",
      json: ["tcp.handshake_rtt_us.max"], text: [MetricPresentation(.tcp, "max", nil, .times("round trip"))],
      kind: .gauge
    ) { server, _, _ in server.metrics.tcp.handshakeMaximum.map { .nanoseconds($0.count) } },
  ]

  /// Times from a segment to its acknowledgment.
  private static let acknowledgments: [Metric<ServerSnapshot>] = acknowledgmentTimes.map { figure in
    figure.of { $0.metrics.tcp.acknowledgments }.named { $0.connection = [] }
  }

  /// The same of any connections, by direction.
  package static let acknowledgmentTimes: [Metric<BothWays>] = [
    acknowledgment("count", .count, "segments whose acknowledgment was timed") {
      $0.count == 0 ? nil : .count(UInt64($0.count))
    },
    acknowledgment("min", .time, "the shortest time from a segment to its acknowledgment") {
      $0.minimum.map { .nanoseconds($0.count) }
    },
    acknowledgment("mean", .time, "the mean time from a segment to its acknowledgment") {
      $0.mean.map { .nanoseconds($0.count) }
    },
    acknowledgment("max", .time, "the longest time from a segment to its acknowledgment") {
      $0.maximum.map { .nanoseconds($0.count) }
    },
  ]

  private static func acknowledgment(
    _ name: String, _ unit: MetricUnit, _ help: String, _ read: @escaping @Sendable (AckRoundTrips) -> MetricValue?
  ) -> Metric<BothWays> {
    let place = unit == .count ? name : "\(name)_ms"
    return Metric(
      "tcp.ack_rtt.\(name)", unit, .report, help, by: [.direction], json: ["tcp.{direction}.ack_rtt_us.\(name)"],
      connection: ["tcp.{direction}.ack_rtt.\(place)"],
      text: unit == .count ? [] : [MetricPresentation(.segments, name, nil, .times("ACK round trip"))],
      kind: unit == .count ? .counter : .gauge
    ) { ways, way, _ in read(ways[way]) }
  }

  /// What only monitoring systems are told of a server.
  private static let series: [Metric<ServerSnapshot>] =
    [
      beatFate("answered", [.acked, .ackedAfterRetry, .rejected]) { $0.answered },
      beatFate("missed", [.unanswered, .damaged]) { $0.missed }, beatFate("unknown", [.unknown]) { _ in 0 },
      beatFate("pending", [.pending]) { $0.pending }, beatFate("unacknowledged", [.unacknowledged]) { _ in 0 },
      Row(
        "heartbeats.late", .count, .firstFate, "Heartbeats answered after they were counted as missed or unknown",
        metric: MetricName("imdump_heartbeats_late")
      ) { server, _, _ in
        server.series.map { series in
          .count(sum([.acked, .ackedAfterRetry, .rejected]) { series.heartbeats.late($0, $1) })
        }
      },
      Row(
        "rtt.buckets", .histogram, .fate,
        "Round trips of everything except heartbeats, by the direction of the message, excluding messages that were sent more than once before the answer",
        by: [.direction], metric: MetricName("imdump_rtt_seconds", .histogram)
      ) { server, way, _ in server.series.map { .buckets($0.roundTrips[way]) } },
      Row(
        "rtt.run", .histogram, .fate,
        "Round trips of everything except heartbeats, by the direction of the message: percentiles of the whole run, as imdump stats prints them",
        by: [.direction], metric: MetricName("imdump_run_rtt_seconds", .summary),
        text: [MetricPresentation(.tiles, "round trip", "round trips", .tile("Round trip"), order: 1)], kind: .gauge
      ) { server, way, _ in .percentiles(server.metrics.roundTripsByDirection[way]) },
      Row(
        "heartbeats.rtt", .histogram, .fate, "Round trips of heartbeats: percentiles of the whole run",
        metric: MetricName("imdump_run_heartbeat_rtt_seconds", .summary), kind: .gauge
      ) { server, _, _ in .coarse(server.metrics.heartbeats.roundTrips) },
      Row(
        "heartbeats.intervals", .histogram, .packet,
        "Times from one heartbeat of a connection to the next: percentiles of the whole run",
        metric: MetricName("imdump_run_heartbeat_interval_seconds", .summary), kind: .gauge
      ) { server, _, _ in .percentiles(server.metrics.heartbeats.spacing) },
      Row(
        "reads.run", .histogram, .packet,
        "Times from a message to the first receipt that reports it as read: percentiles of the whole run",
        by: [.direction], metric: MetricName("imdump_run_read_seconds", .summary), kind: .gauge
      ) { server, way, _ in .percentiles(server.metrics.reads[way]) },
      Row(
        "deliveries.run", .histogram, .packet,
        "Times from a message to the first receipt that reports it as delivered: percentiles of the whole run",
        by: [.direction], metric: MetricName("imdump_run_delivered_seconds", .summary), kind: .gauge
      ) { server, way, _ in .percentiles(server.metrics.deliveries[way]) },
    ]
    + [("reset", true), ("other", false)].map { name, isReset in
      Row(
        "connections.ended.\(name)", .count, .end, "Decoded connections that have ended",
        metric: MetricName("imdump_endpoint_connections_ended", .counter, ("by", name))
      ) { server, _, _ in
        let counts = server.metrics.connections
        return .count(isReset ? counts.reset : counts.closed &- counts.reset)
      }
    } + [
      Row(
        "reconnects.server", .count, .end, "Reconnects, on ended connections",
        metric: MetricName("imdump_endpoint_reconnects"), rule: MetricRule("reconnects", .reconnects)
      ) { server, _, _ in .count(server.metrics.connections.reconnects) }
    ]

  private static func beatFate(
    _ name: String, _ fates: [Fate], _ pings: @escaping @Sendable (PingCounts) -> UInt64
  ) -> Metric<ServerSnapshot> {
    Row(
      "heartbeats.first.\(name)", .count, .firstFate, "Heartbeats, by their first fate",
      metric: MetricName("imdump_heartbeats", .counter, ("fate", name))
    ) { server, _, _ in
      server.series.map { series in
        .count(
          sum(fates) { series.heartbeats.decided($0, $1) } &+ pings(server.metrics.heartbeats.pings))
      }
    }
  }

  private static func sum(_ fates: [Fate], _ count: (Direction, Fate) -> UInt64) -> UInt64 {
    fates.reduce(0) { $0 &+ count(.clientToServer, $1) &+ count(.serverToClient, $1) }
  }
}
