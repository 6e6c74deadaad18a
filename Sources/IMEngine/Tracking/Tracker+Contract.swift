import IMWire

/// What a client has promised: to be heard of within an interval that its profile, a message of its own or its server's
/// answer told.
extension Tracker {
  /// Takes note of an interval that `frame` tells, and of a client's silence that was longer than agreed.
  @inline(never)
  mutating func keepContract(
    _ frame: UnsafePointer<Frame>, _ figure: Ref<ConnectionMetrics>, _ side: FlowSide, _ plan: UnsafePointer<Plan>
  ) {
    let beats = beats(figure, side.flow)
    if frame.pointee.keepAlive > 0 {
      let seconds = Int64(min(frame.pointee.keepAlive, 4_000_000))
      beats.pointee.agree(milliseconds: seconds * 1_000, thousandths: plan.pointee.heartbeatFactor)
      figure.pointee.hasContract = beats.pointee.limit > 0
    }
    if side.direction == .clientToServer { beats.pointee.heard(at: frame.pointee.timestamp) }
  }

  /// The interval that a profile fixes, from the first heartbeat on.
  mutating func fixContract(
    _ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>
  ) {
    let beats = beats(figure, flow)
    guard beats.pointee.expected == 0 else { return }
    beats.pointee.agree(
      milliseconds: plan.pointee.heartbeatInterval.milliseconds, thousandths: plan.pointee.heartbeatFactor)
    figure.pointee.hasContract = beats.pointee.limit > 0
  }
}

extension HeartbeatMetrics {
  /// The client is to be heard of at least so often; `thousandths` of that may pass, 0 says nothing of it.
  mutating func agree(milliseconds: Int64, thousandths: UInt32) {
    expected = UInt32(clamping: milliseconds)
    limit = UInt32(clamping: Int64(expected) * Int64(thousandths) / 1_000)
  }

  /// Takes note that the client said something, and of the silence in front of it.
  mutating func heard(at now: Timestamp) {
    countSilence(until: now)
    lastHeardAt = now
  }

  /// Counts the silence since the client was heard of last, if it was longer than agreed.
  mutating func countSilence(until now: Timestamp) {
    guard limit > 0, lastHeardAt != .distantPast else { return }
    if now.microseconds - lastHeardAt.microseconds > Int64(limit) * 1_000 { absent &+= 1 }
  }
}
