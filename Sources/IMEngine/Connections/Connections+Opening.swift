import IMWire

extension Connections {
  /// A connection without answer to its SYN is given up after this long.
  static var synPatience: Nanoseconds { .seconds(30) }
  /// A connection's end is reported when its messages have had time to be answered: those without an answer until one would
  /// no longer count. It is forgotten later.
  static var endingDelay: Nanoseconds { .seconds(6) }
  static var lingering: Nanoseconds { .seconds(60) }
  /// The longest time after a connection's end in which packets still arrive when both sides know of it.
  static var quiet: Nanoseconds { .seconds(1) }

  /// How far ahead of what came a reset's number may be: a window of a megabyte, as senders are left with by default.
  private static var resetWindow: Int { 1 << 20 }

  // MARK: Opening and closing

  /// A segment with SYN, FIN or RST.
  @inline(never)
  mutating func control(_ found: FlowSide, _ bytes: borrowing Bytes) {
    streams.trackRecords()
    var side = found
    let name = RecentSegments.Name.control(segment.pointee.sequence, segment.pointee.flags)
    if reassembler.isCopy(side, segment, name) {
      reassembler.counters.payloadBytes += UInt64(segment.pointee.payloadCount)
      reassembler.dropCopy(side, segment)
      return
    }
    if segment.pointee.flags.contains(.rst) {
      reassembler.recent.remember(side.flow.pointee.serial, segment, name)
      reset(side)
      return
    }
    if segment.pointee.flags.contains(.syn) {
      let opened = synchronise(side, bytes)
      side = opened ?? side
      side.state.pointee.window = segment.pointee.window
      // Under the number of the connection that it opened.
      reassembler.recent.remember(side.flow.pointee.serial, segment, name)
      guard opened != nil else { return }
      // Data on a SYN (RFC 7413) stands one behind it.
      segment.pointee.sequence &+= 1
      segment.pointee.flags.remove(.syn)
      if segment.pointee.payloadCount == 0, !segment.pointee.flags.contains(.fin) {
        if segment.pointee.flags.contains(.ack) { reassembler.acknowledge(side, segment) }
        return
      }
    }
    if segment.pointee.flags.contains(.fin) { noteFin(side, name) }
    reassembler.recent.remember(side.flow.pointee.serial, segment, name)
    data(side, bytes)
    finishIfDone(side)
  }

  /// Takes note of where a FIN stands, or that it was sent again.
  private mutating func noteFin(_ side: FlowSide, _ name: RecentSegments.Name) {
    let count = segment.pointee.payloadCount + segment.pointee.cutCount
    let sequence = segment.pointee.sequence &+ UInt32(truncatingIfNeeded: count)
    if !side.state.pointee.flags.contains(.fin) {
      side.tail.pointee.finSequence = sequence
      side.state.pointee.flags.insert(.fin)
      if side.state.pointee.phase == .fresh, segment.pointee.payloadCount == 0 {
        reassembler.open(side.state, at: segment.pointee.sequence)
      }
    } else if sequence == side.tail.pointee.finSequence {
      reassembler.anomalyRecords.note(side).pointee.figures.finsAgain &+= 1
      // Payload is judged with the bytes that it repeats.
      guard count == 0 else { return }
      let memory = reassembler.recent.recall(side.flow.pointee.serial, segment, name)
      reassembler.judge(side, segment, fillsHole: false, memory)
    }
  }

  /// Handles a SYN; gives the side that sent it, of the flow that it belongs to, `nil` when it is sent again. Behind an
  /// attempt that was refused it is another attempt, whatever its number.
  private mutating func synchronise(_ found: FlowSide, _ bytes: borrowing Bytes) -> FlowSide? {
    var side = found
    let isFirst = !segment.pointee.flags.contains(.ack)
    let clocks = SegmentOptions.clocks(segment.pointee.options, bytes)
    if crosses(side) {
      answerCrossing(side, clocks?.echoed)
      return side
    }
    if isSentAgain(side) {
      repeatSyn(side, isFirst: isFirst, clocks?.own)
      return nil
    }
    let isAnswer = isAnswer(side)
    let isCrossing = isFirst && isCrossing(side)
    if !isOverdue(side), !((isAnswer || isCrossing) && Self.isUntouched(side)), !Self.isFresh(side.flow) {
      if isAnswer {
        // The server's number changed before any data: the last one counts.
        guard side.state.pointee.offset == 0, side.state.pointee.partial == nil, side.state.pointee.queue == nil else {
          return nil
        }
      } else {
        side = replace(side)
      }
    }
    let isBehindData = side.state.pointee.offset > 0 || side.state.pointee.phase == .held
    side.tail.pointee.initial = segment.pointee.sequence
    side.state.pointee.flags.insert(.syn)
    if side.state.pointee.offset == 0 { side.state.pointee.flags.insert(.fromStart) }
    if !isBehindData { reassembler.open(side.state, at: segment.pointee.sequence &+ 1) }
    if isCrossing { return side }
    if !isFirst { side.state.pointee.flags.insert(.synAck) }
    side.flow.pointee.clientIsCertain = true
    if isFirst {
      if seemsTranslated(side, clocks?.own, bytes) { side.flow.mayBeTwin = true }
      open(side, clocks?.own, isBehindData: isBehindData)
    } else {
      noteMultipath(bytes)
      accept(side, clocks?.echoed)
    }
    openHeld(side)
    return side
  }

  /// Whether a SYN crosses the other side's, which waits for its answer: a simultaneous open (RFC 9293, section 3.5). Whose SYN
  /// was captured first is the client.
  private mutating func isCrossing(_ side: FlowSide) -> Bool {
    side.flow.pointee.phase == .opening && side.number != Int(side.flow.pointee.client)
      && side.peer.state.pointee.flags.contains(.syn) && side.peer.state.pointee.offset == 0
  }

  /// Whether a SYN+ACK is the answer of a side whose own SYN has crossed the other's.
  private mutating func crosses(_ side: FlowSide) -> Bool {
    segment.pointee.flags.contains(.ack) && side.state.pointee.flags.isSuperset(of: .syn)
      && !side.state.pointee.flags.contains(.synAck) && side.peer.state.pointee.flags.contains(.syn)
      && side.tail.pointee.initial == segment.pointee.sequence
      && (side.flow.pointee.phase == .opening || side.flow.pointee.phase == .accepted)
  }

  /// The answer to a SYN that crossed the answering side's own. The second of the two answers completes the handshake.
  private mutating func answerCrossing(_ side: FlowSide, _ echoed: UInt32?) {
    let flow = side.flow
    side.state.pointee.flags.insert(.synAck)
    if flow.pointee.phase == .opening, side.number != Int(flow.pointee.client) {
      accept(side, echoed)
    } else if flow.pointee.phase == .opening {
      flow.pointee.enter(.synAck)
      flow.pointee.openingAt = segment.pointee.timestamp
    } else if flow.pointee.enter(.ack) {
      flow.pointee.clientHandshake = max(.zero, segment.pointee.timestamp.time(since: flow.pointee.openingAt))
      if flow.pointee.synCount > 0 { ledger.pointee.connectionSuccesses += 1 }
    }
  }

  /// Whether a SYN has the number of the one before it.
  private mutating func isSentAgain(_ side: FlowSide) -> Bool {
    side.state.pointee.flags.contains(.syn) && side.tail.pointee.initial == segment.pointee.sequence
      && side.flow.pointee.phase != .closed
  }

  /// Whether a SYN comes behind what follows it, an acknowledgment or data.
  private mutating func isOverdue(_ side: FlowSide) -> Bool {
    side.flow.pointee.phase != .closed && Self.firstByte(of: side) == segment.pointee.sequence &+ 1
  }

  /// Whether a SYN+ACK answers the connection's SYN, which may come behind it.
  private mutating func isAnswer(_ side: FlowSide) -> Bool {
    segment.pointee.flags.contains(.ack) && side.flow.pointee.phase != .closed
      && (side.peer.state.pointee.flags.contains(.syn)
        || Self.firstByte(of: side.peer) == segment.pointee.acknowledgment)
  }

  /// The number of a side's first byte, as what came of it tells.
  private static func firstByte(of side: FlowSide) -> UInt32? {
    let state = side.state
    switch state.pointee.phase {
    case .fresh: return state.pointee.flags.contains(.hinted) ? state.pointee.next : nil
    case .held: return state.pointee.queue?.pointee.firstStart
    case .open: return state.pointee.firstSequence
    }
  }

  /// Whether the SYN is the first that was seen of its side, or of its flow.
  private static func isUntouched(_ side: FlowSide) -> Bool {
    side.state.pointee.phase == .fresh && side.state.pointee.packets <= 1
  }
  private static func isFresh(_ flow: Ref<Flow>) -> Bool {
    flow.state(0).pointee.packets + flow.state(1).pointee.packets <= 1
  }

  /// A SYN or a SYN+ACK that was sent again: the handshake is timed from the last one.
  private mutating func repeatSyn(_ side: FlowSide, isFirst: Bool, _ clock: UInt32?) {
    let flow = side.flow
    let isClient = side.number == Int(flow.pointee.client)
    if isFirst, isClient { flow.pointee.synCount &+= flow.pointee.synCount == .max ? 0 : 1 }
    if flow.pointee.phase == (isFirst ? .opening : .accepted), isFirst == isClient {
      flow.pointee.openingAt = segment.pointee.timestamp
      if isFirst { flow.pointee.synClock = clock ?? 0 }
    }
    let name = RecentSegments.Name.control(segment.pointee.sequence, segment.pointee.flags)
    reassembler.judge(
      side, segment, fillsHole: false, reassembler.recent.recall(flow.pointee.serial, segment, name))
  }

  /// The client's first SYN. The capture may have its data in front of it, which tells that it was answered.
  private mutating func open(_ side: FlowSide, _ clock: UInt32?, isBehindData: Bool) {
    let flow = side.flow
    flow.pointee.client = UInt8(truncatingIfNeeded: side.number)
    flow.pointee.synCount &+= 1
    ledger.pointee.connectionAttempts += 1
    if flow.pointee.enter(.syn) {
      flow.pointee.openingAt = segment.pointee.timestamp
      flow.pointee.synClock = clock ?? 0
      opening.add(
        flow: side.index, serial: flow.pointee.serial, due: segment.pointee.timestamp.advanced(by: Self.synPatience))
      self.clock.wake(by: opening.nextDue)
    }
    if isBehindData { flow.pointee.enter(.data) }
    if flow.pointee.phase == .established || flow.pointee.phase == .closing { ledger.pointee.connectionSuccesses += 1 }
    streams.inform(flow)
    // Whether it is one of its own, the answer tells.
    let mayBeTwin = side.flow.mayBeTwin
    if needs.contains(.connections), !mayBeTwin { sink.opened(streams.info, segment.pointee.timestamp) }
  }

  /// Takes note of a connection of Multipath TCP (RFC 8684), by the server's answer: one that begins it, or one more subflow.
  private mutating func noteMultipath(_ bytes: borrowing Bytes) {
    guard let option = SegmentOptions.find(30, segment.pointee.options, bytes), option.count > 2 else { return }
    switch bytes.u8(option.lowerBound + 2) >> 4 {
    case 0: ledger.pointee.multipathConnections += 1
    case 1: ledger.pointee.multipathJoins += 1
    default: break
    }
  }

  /// The server's first SYN+ACK.
  private mutating func accept(_ side: FlowSide, _ echoed: UInt32?) {
    let flow = side.flow
    flow.pointee.client = UInt8(truncatingIfNeeded: side.peer.number)
    let client = side.peer.state
    if client.pointee.phase == .fresh {
      reassembler.open(client, at: segment.pointee.acknowledgment)
      client.pointee.flags.insert(.fromStart)
    }
    // Where the capture has the client's ACK in front of the SYN+ACK, nobody can time them.
    if flow.pointee.phase == .opening, client.pointee.packets <= UInt32(flow.pointee.synCount) {
      let syns = SYNTimes(
        first: flow.pointee.firstSeen, last: flow.pointee.openingAt, count: Int(flow.pointee.synCount),
        clock: flow.pointee.synClock)
      flow.pointee.serverHandshake =
        syns.roundTrip(to: segment.pointee.timestamp, echoing: echoed ?? 0) ?? Nanoseconds(-1)
    }
    flow.pointee.enter(.synAck)
    if flow.pointee.phase == .accepted { flow.pointee.openingAt = segment.pointee.timestamp }
    decideTwin(side)
  }

  /// The client's ACK of the SYN+ACK completes the handshake. Where the capture missed the SYN+ACK, data tells that it was
  /// sent. False where the segment was counted and is nothing more: its connection is another one translated.
  @inline(never)
  mutating func establish(_ side: FlowSide) -> Bool {
    if side.flow.isTwin { return !takeTwin(side) }
    complete(side)
    if side.flow.mayBeTwin, side.flow.pointee.phase == .established {
      // It is one of its own after all.
      side.flow.mayBeTwin = false
      streams.inform(side.flow)
      if needs.contains(.connections) { sink.opened(streams.info, segment.pointee.timestamp) }
    }
    return true
  }

  private mutating func complete(_ side: FlowSide) {
    let flow = side.flow
    guard segment.pointee.flags.isDisjoint(with: [.syn, .rst]), segment.pointee.flags.contains(.ack) else { return }
    let initial = side.peer.tail.pointee.initial
    let answersSyn = side.number == Int(flow.pointee.client) && segment.pointee.acknowledgment.isAfter(initial)
    let isTimed = flow.pointee.phase == .accepted
    guard (answersSyn && flow.pointee.enter(.ack)) || (segment.pointee.payloadCount > 0 && flow.pointee.enter(.data))
    else { return }
    if isTimed {
      flow.pointee.clientHandshake = max(.zero, segment.pointee.timestamp.time(since: flow.pointee.openingAt))
    }
    if flow.pointee.synCount > 0 { ledger.pointee.connectionSuccesses += 1 }
  }

  /// A new connection takes the place of an old one, which ends now; gives the side of it that has sent the SYN.
  private mutating func replace(_ old: FlowSide) -> FlowSide {
    // The SYN was counted for the old one.
    old.state.pointee.packets &-= 1
    old.state.pointee.wireBytes &-= UInt64(segment.pointee.wireCount)
    if old.flow.pointee.phase != .closed { close(old.index, .reused, segment.pointee.timestamp) }
    reassembler.flows.unlink(old.index)
    var flow = begin(client: segment.pointee.sender)
    flow.directionStates[segment.pointee.side].packets = 1
    flow.directionStates[segment.pointee.side].wireBytes = UInt64(segment.pointee.wireCount)
    let index = insert(flow)
    return FlowSide(reassembler.flows.pointer(index), index, old.number)
  }

  /// A reset ends the connection when its number lies in the window.
  private mutating func reset(_ side: FlowSide) {
    let (flow, state) = (side.flow, side.state)
    reassembler.counters.payloadBytes += UInt64(segment.pointee.payloadCount)
    reassembler.counters.ignoredBytes += UInt64(segment.pointee.payloadCount)
    guard flow.pointee.phase != .closed else { return }
    if flow.pointee.phase == .opening, side.number != Int(flow.pointee.client) {
      close(side.index, .refused, segment.pointee.timestamp)
      ledger.pointee.connectionsRefused += 1
      return
    }
    let peer = side.peer.state
    if state.pointee.phase == .open {
      let distance = segment.pointee.sequence.distance(from: state.pointee.next)
      let byNumber = distance >= -1 && distance <= Self.resetWindow
      let byAcknowledgment =
        segment.pointee.sequence == 0 && peer.pointee.phase == .open && segment.pointee.flags.contains(.ack)
        && segment.pointee.acknowledgment == peer.pointee.next
      // A reset that answers old data carries the number which that data acknowledged.
      let byPeer = state.pointee.flags.contains(.acknowledged) && segment.pointee.sequence == state.pointee.acknowledged
      guard byNumber || byAcknowledgment || byPeer else {
        reassembler.counters.ignoredResets += 1
        streams.raise(
          Issue(
            .ignoredReset(sequence: segment.pointee.sequence, expected: state.pointee.next),
            timestamp: segment.pointee.timestamp,
            direction: side.direction,
            streamOffset: state.pointee.offset), flow)
        return
      }
    }
    // Whoever gives up tells, too, what came.
    if segment.pointee.flags.contains(.ack), peer.pointee.flags.contains(.acknowledged),
      segment.pointee.acknowledgment.isAfter(peer.pointee.acknowledged),
      segment.pointee.acknowledgment.isAtOrBefore(peer.pointee.next)
    {
      peer.pointee.acknowledged = segment.pointee.acknowledgment
    }
    flow.pointee.resetSide = side.number
    close(side.index, .reset, segment.pointee.timestamp)
  }

  /// Takes the FIN of a direction into account when everything before it was delivered.
  mutating func finishIfDone(_ side: FlowSide) {
    let flow = side.flow
    let state = side.state
    guard state.pointee.flags.contains(.fin), !state.pointee.flags.contains(.finished), state.pointee.phase == .open,
      side.tail.pointee.finSequence.isAtOrBefore(state.pointee.next)
    else { return }
    state.pointee.next = side.tail.pointee.finSequence &+ 1
    state.pointee.flags.insert(.finished)
    if state.pointee.flags.contains(.carried) { carriers.endCarrier(side) }
    carriers.abandonRest(side)
    let other = side.peer.state
    if !other.pointee.flags.contains(.finished) {
      flow.pointee.enter(.fin)
    } else if flow.pointee.phase != .closed {
      close(side.index, .fin, clock.lastPacketAt)
    }
  }

  /// Ends a connection: what is held is released, what is missing is a gap, and the report is due in a while.
  mutating func close(_ index: UInt32, _ reason: CloseReason, _ at: Timestamp) {
    let flow = reassembler.flows.pointer(index)
    flow.pointee.enter(.end)
    flow.pointee.closeReason = reason
    flow.pointee.closedAt = at
    flush(index, flow)
    ending.add(flow: index, serial: flow.pointee.serial, due: at.advanced(by: Self.endingDelay))
    clock.wake(by: ending.nextDue)
  }

  /// Releases everything that both directions hold; holes are given up.
  mutating func flush(_ index: UInt32, _ flow: Ref<Flow>) {
    for side in flow.sides {
      let state = side.state
      openHeld(side)
      while let start = state.pointee.queue?.pointee.firstStart {
        let acked =
          state.pointee.flags.contains(.acknowledged)
          && state.pointee.acknowledged.isAtOrAfter(start)
        release(side, givingUpTo: start, acked ? .captureLoss : .unseen)
      }
      // Bytes that the peer acknowledged and nobody saw, at the very end.
      if state.pointee.phase == .open, state.pointee.flags.contains(.acknowledged), state.pointee.offset > 0 {
        let missing = Self.unseenTail(side)
        if missing > 0 { carriers.lose(side, reassembler.skip(side, missing, .captureLoss)) }
      }
      if state.pointee.flags.contains(.carried) { carriers.endCarrier(side) }
      carriers.abandonRest(side)
    }
    // The last bytes of one direction may have told that both are carried.
    for side in flow.sides where side.state.pointee.flags.contains(.carried) {
      carriers.endCarrier(side)
      carriers.abandonRest(side)
    }
    if flow.pointee.profile == .unknown { flow.pointee.profile = .none }
    for side in flow.sides { streams.closeGapRegion(side, at: side.state.pointee.offset) }
    streams.flushGapRegions(flow)
    streams.trackRecords()
  }

  /// How many acknowledged bytes stand behind the last one that came. A FIN has a number too: one that was seen is not
  /// counted, and a single number without one is taken for one that was not.
  private static func unseenTail(_ side: FlowSide) -> Int {
    let state = side.state
    let missing = state.pointee.acknowledged.distance(from: state.pointee.next)
    guard missing > 0, missing < Int(Reassembler.farthest) else { return 0 }
    if state.pointee.flags.contains(.fin) {
      return min(missing, side.tail.pointee.finSequence.distance(from: state.pointee.next))
    }
    return missing == 1 ? 0 : missing
  }
}
