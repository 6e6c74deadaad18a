/// Where a TCP segment begins in the bytes of a `StreamSample`.
package struct SegmentStart: Equatable, Sendable {
  /// The segment's first byte, from the sample's first.
  package var offset: Int
  /// The number of its packet in the capture, which puts the frames of both directions in order.
  package var packet: UInt64

  /// A start of its parts.
  package init(offset: Int, packet: UInt64) {
    self.offset = offset
    self.packet = packet
  }
}

/// What was sampled of one direction of a TCP connection.
///
/// The bytes of all chunks that were captured without a hole stand one behind the other; `runs` tells where each of them
/// begins and ends. Hypotheses about a protocol are tested over samples, so what is not sampled has no say.
package struct StreamSample: Sendable {
  /// The connection's number in the capture; both its directions have it.
  package let connection: Int
  /// 0 for the client's bytes, 1 for the server's.
  package let direction: Int
  /// Whether the first run begins with the connection's first byte in this direction; other runs begin behind bytes that the
  /// capture lacks, perhaps in the midst of a frame.
  package let isFromStart: Bool
  /// The bytes of all runs.
  package let bytes: [UInt8]
  /// The chunks without a hole, ascending, in offsets of `bytes`.
  package let runs: [Range<Int>]
  /// Where segments begin, ascending, each offset once.
  package let starts: [SegmentStart]

  /// A sample of its parts. Runs and starts that do not fit the bytes are left out.
  package init(
    connection: Int, direction: Int, isFromStart: Bool, bytes: [UInt8], runs: [Range<Int>], starts: [SegmentStart]
  ) {
    self.connection = connection
    self.direction = direction
    self.isFromStart = isFromStart
    self.bytes = bytes
    var end = 0
    self.runs = runs.filter { run in
      guard run.lowerBound >= end, !run.isEmpty, run.upperBound <= bytes.count else { return false }
      end = run.upperBound
      return true
    }
    var last = -1
    self.starts = starts.filter { start in
      guard start.offset > last, start.offset < bytes.count else { return false }
      last = start.offset
      return true
    }
  }
}
