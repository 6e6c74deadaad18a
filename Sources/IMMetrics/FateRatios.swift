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
    success = ratio(UInt64(counts.acked) + UInt64(counts.ackedAfterRetry))
    loss = ratio(UInt64(counts.unanswered) + UInt64(counts.damaged))
    retry = ratio(UInt64(counts.ackedAfterRetry))
  }
}
