import IMWire

extension StreamAnalyst {
  /// One segment as the rules see it.
  private struct View {
    var sequence: UInt32
    var count: UInt32
    var acknowledgment: UInt32
    var window: UInt16
    var flags: TCPFlags
    var time: Timestamp

    var isPlain: Bool { flags.isDisjoint(with: .control) }
    /// Whether it takes numbers that an acknowledgment answers.
    var occupies: Bool { count > 0 || !flags.isDisjoint(with: [.syn, .fin]) }
  }

  /// Judges a segment that is no copy, and counts what it is and the round trips it ends in its sender's `figures`.
  mutating func judge(
    _ segment: Segment, _ bytes: borrowing Bytes, _ figures: inout CollectedDirection, _ budget: inout StreamBudget
  ) {
    open(segment, bytes)
    let (own, other) = (segment.side, 1 - segment.side)
    if segment.flags.contains(.syn) { sides[own].windowScale = SegmentOptions.windowScale(segment, bytes) }
    let view = View(
      sequence: segment.sequence, count: UInt32(truncatingIfNeeded: segment.payloadCount + segment.cutCount),
      acknowledgment: segment.acknowledgment, window: segment.window, flags: segment.flags, time: segment.timestamp)

    let isProbe = view.count == 1 && view.sequence == sides[own].next && sides[other].window == 0
    var isKeepAlive = false
    if isProbe {
      figures.analysis[.zeroWindowProbe] += 1
    } else {
      isKeepAlive = judgeSending(view, own, other, &figures.analysis)
      judgeAcknowledging(view, own, other, &figures.analysis)
    }
    if view.acknowledgment != sides[own].lastAck { sides[own].duplicateAcks = 0 }
    if view.flags.contains(.ack), let limit = sides[other].acknowledgeable,
      Self.isLater(view.acknowledgment, than: limit)
    {
      figures.analysis[.ackLostSegment] += 1
      sides[other].acknowledgeable = view.acknowledgment
    }
    var isAgain = false
    if view.occupies, !isKeepAlive { isAgain = judgeRepeating(view, own, other, &figures.analysis) }
    if !segment.isNumberless || view.count > 0 {
      advance(view, own, isProbe: isProbe, isAgain: isAgain, &budget)
    }
    sides[own].lastWasKeepAlive = isKeepAlive
    sides[own].lastWasProbe = isProbe
    if view.flags.contains(.ack) { settle(view, other, &figures.acknowledgments, &budget) }
  }

  /// The rules for what a segment sends; true for a keep-alive.
  private func judgeSending(_ view: View, _ own: Int, _ other: Int, _ analysis: inout StreamAnalysis) -> Bool {
    if view.window == 0, view.isPlain { analysis[.zeroWindow] += 1 }
    if view.count > 0, view.isPlain, let window = sides[other].scaledWindow,
      view.sequence &+ view.count == sides[other].lastAck &+ window
    {
      analysis[.windowFull] += 1
    }
    guard let next = sides[own].next else { return false }
    if Self.isLater(view.sequence, than: next), !view.flags.contains(.rst) { analysis[.lostSegment] += 1 }
    let isKeepAlive = view.count <= 1 && view.isPlain && view.sequence == next &- 1
    if isKeepAlive { analysis[.keepAlive] += 1 }
    return isKeepAlive
  }

  /// The rules for bare acknowledgments that repeat the last one.
  private mutating func judgeAcknowledging(_ view: View, _ own: Int, _ other: Int, _ analysis: inout StreamAnalysis) {
    guard view.count == 0, view.isPlain, view.sequence == sides[own].next else { return }
    let isSame = view.acknowledgment == sides[own].lastAck
    let isSameWindow = view.window == sides[own].window
    if view.window == 0 {
      guard isSameWindow, sides[other].lastWasProbe else { return }
      if isSame || view.acknowledgment == sides[own].lastAck &+ 1 {
        analysis[.zeroWindowProbeAck] += 1
        guard !isSame else { return }
        // The receiver took the probe's byte after all.
        sides[other].next = view.acknowledgment
        sides[other].acknowledgeable = view.acknowledgment
      }
      return
    }
    guard isSame else { return }
    if isSameWindow, sides[other].lastWasKeepAlive {
      analysis[.keepAliveAck] += 1
    } else if isSameWindow {
      analysis[.duplicateAck] += 1
      sides[own].duplicateAcks += 1
    } else {
      analysis[.windowUpdate] += 1
    }
  }

  /// The rules for payload, SYN and FIN that came before; true when it is one of them.
  private func judgeRepeating(
    _ view: View, _ own: Int, _ other: Int, _ analysis: inout StreamAnalysis
  ) -> Bool {
    guard let next = sides[own].next else { return false }
    let end = view.sequence &+ view.count
    let acknowledged = sides[other].lastAck
    let isSpurious = view.count > 0 && acknowledged != 0 && !Self.isLater(end, than: acknowledged)
    // More than a byte from just below the next number on: new data behind a probe of a closed window.
    let isBelow = Self.isLater(next, than: view.sequence) && !(view.count > 1 && view.sequence == next &- 1)
    guard isSpurious || isBelow else { return false }
    if isSpurious {
      analysis[.spuriousRetransmission] += 1
    } else if sides[other].duplicateAcks >= 2, acknowledged == view.sequence,
      Self.isWithin(view.time.time(since: sides[other].lastAckTime), Self.fastLimit)
    {
      analysis[.fastRetransmission] += 1
    } else if end != next,
      Self.isWithin(view.time.time(since: sides[own].nextTime), handshake ?? Self.outOfOrderLimit),
      !sides[own].unacknowledged.contains(where: {
        !Self.isLater($0.sequence, than: view.sequence) && !Self.isLater(end, than: $0.end)
      })
    {
      analysis[.outOfOrder] += 1
      return true
    }
    analysis[.retransmission] += 1
    return true
  }

  /// Takes note of the segment for those after it.
  private mutating func advance(
    _ view: View, _ own: Int, isProbe: Bool, isAgain: Bool, _ budget: inout StreamBudget
  ) {
    var end = view.sequence &+ view.count
    if !view.flags.isDisjoint(with: [.syn, .fin]) { end &+= 1 }
    // Its answer comes when the window opens, however long that takes.
    if view.occupies, !isProbe {
      if isAgain {
        for i in sides[own].unacknowledged.indices
        where Self.isLater(sides[own].unacknowledged[i].end, than: view.sequence)
          && Self.isLater(end, than: sides[own].unacknowledged[i].sequence)
        { sides[own].unacknowledged[i].isAmbiguous = true }
      }
      if sides[own].unacknowledged.count < Self.unacknowledgedLimit, budget.takeWaiting() {
        sides[own].unacknowledged.append(
          Unacknowledged(sequence: view.sequence, end: end, time: view.time, isAmbiguous: isAgain))
      }
    }
    if !isProbe {
      if sides[own].next.map({ Self.isLater(end, than: $0) }) ?? true {
        sides[own].next = end
        sides[own].nextTime = view.time
      }
      if sides[own].acknowledgeable.map({ $0 == view.sequence }) ?? true {
        sides[own].acknowledgeable = sides[own].next
      }
    }
    sides[own].window = view.window
    sides[own].windowIsScaled = !view.flags.contains(.syn)
    sides[own].lastAck = view.acknowledgment
    sides[own].lastAckTime = view.time
  }

  /// Removes what an acknowledgment of the other side's segments has answered, and measures.
  private mutating func settle(
    _ view: View, _ other: Int, _ roundTrips: inout RoundTrips, _ budget: inout StreamBudget
  ) {
    guard !sides[other].unacknowledged.isEmpty else { return }
    let before = sides[other].unacknowledged.count
    // A time that no clock can have tells no round trip.
    if view.time < .distantFuture {
      for entry in sides[other].unacknowledged where entry.end == view.acknowledgment && !entry.isAmbiguous {
        roundTrips.add(view.time.time(since: entry.time))
      }
    }
    sides[other].unacknowledged.removeAll { !Self.isLater($0.end, than: view.acknowledgment) }
    for i in sides[other].unacknowledged.indices
    where Self.isLater(view.acknowledgment, than: sides[other].unacknowledged[i].sequence) {
      sides[other].unacknowledged[i].sequence = view.acknowledgment
    }
    budget.recycle(waiting: before - sides[other].unacknowledged.count)
  }

  /// Numbers half the circle apart are each later than the other, as the tool's comparison has it.
  private static func isLater(_ a: UInt32, than b: UInt32) -> Bool { b.isBefore(a) }

  private static func isWithin(_ time: Nanoseconds, _ limit: Nanoseconds) -> Bool {
    (Nanoseconds.zero..<max(Nanoseconds(1), limit)).contains(time)
  }
}
