import IMWire

/// How long nothing may cross a connection: whatever packet crosses it refreshes the address translation on the way, be it a keep-alive,
/// a bare acknowledgment or a carrier's ping.
///
///     packet ... silence ... packet of one side -> packet of the other: survived
///                                               -> a reset, or nothing until the end: fatal
///     packet ... silence ... reset by the client: neither
///
/// A silence lasts from a connection's last packet to the next one. It is open until the other side answers that one, by whatever
/// packet: so what a sender retransmits into the void is no silence of its own, and ends none.
extension Connections {
  /// Shorter ones are none.
  static var leastSilence: Nanoseconds { .seconds(1) }
  /// A peer that drops a connection has waited this long at least for an answer; else the connection ended for another reason.
  private static var leastWait: Nanoseconds { .seconds(1) }
  /// A connection that neither side dropped is taken for dead when nothing was answered for this long.
  private static var longestWait: Nanoseconds { .seconds(30) }

  /// Takes note of the segment in hand, of `side`, after `silence`: of a silence that ends, and of an answer to what ended one.
  @inline(never)
  mutating func noteSilence(_ silence: Nanoseconds, _ side: FlowSide) {
    guard side.flow.pointee.figures != .max, side.flow.pointee.phase != .closed else { return }
    let figures = tracker.figures.pointer(side.flow.pointee.figures)
    let isReset = segment.pointee.flags.contains(.rst)
    if side.state.pointee.flags.contains(.awaited) {
      if isReset {
        figures.pointee.silenceFacts.insert(.isRefused)
        return
      }
      side.state.pointee.flags.remove(.awaited)
      figures.pointee.longestSilence = max(figures.pointee.longestSilence, figures.pointee.openSilence.time)
      figures.pointee.openSilence = SilenceLength()
    }
    guard silence > Self.leastSilence, !segment.pointee.flags.contains(.syn) else { return }
    switch side.flow.pointee.phase {
    case .midstream, .established: break
    case .opening, .accepted, .closing, .closed: return
    }
    let new = SilenceLength(silence)
    if side.peer.state.pointee.flags.contains(.awaited) {
      // What the sender retransmits, or asks anew, while nothing comes back.
      let isAsked = figures.pointee.silenceFacts.contains(.asks) || Self.hasUnacknowledged(side)
      if isAsked || new.time < figures.pointee.openSilence.time { return }
    }
    side.peer.state.pointee.flags.insert(.awaited)
    figures.pointee.openSilence = new
    figures.pointee.openSilenceEnd = UInt32(
      clamping: segment.pointee.timestamp.time(since: side.flow.pointee.firstSeen).milliseconds)
    let hasPayload = segment.pointee.payloadCount > 0 || segment.pointee.cutCount > 0
    let isKeepAlive = side.state.pointee.phase == .open && segment.pointee.sequence == side.state.pointee.next &- 1
    let asks = hasPayload || isKeepAlive || segment.pointee.flags.contains(.fin)
    figures.pointee.silenceFacts = isReset ? .isReset : asks ? .asks : []
  }

  /// Whether bytes that a side sent were not acknowledged.
  private static func hasUnacknowledged(_ side: FlowSide) -> Bool {
    let state = side.state
    return state.pointee.phase == .open && state.pointee.flags.contains(.acknowledged)
      && state.pointee.next.isAfter(state.pointee.acknowledged)
  }

  /// Whether the session of a connection goes on elsewhere.
  private mutating func hasMovedOn(_ flow: Ref<Flow>) -> Bool {
    let session = flow.pointee.session
    return session != .max && tracker.sessions.isKnown(session)
      && tracker.sessions.pointer(session).pointee.flowSerial != flow.pointee.serial
  }

  /// The silence that a connection did not survive; `nil` where there was none, or where that cannot be known.
  mutating func fatalSilence(_ figures: ConnectionMetrics, _ flow: Ref<Flow>) -> Nanoseconds? {
    guard let silent = flow.sides.first(where: { $0.state.pointee.flags.contains(.awaited) }) else { return nil }
    let (asking, facts, length) = (silent.peer, figures.silenceFacts, figures.openSilence.time)
    // What it has survived before did not kill it now. A side of which nothing was captured may have answered, and so may one
    // whose bytes were acknowledged without being captured.
    guard length > figures.longestSilence, silent.state.pointee.packets > 0 else { return nil }
    if silent.state.pointee.phase == .open, silent.state.pointee.flags.contains(.acknowledged),
      silent.state.pointee.acknowledged.isAfter(silent.state.pointee.next)
    {
      return nil
    }
    let asks = facts.contains(.asks) || Self.hasUnacknowledged(asking)
    let end = flow.pointee.closedAt == .distantFuture ? clock.now : flow.pointee.closedAt
    let began = flow.pointee.firstSeen.advanced(by: .milliseconds(Int64(figures.openSilenceEnd)))
    let wait = end.time(since: began)
    switch flow.pointee.closeReason {
    case .reset:
      // A client whose reset comes first has given up by itself: nothing tells whether the connection was alive. A server's may be an
      // idle timeout, and an address translation's comes in its name.
      let isDropped = facts.contains(.isReset) && asking.direction == .serverToClient
      let isKnown = isDropped || facts.contains(.isRefused) || asks && wait >= Self.leastWait
      return isKnown ? length : nil
    case .open, .reused, .timeout:
      // An application closed, and its FIN is not answered; or the client is on another connection by now.
      let isGivenUp = asking.state.pointee.flags.contains(.fin) || hasMovedOn(flow)
      return asks && wait >= (isGivenUp ? Self.leastWait : Self.longestWait) ? length : nil
    case .fin, .refused, .evicted: return nil
    }
  }
}
