/// A chunk of one direction of a stream, counted from its offset 0.
package struct StreamRange: Equatable, Sendable {
  /// Where it begins.
  package var offset: Int
  /// Its bytes.
  package var count: Int
  /// The offset behind its last byte.
  package var end: Int { offset + count }

  /// A range of its parts.
  package init(offset: Int, count: Int) {
    self.offset = offset
    self.count = count
  }
}

/// Where a segment's data begins in one direction of a stream.
package struct StreamSegment: Equatable, Sendable {
  /// Its first byte, from offset 0.
  package var offset: Int
  /// The number of its packet in the capture; of the first one, where several brought it.
  package var packet: UInt64
}

/// One direction of a collected stream.
package struct CollectedDirection: Sendable {
  /// Packets.
  package internal(set) var packets: UInt64 = 0
  /// Bytes of these packets on the wire.
  package internal(set) var wireBytes: UInt64 = 0
  /// Payload bytes in the capture, copies included; a reset's payload is a message to whoever debugs it, and is not.
  package internal(set) var payloadCaptured: UInt64 = 0
  /// What was captured, in order, and what was not.
  package internal(set) var ranges: [StreamRange] = [], gaps: [StreamRange] = []
  /// Bytes that came again, and those of them that came differently; the first copy is the one that is kept.
  package internal(set) var overlapBytes = 0, conflictBytes = 0
  /// Payload left out: on resets, and too far from the rest to belong to the stream.
  package internal(set) var resetBytes = 0, farBytes = 0
  /// Payload left out because its checksum is wrong.
  package internal(set) var damagedBytes = 0
  /// Bytes in `ranges` whose content was not kept, and payload in no range, both because of a limit of `StreamOptions`.
  package internal(set) var bytesNotKept = 0, payloadLeftOut = 0
  /// What its segments were.
  package internal(set) var analysis = StreamAnalysis()
  /// Times from a segment of the other direction to the acknowledgment in this one, retransmitted ones left out.
  package internal(set) var acknowledgments = RoundTrips()
  /// The captured ranges one after the other, in pieces; whole when `bytesNotKept` is 0.
  package internal(set) var content: [StreamContent] = []
  /// Where segments with data begin, ascending; only with `StreamOptions.keepsStarts`.
  package internal(set) var starts: [StreamSegment] = []
}
