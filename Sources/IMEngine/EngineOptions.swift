package import IMWire

/// What an engine is to do.
package struct EngineOptions: Sendable {
  /// What the sink wants to hear; what nobody wants is not made.
  package struct Needs: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Every frame.
    package static let frames = Needs(rawValue: 1)
    /// Exchanges when their fate is decided.
    package static let settled = Needs(rawValue: 2)
    /// Exchanges when they are forgotten.
    package static let finished = Needs(rawValue: 4)
    /// Issues.
    package static let issues = Needs(rawValue: 8)
    /// Connections when they end.
    package static let connections = Needs(rawValue: 16)
  }

  /// The protocols to look for, in the order of preference.
  package var plans: [ProtocolPlan]
  /// Ports beyond the profiles' own on which they are expected.
  package var ports: [UInt16] = []
  package var needs: Needs = []
  package var reassembly = ReassemblyOptions()
  /// Whether TCP and IP checksums are verified.
  package var verifiesChecksums = true
  /// Exchanges remembered at once, a power of two.
  package var exchangeCapacity = 1 << 17
  /// Inflated bodies: the most bytes, and the most times the wire's bytes.
  package var inflateLimit = 4 << 20, inflateRatio = 100
  /// Keeps senders from choosing addresses that collide in the flow table.
  package var seed: UInt64 = 0x1234_5678_9abc_def0

  /// Options for `plans`.
  package init(plans: [ProtocolPlan]) { self.plans = plans }
}

/// Where every captured packet and byte went.
package struct Ledger: Sendable {
  /// Packets by what became of them: TCP segments, and the rest by reason.
  package var packets: UInt64 = 0
  package var segments: UInt64 = 0
  package var skipped: InlineArray<12, UInt64> = InlineArray(repeating: 0)
  /// Bytes of all packets, as captured.
  package var packetBytes: UInt64 = 0
  /// Packets that the capture's snaplen cut.
  package var cutPackets: UInt64 = 0
  /// Segments whose checksum the sender's network card was to fill in.
  package var offloaded: UInt64 = 0
  /// Segments with a wrong checksum that were used, since nothing right was seen from that sender.
  package var unverified: UInt64 = 0

  /// Stream bytes in frames, in frames with a wrong checksum, passed over in search of a frame, and those that were not
  /// read: of connections of other protocols, and at the end of others.
  package var decodedBytes: UInt64 = 0
  package var damagedBytes: UInt64 = 0
  package var skippedBytes: UInt64 = 0
  package var unreadBytes: UInt64 = 0
  /// Of the unread, those of TLS.
  package var tlsBytes: UInt64 = 0
  /// Payload of segments that a wrong checksum threw out.
  package var rejectedBytes: UInt64 = 0

  /// Connections by how they began.
  package var connectionAttempts: UInt64 = 0, connectionSuccesses: UInt64 = 0
  package var connectionsRefused: UInt64 = 0, connectionsTimedOut: UInt64 = 0
  package var connections: UInt64 = 0, midstreamConnections: UInt64 = 0
  package var tlsConnections: UInt64 = 0, decodedConnections: UInt64 = 0
  /// Issues by kind.
  package var issues: InlineArray<32, UInt64> = InlineArray(repeating: 0)
  /// Frames by `ChecksumStatus`.
  package var checksums: InlineArray<5, UInt64> = InlineArray(repeating: 0)
  /// TLVs walked, nested ones included.
  package var tlvs: UInt64 = 0
  package var firstAt: Timestamp?
  package var lastAt: Timestamp?
  /// Times the capture's clock went back.
  package var clockBackwards: UInt64 = 0

  /// All zero.
  package init() {}
}
