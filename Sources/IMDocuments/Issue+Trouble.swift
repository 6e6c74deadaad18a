import IMEngine
import IMWire

extension Issue {
  /// The problem of an exchange whose fate was just decided: no answer, or a late one. `nil` if there is none, if the exchange is pending at the end
  /// of the capture, and if a wrong checksum was already reported. `offset` is the offset of the first transmission in its stream.
  init?(trouble exchange: Exchange, _ role: FrameRole, at offset: UInt64) {
    let isAnswered = exchange.latency != nil
    let message = IssueDetails.Message(kind: exchange.kind, sequence: exchange.sequence)
    let details: IssueDetails
    var isLate = false
    switch exchange.fate {
    case .acked, .ackedAfterRetry, .rejected:
      guard exchange.flags.contains(.late) else { return nil }
      details = .lateAck(message)
      isLate = true
    case .unanswered: details = role == .heartbeat ? .heartbeatMissed(message) : .unanswered(message)
    case .damaged where role == .heartbeat: details = .heartbeatMissed(message)
    case .damaged, .pending, .unacknowledged, .unknown: return nil
    }
    let isFromClient = (exchange.direction == .clientToServer) != isLate
    self.init(
      details, timestamp: isLate && isAnswered ? exchange.ackedAt : exchange.lastAt,
      direction: isFromClient ? .clientToServer : .serverToClient, streamOffset: offset,
      byteCount: UInt64(exchange.bodyCount))
  }

  /// Whether its time distinguishes it from others of its name and direction, since the stream may not advance between them.
  var isKnownByTime: Bool {
    switch kind {
    case .ignoredReset, .outOfWindow, .inconsistentRetransmission: true
    default: false
    }
  }

  /// Whether it is about an exchange, and not about a place in a stream.
  var isTrouble: Bool { message != nil }

  /// The message that it is about, where it is about one.
  var message: IssueDetails.Message? {
    switch details {
    case .unanswered(let message), .lateAck(let message), .heartbeatMissed(let message): message
    default: nil
    }
  }
}
