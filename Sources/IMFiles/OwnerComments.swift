import IMEngine
package import IMOwners
import IMRun
package import IMWire

/// Comments for the packets of a capture file: whose each connection is, once it is known.
package final class OwnerComments {
  /// Packets of a connection at which its owner is asked for: a server has no socket yet when the first one comes.
  private static let attempts: Set<UInt8> = [1, 4, 16, 64]
  /// Connections that are remembered.
  private static let maximumCount = 1 << 16

  private let owners: ConnectionOwners
  private var finder = EndpointFinder()
  /// Packets of each connection, up to that at which its owner was told.
  private var seen: [EndpointPair: UInt8] = [:]

  /// Comments with the owners that `owners` knows.
  package init(_ owners: ConnectionOwners) { self.owners = owners }

  /// What there is to say of a packet: `imdump: owner im-gateway.service, user 33`. Packets come in their order.
  package func comment(_ record: PacketRecord, _ bytes: RawSpan) -> String? {
    guard case .ends(let one, let other) = finder.place(bytes, record) else { return nil }
    let pair = EndpointPair(one, other)
    let count = seen[pair] ?? 0
    guard count < 65 else { return nil }
    if seen.count >= Self.maximumCount { seen.removeAll(keepingCapacity: true) }
    seen[pair] = count + 1
    guard Self.attempts.contains(count + 1) else { return nil }
    // The lower port is the server's, mostly.
    let (server, client) = one.port <= other.port ? (one, other) : (other, one)
    guard let owner = owners.owner(between: server, and: client) else { return nil }
    seen[pair] = 65
    let parts = [
      owner.unit, owner.container.map { "container \($0)" }, owner.pod.map { "pod \($0)" }, "user \(owner.user)",
    ]
    return "imdump: owner " + parts.compactMap { $0 }.joined(separator: ", ")
  }
}
