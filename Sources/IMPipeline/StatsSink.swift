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

  func settled(_ batch: Span<Settlement>) { Self.count(batch, roles, &endpoints) }

  /// Counts a batch; one access to the sink's state for all of it.
  private static func count(_ batch: Span<Settlement>, _ roles: RoleTable, _ endpoints: inout [EndpointMetrics]) {
    for i in batch.indices {
      let settlement = batch[i]
      reserve(settlement.endpoint, &endpoints)
      endpoints[Int(settlement.endpoint)].settled(settlement, role: roles[settlement.plan, settlement.kind])
    }
  }

  private static func reserve(_ endpoint: UInt32, _ endpoints: inout [EndpointMetrics]) {
    while endpoints.count <= Int(endpoint) { endpoints.append(EndpointMetrics(key: nil)) }
  }

  func connection(_ report: ConnectionReport) {
    all.ended(report)
    guard report.info.endpoint != .max else { return }
    Self.reserve(report.info.endpoint, &endpoints)
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

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {}
  func named(_ session: UInt32, _ name: String) {}
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {}
  func settled(_ exchange: borrowing Exchange) {}
  func issue(_ issue: Issue, _ connection: ConnectionInfo) {}
  func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  func finished(_ exchange: borrowing Exchange) {}
}
