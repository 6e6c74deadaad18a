import IMEngine

extension Catalogue {
  private typealias Row = Metric<GroupMetrics>

  /// The figures of a session.
  package static let sessions: [Metric<GroupMetrics>] =
    [
      Row(
        "session.connections", .count, .packet, "connections on which its exchanges began", json: ["connections"],
        text: [.column(.sessions, "connections")]
      ) { session, _, _ in .count(session.connections) },
      Row(
        "session.units", .count, .fate, "exchanges of every kind that ask for an answer", json: ["units"]
      ) { session, _, _ in .count(session.units) },
      Row(
        "session.messages", .count, .fate, "messages that ask for an answer", json: ["messages"],
        text: [.column(.sessions, "messages")]
      ) { session, _, _ in .count(session.messages) },
      Row(
        "session.lost", .count, .fate, "messages that were lost: unanswered or damaged", json: ["lost"],
        text: [.column(.sessions, "lost")]
      ) { session, _, _ in .count(session.lost) },
      Row(
        "session.fates", .count, .fate, "messages that are {fate}", by: [everyFate], json: ["{fate}"],
        text: [
          .columns(
            .sessions,
            [("unacknowledged", "one-way"), ("rejected", "rejected"), ("pending", "pending"), ("unknown", "unknown")])
        ]
      ) { session, fate, _ in .count(session[Fate.allCases[fate]]) },
      Row(
        "session.retries", .count, .fate, "copies of messages after the first, up to the answer", json: ["retries"],
        text: [.column(.sessions, "retries")]
      ) { session, _, _ in .count(session.retries) },
      Row(
        "session.heartbeats", .count, .fate, "heartbeats", json: ["heartbeats"],
        text: [.column(.sessions, "heartbeats")]
      ) { session, _, _ in .count(session.heartbeats) },
      Row(
        "session.heartbeats.lost", .count, .fate, "heartbeats without an answer", json: ["heartbeats_lost"],
        text: [.column(.sessions, "hb missed")]
      ) { session, _, _ in .count(session.lostHeartbeats) },
    ] + roundTrips + roundTripsByDirection

  private static let everyFate = Dimension("fate", Fate.allCases.map { ($0.name, $0.name) })

  /// Round trips of both directions, which JSON had before it had each.
  private static let roundTrips: [Metric<GroupMetrics>] = roundTripReadings.map { name, unit, help, read in
    Row(
      "session.rtt.\(name)", unit, .fate, help.replacing(" of messages {direction}", with: ""),
      json: ["rtt_ms.\(name)"],
      kind: unit == .count ? .counter : .gauge
    ) { session, _, _ in
      let trips = session.roundTrips.both
      return trips.count == 0 ? nil : read(trips)
    }
  }

  /// Round trips of each direction. Text has these only.
  private static let roundTripsByDirection: [Metric<GroupMetrics>] = roundTripReadings.map { name, unit, help, read in
    let columns = [("client_to_server", "c2s", 101), ("server_to_client", "s2c", 102)]
    return Row(
      "session.rtt.direction.\(name)", unit, .fate, help, by: [.direction], json: ["rtt_ms.{direction}.\(name)"],
      text: unit == .count
        ? []
        : columns.map { way, short, order in
          .columns(.sessions, [(way, "\(name == "max" ? "max ms" : name) \(short)")], order: order)
        }, kind: unit == .count ? .counter : .gauge
    ) { session, way, _ in
      let trips = session.roundTrips[way]
      return trips.count == 0 ? nil : read(trips)
    }
  }

  /// What is read of round trips: the name, the unit, what it says, and its value.
  private static let roundTripReadings: [(String, MetricUnit, String, @Sendable (RTTHistogram) -> MetricValue?)] = [
    ("count", .count, "round trips measured of messages {direction}: sent once and answered", { .count($0.count) }),
    (
      "p50", .time, "the 50th percentile of round trips of messages {direction}",
      { $0.percentile(50).map { .microseconds($0) } }
    ),
    (
      "p95", .time, "the 95th percentile of round trips of messages {direction}",
      { $0.percentile(95).map { .microseconds($0) } }
    ),
    ("max", .time, "the longest round trip of messages {direction}", { $0.maximum.map { .microseconds($0) } }),
  ]
}
