package import IMEngine
package import IMWire

/// A server and the plan that decodes what it says.
package struct ServerKey: Hashable, Sendable {
  /// Address and port.
  package let endpoint: Endpoint
  /// The plan's index.
  package let plan: UInt8
}

/// Gives each (server, profile) an index, in the order in which they appear.
///
/// A connection that was refused or not answered has no profile. It belongs to the endpoint that the same server is known
/// as, or to the profile whose usual port it went to; else to none, so that a port scan makes no endpoints.
package struct EndpointTable: Sendable {
  /// Endpoints are counted up to so many; connections to further ones belong to none.
  private let maximumCount: Int
  /// Of them, servers that never answered and are known by their port only.
  private static let maximumHinted = 256

  /// The endpoints, by index.
  package private(set) var keys: [ServerKey] = []
  private var indices: [ServerKey: UInt32] = [:]
  private var byServer: [Endpoint: UInt32] = [:]
  private var planOfPort: [UInt16: UInt8] = [:]
  private let planCount: Int
  private var hinted = 0

  /// An empty table; the ports of `plans` tell what an undecoded connection was meant for.
  package init(plans: [ProtocolPlan], maximumCount: Int = 65_536) {
    self.maximumCount = maximumCount
    planCount = plans.count
    for (index, plan) in plans.enumerated() {
      for port in plan.ports where planOfPort[port] == nil { planOfPort[port] = UInt8(index) }
    }
  }

  /// The endpoint of a connection; `nil` when it belongs to none. `failed` says that it was never answered, so that
  /// only its address and port can tell what it was meant for.
  package mutating func index(of info: ConnectionInfo, failed: Bool = false) -> UInt32? {
    if Int(info.plan) < planCount { return index(ServerKey(endpoint: info.server, plan: info.plan)) }
    guard failed else { return nil }
    if let known = byServer[info.server] { return known }
    guard hinted < Self.maximumHinted, let plan = planOfPort[info.server.port] else { return nil }
    hinted += 1
    return index(ServerKey(endpoint: info.server, plan: plan))
  }

  private mutating func index(_ key: ServerKey) -> UInt32? {
    if let index = indices[key] { return index }
    guard keys.count < maximumCount else { return nil }
    let index = UInt32(keys.count)
    keys.append(key)
    indices[key] = index
    byServer[key.endpoint] = index
    return index
  }
}
