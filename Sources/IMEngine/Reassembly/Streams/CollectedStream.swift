package import IMWire

/// A stretch of one direction of a stream, counted from its offset 0.
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

/// Round trips, in nanoseconds.
package struct RoundTrips: Equatable, Sendable {
  /// How many were measured.
  package private(set) var count: UInt64 = 0
  /// The shortest and the longest.
  package private(set) var least: Int64 = 0, most: Int64 = 0
  private var sum = 0.0

  /// None.
  package init() {}

  /// The mean; 0 when there are none.
  package var mean: Int64 { count == 0 ? 0 : Int64(sum / Double(count)) }

  /// Adds one; a negative one means that the capture's clock went back, and is left out.
  mutating func add(_ nanoseconds: Int64) {
    guard nanoseconds >= 0 else { return }
    least = count == 0 ? nanoseconds : min(least, nanoseconds)
    most = max(most, nanoseconds)
    // Kept below what an `Int64` holds, so that the mean of absurd times stays a number.
    sum = min(sum + Double(nanoseconds), 9e18)
    count += 1
  }
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
  /// Bytes in `ranges` whose content was not kept, and payload in no range, both because of a limit of `StreamOptions`.
  package internal(set) var bytesNotKept = 0, payloadLeftOut = 0
  /// What its segments were.
  package internal(set) var analysis = StreamAnalysis()
  /// Times from a segment of the other direction to the acknowledgment in this one, retransmitted ones left out.
  package internal(set) var acknowledgments = RoundTrips()
  /// The captured ranges one after the other, in pieces; whole when `bytesNotKept` is 0.
  package internal(set) var content: [ArraySlice<UInt8>] = []
}

/// Everything a capture tells about one TCP stream.
package struct CollectedStream: Sendable {
  /// Its number, from 0 in the order of first packets.
  package internal(set) var id: Int
  /// The number of its first packet in the capture.
  package internal(set) var firstFrame: UInt64
  /// When its first and last packet were captured.
  package internal(set) var firstSeen: Timestamp, lastSeen: Timestamp
  /// The end that sent the SYN, or to which the SYN+ACK went, or else that spoke first; and the other end.
  package internal(set) var client: Endpoint, server: Endpoint
  /// Whether the SYN was captured.
  package internal(set) var sawSYN: Bool
  /// Nanoseconds from the SYN to the SYN+ACK, and from there to the acknowledgment of it.
  package internal(set) var serverHandshake: Int64?, clientHandshake: Int64?
  /// Client to server, server to client.
  package internal(set) var directions: [CollectedDirection]

  /// Nanoseconds from the SYN to the acknowledgment of the SYN+ACK: a round trip over the whole path, wherever the
  /// capture was made.
  package var handshake: Int64? {
    guard let serverHandshake, let clientHandshake else { return nil }
    let (sum, overflow) = serverHandshake.addingReportingOverflow(clientHandshake)
    return overflow ? nil : sum
  }

  /// Whether no limit of `StreamOptions` took anything away.
  package var isComplete: Bool { directions.allSatisfy { $0.bytesNotKept == 0 && $0.payloadLeftOut == 0 } }

  /// What the segments of both directions were.
  package var analysis: StreamAnalysis { directions.reduce(StreamAnalysis()) { $0 + $1.analysis } }
}
