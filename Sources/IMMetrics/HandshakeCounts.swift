package import IMEngine
import IMWire

/// What became of the protocol's own handshakes, by connection.
package struct HandshakeCounts: Equatable, Sendable {
  /// Answered in kind; only acknowledged; refused; neither in time.
  package private(set) var answered: UInt64 = 0, acknowledged: UInt64 = 0, refused: UInt64 = 0, unanswered: UInt64 = 0
  /// Still open when the capture ended.
  package private(set) var pending: UInt64 = 0
  /// Of the answered and the acknowledged, the sum, the shortest and the longest time from the first request to the
  /// first of the two, in microseconds.
  private var sum: Int64 = 0, least: Int64 = .max, most: Int64 = 0

  /// All zero.
  package init() {}

  /// Connections on which a handshake was seen to begin.
  package var requested: UInt64 { ready + refused + unanswered + pending }
  /// Connections that could be used afterwards: answered or acknowledged.
  package var ready: UInt64 { answered + acknowledged }
  /// The part of the handshakes whose end is known that made a connection ready; `nil` when there were none.
  package var readiness: Double? {
    let known = requested - pending
    return known == 0 ? nil : Double(ready) / Double(known)
  }
  /// Of those that are ready, the ones whose time to readiness is known.
  private var timed: UInt64 = 0
  /// The shortest, the mean and the longest time to readiness, in microseconds; `nil` without one.
  package var times: (minimum: Int64, mean: Int64, maximum: Int64)? {
    timed == 0 ? nil : (least, sum / Int64(clamping: timed), most)
  }

  /// Counts a connection's.
  package mutating func add(_ outcome: HandshakeOutcome, _ figures: ConnectionMetrics) {
    switch outcome {
    case .answered: answered += 1
    case .acknowledged: acknowledged += 1
    case .refused: refused += 1
    case .unanswered: unanswered += 1
    case .pending: pending += 1
    }
    // Where packets have no times, the time of the answer is unknown.
    guard outcome == .answered || outcome == .acknowledged, figures.readyAt != .distantPast else { return }
    timed += 1
    let time = max(0, figures.readyAt.nanoseconds(since: figures.handshakeAt) / 1_000)
    sum &+= time
    least = min(least, time)
    most = max(most, time)
  }

  /// Adds another's.
  package mutating func add(_ other: HandshakeCounts) {
    answered += other.answered
    acknowledged += other.acknowledged
    refused += other.refused
    unanswered += other.unanswered
    pending += other.pending
    timed += other.timed
    sum &+= other.sum
    least = min(least, other.least)
    most = max(most, other.most)
  }
}
