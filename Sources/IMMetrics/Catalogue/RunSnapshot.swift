package import IMEngine

/// The figures of a whole run.
package final class RunSnapshot {
  /// What the engine and the capture counted.
  package let summary: Summary
  /// What all connections came to.
  package let total: EndpointMetrics
  /// What was sent.
  package let traffic: Traffic
  /// Sessions that came back on a new connection; answers after the first.
  package let reconnects: UInt64, repeatedAnswers: UInt64
  /// What only monitoring systems are told; `nil` for others.
  package let process: Process?

  /// The process and its tables.
  package struct Process {
    /// imdump's version.
    package var version: String
    /// Servers known; those that have labels of their own at most.
    package var servers: Int, serversLimit: Int
    /// Bytes that tables and streams hold, and the most that they may; connections remembered.
    package var memoryBytes: Int, memoryLimit: Int, connections: Int
    /// Live: seconds since 1970 when it began, CPU seconds, the most bytes of memory it has had.
    package var live: (startedAt: Double, cpuSeconds: Double, residentBytes: UInt64)?

    /// A process of its parts.
    package init(
      version: String, servers: Int, serversLimit: Int, memoryBytes: Int, memoryLimit: Int, connections: Int,
      live: (startedAt: Double, cpuSeconds: Double, residentBytes: UInt64)?
    ) {
      self.version = version
      self.servers = servers
      self.serversLimit = serversLimit
      self.memoryBytes = memoryBytes
      self.memoryLimit = memoryLimit
      self.connections = connections
      self.live = live
    }
  }

  /// A snapshot of its parts.
  package init(
    summary: Summary, total: EndpointMetrics, reconnects: UInt64, repeatedAnswers: UInt64, process: Process? = nil
  ) {
    self.summary = summary
    self.total = total
    self.reconnects = reconnects
    self.repeatedAnswers = repeatedAnswers
    self.process = process
    traffic = Traffic(summary, frameBytes: total.counts[.frameBytes])
  }

  /// What the engine and the capture counted, where nobody counts by server.
  package convenience init(_ summary: Summary) {
    self.init(summary: summary, total: EndpointMetrics(), reconnects: 0, repeatedAnswers: 0)
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
}
