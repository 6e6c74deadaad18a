package import IMEngine

/// How connections began and ended.
package struct ConnectionCounts: Equatable, Sendable {
  /// Connections whose SYN was seen, copies of it not counted; the answered, the refused, the not answered ones of them.
  package var attempts: UInt64 = 0, succeeded: UInt64 = 0, refused: UInt64 = 0, timedOut: UInt64 = 0
  /// Connections on which frames were decoded, those of a capture that began later included.
  package var opened: UInt64 = 0
  /// Of the opened, those that are over; of these, those that a reset ended.
  package var closed: UInt64 = 0, reset: UInt64 = 0
  /// Connections of a session whose last one had ended before.
  package var reconnects: UInt64 = 0
  /// The reconnects after a connection that both sides had closed.
  package var reconnectsAfterClose: UInt64 = 0

  /// All zero.
  package init() {}

  /// How a connection began, when it is over.
  package init(beginning report: borrowing ConnectionReport) {
    if report.synCount > 0 { attempts = 1 }
    if report.isSuccess { succeeded = 1 }
    if report.isFailure { (refused, timedOut) = report.reason == .refused ? (1, 0) : (0, 1) }
    if report.figures != nil { opened = 1 }
  }

  /// How a connection began on which a frame was decoded, while it lives.
  package init(carrying info: ConnectionInfo) {
    opened = 1
    if info.sawOpening { (attempts, succeeded) = (1, 1) }
  }

  /// How a connection ended; nothing where it is open or carried no frame.
  package init(end report: borrowing ConnectionReport) {
    guard report.figures != nil, report.reason != .open else { return }
    closed = 1
    if report.reason == .reset { reset = 1 }
  }

  /// Adds others.
  package mutating func add(_ other: ConnectionCounts) {
    attempts += other.attempts
    succeeded += other.succeeded
    refused += other.refused
    timedOut += other.timedOut
    opened += other.opened
    closed += other.closed
    reset += other.reset
    reconnects += other.reconnects
    reconnectsAfterClose += other.reconnectsAfterClose
  }

  /// Attempts whose outcome is known.
  var known: UInt64 { succeeded + refused + timedOut }
}
