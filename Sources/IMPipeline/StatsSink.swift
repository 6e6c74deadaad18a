import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// Counts exchanges and connections by server for `imdump stats`.
final class StatsSink: EngineSink {
  private let roles: RoleTable
  /// The whole run's connections.
  private var all = EndpointMetrics(key: nil)
  /// By server, in the order of `Engine.endpoints()`.
  private(set) var endpoints: [EndpointMetrics] = []
  /// The connections with the most trouble.
  private(set) var worst = WorstConnections()
  /// The longest silence that a connection survived and the shortest after which one died, in microseconds.
  private(set) var longestIdleSurvived: Int64?
  private(set) var shortestIdleDied: Int64?

  init(plans: [ProtocolPlan]) { roles = RoleTable(plans: plans) }

  /// The whole run.
  var total: EndpointMetrics {
    var sum = all
    for endpoint in endpoints { sum.addExchanges(endpoint) }
    return sum
  }

  func settled(_ batch: Span<Settlement>) { EndpointMetrics.count(batch, roles, in: &endpoints) }

  func read(after latency: Int64, _ direction: Direction, endpoint: UInt32) {
    EndpointMetrics.reserve(endpoint, in: &endpoints)
    endpoints[Int(endpoint)].read(after: latency, direction)
  }

  func heartbeat(after interval: Int64, endpoint: UInt32) {
    EndpointMetrics.reserve(endpoint, in: &endpoints)
    endpoints[Int(endpoint)].heartbeat(after: interval)
  }

  func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    all.ended(report)
    guard report.info.endpoint != .max else { return }
    EndpointMetrics.reserve(report.info.endpoint, in: &endpoints)
    endpoints[Int(report.info.endpoint)].ended(report)
    worst.add(report)
    idle(report)
  }

  private func idle(_ report: ConnectionReport) {
    guard let figures = report.figures, figures.lastFrameAt != .distantPast else { return }
    if figures.longestIdle > 0 { longestIdleSurvived = max(longestIdleSurvived ?? 0, figures.longestIdle) }
    // A connection that ended by a reset after a silence died of it, as far as can be told.
    if report.reason == .reset, let closed = report.closedAt {
      let silence = max(0, closed.nanoseconds(since: figures.lastFrameAt) / 1_000)
      if silence > 1_000_000 { shortestIdleDied = min(shortestIdleDied ?? .max, silence) }
    }
  }
}
