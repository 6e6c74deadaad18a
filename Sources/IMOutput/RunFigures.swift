package import IMEngine
package import IMMetrics

/// Everything that `imdump stats` tells.
package struct RunFigures {
  /// Where every packet and byte went.
  package var summary: Summary
  /// The figures of the whole run.
  package var total: EndpointMetrics
  /// Each server with its profile, and its figures.
  package var endpoints: [(key: EndpointKey, metrics: EndpointMetrics)]
  /// The servers that had to share their figures, for want of memory; `nil` where none did.
  package var others: EndpointMetrics?
  /// The connections with the most trouble.
  package var worst: WorstConnections
  /// Sessions that came back on a new connection.
  package var reconnects: UInt64
  /// Answers after the first.
  package var dupAcks: UInt64
  /// The statuses that answers gave.
  package var statuses: StatusBook

  /// Figures of their parts.
  package init(
    summary: Summary, total: EndpointMetrics, endpoints: [(key: EndpointKey, metrics: EndpointMetrics)],
    others: EndpointMetrics? = nil, worst: WorstConnections, reconnects: UInt64, dupAcks: UInt64,
    statuses: StatusBook = StatusBook()
  ) {
    self.summary = summary
    self.total = total
    self.endpoints = endpoints
    self.others = others
    self.worst = worst
    self.reconnects = reconnects
    self.dupAcks = dupAcks
    self.statuses = statuses
  }

  /// How often `kind` occurred. The engine counts what it finds in the packets; fates tell the rest, as they are at the end:
  /// a message whose answer came late is no longer unanswered.
  package func count(_ kind: IssueKind) -> UInt64 {
    var sum = summary.ledger.issues[Int(kind.rawValue)]
    guard kind == .unanswered || kind == .lateAck || kind == .heartbeatMissed else { return sum }
    for (plan, kinds) in zip(summary.plans, summary.kinds) {
      for (index, totals) in kinds.enumerated() {
        let isHeartbeat = index < plan.typeRoles.count && plan.typeRoles[index] == .heartbeat
        for way in 0...1 {
          let fates = totals.fates[way]
          switch kind {
          case .lateAck: sum += UInt64(fates.late)
          case .heartbeatMissed where isHeartbeat: sum += UInt64(fates.unanswered) + UInt64(fates.damaged)
          case .unanswered where !isHeartbeat: sum += UInt64(fates.unanswered)
          default: break
          }
        }
      }
    }
    return sum
  }

  /// The percentiles that are printed, in percent.
  package static let percentiles: [Double] = [50, 90, 95, 99, 99.9]
}
