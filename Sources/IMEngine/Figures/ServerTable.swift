package import IMWire

/// A server and the plan that decodes what it says.
package struct EndpointKey: Hashable, Sendable {
  /// The server's address and port.
  package var endpoint: Endpoint
  /// The plan's index in `EngineOptions.plans`.
  package var plan: UInt8

  /// A server of its parts.
  package init(endpoint: Endpoint, plan: UInt8) {
    self.endpoint = endpoint
    self.plan = plan
  }
}

/// The servers that frames were decoded of, and those that failed connections were meant for, in the order of their first.
struct ServerTable {
  /// Servers that never answered and are known by their port only, at most.
  private static var maximumHinted: Int { 256 }
  /// Bytes of a server here, beside what the sink keeps of it.
  private static var ownCost: Int { 128 }

  /// The servers, by index.
  private(set) var keys: [EndpointKey] = []
  private var index: [EndpointKey: UInt32] = [:]
  /// The same by endpoint, with the plan that came last.
  private var byEndpoint: [Endpoint: UInt32] = [:]
  /// How many of them only their port tells.
  private var hinted = 0
  /// Whether a server had to share its figures: from then on all new ones do.
  private var isFull = false
  /// How many had to share.
  private(set) var refused: UInt64 = 0
  private let budget: MemoryBudget
  private let cost: Int

  /// A table that charges `budget` for itself and for the `cost` of what the sink keeps of a server.
  init(budget: MemoryBudget, cost: Int) {
    self.budget = budget
    self.cost = Self.ownCost + cost
  }

  /// The index of a server's figures; those for which there is no room share the last one, which `keys` does not have.
  mutating func index(of key: EndpointKey) -> UInt32 {
    if let known = index[key] { return known }
    let count = UInt32(truncatingIfNeeded: keys.count)
    guard !isFull, budget.takeIfAdmitted(.decoded, cost) else {
      isFull = true
      refused += 1
      return count
    }
    index[key] = count
    keys.append(key)
    byEndpoint[key.endpoint] = count
    return count
  }

  /// The server's index for a connection that was refused or not answered, so that no frame tells what it was meant for:
  /// the one that the same address and port are known as, or the profile in `plans` whose usual port it went to. `.max` for
  /// none, so that a port scan makes no servers.
  mutating func index(ofFailed server: Endpoint, _ plans: [ProtocolPlan]) -> UInt32 {
    if let known = byEndpoint[server] { return known }
    guard hinted < Self.maximumHinted, !isFull,
      let plan = plans.firstIndex(where: { $0.ports.contains(server.port) })
    else { return .max }
    hinted += 1
    return index(of: EndpointKey(endpoint: server, plan: UInt8(truncatingIfNeeded: plan)))
  }
}
