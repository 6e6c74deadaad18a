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
  /// No answer was seen, and the capture lacks bytes of the answering direction that were sent between the message and its
  /// closing: an answer may have been among them. Or it was still open when it was forgotten to stay within a limit. Neither
  /// success nor loss.
  case unknown

  /// Whether it was refused, or no answer came of it.
  @inline(__always)
  package var isFailure: Bool { self == .rejected || self == .unanswered || self == .damaged }

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
    case .unknown: "unknown"
    }
  }
}

/// Why a message did not succeed: where to look for what is wrong.
package enum Cause: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// The peer's TCP never acknowledged the message's last byte before its fate was decided: it did not arrive, as far as
  /// anybody can tell.
  case network
  /// The peer's TCP acknowledged it, and no answer came.
  case peer
  /// The capture lacks bytes among which an answer may have been.
  case capture
  /// The answer has a status that refuses.
  case status
  /// No copy had a right checksum.
  case checksum
  /// It was open when it was forgotten to stay within a limit on memory or on open messages.
  case limit

  /// The name in outputs.
  package var name: String {
    switch self {
    case .network: "network"
    case .peer: "peer"
    case .capture: "capture"
    case .status: "status"
    case .checksum: "checksum"
    case .limit: "limit"
    }
  }
}

/// What an exchange has come to, in one byte: its fate and the one that it had before its answer came late, whether the
/// peer's TCP had the message, and whether the answer has a status.
///
///      7            6          5             4  3     2    0
///     +------------+----------+-------------+--------+------+
///     | has status | is blind | was reached | before | fate |
///     +------------+----------+-------------+--------+------+
///
/// Of one that is unknown, blind and reached together say that a limit made it so.
package struct FateAndCause: Sendable, BitwiseCopyable {
  private var bits = Fate.pending.rawValue

  /// An open exchange's.
  package init() {}

  /// What became of it.
  @inline(__always)
  package var fate: Fate {
    // By hand, because `init(rawValue:)` is a call; this is nothing but the three bits.
    switch bits & 7 {
    case Fate.acked.rawValue: .acked
    case Fate.ackedAfterRetry.rawValue: .ackedAfterRetry
    case Fate.rejected.rawValue: .rejected
    case Fate.unanswered.rawValue: .unanswered
    case Fate.damaged.rawValue: .damaged
    case Fate.unacknowledged.rawValue: .unacknowledged
    case Fate.unknown.rawValue: .unknown
    default: .pending
    }
  }
  /// Whether it was answered after one copy.
  @inline(__always)
  var isAcked: Bool { bits & 7 == Fate.acked.rawValue }
  /// What had become of it before its answer came late.
  package var before: Fate {
    switch bits &>> 3 & 3 {
    case 1: .unanswered
    case 2: .damaged
    case 3: .unknown
    default: .pending
    }
  }

  /// Why; `nil` for what went well or is open, and for an unanswered message where no packet of the peer was captured.
  package var cause: Cause? { cause(fate) }
  /// The same of `before`.
  package var causeBefore: Cause? { cause(before) }

  /// It, as it was before the answer came late.
  var decidedBefore: FateAndCause {
    var old = self
    old.bits = bits & 96 | before.rawValue
    return old
  }

  private func cause(_ fate: Fate) -> Cause? {
    switch fate {
    case .acked, .ackedAfterRetry, .pending, .unacknowledged: nil
    case .rejected: .status
    case .unanswered: bits & 64 != 0 ? nil : bits & 32 != 0 ? .peer : .network
    case .damaged: .checksum
    case .unknown: bits & 96 == 96 ? .limit : .capture
    }
  }

  /// Whether the answer has a status.
  @inline(__always)
  var hasStatus: Bool {
    get { bits & 128 != 0 }
    set { bits = newValue ? bits | 128 : bits & 127 }
  }

  /// Decides the fate.
  @inline(__always)
  mutating func decide(_ fate: Fate) { bits = bits & ~7 | fate.rawValue }

  /// Decides the fate anew, because an answer came late.
  mutating func change(to fate: Fate) {
    let old: UInt8 =
      switch self.fate {
      case .unanswered: 1
      case .damaged: 2
      case .unknown: 3
      default: 0
      }
    bits = bits & ~31 | old &<< 3 | fate.rawValue
  }

  /// Decides that its fate is unknown, because it was forgotten to stay within a limit.
  mutating func decideByLimit() { bits = bits & ~7 | 96 | Fate.unknown.rawValue }

  /// Takes note of whether the peer's TCP had the message: `nil` where no packet of the peer was captured.
  mutating func reach(_ isReached: Bool?) {
    bits = bits & ~96 | (isReached.map { $0 ? 32 : 0 } ?? 64)
  }
}
