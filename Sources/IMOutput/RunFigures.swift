package import IMEngine
package import IMMetrics

/// Everything that `imdump stats` tells.
package struct RunFigures {
  package var summary: Summary
  package var total: EndpointMetrics
  /// Each server with its profile, and its figures.
  package var endpoints: [(key: EndpointKey, metrics: EndpointMetrics)]
  package var worst: WorstConnections
  /// Sessions that came back on a new connection.
  package var reconnects: UInt64
  /// Answers after the first.
  package var dupAcks: UInt64
  /// In microseconds.
  package var longestIdleSurvived: Int64?
  package var shortestIdleDied: Int64?

  /// Figures of their parts.
  package init(
    summary: Summary, total: EndpointMetrics, endpoints: [(key: EndpointKey, metrics: EndpointMetrics)],
    worst: WorstConnections, reconnects: UInt64, dupAcks: UInt64, longestIdleSurvived: Int64?, shortestIdleDied: Int64?
  ) {
    self.summary = summary
    self.total = total
    self.endpoints = endpoints
    self.worst = worst
    self.reconnects = reconnects
    self.dupAcks = dupAcks
    self.longestIdleSurvived = longestIdleSurvived
    self.shortestIdleDied = shortestIdleDied
  }

  /// The percentiles that are printed, in percent.
  package static let percentiles: [Double] = [50, 90, 95, 99, 99.9]
}
