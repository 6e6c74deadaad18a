package import IMWire

/// Everything a capture tells about one TCP stream.
package struct CollectedStream: Sendable {
  /// Its number, from 1 in the order of first packets.
  package internal(set) var id: Int
  /// The number of its first packet in the capture.
  package internal(set) var firstFrame: UInt64
  /// When its first and last packet were captured.
  package internal(set) var firstSeen: Timestamp, lastSeen: Timestamp
  /// The end that sent the SYN, or to which the SYN+ACK went, or else that spoke first; and the other end.
  package internal(set) var client: Endpoint, server: Endpoint
  /// Whether the SYN was captured.
  package internal(set) var sawSYN: Bool
  /// From the SYN to the SYN+ACK, and from there to the acknowledgment of it.
  package internal(set) var serverHandshake: Nanoseconds?, clientHandshake: Nanoseconds?
  /// Client to server, server to client.
  package internal(set) var directions: [CollectedDirection]

  /// From the SYN to the acknowledgment of the SYN+ACK: a round trip over the whole path, wherever the capture was made.
  package var handshake: Nanoseconds? {
    guard let serverHandshake, let clientHandshake else { return nil }
    let (sum, overflow) = serverHandshake.count.addingReportingOverflow(clientHandshake.count)
    return overflow ? nil : Nanoseconds(sum)
  }

  /// Whether no limit of `StreamOptions` took anything away.
  package var isComplete: Bool { directions.allSatisfy { $0.bytesNotKept == 0 && $0.payloadLeftOut == 0 } }

  /// What the segments of both directions were.
  package var analysis: StreamAnalysis { directions.reduce(StreamAnalysis()) { $0 + $1.analysis } }
}
