import IMEngine

/// What the capture has counted since it began, filled in by whoever owns it. What is not known stays `nil` and is left
/// out of documents: it is never 0.
///
/// Offline, leave the figures of the process out, so that the same file gives the same documents.
package struct CaptureMetrics: Sendable {
  /// Packets that the source saw; lost because the kernel's buffer was full; lost by the interface.
  package var received: UInt64?, dropped: UInt64?, interfaceDropped: UInt64?
  /// Packets decoded; left out by reason (no TCP, a wrong checksum); cut by the snaplen.
  package var processed: UInt64?, skipped: UInt64?, truncated: UInt64?
  /// Of the processed, those that were captured twice.
  package var capturedTwice: UInt64?
  /// Captured bytes of the packets decoded.
  package var processedBytes: UInt64?
  /// Holes in streams and their bytes; bytes waiting after gaps; connections known.
  package var gaps: UInt64?, gapBytes: UInt64?, heldBytes: UInt64?, connections: UInt64?
  /// What was forgotten to stay within the limit on memory, by reason.
  package var evictions: InlineArray<8, UInt64>?
  /// Times when documents could not be written, and documents lost because of that.
  package var outputFailed: UInt64?, outputDropped: UInt64?
  /// The process: CPU time, memory, time since its start.
  package var cpuMilliseconds: Double?, residentBytes: UInt64?, uptimeSeconds: UInt64?
  /// The capture filter, the most bytes captured of a packet, and the link type's name.
  package var filter: String?, snaplen: UInt64?, linkType: String?
  /// How far files had been read when a signal came before their end.
  package var interruption: Interruption?

  /// Nothing known.
  package init() {}
}
