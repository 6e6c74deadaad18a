import IMEngine

extension Catalogue {
  private typealias Row = Figure<SessionMetrics>

  /// The figures of a session.
  package static let sessions: [Figure<SessionMetrics>] = [
    Row(
      "session.connections", .count, .packet, "connections on which its exchanges began", json: ["connections"],
      text: [.column(.sessions, "connections")]
    ) { session, _, _ in .count(session.connections) },
    Row(
      "session.units", .count, .fate, "exchanges that ask for an answer", json: ["units"],
      text: [.column(.sessions, "units")]
    ) { session, _, _ in .count(session.units) },
    Row(
      "session.fates", .count, .fate, "exchanges that are {fate}", by: [everyFate], json: ["{fate}"],
      text: [.columns(.sessions, everyFate.values.map { ($0.name, $0.name) })]
    ) { session, fate, _ in .count(session[Fate.allCases[fate]]) },
    Row(
      "session.retries", .count, .fate, "copies after the first, up to the answer", json: ["retries"],
      text: [.column(.sessions, "retries")]
    ) { session, _, _ in .count(session.retries) },
    roundTrip("count", .count, "round trips measured: messages sent once and answered", nil) { .count($0.count) },
    roundTrip("p50", .time, "the round trip that 50 % do not exceed, within 2.5 %", "p50") {
      $0.percentile(50).map { .microseconds($0) }
    },
    roundTrip("p95", .time, "the round trip that 95 % do not exceed, within 2.5 %", "p95") {
      $0.percentile(95).map { .microseconds($0) }
    },
    roundTrip("max", .time, "the longest round trip", "max ms") { $0.maximum.map { .microseconds($0) } },
  ]

  private static let everyFate = Dimension("fate", Fate.allCases.map { ($0.name, $0.name) })

  private static func roundTrip(
    _ name: String, _ unit: FigureUnit, _ help: String, _ column: String?,
    _ read: @escaping @Sendable (RTTHistogram) -> FigureValue?
  ) -> Figure<SessionMetrics> {
    Row(
      "session.rtt.\(name)", unit, .fate, help, json: ["rtt_ms.\(name)"],
      text: column.map { [.column(.sessions, $0)] } ?? [], kind: unit == .count ? .counter : .gauge
    ) { session, _, _ in session.roundTrips.count == 0 ? nil : read(session.roundTrips) }
  }
}
