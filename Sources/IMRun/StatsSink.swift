package import IMEngine
package import IMMetrics
package import IMOutput
package import IMWire

/// Counts exchanges and connections by server for `imdump stats`.
package final class StatsSink: EngineSink {
  private let roles: RoleTable
  /// Connections that belong to no server.
  private var elsewhere = EndpointMetrics()
  /// By server, in the order of `Engine.endpoints()`.
  private(set) var endpoints: [EndpointMetrics] = []
  /// The connections with the most trouble.
  private(set) var worst = WorstConnections()
  /// The statuses that answers gave.
  private(set) var statuses = StatusRegistry()

  /// The connections, where two captures are compared.
  package private(set) var compared: ComparedConnections?

  /// Counts the data that `plans` decode; with `comparesConnections`, also the metrics by which two captures are compared.
  package init(plans: [ProtocolPlan], comparesConnections: Bool = false) {
    roles = RoleTable(plans: plans)
    if comparesConnections { compared = ComparedConnections() }
  }

  /// The whole run.
  var total: EndpointMetrics {
    var sum = elsewhere
    for endpoint in endpoints { sum.add(endpoint) }
    return sum
  }

  package func resolved(_ batch: Span<Resolution>) {
    EndpointMetrics.count(batch, roles, in: &endpoints)
    guard compared != nil else { return }
    for i in batch.indices { compared?.resolved(batch[i], role: roles[batch[i].plan, batch[i].kind]) }
  }

  package func receipt(_ receipt: MessageReceipt) {
    EndpointMetrics.reserve(receipt.endpoint, in: &endpoints)
    endpoints[Int(receipt.endpoint)].receipt(receipt)
  }

  package func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {
    EndpointMetrics.reserve(endpoint, in: &endpoints)
    endpoints[Int(endpoint)].heartbeat(after: interval)
  }

  package func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    let told = ReportCounts(report)
    compared?.ended(report, told)
    guard report.info.endpoint != .max else {
      elsewhere.ended(report, told)
      return
    }
    EndpointMetrics.reserve(report.info.endpoint, in: &endpoints)
    endpoints[Int(report.info.endpoint)].ended(report, told)
    worst.add(report)
  }

  package func met(_ status: StatusCode, place: UInt16) { statuses.met(status, place: place) }
}

extension StatsSink {
  /// Everything that was counted.
  package func figures(_ run: Run, _ driver: Driver) -> RunMetrics {
    run.figures(driver, total: total, servers: endpoints, worst: worst, statuses: statuses)
  }
}

extension Run {
  /// What a run came to: `servers` have the places that the engine gives them, and one more where some had to share.
  /// `omitsEmpty`: those without exchanges are left out.
  package func figures(
    _ driver: Driver, total: EndpointMetrics, servers: [EndpointMetrics], worst: WorstConnections = WorstConnections(),
    statuses: StatusRegistry, omitsEmpty: Bool = false
  ) -> RunMetrics {
    let known = driver.engine.endpoints()
    return RunMetrics(
      run: RunSnapshot(
        summary: summary(driver), total: total, reconnects: driver.engine.reconnects,
        repeatedAnswers: driver.engine.dupAcks),
      endpoints: zip(known, servers).filter { !omitsEmpty || !$1.isEmpty }.map { ($0, $1) },
      others: servers.count > known.count ? servers.last : nil,
      worst: worst, statuses: statuses)
  }

  /// An engine that tells `sink` what it counts, and `other`, which needs `needs`.
  package func statsEngine(
    _ sink: StatsSink, beside other: (any EngineSink)? = nil, _ needs: EngineOptions.Needs = []
  ) -> Engine {
    let own: EngineOptions.Needs = [.connections, .resolutions, .lateReports]
    guard let other else { return engine(own, cost: (0, 0, EndpointMetrics.cost), sink: sink) }
    return engine(own.union(needs), cost: (0, 0, EndpointMetrics.cost), sink: PairSink(sink, other))
  }
}
