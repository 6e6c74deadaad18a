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

  /// The first three quarters, and the rest, which begins at a segment start; no rest if too few segments follow.
  func split() -> (first: StreamSample, last: StreamSample?) {
    guard let place = starts.firstIndex(where: { $0.offset >= bytes.count / 4 * 3 }), starts.count - place >= 4,
      starts[place].offset > 0
    else { return (self, nil) }
    let start = starts[place]
    let cut = start.offset
    let first = StreamSample(
      connection: connection, direction: direction, isFromStart: isFromStart, bytes: Array(bytes[..<cut]),
      runs: runs.compactMap { $0.lowerBound < cut ? $0.lowerBound..<min(cut, $0.upperBound) : nil },
      starts: starts.filter { $0.offset < cut })
    let last = StreamSample(
      connection: connection, direction: direction, isFromStart: false, bytes: Array(bytes[cut...]),
      runs: runs.compactMap { $0.upperBound > cut ? max(0, $0.lowerBound - cut)..<$0.upperBound - cut : nil },
      starts: starts.compactMap {
        $0.offset < cut ? nil : SegmentStart(offset: $0.offset - cut, packet: $0.packet)
      })
    return (first, last)
  }
}
