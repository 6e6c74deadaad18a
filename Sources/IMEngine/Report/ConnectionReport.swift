package import IMWire

/// Who talks on a connection, as outputs name it.
package struct ConnectionInfo: Sendable, BitwiseCopyable {
  /// The connection's number in this run, from 1.
  package var serial: UInt32
  /// The side that opened it, or is taken for that; see `ConnectionReport.clientIsCertain`.
  ///
  /// Where a PROXY header names the client, that one; `peer` is the load balancer then.
  package var client: Endpoint
  /// The end of the TCP connection on the client's side.
  package var peer: Endpoint
  /// What the protocol travels in beside TCP.
  package var carriers: CarrierSet = []
  /// The other side.
  package var server: Endpoint
  /// The index of the plan that decodes it, or a value of `FlowProfile` from 253 on.
  package var plan: UInt8
  /// Whether its client's SYN was seen.
  package var sawOpening = false
  /// The time of its first captured packet; `distantPast` for a connection that is known without packets.
  package var firstSeen = Timestamp.distantPast
  /// That packet's TCP sequence number.
  package var firstSequence: UInt32 = 0
  /// The server's index in `Engine.endpoints()`: where frames were decoded, and in the report of a connection that failed on
  /// its way to a server that is known. Else `.max`.
  package var endpoint: UInt32
}

extension ConnectionInfo {
  /// Whether it carries TLS, which no plan decodes.
  package var isTLS: Bool { plan == FlowProfile.tls.told }

  /// That of no connection.
  static var none: ConnectionInfo {
    let nowhere = Endpoint(address: IPAddress(v4: 0), port: 0)
    return ConnectionInfo(serial: 0, client: nowhere, peer: nowhere, server: nowhere, plan: 0, endpoint: .max)
  }
}

extension ConnectionInfo {
  /// A connection as one of its ends knows it, decoded by the first plan.
  package init(told serial: UInt32, client: Endpoint, server: Endpoint) {
    self.init(serial: serial, client: client, peer: client, server: server, plan: 0, endpoint: 0)
  }
}

/// Everything known of a connection when it ends, or at a report while it lives.
package struct ConnectionReport {
  /// Who talks.
  package var info: ConnectionInfo
  /// When the report was made, in packet time.
  package var madeAt: Timestamp
  /// How far it has come.
  package var phase: ConnectionPhase
  /// Why it is over; `open` while it is not.
  package var reason: CloseReason
  /// The direction of the reset that ended it; `nil` where `reason` is another than `reset`.
  package var resetBy: Direction?
  /// Whether this is its last report: nothing of it changes any more, or the capture is over. One whose `reason` is not
  /// `open` and that is not final says that the connection is over, and that answers may still change what it counted.
  package var isFinal: Bool
  /// Whether SYN or SYN+ACK told the client; else it is the side away from a known port, or the one that spoke first.
  package var clientIsCertain: Bool
  /// Whether a SYN or a SYN+ACK was seen; without one the capture began later than the connection.
  package var sawSyn: Bool
  /// When its first packet came.
  package var firstSeen: Timestamp
  /// When its last packet came; one that a wrong checksum threw out does not count.
  package var lastSeen: Timestamp
  /// When it was over; `nil` while it is not.
  package var closedAt: Timestamp?
  /// When the handshake was complete; `nil` when that was not seen.
  package var establishedAt: Timestamp?
  /// From the SYN to the SYN+ACK; `nil` when not seen.
  package var serverHandshake: Nanoseconds?
  /// From the SYN+ACK to the client's ACK; `nil` when not seen.
  package var clientHandshake: Nanoseconds?
  /// Packets, client to server first.
  package var packets: InlineArray<2, UInt32>
  /// Bytes of those packets on the wire, headers included, whatever the snaplen; client to server first.
  package var wireBytes: InlineArray<2, UInt64>
  /// Stream bytes, delivered and lost, client to server first.
  package var streamBytes: InlineArray<2, UInt64>
  /// The sequence number of the first byte of each stream, offset 0; client to server first. It counts only where stream bytes
  /// came.
  package var firstSequences: InlineArray<2, UInt32>
  /// What its segments were, the client's first.
  package var segments: InlineArray<2, SegmentMetrics>
  /// Times that stream bytes were missing, both directions together.
  package var gapCount: UInt32
  /// Stream bytes that were missing, both directions together.
  package var gapBytes: UInt64
  /// Retransmissions whose bytes were not those of the first copy; it stops at 65,535.
  package var conflicts: UInt16
  /// SYNs of the client, copies included; 0 where none was seen.
  package var synCount: UInt16
  /// What the tracker counted; `nil` when no frame of the connection was decoded.
  package var figures: ConnectionMetrics?
  /// What the tracker counted of what did not go well, and the fates of all messages; zero without `figures`.
  package var rare: RareMetrics
  /// What became of the protocol's own handshake; `nil` where none was seen to begin.
  package var handshake: HandshakeOutcome?
  /// Its signs of life; `nil` where none that asks for an answer was seen.
  package var heartbeats: HeartbeatMetrics?
  /// The tracker's session; `nil` without one.
  package var session: UInt32?
  /// Whether `heartbeats` are the pings of WebSocket, since the protocol has none.
  package var heartbeatsArePings = false
  /// What its carriers said; `nil` for TCP alone.
  package var carrier: CarrierReport?
  /// The plan of the server with the index `info.endpoint`: the one that decodes the connection, or, where it failed on its way
  /// to a server that is known, the server's; `nil` for a connection of no server.
  package var serverPlan: UInt8?
  /// The silence above a second that the connection did not survive: nothing that came after it was answered before the connection
  /// ended or was given up. `nil` where it survived one as long, or where that cannot be known.
  package var fatalSilence: Nanoseconds?
}

extension ConnectionReport {
  /// From the SYN to the client's ACK, a round trip over the whole path, of its two parts; `nil` when one was not seen.
  package static func tcpHandshake(server: Nanoseconds?, client: Nanoseconds?) -> Nanoseconds? {
    guard let server, let client else { return nil }
    let (sum, overflow) = server.count.addingReportingOverflow(client.count)
    return overflow || sum < 0 ? nil : Nanoseconds(sum)
  }
  /// When its last packet came, and never before `firstSeen`, as packets may come with times that go backwards. Every output has
  /// a connection last from `firstSeen` to here.
  package var end: Timestamp { max(firstSeen, lastSeen) }
  /// Segments sent again, both directions together.
  package var retransmissions: UInt32 { segments[0].retransmissions &+ segments[1].retransmissions }
  /// Segments that were overtaken by later ones, both directions together.
  package var outOfOrder: UInt32 { segments[0].outOfOrder &+ segments[1].outOfOrder }
  /// Packets that the capture contains twice, both directions together; they are in none of the other figures.
  package var copies: UInt32 { segments[0].copies &+ segments[1].copies }
  /// Whether both sides' packets were captured; else nothing is known of the other side's acknowledgments.
  package var sawBothSides: Bool { packets[0] > 0 && packets[1] > 0 }
}
