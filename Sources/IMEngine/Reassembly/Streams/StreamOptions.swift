/// How much a `StreamCollector` may remember.
///
/// A piece is a stretch of a stream that was captured without a hole; each costs about 100 bytes beside its content, a
/// stream about 2 KiB. With the defaults a collector stays below about 2 GiB of content and records, whatever the
/// capture holds. What exceeds a limit is counted, never silently dropped.
package struct StreamOptions: Sendable {
  /// Streams; packets of further ones are counted in `StreamCollector.packetsLeftOut`.
  package var streamLimit = 250_000
  /// Bytes of content over all streams; further bytes keep their place in the ranges and lose their content, which
  /// `CollectedDirection.bytesNotKept` counts.
  package var contentLimit = 1 << 30
  /// Pieces over all streams; payload that would need another one is counted in `CollectedDirection.payloadLeftOut`.
  package var pieceLimit = 2_000_000
  /// Segments over all streams that wait for their acknowledgment; further ones have no round trip.
  package var unacknowledgedLimit = 2_000_000

  /// The defaults.
  package init() {}
}

/// What is left of the limits.
struct StreamBudget {
  var content: Int
  var pieces: Int
  var unacknowledged: Int

  init(_ options: StreamOptions) {
    content = options.contentLimit
    pieces = options.pieceLimit
    unacknowledged = options.unacknowledgedLimit
  }

  /// Takes one piece, or nothing.
  mutating func takePiece() -> Bool {
    guard pieces > 0 else { return false }
    pieces -= 1
    return true
  }
}
