package import IMMetrics

/// What a rule watches. Definitions: `docs/metrics.md`; how they are counted over a window: `docs/alerts.md`. Figures of the
/// catalogue that connections report and that have a name for rules are metrics, too.
package enum AlertMetric: CaseIterable, Hashable, Sendable {
  /// Messages that were lost, that succeeded, that were answered after a retry only, of those whose fate is known.
  case loss, success, retry
  /// Messages that were refused, of those whose fate is known; messages whose fate the capture cannot tell, of all.
  case rejected, unknown
  /// Round trips by Karn's rule, of everything but heartbeats.
  case roundTrip50, roundTrip90, roundTrip95, roundTrip99
  /// Frames with a wrong checksum, of those with one.
  case checksumErrors
  /// Heartbeats in a row without an answer, on one connection; of several connections, the most.
  case heartbeatsMissed
  /// The jitter of the time between heartbeats: the mean difference of neighbouring intervals.
  case heartbeatJitter
  /// Connections that were established, of those that were tried.
  case connectionSuccess
  /// Connections of a session whose last one had ended; connections that were refused or not answered; those refused.
  case reconnects, handshakeFailures, connectionsRefused
  /// Handshakes of the protocol itself that were refused: failed logins.
  case handshakesRefused
  /// Messages that were answered after they had been given up.
  case lateAnswers
  /// The longest that a message has waited for its answer, or waits.
  case unackedAge
  /// Packets that the capture dropped, of those that it received.
  case captureDrops
  /// Messages, copies not counted.
  case messages
  /// A figure that connections report: its place in `figures`.
  case reported(Int)

  /// Figures that connections report and that have a name for rules.
  package static let figures = Catalogue.reports.filter { $0.info.rule != nil }

  /// Every metric with its name in rules.
  static let names: [(metric: AlertMetric, name: String)] =
    [
      (.loss, "loss"), (.success, "success"), (.retry, "retry"), (.rejected, "rejected"), (.unknown, "unknown"),
      (.roundTrip50, "rtt_p50"), (.roundTrip90, "rtt_p90"), (.roundTrip95, "rtt_p95"), (.roundTrip99, "rtt_p99"),
      (.checksumErrors, "crc_error_ratio"), (.heartbeatsMissed, "heartbeat_missed_consecutive"),
      (.heartbeatJitter, "heartbeat_jitter"), (.connectionSuccess, "connection_success"), (.reconnects, "reconnects"),
      (.handshakeFailures, "handshake_failures"), (.connectionsRefused, "connections_refused"),
      (.handshakesRefused, "handshakes_refused"), (.lateAnswers, "late_answers"), (.unackedAge, "unacked_age"),
      (.captureDrops, "capture_drop_ratio"), (.messages, "messages"),
    ] + figures.indices.map { (.reported($0), figures[$0].info.rule ?? "") }

  /// Every metric.
  package static let allCases: [AlertMetric] = names.map(\.metric)

  /// The name in rules.
  package var rawValue: String { Self.names.first { $0.metric == self }?.name ?? "" }

  /// What its values are.
  package enum Unit: Sendable {
    /// From 0 to 1.
    case ratio
    /// Milliseconds.
    case milliseconds
    /// A whole number.
    case count
  }

  /// What its values are.
  package var unit: Unit {
    switch self {
    case .loss, .success, .retry, .rejected, .unknown, .checksumErrors, .connectionSuccess, .captureDrops: .ratio
    case .roundTrip50, .roundTrip90, .roundTrip95, .roundTrip99, .heartbeatJitter, .unackedAge: .milliseconds
    default: .count
    }
  }

  /// Whether samples are events of which none is 0, and not the lack of a value.
  var isCounting: Bool {
    switch self {
    case .heartbeatsMissed, .messages: false
    default: unit == .count
    }
  }

  /// The figure of connections' reports that it counts; `nil` for others.
  var figure: Figure<ReportCounts>? {
    if case .reported(let place) = self { Self.figures[place] } else { nil }
  }

  /// The percentile that it is; `nil` for others.
  package var percentile: Double? {
    switch self {
    case .roundTrip50: 50
    case .roundTrip90: 90
    case .roundTrip95: 95
    case .roundTrip99: 99
    default: nil
    }
  }

  /// Whether packets that the capture dropped look like what it measures, so that it cannot be trusted while they are.
  package var isDistortedByDrops: Bool {
    switch self {
    case .unackedAge, .connectionSuccess, .handshakeFailures: true
    default: false
    }
  }

  /// Whether messages of which nobody knows what became could turn a verdict.
  package var isDoubtful: Bool { self == .loss || self == .success }

  /// Whether a rule may choose statuses.
  package var hasStatus: Bool { self == .rejected || self == .handshakesRefused }

  /// Whether a rule may choose messages by a filter.
  package var hasFilter: Bool {
    switch self {
    case .loss, .success, .retry, .rejected, .unknown, .roundTrip50, .roundTrip90, .roundTrip95, .roundTrip99,
      .checksumErrors, .handshakesRefused, .lateAnswers, .unackedAge, .messages:
      true
    default: false
    }
  }

  /// What it can be counted for.
  package var scopes: [AlertScope] {
    switch self {
    case .captureDrops: [.capture]
    // A connection is tried once and succeeds or not: there is nothing to count.
    case .connectionSuccess, .reconnects, .handshakeFailures, .connectionsRefused: [.endpoint, .profile]
    default: [.endpoint, .profile, .connection, .owner]
    }
  }
}

/// What has a state of its own under a rule.
package enum AlertScope: String, CaseIterable, Sendable {
  /// All servers of a protocol; one server; one connection; the capture itself; the unit or container that has the
  /// connections' ends of this host, live only.
  case profile, endpoint, connection, capture, owner
}

/// How a value is compared with a rule's threshold.
package enum AlertOperator: String, CaseIterable, Sendable {
  case above = ">"
  case atLeast = ">="
  case below = "<"
  case atMost = "<="
  case equal = "=="
  /// There was nothing to count for a whole window.
  case absent

  /// Whether `value` is beyond `threshold`; never for `absent`, which compares nothing.
  package func holds(_ value: Double, _ threshold: Double) -> Bool {
    switch self {
    case .above: value > threshold
    case .atLeast: value >= threshold
    case .below: value < threshold
    case .atMost: value <= threshold
    case .equal: value == threshold
    case .absent: false
    }
  }

  /// What holds where this one does not, for sentences.
  package var opposite: String {
    switch self {
    case .above: "<="
    case .atLeast: "<"
    case .below: ">="
    case .atMost: ">"
    case .equal: "!="
    case .absent: "present"
    }
  }
}

/// How bad it is; Elasticsearch's `event.severity` is the number.
package enum AlertSeverity: String, CaseIterable, Sendable {
  case info, warning, critical, page

  /// 1 to 3; `page` is as bad as `critical`, and the word that some teams have for it.
  package var number: UInt64 {
    switch self {
    case .info: 1
    case .warning: 2
    case .critical, .page: 3
    }
  }
}
