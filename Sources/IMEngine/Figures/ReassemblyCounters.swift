/// What reassembly has counted over the whole run.
package struct ReassemblyCounters: Sendable {
  /// Payload bytes captured in segments that were accepted.
  package var payloadBytes: UInt64 = 0
  /// Of those, bytes that had been seen before.
  package var repeatedBytes: UInt64 = 0
  /// Bytes that came after they had been given up; they are in `gapBytes` too.
  package var lateBytes: UInt64 = 0
  /// Bytes missing from streams, by `GapReason`.
  package var gapBytes: InlineArray<3, UInt64> = [0, 0, 0]
  /// How often bytes were missing, by `GapReason`.
  package var gaps: InlineArray<3, UInt64> = [0, 0, 0]
  /// Segments sent again, as `SegmentMetrics.retransmissions` has it.
  package var retransmissions: UInt64 = 0
  /// Segments that were overtaken by later ones.
  package var outOfOrder: UInt64 = 0
  /// Packets that the capture contains twice; their payload is in `repeatedBytes`.
  package var copies: UInt64 = 0
  /// Retransmissions whose bytes were not those of the first copy.
  package var conflicts: UInt64 = 0
  /// Segments with a sequence number that cannot belong to the connection.
  package var outOfWindow: UInt64 = 0
  /// Resets outside the window; they end nothing.
  package var ignoredResets: UInt64 = 0
  /// Holes given up because their direction held more than it may.
  package var overLimit: UInt64 = 0
  /// Payload bytes on resets, which belong to no stream, and on segments out of any window.
  package var ignoredBytes: UInt64 = 0

  /// All zero.
  package init() {}
}
