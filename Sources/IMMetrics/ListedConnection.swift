package import IMEngine
package import IMWire

/// A connection in a list: what its last report says, in some 400 bytes.
package struct ListedConnection: Sendable {
  /// The longest server name that is kept of a TLS handshake, in bytes: DNS has none that is longer.
  private static let maximumName = 255

  /// Who talks, and which plan decodes it.
  package let info: ConnectionInfo
  /// When its first packet came, and its last one, which is never before that.
  package let firstSeen: Timestamp, end: Timestamp
  /// Why it is over; `open` while it is not.
  package let reason: CloseReason
  /// The direction of the reset that ended it.
  package let resetBy: Direction?
  /// Whether a SYN or a SYN+ACK was seen.
  package let sawSyn: Bool
  /// SYNs of the client, copies included.
  package let synCount: UInt16
  /// From the SYN to the SYN+ACK, and from there to the client's ACK.
  package let serverHandshake: Nanoseconds?, clientHandshake: Nanoseconds?
  /// Packets, their bytes on the wire, and stream bytes; client to server first.
  package let packets: InlineArray<2, UInt32>, wireBytes: InlineArray<2, UInt64>, streamBytes: InlineArray<2, UInt64>
  /// What its segments were, the client's first.
  package let segments: InlineArray<2, SegmentMetrics>
  /// Gaps, and the bytes in them, both directions together.
  package let gapCount: UInt32, gapBytes: UInt64
  /// Whether frames of it were decoded.
  package let isDecoded: Bool
  /// What became of its messages, client to server first.
  package let fates: InlineArray<2, FateCounts>
  /// Retries: further transmissions of a message by its application.
  package let retries: UInt32
  /// What went wrong, for lists that have the worst first.
  package let problems: UInt64
  /// The server's name that the client asks for in TLS, and the version of TLS; `nil` where it is no TLS, or not known.
  package let serverName: String?, tlsVersion: String?
  /// What of its TLS was not read; `nil` where all was, and without a key log.
  package let unreadTLS: UnreadTLS?

  /// The connection that `report` is of; `hello` is the first message of its TLS handshake.
  package init(_ report: borrowing ConnectionReport, hello: TLSHello? = nil) {
    info = report.info
    firstSeen = report.firstSeen
    end = report.end
    reason = report.reason
    resetBy = report.reason == .reset ? report.resetBy : nil
    sawSyn = report.sawSyn
    synCount = report.synCount
    serverHandshake = report.serverHandshake
    clientHandshake = report.clientHandshake
    packets = report.packets
    wireBytes = report.wireBytes
    streamBytes = report.streamBytes
    segments = report.segments
    gapCount = report.gapCount
    gapBytes = report.gapBytes
    isDecoded = report.figures != nil
    fates = report.rare.fates
    retries = report.rare.retries
    serverName = hello?.serverName.flatMap { $0.isEmpty ? nil : String($0.prefix(Self.maximumName)) }
    tlsVersion = hello?.versionName
    unreadTLS = report.carrier.flatMap { UnreadTLS($0) }
    problems = Self.problems(report)
  }

  /// What it costs of memory, in bytes.
  package static var cost: Int { MemoryLayout<ListedConnection>.stride + 64 }

  /// Whether it carries TLS, whose first message may not have been captured.
  package var isTLS: Bool { info.isTLS }

  /// From its first packet to its last.
  package var duration: Nanoseconds { end.time(since: firstSeen) }

  /// From the SYN to the client's ACK, a round trip over the whole path; `nil` when not seen.
  package var handshake: Nanoseconds? {
    ConnectionReport.tcpHandshake(server: serverHandshake, client: clientHandshake)
  }

  /// The problem score of a connection's messages, and what TCP alone shows: four points for an attempt that failed, one for a
  /// retransmission, and where nothing is decoded, one for a gap and for a reset.
  private static func problems(_ report: borrowing ConnectionReport) -> UInt64 {
    var score = report.problemScore + UInt64(report.retransmissions)
    if report.reason == .refused || report.reason == .timeout { score += 4 }
    guard report.figures == nil else { return score }
    return score + UInt64(report.gapCount) + (report.reason == .reset ? 1 : 0)
  }
}
