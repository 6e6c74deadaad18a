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
  /// A WebSocket frame of a server that is masked, or one of a client that is not.
  case webSocketMask

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
    case .webSocketMask: "carrier.websocket_mask"
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
