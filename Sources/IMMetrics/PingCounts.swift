package import IMEngine

/// Pings of a carrier, which stand for the heartbeats of a protocol that has none: what became of them. They are no
/// exchanges, so the reports of their connections tell of them.
package struct PingCounts: Equatable, Sendable {
  /// Pings; those with an answer; those that the next one came before.
  package private(set) var sent: UInt64 = 0, answered: UInt64 = 0, missed: UInt64 = 0

  /// So many.
  package init(sent: UInt64 = 0, answered: UInt64 = 0, missed: UInt64 = 0) {
    self.sent = sent
    self.answered = answered
    self.missed = missed
  }

  /// The pings of one connection so far; none where its heartbeats are the protocol's own.
  package init(_ report: borrowing ConnectionReport) {
    guard report.heartbeatsArePings, let figures = report.heartbeats else {
      self.init()
      return
    }
    self.init(sent: UInt64(figures.sent), answered: UInt64(figures.answered), missed: UInt64(figures.missed))
  }

  /// One step of one ping.
  init(_ step: PingStep) {
    self.init(sent: step == .sent ? 1 : 0, answered: step == .answered ? 1 : 0, missed: step == .missed ? 1 : 0)
  }

  /// Those of which nothing is known when their connection is over, or the capture.
  package var pending: UInt64 { sent &- min(sent, answered &+ missed) }

  /// Adds others.
  package mutating func add(_ other: PingCounts) {
    sent &+= other.sent
    answered &+= other.answered
    missed &+= other.missed
  }

  /// What came since `earlier`, which the same connection told.
  package func since(_ earlier: PingCounts) -> PingCounts {
    PingCounts(
      sent: sent &- min(sent, earlier.sent), answered: answered &- min(answered, earlier.answered),
      missed: missed &- min(missed, earlier.missed))
  }
}
