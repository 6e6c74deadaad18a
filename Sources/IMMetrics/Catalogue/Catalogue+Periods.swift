import IMEngine

/// The figures of the whole run in one period.
package final class PeriodSnapshot {
  /// What was counted.
  package let row: PeriodSeries.Row
  /// The same, as a server's minute has it.
  package let interval: IntervalSnapshot

  /// A snapshot of its parts.
  package init(_ row: PeriodSeries.Row, hasChecksums: Bool) {
    self.row = row
    interval = IntervalSnapshot(row.metrics, hasChecksums: hasChecksums)
  }
}

extension Catalogue {
  private typealias Row = Metric<PeriodSnapshot>

  /// The figures of a period of the whole run: its own, and those of a server's minute that can be told by the moment of their
  /// cause.
  package static let periods: [Metric<PeriodSnapshot>] =
    [
      Row(
        "period.sent", .count, .packet,
        "messages by the time of their first copy, including those that ask for no answer",
        interval: ["sent"], rule: MetricRule("messages", .messages)
      ) { period, _, _ in .count(period.row.sent) },
      Row(
        "period.messages", .count, .packet, "messages by the time of their first copy",
        text: [.column(.periods, "messages", width: 9, order: 1)]
      ) { period, _, _ in .count(period.row.messages) },
      Row(
        "period.retries", .count, .packet, "retries: copies of messages after the first, up to the answer",
        text: [.column(.periods, "retries", width: 7, order: 5)]
      ) { period, _, _ in .count(period.row.metrics.frames.retries) },
      Row(
        "period.open", .count, .fate,
        "messages by the time of their first copy whose fate is not decided, or never was", interval: ["open"],
        text: [.column(.periods, "pending", width: 7, order: 4)], kind: .gauge
      ) { period, _, _ in .count(period.row.open + UInt64(period.row.metrics.messages.both.pending)) },
      Row(
        "period.frames", .count, .packet, "frames", interval: ["frames"],
        text: [.column(.periods, "frames", width: 9, order: 12)]
      ) { period, _, _ in .count(period.row.metrics.frames.frames[0] + period.row.metrics.frames.frames[1]) },
      Row(
        "period.missing_bytes", .bytes, .packet, "bytes missing from streams", interval: ["missing_bytes"],
        text: [.column(.periods, "missing bytes", width: 13, order: 11)]
      ) { period, _, _ in .count(period.row.missingBytes) },
    ] + ofMinutes.map { $0.of { $0.interval } }
    + [
      Row(
        "period.failed", .count, .end, "connection attempts that were refused or not answered",
        rule: MetricRule("handshake_failures", .failedConnections),
        text: [.column(.periods, "failed", order: 101)]
      ) { period, _, _ in
        let connections = period.row.metrics.connections
        return .count(connections.refused + connections.timedOut)
      }
    ]

  private static let ofMinutes: [Metric<IntervalSnapshot>] = intervals.filter { figure in
    let id = figure.info.id
    let others = ["connections.active", "connections.reconnects", "rtt.histogram", "rtt.direction.histogram"]
    let beats = ["sent", "answered", "missed", "unknown"].map { "heartbeats.minute.\($0)" }
    if others.contains(id) || id.hasPrefix("handshakes.") { return false }
    if id.hasPrefix("heartbeats.") { return beats.contains(id) }
    return !reports.contains { $0.info.id == id }
  }
}
