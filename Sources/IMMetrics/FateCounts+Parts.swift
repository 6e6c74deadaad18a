package import IMEngine

extension FateCounts {
  /// Those that were answered and not refused.
  var succeeded: UInt64 { UInt64(acked) + UInt64(ackedAfterRetry) }
  /// Those that were not answered in time, or damaged.
  package var lost: UInt64 { UInt64(unanswered) + UInt64(damaged) }
}
