import IMEngine
import IMWire

extension Issue {
  /// What an exchange whose fate was just decided gives to complain of: no answer, or one that came too late. `nil` where
  /// there is nothing, where it is open at the capture's end, and where a wrong checksum has been told already.
  init?(trouble exchange: Exchange, _ role: FrameRole) {
    let isAnswered = exchange.latency != nil
    let kind: IssueKind
    switch exchange.fate {
    case .acked, .ackedAfterRetry, .rejected:
      guard exchange.flags.contains(.late) else { return nil }
      kind = .lateAck
    case .unanswered: kind = role == .heartbeat ? .heartbeatMissed : .unanswered
    case .damaged where role == .heartbeat: kind = .heartbeatMissed
    case .damaged, .pending, .unacknowledged, .unknown: return nil
    }
    let isFromClient = (exchange.direction == .clientToServer) != (kind == .lateAck)
    self.init(
      kind: kind, timestamp: kind == .lateAck && isAnswered ? exchange.ackedAt : exchange.lastAt,
      direction: isFromClient ? .clientToServer : .serverToClient, streamOffset: 0,
      byteCount: UInt64(exchange.bodyCount), a: UInt64(exchange.kind), b: exchange.sequence)
  }

  /// Whether it is about an exchange, and not about a place in a stream.
  var isTrouble: Bool { kind == .unanswered || kind == .lateAck || kind == .heartbeatMissed }
}
