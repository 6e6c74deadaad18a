package import IMMetrics

/// What a rule watches: a figure of the catalogue that says how. Definitions: `docs/metrics.md`; how they are counted over a
/// window: `docs/alerts.md`.
package struct AlertMetric: Hashable, CaseIterable, Sendable {
  /// Its place among the figures that rules can watch.
  private let place: Int
  /// What the samples of its window are.
  package let samples: RuleSamples

  private init(_ place: Int) {
    self.place = place
    samples = Catalogue.rules[place].rule?.samples ?? .reports
  }

  /// The metric with this name in rules; `nil` where there is none.
  package init?(rawValue name: String) {
    guard let place = Catalogue.rules.firstIndex(where: { $0.rule?.name == name }) else { return nil }
    self.init(place)
  }

  /// Every metric.
  package static let allCases = Catalogue.rules.indices.map { AlertMetric($0) }

  /// The figure.
  package var info: MetricInfo { Catalogue.rules[place] }
  /// The name in rules.
  package var rawValue: String { info.rule?.name ?? "" }
  /// The count of connections' reports that it is; `nil` for others.
  var reported: Metric<ReportCounts>? {
    samples == .reports ? Catalogue.reports.first { $0.info.rule?.name == rawValue } : nil
  }

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
    switch info.unit {
    case .ratio, .rate: .ratio
    case .time, .seconds, .histogram: .milliseconds
    case .count, .bytes: .count
    }
  }

  /// The percentile that it is; `nil` for others.
  package var percentile: Double? { if case .roundTrips(let percent) = samples { percent } else { nil } }

  /// Whether messages of which nobody knows what became could turn a verdict.
  package var isDoubtful: Bool { samples == .fates(.loss) || samples == .fates(.success) }

  /// Whether a rule may choose statuses.
  package var hasStatus: Bool { samples == .fates(.rejected) || samples == .refusedHandshakes }
}

extension RuleSamples {
  /// Whether they are events of which none is 0, and not the lack of a value.
  var areEvents: Bool {
    switch self {
    case .failedConnections, .refusedConnections, .reconnects, .refusedHandshakes, .lateAnswers, .reports: true
    case .fates, .roundTrips, .checksums, .missedHeartbeats, .heartbeatChanges, .attempts, .ages, .packets, .messages:
      false
    }
  }

  /// Whether packets that the capture dropped look like what they count, so that it cannot be trusted while they are.
  var areDistortedByDrops: Bool {
    switch self {
    case .ages, .attempts, .failedConnections: true
    default: false
    }
  }

  /// Whether a rule may choose messages by a filter.
  var areOfMessages: Bool {
    switch self {
    case .fates, .roundTrips, .checksums, .refusedHandshakes, .lateAnswers, .ages, .messages: true
    case .missedHeartbeats, .heartbeatChanges, .attempts, .failedConnections, .refusedConnections, .reconnects,
      .packets,
      .reports:
      false
    }
  }

  /// Whether the fate of a message is known when they are counted, or can be waited for.
  var areDecided: Bool {
    switch self {
    case .fates, .roundTrips, .refusedHandshakes, .lateAnswers, .messages: true
    default: false
    }
  }

  /// Whether the engine tells of them late: it looks for expired exchanges ten times a second, for those that were repeated or
  /// have more time than others once in six, and reports a connection's end after six.
  var areToldLate: Bool {
    switch self {
    case .fates(.loss), .fates(.success), .fates(.unknown), .ages, .missedHeartbeats, .attempts, .failedConnections,
      .refusedConnections, .lateAnswers, .reports:
      true
    default: false
    }
  }

  /// What they can be counted for.
  package var scopes: [AlertScope] {
    switch self {
    case .packets: [.capture]
    // A connection is tried once and succeeds or not: there is nothing to count.
    case .attempts, .reconnects, .failedConnections, .refusedConnections: [.endpoint, .profile]
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
