package import IMMetrics

/// What a rule watches. Definitions: `docs/metrics.md`; how they are counted over a window: `docs/alerts.md`. Figures of the
/// catalogue that connections report and that have a name for rules are metrics, too.
package struct AlertMetric: RawRepresentable, CaseIterable, Hashable, Sendable {
  /// The name in rules.
  package let rawValue: String

  private init(_ name: String) { rawValue = name }

  /// The metric of this name; `nil` where there is none.
  package init?(rawValue: String) {
    guard let metric = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = metric
  }

  /// Messages that were lost, that succeeded, that were answered after a retry only, of those whose fate is known.
  static let loss = AlertMetric("loss"), success = AlertMetric("success"), retry = AlertMetric("retry")
  /// Messages that were refused, of those whose fate is known; messages whose fate the capture cannot tell, of all.
  static let rejected = AlertMetric("rejected"), unknown = AlertMetric("unknown")
  /// Round trips by Karn's rule, of everything but heartbeats.
  static let roundTrip50 = AlertMetric("rtt_p50"), roundTrip90 = AlertMetric("rtt_p90")
  static let roundTrip95 = AlertMetric("rtt_p95"), roundTrip99 = AlertMetric("rtt_p99")
  /// Frames with a wrong checksum, of those with one.
  static let checksumErrors = AlertMetric("crc_error_ratio")
  /// Heartbeats in a row without an answer, on one connection; of several connections, the most.
  static let heartbeatsMissed = AlertMetric("heartbeat_missed_consecutive")
  /// The jitter of the time between heartbeats: the mean difference of neighbouring intervals.
  static let heartbeatJitter = AlertMetric("heartbeat_jitter")
  /// Connections that were established, of those that were tried.
  static let connectionSuccess = AlertMetric("connection_success")
  /// Connections of a session whose last one had ended; connections that were refused or not answered; those refused.
  static let reconnects = AlertMetric("reconnects"), handshakeFailures = AlertMetric("handshake_failures")
  static let connectionsRefused = AlertMetric("connections_refused")
  /// Handshakes of the protocol itself that were refused: failed logins.
  static let handshakesRefused = AlertMetric("handshakes_refused")
  /// Messages that were answered after they had been given up.
  static let lateAnswers = AlertMetric("late_answers")
  /// The longest that a message has waited for its answer, or waits.
  static let unackedAge = AlertMetric("unacked_age")
  /// Packets that the capture dropped, of those that it received.
  static let captureDrops = AlertMetric("capture_drop_ratio")
  /// Messages, copies not counted.
  static let messages = AlertMetric("messages")

  /// Figures that connections report, by the name that rules have for them.
  package static let reported: [(metric: AlertMetric, figure: Figure<ReportCounts>)] = Catalogue.reports.compactMap {
    figure in figure.info.rule.map { (AlertMetric($0), figure) }
  }

  /// Every metric.
  package static let allCases: [AlertMetric] =
    [
      loss, success, retry, rejected, unknown, roundTrip50, roundTrip90, roundTrip95, roundTrip99, checksumErrors,
      heartbeatsMissed, heartbeatJitter, connectionSuccess, reconnects, handshakeFailures, connectionsRefused,
      handshakesRefused, lateAnswers, unackedAge, captureDrops, messages,
    ] + reported.map(\.metric)

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
  var figure: Figure<ReportCounts>? { Self.reported.first { $0.metric == self }?.figure }

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

  /// What it can be counted for.
  package var scopes: [AlertScope] {
    switch self {
    case .captureDrops: [.capture]
    // A connection is tried once and succeeds or not: there is nothing to count.
    case .connectionSuccess, .reconnects, .handshakeFailures, .connectionsRefused: [.endpoint, .profile]
    default: [.endpoint, .profile, .connection]
    }
  }
}

/// What has a state of its own under a rule.
package enum AlertScope: String, CaseIterable, Sendable {
  /// All servers of a protocol; one server; one connection; the capture itself.
  case profile, endpoint, connection, capture
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
