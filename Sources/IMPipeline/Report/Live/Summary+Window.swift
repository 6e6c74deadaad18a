import IMEngine
import IMMetrics

/// What was counted at a moment, of which a later one is to know only what came since.
struct SummaryMark {
  private let ledger: Ledger
  private let reassembly: ReassemblyCounters
  private let droppedByKernel: UInt64?

  init(_ summary: Summary) {
    (ledger, reassembly) = (summary.ledger, summary.reassembly)
    droppedByKernel = summary.capture.droppedByKernel
  }

  /// What `summary` counts that came since: packets, connections, issues, holes and what was forgotten, which a page shows. The rest
  /// is that of the whole run.
  func since(_ summary: Summary) -> Summary {
    var rest = summary
    rest.ledger.packets &-= ledger.packets
    rest.ledger.cutPackets &-= ledger.cutPackets
    rest.ledger.connections &-= ledger.connections
    rest.ledger.decodedConnections &-= ledger.decodedConnections
    rest.ledger.midstreamConnections &-= ledger.midstreamConnections
    rest.ledger.tlsConnections &-= ledger.tlsConnections
    rest.ledger.connectionsRefused &-= ledger.connectionsRefused
    rest.ledger.connectionsTimedOut &-= ledger.connectionsTimedOut
    for i in ledger.issues.indices { rest.ledger.issues[i] &-= ledger.issues[i] }
    for i in ledger.evicted.indices { rest.ledger.evicted[i] &-= ledger.evicted[i] }
    for i in reassembly.gaps.indices {
      rest.reassembly.gaps[i] &-= reassembly.gaps[i]
      rest.reassembly.gapBytes[i] &-= reassembly.gapBytes[i]
    }
    rest.reassembly.retransmissions &-= reassembly.retransmissions
    rest.capture.droppedByKernel = summary.capture.droppedByKernel.map { $0 &- min($0, droppedByKernel ?? 0) }
    return rest
  }
}
