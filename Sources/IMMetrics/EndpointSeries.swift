package import IMEngine
package import IMWire

/// The figures of one server for a monitoring system, which asks for them again and again and takes differences: what counts
/// must never go back.
package struct EndpointSeries: Sendable {
  /// What `imdump stats` counts of a server.
  package private(set) var figures = EndpointMetrics()
  /// Messages.
  package private(set) var messages = FateSeries()
  /// Everything else that asks for an answer, heartbeats excepted.
  package private(set) var control = FateSeries()
  /// Signs of life.
  package private(set) var heartbeats = FateSeries()
  /// Requests of the protocol's own handshake that were refused: failed logins. A connection may have several.
  package private(set) var handshakesRefused: UInt64 = 0
  /// Round trips by Karn's rule, of everything but heartbeats, by the direction of the message: the samples of
  /// `figures.roundTripsByDirection`.
  package private(set) var roundTrips: InlineArray<2, LatencySeries> = [LatencySeries(), LatencySeries()]

  /// All zero.
  package init() {}

  /// Counts a settlement of a type that has this role, and that the protocol's own handshake may be made of.
  package mutating func resolved(_ resolution: Resolution, role: FrameRole, isHandshake: Bool) {
    figures.resolved(resolution, role: role)
    if isHandshake, resolution.fate == .rejected { handshakesRefused &+= 1 }
    switch role {
    case .heartbeat: heartbeats.resolved(resolution)
    case .message: messages.resolved(resolution)
    case .acknowledgment, .control, .receipt, .other: control.resolved(resolution)
    }
    if role != .heartbeat, let roundTrip = resolution.roundTrip {
      roundTrips[Int(resolution.direction.rawValue)].record(roundTrip)
    }
  }

  /// Counts the first receipt of its level of a message.
  package mutating func receipt(_ receipt: MessageReceipt) { figures.receipt(receipt) }
  /// Counts the time between two heartbeats of a connection.
  package mutating func heartbeat(after interval: Nanoseconds) { figures.heartbeat(after: interval) }
  /// Adds what a connection counted that is over; `told` is what its report counts.
  package mutating func ended(_ report: borrowing ConnectionReport, _ told: ReportCounts) {
    figures.ended(report, told)
  }
}
