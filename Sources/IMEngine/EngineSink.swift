package import IMWire

/// Something that was not as it should be, on one connection.
package enum IssueKind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  /// A frame's checksum is wrong.
  case checksumMismatch
  /// Bytes that are no frame were skipped until the next one was found.
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
    }
  }
}

/// One occurrence of an issue.
package struct Issue: Sendable, BitwiseCopyable {
  package var kind: IssueKind
  package var timestamp: Timestamp
  package var direction: Direction
  /// Where in the stream it begins.
  package var streamOffset: UInt64
  /// Bytes concerned: missing, skipped, of the frame.
  package var byteCount: UInt64 = 0
  /// What a message names: expected and found checksum, kept and other hash, type and number.
  package var a: UInt64 = 0, b: UInt64 = 0
  /// Why bytes are missing, for `gap`.
  package var gap = GapReason.unseen
}

/// Who talks on a connection, as outputs name it.
package struct ConnectionInfo: Sendable, BitwiseCopyable {
  /// The connection's number in this run, from 1.
  package var serial: UInt32
  package var client: Endpoint
  package var server: Endpoint
  /// The index of the plan that decodes it, or a value of `FlowProfile` from 253 on.
  package var plan: UInt8
  /// The server's index among those that frames were decoded of, `.max` where none were.
  package var endpoint: UInt32
}

/// Everything known of a connection when it ends, or at a report while it lives.
package struct ConnectionReport {
  package var info: ConnectionInfo
  package var phase: ConnectionPhase
  package var reason: CloseReason
  package var isFinal: Bool
  package var clientIsCertain: Bool
  package var sawSyn: Bool
  package var firstSeen: Timestamp
  package var lastSeen: Timestamp
  package var closedAt: Timestamp?
  package var establishedAt: Timestamp?
  /// Nanoseconds from SYN to SYN+ACK and on to the ACK; `nil` when not seen.
  package var serverHandshake: Int64?
  package var clientHandshake: Int64?
  /// Packets, their bytes on the wire and stream bytes, client to server first.
  package var packets: InlineArray<2, UInt32>
  package var wireBytes: InlineArray<2, UInt64>
  package var streamBytes: InlineArray<2, UInt64>
  package var retransmits: UInt32
  package var outOfOrder: UInt32
  package var gapCount: UInt32
  package var gapBytes: UInt64
  package var conflicts: UInt16
  package var synCount: UInt16
  /// `nil` when no frame was decoded.
  package var figures: ConnectionFigures?
  package var heartbeats: HeartbeatFigures?
  /// The tracker's session; `nil` without one.
  package var session: UInt32?
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
  /// Answers that had come out before this exchange's first copy were found to be its own.
  func adopted(_ exchange: UInt32, _ times: [Timestamp])
  /// Something was not as it should be.
  func issue(_ issue: Issue, _ connection: ConnectionInfo)
  /// A connection was opened, as far as a SYN tells.
  func opened(_ connection: ConnectionInfo, _ at: Timestamp)
  /// A connection ended, or is to be reported on.
  func connection(_ report: ConnectionReport)
}
