/// A kind of telemetry in OpenTelemetry's protocol (OTLP). Each has its own envelope, path and file.
package enum OTLPSignal: Int, CaseIterable, Sendable {
  case logs, metrics, traces

  /// The name in options, in files' names and in the path of OTLP/HTTP.
  package var name: String { "\(self)" }

  /// The names of the lists of an export request, outermost first: by resource, by scope, and the records themselves.
  package var lists: (resources: String, scopes: String, records: String) {
    switch self {
    case .logs: ("resourceLogs", "scopeLogs", "logRecords")
    case .metrics: ("resourceMetrics", "scopeMetrics", "metrics")
    case .traces: ("resourceSpans", "scopeSpans", "spans")
    }
  }
}

/// What the points of a sum or a histogram count.
package enum OTLPTemporality: String, CaseIterable, Sendable {
  /// What came since the point before.
  case delta
  /// What came since the run began.
  case cumulative

  /// The number in the protocol's enumeration `AggregationTemporality`.
  package var number: UInt64 { self == .delta ? 1 : 2 }
}

/// Which exchanges become spans.
package enum OTLPSpans: Equatable, Sendable {
  /// Those that were lost, damaged or rejected.
  case errors
  /// Those of one session in so many, all of them; the session's name decides.
  case sample(UInt32)
  /// All that ask for an answer.
  case all

  /// Reads `errors`, `sample=1/N` or `all`; `nil` for anything else.
  package init?(_ text: String) {
    switch text {
    case "errors": self = .errors
    case "all": self = .all
    default:
      let prefix = "sample=1/"
      guard text.hasPrefix(prefix), let n = UInt32(text.dropFirst(prefix.count)), n > 0 else { return nil }
      self = n == 1 ? .all : .sample(n)
    }
  }
}

/// What telemetry is to hold.
package struct OTLPOptions: Equatable, Sendable {
  /// The signals that are written.
  package var signals = Set(OTLPSignal.allCases)
  /// Which exchanges become spans.
  package var spans = OTLPSpans.errors
  /// What points count.
  package var temporality = OTLPTemporality.delta

  /// All signals, spans of failed exchanges, deltas.
  package init() {}
}
