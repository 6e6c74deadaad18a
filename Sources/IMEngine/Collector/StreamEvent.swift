/// What a segment was found to be, by the rules and under the names of Wireshark's TCP analysis.
package enum StreamEvent: Int, CaseIterable, Sendable {
  /// Payload, SYN or FIN below the highest number sent so far; the next two are among them.
  case retransmission
  /// A retransmission within 20 ms of the second duplicate acknowledgment that asked for it.
  case fastRetransmission
  /// A retransmission of what had been acknowledged.
  case spuriousRetransmission
  /// Payload below the highest number sent so far that came so soon after it that it was only overtaken.
  case outOfOrder
  /// A packet captured twice, by the engine's rules; it is none of the others that tell of something sent again.
  case captureDuplicate
  /// A segment that begins behind a hole.
  case lostSegment
  /// An acknowledgment of bytes that were not captured.
  case ackLostSegment
  /// An acknowledgment that repeats the last one.
  case duplicateAck
  /// A segment of at most one byte just below the next number.
  case keepAlive
  /// The answer to it.
  case keepAliveAck
  /// A segment that closes the window.
  case zeroWindow
  /// One byte sent into a closed window.
  case zeroWindowProbe
  /// The answer to it, with the window still closed.
  case zeroWindowProbeAck
  /// Payload that fills the receiver's window to its last byte.
  case windowFull
  /// An acknowledgment that repeats the last one with another window.
  case windowUpdate

  /// The name in JSON.
  package var name: String {
    switch self {
    case .retransmission: "retransmission"
    case .fastRetransmission: "fast_retransmission"
    case .spuriousRetransmission: "spurious_retransmission"
    case .outOfOrder: "out_of_order"
    case .captureDuplicate: "capture_duplicate"
    case .lostSegment: "lost_segment"
    case .ackLostSegment: "ack_lost_segment"
    case .duplicateAck: "duplicate_ack"
    case .keepAlive: "keep_alive"
    case .keepAliveAck: "keep_alive_ack"
    case .zeroWindow: "zero_window"
    case .zeroWindowProbe: "zero_window_probe"
    case .zeroWindowProbeAck: "zero_window_probe_ack"
    case .windowFull: "window_full"
    case .windowUpdate: "window_update"
    }
  }
}
