import IMEndpoint

/// What a reporter has to know of one core's messages and heartbeats between two turns: when each message first went out, and
/// how often.
struct SentLog {
  private struct Entry {
    var report: UInt32
    var at: Instant
    var copies: Int
  }

  private var entries: [MessageID: Entry] = [:]
  private var beats: (sent: UInt64, answered: UInt64, lost: UInt64) = (0, 0, 0)
  private var roundTrip: Int64?

  /// A message of the core has come to another state.
  mutating func note(_ message: MessageID, _ state: MessageState, by client: Int, _ reporter: Reporter, at now: Instant)
  {
    switch state {
    case .sent:
      if entries[message] != nil {
        entries[message]?.copies += 1
      } else {
        entries[message] = Entry(report: reporter.sent(by: client, at: now), at: now, copies: 1)
      }
    // Accepted is what a hop can know; what comes later finds no entry any more.
    case .accepted, .delivered, .read, .failed:
      guard let entry = entries.removeValue(forKey: message) else { return }
      reporter.resolved(
        entry.report, by: client, isAnswered: state != .failed, copies: entry.copies, sentAt: entry.at, at: now)
    case .created, .sending, .retrying, .cancelled: break
    }
  }

  /// Tells of the heartbeats since the last call.
  mutating func note(_ metrics: EndpointMetrics, by client: Int, _ reporter: Reporter, at now: Instant) {
    guard metrics.heartbeatsSent > 0 else { return }
    let isMeasured = metrics.heartbeatRoundTrip != roundTrip
    for _ in beats.sent..<max(beats.sent, metrics.heartbeatsSent) { reporter.beat(at: now) }
    for _ in beats.lost..<max(beats.lost, metrics.heartbeatsLost) {
      reporter.beatSettled(by: client, isAnswered: false, roundTrip: nil, at: now)
    }
    for _ in beats.answered..<max(beats.answered, metrics.heartbeatsAnswered) {
      reporter.beatSettled(
        by: client, isAnswered: true, roundTrip: isMeasured ? metrics.heartbeatRoundTrip : nil, at: now)
    }
    beats = (metrics.heartbeatsSent, metrics.heartbeatsAnswered, metrics.heartbeatsLost)
    roundTrip = metrics.heartbeatRoundTrip
  }
}
