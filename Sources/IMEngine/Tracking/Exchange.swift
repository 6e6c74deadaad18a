package import IMWire

/// What became of a message, by the definitions of `docs/metrics.md`; the first that applies.
package enum Fate: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// Answered after one copy.
  case acked
  /// Answered after more than one copy.
  case ackedAfterRetry
  /// Answered by a refusal.
  case rejected
  /// Closed without an answer: the time for it ran out, or the connection ended.
  case unanswered
  /// No copy had a right checksum.
  case damaged
  /// Still open when the capture ended.
  case pending
  /// Sent without asking for an answer.
  case unacknowledged

  /// The name in outputs.
  package var name: String {
    switch self {
    case .acked: "acked"
    case .ackedAfterRetry: "acked_after_retry"
    case .rejected: "rejected"
    case .unanswered: "unanswered"
    case .damaged: "damaged"
    case .pending: "pending"
    case .unacknowledged: "unacknowledged"
    }
  }
}

/// One message with all its copies and answers: what the protocol's two ends meant as one.
package struct Exchange: Sendable, BitwiseCopyable {
  /// Facts that are true or not.
  package struct Flags: OptionSet, Sendable, BitwiseCopyable {
    package let rawValue: UInt16
    /// The flags whose bits are set in `rawValue`.
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// A copy with a right checksum, or without need of one, was seen.
    package static let good = Flags(rawValue: 1)
    /// A copy with a wrong checksum was seen.
    package static let bad = Flags(rawValue: 2)
    /// The fate is decided.
    package static let settled = Flags(rawValue: 4)
    /// The answer came after the time for it had run out.
    package static let late = Flags(rawValue: 8)
    /// The answer refused it.
    package static let refused = Flags(rawValue: 16)
    /// The connection of its first copy is over.
    package static let closed = Flags(rawValue: 32)
    /// It lives on in another place of the table.
    static let moved = Flags(rawValue: 64)
  }

  /// The number that the sender gave it, or one of our own above 2³² for types without one.
  package var sequence: UInt64
  /// The tracker's session.
  package var session: UInt32
  /// Link to an older exchange with the same place in the index.
  var previous: UInt32 = 0
  /// Its number in this run, from 0.
  package var id: UInt32
  /// Length and checksum in one: equal bodies have equal fingerprints.
  var fingerprint: UInt32
  /// When the first copy came.
  package var firstAt: Timestamp
  /// When the last copy came.
  package var lastAt: Timestamp
  /// When the first answer came; `distantPast` where none came.
  package var ackedAt = Timestamp.distantPast
  /// The flow of the first copy.
  package var flow: UInt32
  /// That flow's serial number; its place may have been given to another.
  package var connection: UInt32
  /// That flow's server, as in `ConnectionInfo.endpoint`.
  package var endpoint: UInt32
  /// The sender's clock in the last copy.
  var headerTime: UInt32
  /// The length in bytes of the first copy's body, as on the wire.
  package var bodyCount: UInt32
  /// Copies seen; like the counts below, it stops at 65,535.
  package var copies: UInt16 = 1
  /// Copies after the first, up to the first answer.
  package var repeats: UInt16 = 0
  /// Copies after the first answer.
  package var duplicates: UInt16 = 0
  /// Answers seen.
  package var acks: UInt16 = 0
  /// What is known of it.
  package var flags: Flags
  /// The direction of its copies; answers go the other way.
  package var direction: Direction
  /// What became of it; it counts only with `Flags.settled`, and an answer that comes late changes it.
  package var fate = Fate.pending
  /// The index of the plan that decodes it, in `EngineOptions.plans`.
  package var plan: UInt8
  /// Its type, by `FrameKind.index`; `.max` for a type that the profile does not know.
  package var kind: UInt8

  /// From the first copy to the first answer, in whole microseconds of the packets' times; `nil` without an answer, and
  /// where the capture saw the answer first.
  package var latency: Int64? { ackedAt < firstAt ? nil : ackedAt.microseconds - firstAt.microseconds }

  /// `latency`, when only one copy was seen before the answer: after a repeat nobody can tell which copy was answered
  /// (Karn's rule).
  package var roundTrip: Int64? { repeats == 0 ? latency : nil }
}
