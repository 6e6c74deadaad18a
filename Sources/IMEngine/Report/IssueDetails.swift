/// Problems found, with what is known of each kind alone.
package enum IssueDetails: Equatable, Sendable, BitwiseCopyable {
  /// The frame's type, and the checksum in its header.
  case checksumMismatch(type: UInt64, checksum: UInt64)
  case resynchronised
  /// Why the bytes are missing.
  case gap(GapReason)
  case frameCut
  /// The hashes of the bytes that were kept, and of those that came again.
  case inconsistentRetransmission(kept: UInt64, other: UInt64)
  /// The first eight bytes of the header.
  case unsupportedVersion(head: UInt64)
  case incompleteTag, incompleteLength, incompleteValue
  case tlvLimit
  case nestedTooDeep, duplicateTag
  case compressLabelOnly, inflateLimit
  /// The frame's type.
  case malformedBody(type: UInt64)
  case unknownType(UInt64)
  /// The time in the frame, in seconds.
  case timestampWindow(sent: UInt64)
  /// The answer's type, and the number that it names.
  case orphanAck(type: UInt64, names: UInt64?)
  case unanswered(Message), lateAck(Message), heartbeatMissed(Message)
  /// The sequence number of the reset, and the one that was expected.
  case ignoredReset(sequence: UInt32, expected: UInt32)
  /// The sequence number of the segment, and the one that was expected.
  case outOfWindow(sequence: UInt32, expected: UInt32)
  case proxyHeader
  case webSocketFrame
  case notInflated
  case webSocketMask

  /// The message that an issue is about.
  package struct Message: Equatable, Sendable, BitwiseCopyable {
    /// `FrameKind.index` of its type.
    package var kind: UInt8
    /// `Exchange.sequence`.
    package var sequence: UInt64

    /// The message of its parts.
    package init(kind: UInt8, sequence: UInt64) {
      self.kind = kind
      self.sequence = sequence
    }
  }

  /// What counters and documents call it.
  package var kind: IssueKind {
    switch self {
    case .checksumMismatch: .checksumMismatch
    case .resynchronised: .resynchronised
    case .gap: .gap
    case .frameCut: .frameCut
    case .inconsistentRetransmission: .inconsistentRetransmission
    case .unsupportedVersion: .unsupportedVersion
    case .incompleteTag: .incompleteTag
    case .incompleteLength: .incompleteLength
    case .incompleteValue: .incompleteValue
    case .tlvLimit: .tlvLimit
    case .nestedTooDeep: .nestedTooDeep
    case .duplicateTag: .duplicateTag
    case .compressLabelOnly: .compressLabelOnly
    case .inflateLimit: .inflateLimit
    case .malformedBody: .malformedBody
    case .unknownType: .unknownType
    case .timestampWindow: .timestampWindow
    case .orphanAck: .orphanAck
    case .unanswered: .unanswered
    case .lateAck: .lateAck
    case .heartbeatMissed: .heartbeatMissed
    case .ignoredReset: .ignoredReset
    case .outOfWindow: .outOfWindow
    case .proxyHeader: .proxyHeader
    case .webSocketFrame: .webSocketFrame
    case .notInflated: .notInflated
    case .webSocketMask: .webSocketMask
    }
  }
}
