package import IMEngine
import IMWire

/// What connections came to, in groups: the units that `Chance` compares.
///
/// Messages of one connection are alike: they travel the same path at the same time, and are lost together. So a connection counts as one
/// observation, however many messages it has. Up to `count` connections have a group each; of more, every `count`th shares one, which
/// changes nothing: groups of independent connections are independent.
package struct ConnectionGroups: Sendable {
  /// The most groups.
  package static let count = 256

  private var groups: [EndpointMetrics?]

  /// No connection.
  package init() { groups = [EndpointMetrics?](repeating: nil, count: Self.count) }

  /// Counts a settlement of one of its connections, whose type has this role.
  package mutating func resolved(_ resolution: Resolution, role: FrameRole) {
    change(resolution.connection) { $0.resolved(resolution, role: role) }
  }

  /// Counts the last report of a connection; `counts` is what it counts.
  package mutating func ended(_ report: borrowing ConnectionReport, _ counts: ReportCounts) {
    let report = copy report
    change(report.info.serial) { $0.ended(report, counts) }
  }

  private mutating func change(_ connection: UInt32, _ body: (inout EndpointMetrics) -> Void) {
    let place = Int(connection % UInt32(Self.count))
    var group = groups[place].take() ?? EndpointMetrics()
    body(&group)
    groups[place] = group
  }

  /// The metrics of each group.
  var snapshots: [ServerSnapshot] { groups.compactMap { $0.map { ServerSnapshot($0) } } }
}

/// The groups of a run's connections, and of each server's.
package struct ComparedConnections: Sendable {
  /// Servers beyond so many have no groups: what differs there is not judged.
  private static let maximumServers = 64

  /// Those of the whole run.
  package private(set) var all = ConnectionGroups()
  private var servers: [UInt32: ConnectionGroups] = [:]

  /// No connection.
  package init() {}

  /// Those of the server with an index of `Engine.endpoints()`; `nil` where they were not kept.
  package func server(_ endpoint: Int) -> ConnectionGroups? { servers[UInt32(clamping: endpoint)] }

  /// Counts a settlement, whose type has this role.
  package mutating func resolved(_ resolution: Resolution, role: FrameRole) {
    all.resolved(resolution, role: role)
    change(resolution.endpoint) { $0.resolved(resolution, role: role) }
  }

  /// Counts the last report of a connection.
  package mutating func ended(_ report: borrowing ConnectionReport, _ counts: ReportCounts) {
    let report = copy report
    all.ended(report, counts)
    guard report.info.endpoint != .max else { return }
    change(report.info.endpoint) { $0.ended(report, counts) }
  }

  private mutating func change(_ endpoint: UInt32, _ body: (inout ConnectionGroups) -> Void) {
    guard servers[endpoint] != nil || servers.count < Self.maximumServers else { return }
    body(&servers[endpoint, default: ConnectionGroups()])
  }
}
