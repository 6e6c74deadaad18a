import IMWire

@testable import IMEngine

extension ConnectionReport {
  /// The last report of an undecoded connection that lasted one second.
  static func made(
    _ serial: UInt32, _ reason: CloseReason = .fin, _ change: (inout ConnectionReport) -> Void = { _ in }
  )
    -> ConnectionReport
  {
    let begin = Timestamp(seconds: 1_000, fraction: 0), end = Timestamp(seconds: 1_001, fraction: 0)
    var report = ConnectionReport(
      info: Sent.info(serial, plan: .max), madeAt: end, phase: reason == .open ? .established : .closed,
      reason: reason, resetBy: nil, isFinal: true, clientIsCertain: true, sawSyn: true, firstSeen: begin,
      lastSeen: end, closedAt: reason == .open ? nil : end, establishedAt: begin, serverHandshake: nil,
      clientHandshake: nil, packets: [3, 2], wireBytes: [300, 200], streamBytes: [0, 0], firstSequences: [1, 1],
      segments: [SegmentMetrics(), SegmentMetrics()], gapCount: 0, gapBytes: 0, conflicts: 0, synCount: 1,
      figures: nil, rare: RareMetrics(), handshake: nil, heartbeats: nil, session: nil)
    change(&report)
    return report
  }
}
