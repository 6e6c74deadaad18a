package import IMEngine

/// The ratios of what became of messages. Without messages whose fate is known there is no ratio, which is not 0.
///
/// `success + loss + rejected / closed = 1`. Ratios cannot be averaged; add counts and divide again.
package struct FateRatios: Equatable, Sendable {
  /// Answered, with or without a retry.
  package let success: Double?
  /// Not answered in time, or damaged.
  package let loss: Double?
  /// Answered, but only after a retry.
  package let retry: Double?

  /// The ratios of `counts`. Messages that were open when the capture ended, and those whose answer the capture may lack,
  /// have no part in them.
  package init(_ counts: FateCounts) {
    let closed = counts.known
    func ratio(_ part: UInt64) -> Double? { closed == 0 ? nil : Double(part) / Double(closed) }
    success = ratio(counts.succeeded)
    loss = ratio(counts.lost)
    retry = ratio(UInt64(counts.ackedAfterRetry))
  }
}

extension FateCounts {
  /// Those that were answered and not refused.
  var succeeded: UInt64 { UInt64(acked) + UInt64(ackedAfterRetry) }
  /// Those that were not answered in time, or damaged.
  package var lost: UInt64 { UInt64(unanswered) + UInt64(damaged) }
}
