import IMWire

/// What a segment that came again or late was counted as, so that it can be taken back.
struct SegmentVerdict {
  var isRetransmission = false
  var isFast = false
  var isSpurious = false
  var isTimeout = false
  var isLost = false
}

/// Says what segments are that are not simply the next ones. Off the hot path: nothing here runs for a segment in order
/// or for an acknowledgment that is new.
extension Reassembler {
  /// How soon after the last duplicate acknowledgment a fast retransmission comes.
  static var fastLimit: Nanoseconds { .milliseconds(20) }
  /// How soon behind later ones an overtaken segment comes when no round trip is known.
  static var overtakenLimit: Nanoseconds { .milliseconds(3) }
  /// The least time after which common senders take a segment for lost without being told.
  static var timeoutLimit: Nanoseconds { .milliseconds(200) }

  /// What a side's segments were.
  mutating func figures(_ side: FlowSide) -> SegmentMetrics {
    var figures = side.flow.pointee.anomalyRecord == .max ? SegmentMetrics() : anomalyRecords.note(side).pointee.figures
    if !clock.isTimeless { figures.roundTrips = side.tail.pointee.roundTrips }
    // Whether a segment was needed again, only the other side's packets tell.
    if side.peer.state.pointee.packets == 0 { figures.lost = 0 }
    return figures
  }

  // MARK: Captured twice

  /// Whether the segment is one that was captured before, by the name under which it was remembered.
  mutating func isCopy(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, _ name: RecentSegments.Name
  ) -> Bool {
    guard let memory = recent.recall(side.flow.pointee.serial, segment, name) else { return false }
    return isCopy(side, segment, memory)
  }

  /// Whether a reset may be the one before it, captured twice. A socket that is closed answers each segment that still comes with the
  /// same reset, and gives none of them an identification: only where others have copies is it taken for one.
  private mutating func mayBeCopy(_ flow: Ref<Flow>, _ segment: UnsafePointer<Segment>) -> Bool {
    !segment.pointee.flags.contains(.rst) || segment.pointee.identification != 0 || showsCopies(flow)
  }

  /// Whether the segment is the one in `memory`. Without an identifier, one that was asked for again is none.
  mutating func isCopy(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, _ memory: RecentSegments.Memory
  ) -> Bool {
    guard memory.isCopy(of: segment), mayBeCopy(side.flow, segment) else { return false }
    return segment.pointee.identification != 0 || !isAskedFor(side, segment)
  }

  /// Whether packets of a connection were captured twice. Acknowledgments without an identifier that follow one another are
  /// alike, as a receiver sends one for each segment behind a hole: only where others have copies are theirs such.
  private mutating func showsCopies(_ flow: Ref<Flow>) -> Bool {
    guard flow.pointee.anomalyRecord != .max else { return false }
    return anomalyRecords.note(flow, 0).pointee.figures.copies + anomalyRecords.note(flow, 1).pointee.figures.copies > 0
  }

  /// Counts a packet that was captured twice, and takes back what was counted of it as of a packet of its own.
  mutating func dropCopy(_ side: FlowSide, _ segment: UnsafePointer<Segment>) {
    let state = side.state
    counters.copies += 1
    counters.repeatedBytes += UInt64(segment.pointee.payloadCount)
    state.pointee.packets &-= 1
    state.pointee.wireBytes &-= UInt64(segment.pointee.wireCount)
    let anomalyRecord = anomalyRecords.note(side)
    anomalyRecord.pointee.figures.copies &+= 1
    if segment.pointee.window == 0, segment.pointee.flags.isDisjoint(with: .control) {
      anomalyRecord.pointee.figures.zeroWindows &-= 1
    }
  }

  // MARK: Sent again, or late

  /// Whether two duplicate acknowledgments in a row have asked for this segment. Nobody asks for one that takes no sequence number.
  private mutating func isAskedFor(_ side: FlowSide, _ segment: UnsafePointer<Segment>) -> Bool {
    guard side.flow.pointee.anomalyRecord != .max, segment.pointee.sequenceCount > 0 else { return false }
    let peer = anomalyRecords.note(side.peer)
    let state = side.state
    return peer.pointee.repeats >= 2 && peer.pointee.repeatedAck == segment.pointee.sequence
      && state.pointee.acknowledged == segment.pointee.sequence
  }

  /// Counts a segment whose bytes came before, or one that fills a hole.
  mutating func judge(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, fillsHole: Bool,
    _ memory: RecentSegments.Memory?
  ) {
    let state = side.state
    let now = segment.pointee.timestamp
    let end = segment.pointee.sequence &+ segment.pointee.sequenceCount
    let isSYN = segment.pointee.flags.contains(.syn)
    verdict = SegmentVerdict()
    let isAsked = isAskedFor(side, segment)
    let anomalyRecord = anomalyRecords.note(side)
    let peer = anomalyRecords.note(side.peer)
    let isKnown = state.pointee.flags.contains(.acknowledged)
    verdict.isSpurious =
      isKnown && end.isAtOrBefore(state.pointee.acknowledged)
      || peer.pointee.holds(segment.pointee.sequence, end)
    verdict.isFast =
      !verdict.isSpurious && isAsked
      && (Nanoseconds.zero..<Self.fastLimit).contains(now.time(since: peer.pointee.repeatedAt))
    let highestAt = state.pointee.queue?.pointee.highestAt ?? .distantPast
    let since = fillsHole ? now.time(since: highestAt) : memory?.age ?? leastAge(side, anomalyRecord.pointee, segment)
    (anomalyRecord.pointee.retransmittedEnd, anomalyRecord.pointee.retransmittedAt) = (end, now)
    if fillsHole, !verdict.isSpurious, !verdict.isFast, since < Self.overtakenLimit(side.flow) {
      countOutOfOrder(side)
      return
    }
    verdict.isRetransmission = true
    verdict.isTimeout = !verdict.isFast && since >= Self.timeoutLimit
    // A SYN without answer may have found nobody.
    verdict.isLost = !verdict.isSpurious && !isSYN
    // Nobody can tell which copy an acknowledgment is for.
    state.pointee.timedEnd = 0
    counters.retransmissions += 1
    Self.add(verdict, 1, &anomalyRecord.pointee.figures)
  }

  /// The least age of the copy before a segment that is no longer remembered: since the same retransmission, where that was the
  /// side's last one; since the oldest segment that waits for its acknowledgment; the silence before it. Where none of these is known
  /// it is older than what is remembered, but for one that was acknowledged before: that may be a part of another segment.
  private func leastAge(
    _ side: FlowSide, _ anomalyRecord: SegmentAnomalies, _ segment: UnsafePointer<Segment>
  ) -> Nanoseconds {
    let now = segment.pointee.timestamp
    let end = segment.pointee.sequence &+ segment.pointee.sequenceCount
    if anomalyRecord.retransmittedEnd == end, anomalyRecord.retransmittedAt != .distantPast {
      return now.time(since: anomalyRecord.retransmittedAt)
    }
    let state = side.state
    if silence.segment == segment.pointee.number { return silence.length }
    if state.pointee.timedEnd != 0, end.isAtOrBefore(state.pointee.timedEnd) {
      return AckRoundTrips.age(of: state.pointee.timedAt, at: now)
    }
    return verdict.isSpurious ? .zero : RecentSegments.lifetime
  }

  /// Takes the last verdict back.
  mutating func takeBack(_ side: FlowSide) {
    counters.retransmissions -= 1
    Self.add(verdict, UInt32.max, &anomalyRecords.note(side).pointee.figures)
    verdict = SegmentVerdict()
  }

  /// Adds `one`, which is 1 or, to take it back, 2³² - 1.
  private static func add(_ verdict: SegmentVerdict, _ one: UInt32, _ figures: inout SegmentMetrics) {
    figures.retransmissions &+= one
    if verdict.isFast { figures.fast &+= one }
    if verdict.isSpurious { figures.spurious &+= one }
    if verdict.isTimeout { figures.timeouts &+= one }
    if verdict.isLost { figures.lost &+= one }
  }

  mutating func countOutOfOrder(_ side: FlowSide) {
    counters.outOfOrder += 1
    anomalyRecords.note(side).pointee.figures.outOfOrder &+= 1
  }

  /// The round trip of the handshake, where it was seen: whatever comes behind it may have been asked for.
  private static func overtakenLimit(_ flow: Ref<Flow>) -> Nanoseconds {
    let (server, client) = (flow.pointee.serverHandshake, flow.pointee.clientHandshake)
    return server >= .zero && client >= .zero ? max(Nanoseconds(1), server + client) : overtakenLimit
  }

  /// Counts a hole of `count` bytes that the receiver acknowledged and nobody saw. What the receiver had told to lack was
  /// lost by the network first, and its retransmission was not captured.
  mutating func countMissed(_ side: FlowSide, _ count: Int) {
    let anomalyRecord = anomalyRecords.note(side)
    anomalyRecord.pointee.figures.missedHoles &+= 1
    anomalyRecord.pointee.figures.missedBytes &+= UInt64(count)
    if anomalyRecords.note(side.peer).pointee.lacks(side.state.pointee.next) {
      anomalyRecord.pointee.figures.lost &+= 1
    }
  }

  // MARK: Acknowledgments, windows, keep-alives

  /// Counts a segment that closes its sender's window, or keeps it closed.
  @inline(never)
  mutating func countZeroWindow(_ side: FlowSide, _ segment: UnsafePointer<Segment>) {
    guard segment.pointee.flags.isDisjoint(with: .control) else { return }
    anomalyRecords.note(side).pointee.figures.zeroWindows &+= 1
  }

  /// Counts a segment of at most one byte just below the next number. A byte sent into a closed window is a probe.
  mutating func countKeepAlive(_ side: FlowSide, _ segment: UnsafePointer<Segment>) {
    verdict = SegmentVerdict()
    guard segment.pointee.payloadCount == 0 || side.peer.state.pointee.window != 0 else { return }
    let anomalyRecord = anomalyRecords.note(side)
    anomalyRecord.pointee.figures.keepAlives &+= 1
    anomalyRecord.pointee.keepAliveMark = side.state.pointee.packets
  }

  /// A segment without payload. `isNews` says that its acknowledgment is; `lastWindow` is the window of the one before it.
  @inline(never)
  mutating func admitAck(
    _ side: FlowSide, _ segment: UnsafeMutablePointer<Segment>, isNews: Bool, _ lastWindow: UInt16,
    _ bytes: borrowing Bytes
  ) {
    segment.pointee.markAcknowledgment(bytes, peerPackets: side.peer.state.pointee.packets)
    let name = RecentSegments.Name(ofAcknowledgment: segment)
    if isNews {
      recent.remember(side.flow.pointee.serial, segment, name)
    } else if segment.pointee.flags.isDisjoint(with: .control), segment.pointee.flags.contains(.ack) {
      admitRepeatedAck(side, segment, name, lastWindow: lastWindow, bytes)
    }
  }

  private mutating func admitRepeatedAck(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, _ name: RecentSegments.Name,
    lastWindow: UInt16, _ bytes: borrowing Bytes
  ) {
    let flow = side.flow
    if isCopy(side, segment, name), segment.pointee.identification != 0 || showsCopies(flow) {
      dropCopy(side, segment)
      return
    }
    recent.remember(flow.pointee.serial, segment, name)
    let state = side.state
    let peer = side.peer.state
    guard segment.pointee.acknowledgment == peer.pointee.acknowledged,
      state.pointee.phase == .open || state.pointee.flags.contains(.hinted)
    else { return }
    let next = state.pointee.queue?.pointee.lastEnd ?? state.pointee.next
    if segment.pointee.sequence == next &- 1 {
      countKeepAlive(side, segment)
      return
    }
    guard segment.pointee.sequence == next, segment.pointee.window == lastWindow, lastWindow != 0 else { return }
    let anomalyRecord = anomalyRecords.note(side)
    if anomalyRecords.note(side.peer).pointee.keepAliveMark == peer.pointee.packets {
      anomalyRecord.pointee.figures.keepAliveAcks &+= 1
      return
    }
    anomalyRecord.pointee.figures.duplicateAcks &+= 1
    let isAgain =
      anomalyRecord.pointee.repeats > 0 && anomalyRecord.pointee.repeatedAck == segment.pointee.acknowledgment
    anomalyRecord.pointee.repeats = isAgain ? anomalyRecord.pointee.repeats &+ 1 : 1
    anomalyRecord.pointee.repeatedAck = segment.pointee.acknowledgment
    anomalyRecord.pointee.repeatedAt = segment.pointee.timestamp
    Self.readBlocks(segment, bytes, &anomalyRecord.pointee)
  }

  /// Takes note of selective acknowledgments (RFC 2018): kind 5, a length, and pairs of first number and number after the
  /// last. A first block below the acknowledgment tells of a segment that came twice (RFC 2883).
  private static func readBlocks(
    _ segment: UnsafePointer<Segment>, _ bytes: borrowing Bytes, _ anomalyRecord: inout SegmentAnomalies
  ) {
    guard let option = SegmentOptions.find(5, segment.pointee.options, bytes) else { return }
    anomalyRecord.blockCount = 0
    for i in 0..<min(4, (option.count - 2) / 8) {
      let at = option.lowerBound + 2 + 8 * i
      let left = bytes.u32(at)
      guard left.isAfter(segment.pointee.acknowledgment) else { continue }
      anomalyRecord.blocks[Int(anomalyRecord.blockCount)] = (left, bytes.u32(at + 4))
      anomalyRecord.blockCount += 1
    }
  }
}
