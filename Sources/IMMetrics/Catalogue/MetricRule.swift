/// A figure as rules watch it: over a window, as samples that come when what it counts happens.
package struct MetricRule: Sendable {
  /// Its name in rules.
  package let name: String
  /// What the samples are.
  package let samples: RuleSamples

  /// A figure with a name of its own in rules.
  package init(_ name: String, _ samples: RuleSamples) {
    self.name = name
    self.samples = samples
  }

  /// A count of connections' reports, by the name of its figure.
  package static let reported = MetricRule("", .reports)

  /// The same with a name: where it has none of its own, that of the figure `id`.
  func named(by id: String) -> MetricRule {
    name.isEmpty ? MetricRule(String(id.map { $0 == "." ? "_" : $0 }), samples) : self
  }
}

/// What the samples are that a rule's window is made of.
package enum RuleSamples: Hashable, Sendable {
  /// Messages whose fate is decided; of them, these count against.
  case fates(FatePart)
  /// Round trips, of which a percentile is watched.
  case roundTrips(percent: Double)
  /// Frames that have a checksum.
  case checksums
  /// Heartbeats without an answer, in a row; differences of neighbouring intervals between heartbeats.
  case missedHeartbeats, heartbeatChanges
  /// Connections that were tried; those that failed; those that were refused; those of a session whose last one had ended.
  case attempts, failedConnections, refusedConnections, reconnects
  /// Requests of the protocol's own handshake that were refused.
  case refusedHandshakes
  /// Answers to messages that had been given up.
  case lateAnswers
  /// How long messages wait for their answers.
  case ages
  /// Packets that the capture received.
  case packets
  /// Messages, copies not counted.
  case messages
  /// What the reports of connections count, as it grows from one to the next.
  case reports

  /// A part of the messages whose fate is decided.
  package enum FatePart: Hashable, Sendable {
    case success, loss, retry, rejected, unknown
  }

  /// What the samples of a window come to, ratios from 0 to 1 and times in milliseconds; `nil` where they are too few.
  package func value(_ counts: borrowing SlidingWindow.Counts) -> Double? {
    func share(_ part: UInt64) -> Double? { counts.samples == 0 ? nil : Double(part) / Double(counts.samples) }
    switch self {
    case .fates(.success), .attempts: return share(counts.samples - min(counts.samples, counts.affected))
    case .fates, .checksums, .packets: return share(counts.affected)
    case .roundTrips(let percent): return counts.roundTrips.percentile(percent).map { Double($0) / 1_000 }
    case .missedHeartbeats, .ages: return counts.maximum
    case .heartbeatChanges: return counts.samples == 0 ? nil : counts.sum / Double(counts.samples)
    case .failedConnections, .refusedConnections, .reconnects, .refusedHandshakes, .lateAnswers, .messages, .reports:
      return Double(counts.samples)
    }
  }
}

extension Catalogue {
  /// What rules watch and nothing else tells, since it takes a window.
  package static let watched: [Metric<SlidingWindow.Counts>] = [
    Metric(
      "heartbeats.missed_in_a_row", .count, .fate, "consecutive heartbeats without an answer on one connection",
      rule: MetricRule("heartbeat_missed_consecutive", .missedHeartbeats), kind: .gauge
    ) { counts, _, _ in .count(UInt64(counts.maximum)) },
    Metric(
      "messages.age", .time, .now, "the longest time that a message has waited, or is waiting, for its answer",
      rule: MetricRule("unacked_age", .ages), kind: .gauge
    ) { counts, _, _ in .mean(counts.maximum * 1_000) },
  ]

  /// The figures that rules can watch, each once, in the order in which they are declared.
  package static let rules: [MetricInfo] = {
    var names: Set<String> = []
    return all.flatMap(\.figures).filter { info in info.rule.map { names.insert($0.name).inserted } ?? false }
  }()
}
