package import IMWire

/// Something that was not as it should be, on one connection.
package enum IssueKind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  /// A frame's checksum is wrong.
  case checksumMismatch
  /// Bytes that are no frame were skipped until the next one was found, or until the connection's end.
  case resynchronised
  /// Bytes are missing from the stream.
  case gap
  /// A frame was cut by a gap or by the end of its connection.
  case frameCut
  /// A retransmission carried other bytes than the first copy.
  case inconsistentRetransmission
  /// A frame of a protocol version that the profile does not describe.
  case unsupportedVersion
  /// A TLV ends inside its tag, its length or its value.
  case incompleteTag, incompleteLength, incompleteValue
  /// More TLVs in one frame than the limit.
  case tlvLimit
  /// Lists nest deeper than the protocol allows; a tag stands twice in one list.
  case nestedTooDeep, duplicateTag
  /// The header says compressed, but the body is not; the inflated body passes the limit.
  case compressLabelOnly, inflateLimit
  /// A body that cannot be of its frame's type.
  case malformedBody
  /// A type that the profile does not know.
  case unknownType
  /// The sender's clock is more than a minute from the capture's.
  case timestampWindow
  /// An answer that names nothing known.
  case orphanAck
  /// A message without an answer; one whose answer came after the time for it.
  case unanswered, lateAck
  /// A heartbeat without an answer.
  case heartbeatMissed
  /// A reset outside the window.
  case ignoredReset
  /// A segment with a number that cannot belong to the connection.
  case outOfWindow
  /// A PROXY header that cannot be believed, or that is not whole.
  case proxyHeader
  /// Bytes that are no WebSocket frame, where one was to be.
  case webSocketFrame
  /// A compressed WebSocket message that cannot be inflated: its beginning is missing, or what it goes on with.
  case notInflated

  /// The name in counters and documents.
  package var name: String {
    switch self {
    case .checksumMismatch: "checksum_mismatch"
    case .resynchronised: "resynchronised"
    case .gap: "gap"
    case .frameCut: "frame_cut"
    case .inconsistentRetransmission: "retransmit.inconsistent"
    case .unsupportedVersion: "unsupported_version"
    case .incompleteTag: "tlv.incomplete_tag"
    case .incompleteLength: "tlv.incomplete_length"
    case .incompleteValue: "tlv.incomplete_value"
    case .tlvLimit: "tlv.limit"
    case .nestedTooDeep: "tlv.nested_too_deep"
    case .duplicateTag: "tlv.duplicate_tag"
    case .compressLabelOnly: "compress_label_only"
    case .inflateLimit: "decompress.limit"
    case .malformedBody: "malformed_body"
    case .unknownType: "unknown_type"
    case .timestampWindow: "timestamp_window"
    case .orphanAck: "orphan_ack"
    case .unanswered: "unanswered"
    case .lateAck: "late_ack"
    case .heartbeatMissed: "heartbeat_missed"
    case .ignoredReset: "ignored_reset"
    case .outOfWindow: "out_of_window"
    case .proxyHeader: "carrier.proxy_header"
    case .webSocketFrame: "carrier.websocket_frame"
    case .notInflated: "carrier.not_inflated"
    }
  }
}

/// One occurrence of an issue.
package struct Issue: Sendable, BitwiseCopyable {
  /// What was wrong.
  package var details: IssueDetails
  /// When it was noticed, or when the bytes concerned came.
  package var timestamp: Timestamp
  /// The direction of the stream that it concerns.
  package var direction: Direction
  /// Where in the stream it begins.
  package var streamOffset: UInt64
  /// Bytes concerned: missing, skipped, of the frame.
  package var byteCount: UInt64

  /// An issue of its parts.
  package init(
    _ details: IssueDetails, timestamp: Timestamp, direction: Direction, streamOffset: UInt64, byteCount: UInt64 = 0
  ) {
    self.details = details
    self.timestamp = timestamp
    self.direction = direction
    self.streamOffset = streamOffset
    self.byteCount = byteCount
  }

  /// What counters and documents call it.
  package var kind: IssueKind { details.kind }
}

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
  /// The server's index in `Engine.endpoints()`: where frames were decoded, and in the report of a connection that failed on
  /// its way to a server that is known. Else `.max`.
  package var endpoint: UInt32
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
  /// Nanoseconds from the SYN to the SYN+ACK; `nil` when not seen.
  package var serverHandshake: Int64?
  /// Nanoseconds from the SYN+ACK to the client's ACK; `nil` when not seen.
  package var clientHandshake: Int64?
  /// Packets, client to server first.
  package var packets: InlineArray<2, UInt32>
  /// Bytes of those packets on the wire, headers included, whatever the snaplen; client to server first.
  package var wireBytes: InlineArray<2, UInt64>
  /// Stream bytes, delivered and lost, client to server first.
  package var streamBytes: InlineArray<2, UInt64>
  /// What its segments were, the client's first.
  package var segments: InlineArray<2, SegmentFigures>
  /// Times that stream bytes were missing, both directions together.
  package var gapCount: UInt32
  /// Stream bytes that were missing, both directions together.
  package var gapBytes: UInt64
  /// Retransmissions whose bytes were not those of the first copy; it stops at 65,535.
  package var conflicts: UInt16
  /// SYNs of the client, copies included; 0 where none was seen.
  package var synCount: UInt16
  /// What the tracker counted; `nil` when no plan decodes the connection.
  package var figures: ConnectionFigures?
  /// What the tracker counted of what did not go well, and the fates of all messages; zero without `figures`.
  package var rare: RareFigures
  /// What became of the protocol's own handshake; `nil` where none was seen to begin.
  package var handshake: HandshakeOutcome?
  /// Its signs of life; `nil` where none that asks for an answer was seen.
  package var heartbeats: HeartbeatFigures?
  /// The tracker's session; `nil` without one.
  package var session: UInt32?
  /// Whether `heartbeats` are the pings of WebSocket, since the protocol has none.
  package var heartbeatsArePings = false
  /// What its carriers said; `nil` for TCP alone.
  package var carrier: CarrierReport?
}

extension ConnectionReport {
  /// Segments sent again, both directions together.
  package var retransmits: UInt32 { segments[0].retransmissions &+ segments[1].retransmissions }
  /// Segments that were overtaken by later ones, both directions together.
  package var outOfOrder: UInt32 { segments[0].outOfOrder &+ segments[1].outOfOrder }
  /// Packets that were captured twice, both directions together; they are in none of the other figures.
  package var copies: UInt32 { segments[0].copies &+ segments[1].copies }
  /// Whether both sides' packets were captured; else nothing is known of the other side's acknowledgments.
  package var sawBothSides: Bool { packets[0] > 0 && packets[1] > 0 }
}

/// Hears what the engine finds, in the order in which it finds it.
package protocol EngineSink: ExchangeSink {
  /// A frame was decoded. The spans are borrowed for the call: `bytes` holds the frame at `frame.start`; `body` is what
  /// `tlvs` point into, the body on the wire or the inflated one.
  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>)
  /// A session has the name `name`, which its client gave.
  func named(_ session: UInt32, _ name: String)
  /// A session is forgotten for want of room: its identity will never come again.
  func forgotten(_ session: UInt32)
  /// Answers that had come out before this exchange's first copy were found to be its own.
  func adopted(_ exchange: UInt32, _ times: [Timestamp])
  /// Something was not as it should be.
  func issue(_ issue: Issue, _ connection: ConnectionInfo)
  /// A carrier told something, such as the client's address. Told where issues are.
  func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo)
  /// A connection was opened, as far as a SYN tells.
  func opened(_ connection: ConnectionInfo, _ at: Timestamp)
  /// A connection ended, or is to be reported on.
  func connection(_ report: ConnectionReport)

  /// A profile was read again: names and roles of types, and what else was taken from `plans`, may be others from here on.
  func reloaded(_ plans: [ProtocolPlan])
}

/// What a sink does not ask for, it need not hear: see `EngineOptions.Needs`.
extension EngineSink {
  /// Nothing.
  package func reloaded(_ plans: [ProtocolPlan]) {}
  /// Nothing.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {}
  /// Nothing.
  package func named(_ session: UInt32, _ name: String) {}
  /// Nothing.
  package func forgotten(_ session: UInt32) {}
  /// Nothing.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {}
  /// Nothing.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {}
  /// Nothing.
  package func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo) {}
  /// Nothing.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  /// Nothing.
  package func connection(_ report: ConnectionReport) {}
}
