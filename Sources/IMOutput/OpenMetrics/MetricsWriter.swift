package import IMEngine
import IMWire

/// Writes the metrics of a run: first those of the whole, then those by server.
package struct MetricsWriter {
  private let plans: [ProtocolPlan]
  /// Labels that do not change, made once: of each profile's types, both directions of each.
  private var types: [[(c2s: String, s2c: String, both: String)]]

  /// A writer of what `plans` decode.
  package init(plans: [ProtocolPlan]) {
    self.plans = plans
    types = Self.types(plans)
  }

  /// Takes the names of types from the plans again.
  package mutating func reload() { types = Self.types(plans) }

  private static func types(_ plans: [ProtocolPlan]) -> [[(c2s: String, s2c: String, both: String)]] {
    plans.map { plan in
      (0..<65).map { kind in
        let name = kind < plan.typeNames.count ? plan.typeNames[kind] : "other"
        let both = MetricText.label("profile", plan.name) + "," + MetricText.label("type", name)
        return (both + "," + MetricsWriter.directions[0], both + "," + MetricsWriter.directions[1], both)
      }
    }
  }

  /// The label of each direction, client to server first.
  static let directions = ["direction=\"client_to_server\"", "direction=\"server_to_client\""]

  /// The whole text in one dialect.
  package func text(_ dialect: MetricText.Dialect, _ figures: MetricsFigures, _ sink: MetricsSink) -> MetricText {
    var text = MetricText(dialect)
    process(figures, &text)
    capture(figures.summary, &text)
    connections(figures, &text)
    frames(figures.summary, &text)
    servers(figures, sink, &text)
    text.end()
    return text
  }

  // MARK: The process and the capture

  private func process(_ figures: MetricsFigures, _ text: inout MetricText) {
    text.begin(.build)
    text.sample(MetricText.label("version", figures.version), 1)
    if let process = figures.process {
      text.begin(.start)
      text.sample(seconds: process.startedAt)
      text.begin(.cpu)
      text.sample(seconds: process.cpuSeconds)
      text.begin(.resident)
      text.sample("", process.residentBytes)
    }
    text.begin(.memory)
    text.sample("", UInt64(max(0, figures.memoryBytes)))
    text.begin(.memoryLimit)
    text.sample("", UInt64(max(0, figures.memoryLimit)))
    text.begin(.evictions)
    for eviction in Eviction.allCases {
      text.sample("what=\"\(eviction.name)\"", figures.summary.ledger.evicted[eviction])
    }
  }

  private func capture(_ summary: Summary, _ text: inout MetricText) {
    let (ledger, streams, capture) = (summary.ledger, summary.reassembly, summary.capture)
    text.begin(.received)
    if let received = capture.received { text.sample("", received) }
    text.begin(.dropped)
    if let dropped = capture.droppedByKernel { text.sample("by=\"kernel\"", dropped) }
    if let dropped = capture.droppedByInterface { text.sample("by=\"interface\"", dropped) }
    text.begin(.processed)
    text.sample("", ledger.packets)
    text.begin(.skipped)
    for reason in SkipReason.allCases {
      text.sample("reason=\"\(reason.name)\"", ledger.skipped[Int(reason.rawValue)])
    }
    text.begin(.cut)
    text.sample("", ledger.cutPackets)
    text.begin(.repeated)
    text.sample("", streams.copies)
    text.begin(.bytes)
    text.sample("", ledger.packetBytes)
    text.begin(.lastPacket)
    if let last = ledger.lastAt { text.sample(seconds: Double(last.microseconds) / 1e6) }
    text.begin(.streamBytes)
    let parts = [
      ("decoded", ledger.decodedBytes), ("damaged", ledger.damagedBytes), ("unread", ledger.unreadBytes),
      ("repeated", streams.repeatedBytes), ("ignored", streams.ignoredBytes), ("rejected", ledger.rejectedBytes),
    ]
    for (name, bytes) in parts { text.sample("part=\"\(name)\"", bytes) }
    text.begin(.skippedBytes)
    text.sample("", ledger.skippedBytes)
    text.begin(.gaps)
    for reason in GapReason.allCases { text.sample("reason=\"\(reason.name)\"", streams.gaps[Int(reason.rawValue)]) }
    text.begin(.gapBytes)
    for reason in GapReason.allCases {
      text.sample("reason=\"\(reason.name)\"", streams.gapBytes[Int(reason.rawValue)])
    }
  }

  // MARK: Connections and frames

  private func connections(_ figures: MetricsFigures, _ text: inout MetricText) {
    let (ledger, streams) = (figures.summary.ledger, figures.summary.reassembly)
    func one(_ family: MetricFamily, _ value: UInt64) {
      text.begin(family)
      text.sample("", value)
    }
    one(.connections, ledger.connections)
    one(.decoded, ledger.decodedConnections)
    one(.encrypted, ledger.tlsConnections)
    one(.held, UInt64(max(0, figures.connections)))
    one(.attempts, ledger.connectionAttempts)
    text.begin(.results)
    text.sample("result=\"succeeded\"", ledger.connectionSuccesses)
    text.sample("result=\"refused\"", ledger.connectionsRefused)
    text.sample("result=\"timed_out\"", ledger.connectionsTimedOut)
    one(.reconnects, figures.reconnects)
    one(.retransmissions, streams.retransmits)
    one(.outOfOrder, streams.outOfOrder)
    one(.conflicts, streams.conflicts)
  }

  /// Only types that have been seen have samples.
  private func frames(_ summary: Summary, _ text: inout MetricText) {
    func each(_ body: ((c2s: String, s2c: String, both: String), KindTotals) -> Void) {
      for (names, kinds) in zip(types, summary.kinds) {
        for (name, kind) in zip(names, kinds) where kind.frames[0] + kind.frames[1] > 0 { body(name, kind) }
      }
    }
    text.begin(.frames)
    each { name, kind in
      text.sample(name.c2s, kind.frames[0])
      text.sample(name.s2c, kind.frames[1])
    }
    text.begin(.bodyBytes)
    each { name, kind in
      text.sample(name.c2s, kind.bodyBytes[0])
      text.sample(name.s2c, kind.bodyBytes[1])
    }
    text.begin(.copies)
    each { name, kind in
      guard kind.fates[0].units + kind.fates[1].units > 0 else { return }
      text.sample(name.both, kind.retries, "kind=\"retry\"")
      text.sample(name.both, kind.immediateDuplicates, "kind=\"immediate\"")
      text.sample(name.both, kind.duplicates, "kind=\"after_answer\"")
    }
    text.begin(.checksums)
    for status in ChecksumStatus.allCases {
      text.sample("result=\"\(status.name)\"", summary.checksums[Int(status.rawValue)])
    }
    text.begin(.issues)
    for kind in IssueKind.allCases where Self.isCounted(kind) {
      text.sample("name=\"\(kind.name)\"", summary.ledger.issues[Int(kind.rawValue)])
    }
    text.begin(.orphans)
    text.sample("", summary.ledger.issues[Int(IssueKind.orphanAck.rawValue)])
  }

  /// Whether an issue is found in the packets and stays; fates tell the others.
  private static func isCounted(_ kind: IssueKind) -> Bool {
    switch kind {
    case .unanswered, .lateAck, .heartbeatMissed, .orphanAck: false
    default: true
    }
  }
}
