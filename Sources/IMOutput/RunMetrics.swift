package import IMEngine
package import IMMetrics

/// Everything that `imdump stats` tells.
package struct RunMetrics {
  /// The figures of the whole run.
  package let run: RunSnapshot
  /// Each server with its profile, and its figures.
  package let endpoints: [(key: EndpointKey, metrics: EndpointMetrics)]
  /// The servers that had to share their figures, for want of memory; `nil` where none did.
  package let others: EndpointMetrics?
  /// The connections with the most trouble.
  package let worst: WorstConnections
  /// The statuses that answers gave.
  package let statuses: StatusRegistry

  /// Metrics made of their parts.
  package init(
    run: RunSnapshot, endpoints: [(key: EndpointKey, metrics: EndpointMetrics)], others: EndpointMetrics? = nil,
    worst: WorstConnections, statuses: StatusRegistry = StatusRegistry()
  ) {
    self.run = run
    self.endpoints = endpoints
    self.others = others
    self.worst = worst
    self.statuses = statuses
  }

  /// What the engine and the capture counted.
  var summary: Summary { run.summary }
  /// What all connections came to.
  package var total: EndpointMetrics { run.total }
}
