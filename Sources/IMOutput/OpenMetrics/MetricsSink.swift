package import IMEngine
import IMMetrics
package import IMWire

/// Counts by server what monitoring systems ask for.
///
/// Servers have figures of their own in the order in which they appear, up to a limit; the rest share those of `other`, one
/// for each profile. So neither the memory nor the number of series depends on what is captured.
package final class MetricsSink: EngineSink {
  /// What it must be told by an engine.
  package static let needs: EngineOptions.Needs = [.connections, .resolutions]

  /// Servers with labels of their own, at most.
  let maximumEndpoints: Int
  /// The whole run's connections.
  private(set) var total = EndpointMetrics()
  /// By the server's index in `Engine.endpoints()`.
  private(set) var endpoints: [EndpointSeries] = []
  /// The other servers, by profile.
  private(set) var others: [EndpointSeries]
  @exclusivity(unchecked) private var roles: RoleTable
  private var plans: [ProtocolPlan]
  /// The statuses that answers gave.
  private(set) var statuses = StatusRegistry()

  /// Nothing counted yet of what `plans` decode.
  package init(plans: [ProtocolPlan], maximumEndpoints: Int) {
    self.maximumEndpoints = maximumEndpoints
    others = [EndpointSeries](repeating: EndpointSeries(), count: plans.count)
    roles = RoleTable(plans: plans)
    self.plans = plans
  }

  /// What types are for has changed.
  package func reloaded(_ plans: [ProtocolPlan]) {
    roles = RoleTable(plans: plans)
    self.plans = plans
  }

  /// Counts fates.
  package func resolved(_ batch: Span<Resolution>) {
    for i in batch.indices {
      let resolution = batch[i]
      let role = roles[resolution.plan, resolution.kind]
      let isHandshake = resolution.fate == .rejected && self.isHandshake(resolution)
      change(resolution.endpoint, resolution.plan) { $0.resolved(resolution, role: role, isHandshake: isHandshake) }
    }
  }

  /// Whether the protocol's own handshake is made of this type.
  @inline(never)
  private func isHandshake(_ resolution: Resolution) -> Bool {
    guard Int(resolution.plan) < plans.count else { return false }
    return plans[Int(resolution.plan)].kind(at: Int(resolution.kind))?.flags.contains(.handshake) == true
  }

  /// Counts a message that was delivered or read.
  package func receipt(_ receipt: MessageReceipt) { change(receipt.endpoint, .max) { $0.receipt(receipt) } }

  /// Counts the time between two heartbeats.
  package func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {
    self.change(endpoint, .max) { $0.heartbeat(after: interval) }
  }

  /// Takes note of a status.
  package func met(_ status: StatusCode, place: UInt16) { statuses.met(status, place: place) }

  /// Counts a connection that is over.
  package func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    let told = ReportCounts(report)
    total.ended(report, told)
    guard report.info.endpoint != .max else { return }
    change(report.info.endpoint, report.serverPlan ?? .max) { $0.ended(report, told) }
  }

  /// Changes the figures of a server. What belongs to no server that has its own, and of which the profile is not known, is
  /// left out.
  @inline(__always)
  private func change(_ endpoint: UInt32, _ plan: UInt8, _ body: (inout EndpointSeries) -> Void) {
    if endpoint < UInt32(clamping: maximumEndpoints) {
      while endpoints.count <= Int(endpoint) { endpoints.append(EndpointSeries()) }
      body(&endpoints[Int(endpoint)])
    } else if Int(plan) < others.count {
      body(&others[Int(plan)])
    }
  }
}
