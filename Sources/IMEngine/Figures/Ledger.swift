package import IMTLS
package import IMWire

/// Where every captured packet and byte went.
package struct Ledger: Sendable {
  /// All packets: those in `segments` and those in `skipped`.
  package var packets: UInt64 = 0
  /// Packets that became a TCP segment whose checksum did not throw it out.
  package var segments: UInt64 = 0
  /// The other packets, by `SkipReason`.
  package var skipped: InlineArray<12, UInt64> = InlineArray(repeating: 0)
  /// Bytes of all packets, as captured.
  package var packetBytes: UInt64 = 0
  /// Packets that the capture's snaplen cut.
  package var cutPackets: UInt64 = 0
  /// Segments whose checksum the sender's network card was to fill in.
  package var offloaded: UInt64 = 0
  /// Segments with a wrong checksum that were used, since nothing right was seen from that sender.
  package var unverified: UInt64 = 0

  /// Stream bytes in frames, those with a wrong checksum excepted.
  package var decodedBytes: UInt64 = 0
  /// What the snaplen cut from frames that are decoded all the same; never captured, so in no other figure.
  package var cutBytes: UInt64 = 0
  /// Stream bytes in frames with a wrong checksum.
  package var damagedBytes: UInt64 = 0
  /// Stream bytes passed over in search of a frame, and those of frames that were cut; those of carriers, too.
  package var strayBytes: UInt64 = 0
  /// Of the skipped, what carriers put around frames: PROXY headers, HTTP upgrades, WebSocket headers and control frames.
  package var carrierBytes: UInt64 = 0
  /// Stream bytes of connections that nothing decodes.
  package var unreadBytes: UInt64 = 0
  /// Of the unread, those of TLS.
  package var tlsBytes: UInt64 = 0
  /// Of the skipped and the unread, those of TLS records that were not read although the run has a key log, by reason.
  package var tlsUnread = TLSUnreadBytes()
  /// TLS connections of which data were decrypted; counted with their last report.
  package var tlsDecrypted: UInt64 = 0
  /// TLS alerts that were read, but for close_notify, client to server first; counted with the last report of their connection.
  package var tlsAlerts: InlineArray<2, UInt64> = [0, 0]
  /// TLS handshakes whose times are known, and how long they took together; counted with the last report of their connection.
  package var tlsHandshakes: UInt64 = 0, tlsHandshakeTime = Nanoseconds.zero
  /// Payload of segments that a wrong checksum threw out.
  package var rejectedBytes: UInt64 = 0

  /// Clients' SYNs, copies not counted.
  package var connectionAttempts: UInt64 = 0
  /// Of those, answered and acknowledged, or followed by data that shows it.
  package var connectionSuccesses: UInt64 = 0
  /// Attempts that a reset answered.
  package var connectionsRefused: UInt64 = 0
  /// Attempts that nothing answered within 30 s, or before the capture ended when four SYNs or more were seen.
  package var connectionsTimedOut: UInt64 = 0
  /// Connections seen, however they began.
  package var connections: UInt64 = 0
  /// Connections that the capture shows twice, before and after a NAT; `connections` has each once.
  package var translatedConnections: UInt64 = 0
  /// Connections that began one of Multipath TCP, and those that joined one as a further subflow.
  package var multipathConnections: UInt64 = 0, multipathJoins: UInt64 = 0
  /// Connections of which neither SYN nor SYN+ACK was seen; counted with their last report.
  package var midstreamConnections: UInt64 = 0
  /// Connections that began with a TLS hello.
  package var tlsConnections: UInt64 = 0
  /// Connections with a PROXY header in front of their first frame.
  package var proxiedConnections: UInt64 = 0
  /// Connections of WebSocket frames.
  package var webSocketConnections: UInt64 = 0
  /// Frames of WebSocket by `WebSocketFrameType`, both directions together.
  package var webSocketFrames: InlineArray<6, UInt64> = InlineArray(repeating: 0)
  /// Connections on which a frame was found.
  package var decodedConnections: UInt64 = 0
  /// Issues by kind.
  package var issues: InlineArray<32, UInt64> = InlineArray(repeating: 0)
  /// Frames by `ChecksumStatus`.
  package var checksums: InlineArray<5, UInt64> = InlineArray(repeating: 0)
  /// TLVs walked, nested ones included.
  package var tlvs: UInt64 = 0
  /// When the first packet came; `nil` before it.
  package var firstAt: Timestamp?
  /// How far the capture's clock had come, to a tenth of a second; set by `Engine.totals`, `nil` before a packet.
  package var lastAt: Timestamp?
  /// Entries evicted to stay within a memory limit, by `Eviction`.
  package var evicted: InlineArray<8, UInt64> = InlineArray(repeating: 0)
  /// Packets with an earlier time than the packet before.
  package var clockBackwards: UInt64 = 0

  /// All zero.
  package init() {}
}
