package import IMEngine
package import IMMetrics

/// The figures that a page shows: of a whole run, or of the last part of one that has no end.
package struct ReportFigures: Sendable {
  /// What became of messages.
  package private(set) var messages = MessageTally()
  /// Round trips by Karn's rule, of everything but heartbeats.
  package private(set) var roundTrips = RTTRecorder()
  /// Signs of life.
  package var heartbeats = HeartbeatCounts()
  /// How connections began and ended.
  package private(set) var connections = ConnectionCounts()
  /// Sessions that came back on a new connection.
  package var reconnects: UInt64 = 0

  /// All zero.
  package init() {}

  /// Those of a whole run.
  package init(_ run: RunSnapshot) {
    messages = run.total.messages
    roundTrips = run.total.roundTrips
    heartbeats = run.total.heartbeats
    connections = run.total.connections
    reconnects = run.reconnects
  }

  /// The ratios of the messages of both directions.
  package var ratios: FateRatios { FateRatios(messages.both) }

  /// Counts a message whose fate was decided, or decided anew, as `EndpointMetrics.settled` does.
  package mutating func settled(_ settlement: Settlement, _ role: FrameRole) {
    if role == .heartbeat { return heartbeats.settled(settlement) }
    if role == .message { messages.settled(settlement) }
    if let roundTrip = settlement.roundTrip { roundTrips.record(roundTrip) }
  }

  /// Counts a connection that is over. Its heartbeats were counted one by one.
  package mutating func ended(_ report: borrowing ConnectionReport) {
    connections.add(ConnectionCounts(beginning: report))
    connections.add(ConnectionCounts(end: report))
    if report.figures != nil, report.rare.isReconnect { reconnects += 1 }
    guard let beats = report.heartbeats else { return }
    heartbeats.absent += UInt64(beats.absent)
    guard report.heartbeatsArePings else { return }
    let pings = PingCounts(report)
    heartbeats.sent += pings.sent
    heartbeats.addPings(pings)
  }

  /// Adds others.
  package mutating func add(_ other: ReportFigures) {
    messages.add(other.messages)
    roundTrips.add(other.roundTrips)
    heartbeats.add(other.heartbeats)
    connections.add(other.connections)
    reconnects += other.reconnects
  }
}
