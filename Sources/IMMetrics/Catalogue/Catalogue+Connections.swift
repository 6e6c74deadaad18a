package import IMEngine
import IMWire

/// What is known of one connection when a report of it is made.
package final class ConnectionSnapshot {
  /// What a report says of messages and bytes, so that the next one tells the difference.
  package struct Totals: Sendable {
    /// Messages; those answered; those not; heartbeats missed; bytes of packets.
    package var units: UInt64 = 0, acked: UInt64 = 0, unanswered: UInt64 = 0, missed: UInt64 = 0, bytes: UInt64 = 0

    /// All zero.
    package init() {}

    /// What a report says, where messages came to `messages`.
    package init(_ report: borrowing ConnectionReport, _ messages: FateCounts) {
      units = UInt64(messages.units)
      acked = UInt64(messages.acked) + UInt64(messages.ackedAfterRetry)
      unanswered = UInt64(messages.unanswered)
      missed = UInt64(report.heartbeats?.missed ?? 0)
      bytes = report.wireBytes[0] + report.wireBytes[1]
    }
  }

  /// The report.
  package let report: ConnectionReport
  /// What it counts.
  package let counts: ReportCounts
  /// What became of messages.
  package let messages: MessageTally
  /// Round trips of everything but heartbeats.
  package let roundTrips: RTTReport
  /// The seconds of silence that the client promised not to exceed; 0 for none.
  package let keepAlive: UInt64
  /// What this report and the last one say.
  package let now: Totals, last: Totals
  /// Whether the protocol has checksums.
  package let hasChecksums: Bool

  /// A snapshot of its parts.
  package init(
    report: ConnectionReport, counts: ReportCounts, messages: MessageTally, roundTrips: RTTByDirection,
    keepAlive: UInt64, now: Totals, last: Totals, hasChecksums: Bool
  ) {
    self.report = report
    self.counts = counts
    self.messages = messages
    self.roundTrips = RTTReport(roundTrips)
    self.keepAlive = keepAlive
    self.now = now
    self.last = last
    self.hasChecksums = hasChecksums
  }

  /// What a report alone says.
  package convenience init(_ report: ConnectionReport) {
    self.init(
      report: report, counts: ReportCounts(report), messages: MessageTally(report), roundTrips: RTTByDirection(),
      keepAlive: 0, now: Totals(), last: Totals(), hasChecksums: false)
  }
}

extension Catalogue {
  private typealias Row = Metric<ConnectionSnapshot>

  /// The figures of a connection. Sums of both directions stand in front of each direction's.
  package static let connections: [Metric<ConnectionSnapshot>] =
    (counted { !$0.contains("{") }
    + [
      Row(
        "tcp.handshake", .time, .report, "round trip of TCP's handshake", connection: ["tcp.rtt_ms"], kind: .gauge
      ) { connection, _, _ in
        guard let server = connection.report.serverHandshake, let client = connection.report.clientHandshake else {
          return nil
        }
        return .microseconds(server.microseconds + client.microseconds)
      }
    ]
    + counted { $0.contains("{direction}") }
    + acknowledgmentTimes.map { figure in
      figure.of { [$0.report.segments[0].roundTrips, $0.report.segments[1].roundTrips] }
    }
    + fates.map { $0.of { $0.messages } } + [
      Row(
        "control.failed", .count, .report,
        "control frames, receipts and other frames that are no messages, rejected or not answered",
        text: [.column(.worst, "others failed", order: 2)]
      ) { connection, _, _ in .count(UInt64(connection.report.rare.failedControls)) }
    ] + ratios.map { $0.of { $0.messages } }
    + coarse(["p50", "p95", "p99"], accuracy: ", within 2.5 %").map { $0.of { $0.roundTrips } } + beats
    + counted { $0.contains("{result}") }
    + [
      Row(
        "silence.survived", .time, .report,
        "the longest silence of more than one second that the connection survived",
        connection: ["idle.longest_survived_s"], kind: .gauge
      ) { connection, _, _ in
        guard let silence = connection.report.figures?.longestSilence.microseconds, silence > 0 else { return nil }
        return .microseconds(silence)
      },
      retries.of { $0.counts },
    ] + deltas).filter { !$0.info.connection.isEmpty || !$0.info.text.isEmpty }.map { $0.only(\.connection) }

  /// What reports count, at the places that `isWanted` takes.
  private static func counted(_ isWanted: (String) -> Bool) -> [Metric<ConnectionSnapshot>] {
    reports.compactMap { figure in
      let places = figure.info.connection.filter(isWanted)
      if places.isEmpty { return nil }
      let named = figure.named { $0.connection = places }
      guard figure.info.id == "checksums.connection" else { return named.of { $0.counts } }
      // A protocol without checksums has no such figures.
      return named.of(ifAny: { $0.hasChecksums && $0.report.figures != nil ? $0.counts : nil })
    }
  }

  private static let beats: [Metric<ConnectionSnapshot>] = [
    beat("sent", .count, "heartbeats, not counting copies") { beats, _ in .count(UInt64(beats.sent)) },
    beat("answered", .count, "heartbeats answered") { beats, _ in .count(UInt64(beats.answered)) },
    beat(
      "missed", .count, "heartbeats not answered in time", [.column(.worst, "hb missed", absent: "0", order: 6)]
    ) { beats, _ in .count(UInt64(beats.missed)) },
    beat("unknown", .count, "heartbeats whose answer may be missing from the capture") { beats, _ in
      .count(UInt64(beats.unknown))
    },
    beat("interval_ms", .time, "the mean interval between heartbeats") { beats, _ in
      beats.intervals == 0 ? nil : .mean(Double(beats.intervalSum) / Double(beats.intervals))
    },
    beat("interval_count", .count, "heartbeat intervals measured") { beats, _ in .count(UInt64(beats.intervals)) },
    beat("jitter_ms", .time, "the mean difference between successive heartbeat intervals") { beats, _ in
      beats.jitter.map { .mean($0) }
    },
    beat("jitter_count", .count, "differences between heartbeat intervals measured") { beats, _ in
      .count(UInt64(beats.intervals > 0 ? beats.intervals - 1 : 0))
    },
    beat("expected_ms", .time, "the agreed interval between heartbeats") { beats, keepAlive in
      if keepAlive > 0 { return .microseconds(Int64(clamping: keepAlive) &* 1_000_000) }
      return beats.expected > 0 ? .microseconds(Int64(beats.expected) &* 1_000) : nil
    },
    beat("rtt_ms", .time, "the mean round trip of heartbeats") { beats, _ in
      beats.roundTrips == 0 ? nil : .mean(Double(beats.roundTripSum) / Double(beats.roundTrips))
    },
    beat("rtt_count", .count, "heartbeat round trips measured") { beats, _ in .count(UInt64(beats.roundTrips)) },
  ]

  private static func beat(
    _ name: String, _ unit: MetricUnit, _ help: String, _ text: [MetricPresentation] = [],
    _ read: @escaping @Sendable (HeartbeatMetrics, UInt64) -> MetricValue?
  ) -> Metric<ConnectionSnapshot> {
    Row(
      "heartbeats.connection.\(name)", unit, .report, help, connection: ["heartbeat.\(name)"], text: text,
      kind: unit == .count ? .counter : .gauge
    ) { connection, _, _ in connection.report.heartbeats.flatMap { read($0, connection.keepAlive) } }
  }

  private static let deltas: [Metric<ConnectionSnapshot>] = [
    delta("messages", "messages since the previous document") { $0.units },
    delta("acked", "messages answered since the previous document") { $0.acked },
    delta(
      "unanswered", "messages found unanswered since the previous document; negative if late answers corrected some"
    ) { $0.unanswered },
    delta("heartbeats_missed", "heartbeats missed since the previous document") { $0.missed },
    delta("bytes", "bytes of packets since the previous document", .bytes) { $0.bytes },
  ]

  private static func delta(
    _ name: String, _ help: String, _ unit: MetricUnit = .count,
    _ read: @escaping @Sendable (ConnectionSnapshot.Totals) -> UInt64
  ) -> Metric<ConnectionSnapshot> {
    Row("delta.\(name)", unit, .report, help, connection: ["delta.\(name)"], kind: .gauge) { connection, _, _ in
      .change(Int64(bitPattern: read(connection.now) &- read(connection.last)))
    }
  }
}
