package import IMEngine
import IMWire

/// What happened at one server in one period. Counts are of this period only; `active` is what it is at the end.
///
/// Frames and fates are no difference of two readings: the engine counts them by connection and by type, and its connections
/// are told of in reports, which do not come when a minute ends. What reports tell is a difference: `counts` is what they have
/// grown by.
package struct PeriodMetrics: Sendable {
  /// Messages whose fate was decided in the period. `late` are answers to messages that an earlier period counted.
  package var messages = MessageTally()
  /// Everything else that asks for an answer, heartbeats excepted.
  package var control = MessageTally()
  /// Signs of life.
  package var heartbeats = HeartbeatCounts()
  /// Round trips by Karn's rule, of everything but heartbeats.
  package var roundTrips = RTTHistogram()
  /// How connections began and ended.
  package var connections = ConnectionCounts()
  /// What became of the protocol's own handshakes, of connections that had their last report.
  package var handshakes = HandshakeCounts()
  /// Connections that are open.
  package var active: UInt64 = 0
  /// Frames.
  package var frames = FrameCounts()
  /// What the reports of connections count, as far as these were reported on in the period.
  package var counts = ReportCounts()
  /// Holes that the capture made: bytes that reached the other end and were not captured.
  package var captureGaps: UInt64 = 0

  /// Nothing counted.
  package init() {}

  /// The ratios of the messages of both directions.
  package var ratios: FateRatios { FateRatios(messages.both) }

  /// Counts an exchange whose fate was decided; `elsewhere` when an earlier period has counted it.
  package mutating func settled(_ exchange: borrowing Exchange, role: FrameRole, elsewhere: Bool) {
    let roundTrip = exchange.roundTrip
    settled(
      Settlement(copy exchange, endpoint: .max), role: role, elsewhere: elsewhere, roundTrip: roundTrip,
      bucket: roundTrip.map { RTTBuckets.index(ofMicroseconds: $0) } ?? 0)
  }

  /// Counts a settlement; `elsewhere` when an earlier period has counted it. `roundTrip` is its own, and `bucket` that of it.
  package mutating func settled(
    _ settlement: Settlement, role: FrameRole, elsewhere: Bool, roundTrip: Int64?, bucket: Int
  ) {
    switch role {
    case .heartbeat:
      heartbeats.settled(settlement, elsewhere: elsewhere)
      return
    case .message:
      if elsewhere {
        messages.settledElsewhere(settlement.direction)
      } else {
        messages.settled(settlement)
      }
    case .acknowledgment, .control, .receipt, .other:
      if elsewhere {
        control.settledElsewhere(settlement.direction)
      } else {
        control.settled(settlement)
      }
    }
    if let roundTrip { roundTrips.record(microseconds: roundTrip, bucket: bucket) }
  }

  /// Forgets the period's counts; `active` goes on.
  mutating func begin() {
    let open = active
    self = PeriodMetrics()
    active = open
  }
}
