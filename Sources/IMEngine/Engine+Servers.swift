import IMWire

/// What the table of servers has beside those that frames were decoded of.
extension Engine {
  /// Servers that never answered and are known by their port only, at most.
  private static var maximumHinted: Int { 256 }

  /// The server's index for a connection that was refused or not answered, so that no frame tells what it was meant for:
  /// the one that the same address and port are known as, or the profile whose usual port it went to. `.max` for none, so
  /// that a port scan makes no servers.
  mutating func endpointOfFailure(_ server: Endpoint) -> UInt32 {
    if let known = serverIndex[server] { return known }
    guard hintedServers < Self.maximumHinted, !isFullOfEndpoints,
      let plan = plans.firstIndex(where: { $0.ports.contains(server.port) })
    else { return .max }
    hintedServers += 1
    return endpoint(EndpointKey(endpoint: server, plan: UInt8(truncatingIfNeeded: plan)))
  }
}
