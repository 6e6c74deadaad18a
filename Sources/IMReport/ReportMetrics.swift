package import IMEngine
package import IMMetrics
package import IMWire

/// The figures that a page shows: of a whole run, or of the last part of one that has no end.
package struct ReportMetrics: Sendable {
  /// What all connections came to.
  package private(set) var total = EndpointMetrics()
  /// Sessions that came back on a new connection.
  package private(set) var reconnects: UInt64 = 0

  /// All zero.
  package init() {}

  /// Those of a whole run.
  package init(_ run: RunSnapshot) { (total, reconnects) = (run.total, run.reconnects) }

  /// What became of messages.
  package var messages: MessageTally { total.messages }
  /// Round trips of one direction by Karn's rule, of everything but heartbeats.
  package func roundTrips(_ direction: Direction) -> RTTRecorder {
    total.roundTripsByDirection[Int(direction.rawValue)]
  }
  /// Signs of life.
  package var heartbeats: HeartbeatCounts { total.heartbeats }
  /// How connections began and ended.
  package var connections: ConnectionCounts { total.connections }

  /// Counts a message whose fate was decided, or decided anew.
  package mutating func resolved(_ resolution: Resolution, _ role: FrameRole) { total.resolved(resolution, role: role) }

  /// Counts a heartbeat, and the time since the one before on its connection.
  package mutating func heartbeat(after interval: Nanoseconds?) { total.beat(after: interval) }

  /// Counts a connection that is over. Its heartbeats were counted one by one.
  package mutating func ended(_ report: borrowing ConnectionReport) {
    total.ended(report, ReportCounts(report), hasCountedBeats: true)
    reconnects = total.connections.reconnects
  }

  /// Adds others.
  package mutating func add(_ other: ReportMetrics) {
    total.add(other.total)
    reconnects += other.reconnects
  }
}
