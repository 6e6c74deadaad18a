/// What became of the messages of one direction. The fates, `unknown` among them, and `open` add up to `units`.
package struct FateCounts: Sendable, BitwiseCopyable {
  /// Messages seen: exchanges that expect an answer.
  package var units: UInt32 = 0
  /// Answered after one copy.
  package var acked: UInt32 = 0
  /// Answered after more than one copy.
  package var ackedAfterRetry: UInt32 = 0
  /// Answered by a refusal.
  package var rejected: UInt32 = 0
  /// Closed without an answer.
  package var unanswered: UInt32 = 0
  /// Without an answer, and without a copy whose checksum was right.
  package var damaged: UInt32 = 0
  /// No answer seen, and the capture lacks bytes among which one may have been, or the message was forgotten for want of room.
  package var unknown: UInt32 = 0
  /// Still open when the capture ended.
  package var pending: UInt32 = 0
  /// Of the unanswered, those of which the peer's TCP never acknowledged the last byte, and those of which it did.
  package var unansweredByNetwork: UInt32 = 0, unansweredByPeer: UInt32 = 0
  /// Of the unknown, those that were forgotten for want of room.
  package var unknownByLimit: UInt32 = 0
  /// Of all these, answered after the time for it had run out.
  package var late: UInt32 = 0

  /// All zero.
  package init() {}

  /// Counts one more, or with `step` -1 one less, of what an exchange came to.
  package mutating func count(_ outcome: FateAndCause, _ step: Int32 = 1) { count(outcome.fate, outcome.cause, step) }

  /// The same of a fate and its cause.
  package mutating func count(_ fate: Fate, _ cause: Cause? = nil, _ step: Int32 = 1) {
    let n = UInt32(bitPattern: step)
    switch fate {
    case .acked: acked &+= n
    case .ackedAfterRetry: ackedAfterRetry &+= n
    case .rejected: rejected &+= n
    case .unanswered:
      unanswered &+= n
      if cause == .network { unansweredByNetwork &+= n }
      if cause == .peer { unansweredByPeer &+= n }
    case .damaged: damaged &+= n
    case .pending: pending &+= n
    case .unknown:
      unknown &+= n
      if cause == .limit { unknownByLimit &+= n }
    case .unacknowledged: break
    }
  }

  /// How many became `fate`.
  package subscript(fate: Fate) -> UInt32 {
    switch fate {
    case .acked: acked
    case .ackedAfterRetry: ackedAfterRetry
    case .rejected: rejected
    case .unanswered: unanswered
    case .damaged: damaged
    case .pending: pending
    case .unknown: unknown
    case .unacknowledged: 0
    }
  }

  /// How many did not succeed because of `cause`.
  package subscript(cause: Cause) -> UInt32 {
    switch cause {
    case .network: unansweredByNetwork
    case .peer: unansweredByPeer
    case .capture: unknown &- unknownByLimit
    case .limit: unknownByLimit
    case .status: rejected
    case .checksum: damaged
    }
  }

  /// Exchanges whose fate is decided and known: what ratios are of.
  package var known: UInt64 {
    UInt64(acked) + UInt64(ackedAfterRetry) + UInt64(rejected) + UInt64(unanswered) + UInt64(damaged)
  }

  /// Exchanges whose fate is not decided yet.
  package var open: UInt32 {
    units &- acked &- ackedAfterRetry &- rejected &- unanswered &- damaged &- unknown &- pending
  }

  /// Adds another count.
  package mutating func add(_ other: FateCounts) {
    units &+= other.units
    acked &+= other.acked
    ackedAfterRetry &+= other.ackedAfterRetry
    rejected &+= other.rejected
    unanswered &+= other.unanswered
    damaged &+= other.damaged
    unknown &+= other.unknown
    pending &+= other.pending
    unansweredByNetwork &+= other.unansweredByNetwork
    unansweredByPeer &+= other.unansweredByPeer
    unknownByLimit &+= other.unknownByLimit
    late &+= other.late
  }
}

/// Totals of one frame type over the run.
package struct KindTotals: Sendable, BitwiseCopyable {
  /// Frames, client to server first.
  package var frames: InlineArray<2, UInt64> = [0, 0]
  /// Bytes of their bodies, client to server first.
  package var bodyBytes: InlineArray<2, UInt64> = [0, 0]
  /// What became of its messages, client to server first.
  package var fates: InlineArray<2, FateCounts> = [FateCounts(), FateCounts()]
  /// Exchanges that were answered at least once.
  package var answered: UInt64 = 0
  /// Copies after the first that a sender made on purpose.
  package var deliberateCopies: UInt64 = 0
  /// Copies after the first that came at once.
  package var immediateDuplicates: UInt64 = 0
  /// Copies after the answer; they are in none of the two above.
  package var duplicates: UInt64 = 0

  /// All zero.
  package init() {}

  /// The same of a run that goes on: what is not decided yet is pending.
  package var withOpenAsPending: KindTotals {
    var all = self
    for way in 0...1 {
      all.fates[way].pending &+= fates[way].open
    }
    return all
  }
}
