import IMWire

extension Connections {
  /// A connection without answer to its SYN is given up after this long, in nanoseconds.
  static var synPatience: Int64 { 30_000_000_000 }
  /// A connection's end is reported when its messages have had time to be answered: those without an answer until one would
  /// no longer count. It is forgotten later.
  static var endingDelay: Int64 { 6_000_000_000 }
  static var lingering: Int64 { 60_000_000_000 }
  /// How often expired exchanges are looked for, in nanoseconds of capture time.
  static var tick: Int64 { 100_000_000 }

  // MARK: Opening and closing

  /// A segment with SYN, FIN or RST.
  @inline(never)
  mutating func control(_ found: UInt32, _ bytes: borrowing Bytes) {
    var index = found
    let name = RecentSegments.Name.control(segment.pointee.sequence, segment.pointee.flags)
    if reassembler.isCopy(reassembler.flows.pointer(found), segment, name) {
      reassembler.counters.payloadBytes += UInt64(segment.pointee.payloadCount)
      reassembler.dropCopy(reassembler.flows.pointer(found), segment)
      return
    }
    if segment.pointee.flags.contains(.rst) {
      reassembler.recent.remember(reassembler.flows.pointer(index).pointee.serial, segment, name)
      reset(index)
      return
    }
    if segment.pointee.flags.contains(.syn) {
      let opened = synchronise(index, bytes)
      let flow = reassembler.flows.pointer(opened ?? index)
      flow.half(segment.pointee.side).pointee.window = segment.pointee.window
      // Under the number of the connection that it opened.
      reassembler.recent.remember(flow.pointee.serial, segment, name)
      guard let opened else { return }
      index = opened
      // Data on a SYN (RFC 7413) stands one behind it.
      segment.pointee.sequence &+= 1
      segment.pointee.flags.remove(.syn)
      if segment.pointee.payloadCount == 0, !segment.pointee.flags.contains(.fin) {
        if segment.pointee.flags.contains(.ack) {
          reassembler.acknowledge(index, reassembler.flows.pointer(index), segment)
        }
        return
      }
    }
    let flow = reassembler.flows.pointer(index)
    let half = flow.half(segment.pointee.side)
    if segment.pointee.flags.contains(.fin), !half.pointee.flags.contains(.fin) {
      flow.tail(segment.pointee.side).pointee.finSequence =
        segment.pointee.sequence &+ UInt32(truncatingIfNeeded: segment.pointee.payloadCount + segment.pointee.cutCount)
      half.pointee.flags.insert(.fin)
      if half.pointee.state == .fresh, segment.pointee.payloadCount == 0 {
        reassembler.open(half, at: segment.pointee.sequence)
      }
    } else if segment.pointee.flags.contains(.fin), segment.pointee.payloadCount + segment.pointee.cutCount == 0,
      segment.pointee.sequence == flow.tail(segment.pointee.side).pointee.finSequence
    {
      reassembler.judge(flow, segment, fillsHole: false, reassembler.recent.recall(flow.pointee.serial, segment, name))
    }
    reassembler.recent.remember(flow.pointee.serial, segment, name)
    data(index, flow, half, bytes)
    finishIfDone(index, flow, segment.pointee.side)
  }

  /// Handles a SYN; gives the flow that it belongs to, `nil` when it is sent again. Behind an attempt that was refused
  /// it is another attempt, whatever its number.
  private mutating func synchronise(_ found: UInt32, _ bytes: borrowing Bytes) -> UInt32? {
    var index = found
    var flow = reassembler.flows.pointer(index)
    var half = flow.half(segment.pointee.side)
    let isFirst = !segment.pointee.flags.contains(.ack)
    let clocks = SegmentOptions.clocks(segment.pointee.options, bytes)
    if half.pointee.flags.contains(.syn), flow.tail(segment.pointee.side).pointee.initial == segment.pointee.sequence,
      flow.pointee.phase != .closed
    {
      if isFirst { flow.pointee.synCount &+= flow.pointee.synCount == .max ? 0 : 1 }
      if flow.pointee.phase == (isFirst ? .opening : .accepted) {
        flow.pointee.openingAt = segment.pointee.timestamp
        if isFirst { flow.pointee.synClock = clocks?.own ?? 0 }
      }
      let name = RecentSegments.Name.control(segment.pointee.sequence, segment.pointee.flags)
      reassembler.judge(flow, segment, fillsHole: false, reassembler.recent.recall(flow.pointee.serial, segment, name))
      return nil
    }
    let isReordered =
      half.pointee.state == .open && half.pointee.next == segment.pointee.sequence &+ 1 && half.pointee.offset == 0
      && flow.pointee.phase != .closed
    let isUntouched = half.pointee.state == .fresh && half.pointee.packets <= 1
    let answersOurs =
      !isFirst && isUntouched && flow.half(1 - segment.pointee.side).pointee.flags.contains(.syn)
      && flow.pointee.phase != .closed
    let isFreshFlow = flow.half(0).pointee.packets + flow.half(1).pointee.packets <= 1
    if !isReordered, !answersOurs, !isFreshFlow {
      if !isFirst, flow.half(1 - segment.pointee.side).pointee.flags.contains(.syn), flow.pointee.phase != .closed {
        // The server's number changed before any data: the last one counts.
        guard half.pointee.offset == 0, half.pointee.rest == nil, half.pointee.queue == nil else { return nil }
      } else {
        index = replace(index)
        flow = reassembler.flows.pointer(index)
        half = flow.half(segment.pointee.side)
      }
    }
    flow.tail(segment.pointee.side).pointee.initial = segment.pointee.sequence
    half.pointee.next = segment.pointee.sequence &+ 1
    half.pointee.state = .open
    half.pointee.flags.formUnion([.syn, .fromStart])
    flow.pointee.clientIsCertain = true
    if isFirst {
      flow.pointee.client = UInt8(truncatingIfNeeded: segment.pointee.side)
      flow.pointee.synCount &+= 1
      ledger.pointee.connectionAttempts += 1
      if flow.pointee.phase == .midstream {
        flow.pointee.phase = .opening
        flow.pointee.openingAt = segment.pointee.timestamp
        flow.pointee.synClock = clocks?.own ?? 0
        opening.add(
          flow: index, serial: flow.pointee.serial, due: segment.pointee.timestamp.advanced(by: Self.synPatience))
        clock.wake(by: opening.nextDue)
      }
      streams.inform(flow)
      if needs.contains(.connections) { sink.opened(streams.info, segment.pointee.timestamp) }
    } else {
      flow.pointee.client = UInt8(truncatingIfNeeded: 1 - segment.pointee.side)
      let client = flow.half(1 - segment.pointee.side)
      if client.pointee.state == .fresh {
        reassembler.open(client, at: segment.pointee.acknowledgment)
        client.pointee.flags.insert(.fromStart)
      }
      if flow.pointee.phase == .opening {
        let syns = SYNTimes(
          first: flow.pointee.firstSeen, last: flow.pointee.openingAt, count: Int(flow.pointee.synCount),
          clock: flow.pointee.synClock)
        flow.pointee.serverHandshake =
          syns.roundTrip(to: segment.pointee.timestamp, echoing: clocks?.echoed ?? 0) ?? -1
      }
      if flow.pointee.phase == .opening || flow.pointee.phase == .midstream { flow.pointee.phase = .accepted }
      if flow.pointee.phase == .accepted { flow.pointee.openingAt = segment.pointee.timestamp }
    }
    return index
  }

  /// The client's ACK of the SYN+ACK completes the handshake. Where the capture missed the SYN+ACK, data tells that it was
  /// sent.
  @inline(never)
  mutating func establish(_ flow: UnsafeMutablePointer<Flow>) {
    if flow.pointee.phase == .opening {
      guard segment.pointee.flags.isDisjoint(with: [.syn, .rst]), segment.pointee.flags.contains(.ack),
        segment.pointee.payloadCount > 0
      else { return }
      flow.pointee.phase = .established
      if flow.pointee.synCount > 0 { ledger.pointee.connectionSuccesses += 1 }
      return
    }
    guard segment.pointee.side == Int(flow.pointee.client), segment.pointee.flags.contains(.ack),
      !segment.pointee.flags.contains(.syn),
      !segment.pointee.flags.contains(.rst),
      segment.pointee.acknowledgment == flow.tail(1 - segment.pointee.side).pointee.initial &+ 1
        || segment.pointee.acknowledgment.isAfter(flow.tail(1 - segment.pointee.side).pointee.initial)
    else { return }
    flow.pointee.phase = .established
    flow.pointee.clientHandshake = max(0, segment.pointee.timestamp.nanoseconds(since: flow.pointee.openingAt))
    if flow.pointee.synCount > 0 { ledger.pointee.connectionSuccesses += 1 }
  }

  /// A new connection takes the place of `index`: the old one ends now.
  private mutating func replace(_ index: UInt32) -> UInt32 {
    let old = reassembler.flows.pointer(index)
    let side = old.half(segment.pointee.side)
    // The SYN was counted for the old one.
    side.pointee.packets &-= 1
    side.pointee.wireBytes &-= UInt64(segment.pointee.wireCount)
    if old.pointee.phase != .closed { close(index, .reused, segment.pointee.timestamp) }
    reassembler.flows.unlink(index)
    var flow = begin(client: segment.pointee.sender)
    flow.halves[segment.pointee.side].packets = 1
    flow.halves[segment.pointee.side].wireBytes = UInt64(segment.pointee.wireCount)
    return insert(flow)
  }

  /// A reset ends the connection when its number lies in the window.
  private mutating func reset(_ index: UInt32) {
    let flow = reassembler.flows.pointer(index)
    let half = flow.half(segment.pointee.side)
    reassembler.counters.payloadBytes += UInt64(segment.pointee.payloadCount)
    reassembler.counters.ignoredBytes += UInt64(segment.pointee.payloadCount)
    guard flow.pointee.phase != .closed else { return }
    if flow.pointee.phase == .opening, segment.pointee.side != Int(flow.pointee.client) {
      close(index, .refused, segment.pointee.timestamp)
      ledger.pointee.connectionsRefused += 1
      return
    }
    let peer = flow.half(1 - segment.pointee.side)
    if half.pointee.state == .open {
      let distance = segment.pointee.sequence.distance(from: half.pointee.next)
      let byNumber = distance >= -1 && distance <= 1 << 20
      let byAcknowledgment =
        segment.pointee.sequence == 0 && peer.pointee.state == .open && segment.pointee.flags.contains(.ack)
        && segment.pointee.acknowledgment == peer.pointee.next
      // A reset that answers old data carries the number which that data acknowledged.
      let byPeer = half.pointee.flags.contains(.acknowledged) && segment.pointee.sequence == half.pointee.acknowledged
      guard byNumber || byAcknowledgment || byPeer else {
        reassembler.counters.ignoredResets += 1
        streams.raise(
          Issue(
            .ignoredReset(sequence: segment.pointee.sequence, expected: half.pointee.next),
            timestamp: segment.pointee.timestamp,
            direction: flow.pointee.direction(segment.pointee.side),
            streamOffset: half.pointee.offset), flow)
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
    close(index, .reset, segment.pointee.timestamp)
  }

  /// Takes the FIN of a direction into account when everything before it was delivered.
  mutating func finishIfDone(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    let half = flow.half(side)
    guard half.pointee.flags.contains(.fin), !half.pointee.flags.contains(.finished), half.pointee.state == .open,
      flow.tail(side).pointee.finSequence.isAtOrBefore(half.pointee.next)
    else { return }
    half.pointee.next = flow.tail(side).pointee.finSequence &+ 1
    half.pointee.flags.insert(.finished)
    if half.pointee.flags.contains(.carried) { carriers.endCarrier(index, flow, side) }
    carriers.abandonRest(index, flow, side)
    let other = flow.half(1 - side)
    if other.pointee.flags.contains(.finished) {
      if flow.pointee.phase != .closed { close(index, .fin, clock.lastPacketAt) }
    } else if flow.pointee.phase != .closed {
      flow.pointee.phase = .closing
    }
  }

  /// Ends a connection: what is held is released, what is missing is a gap, and the report is due in a while.
  mutating func close(_ index: UInt32, _ reason: CloseReason, _ at: Timestamp) {
    let flow = reassembler.flows.pointer(index)
    flow.pointee.phase = .closed
    flow.pointee.closeReason = reason
    flow.pointee.closedAt = at
    flush(index, flow)
    ending.add(flow: index, serial: flow.pointee.serial, due: at.advanced(by: Self.endingDelay))
    clock.wake(by: ending.nextDue)
  }

  /// Releases everything that both directions hold; holes are given up.
  mutating func flush(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>) {
    for side in 0...1 {
      let half = flow.half(side)
      openHeld(index, flow, side)
      while let start = half.pointee.queue?.pointee.firstStart {
        let acked =
          half.pointee.flags.contains(.acknowledged)
          && half.pointee.acknowledged.isAtOrAfter(start)
        release(index, flow, side, givingUpTo: start, acked ? .captureLoss : .unseen)
      }
      // Bytes that the peer acknowledged and nobody saw, at the very end.
      if half.pointee.state == .open, half.pointee.flags.contains(.acknowledged), half.pointee.offset > 0 {
        let missing = unseenTail(flow, side)
        if missing > 0 { carriers.lose(index, flow, side, reassembler.skip(flow, side, missing, .captureLoss)) }
      }
      if half.pointee.flags.contains(.carried) { carriers.endCarrier(index, flow, side) }
      carriers.abandonRest(index, flow, side)
    }
    // The last bytes of one direction may have told that both are carried.
    for side in 0...1 where flow.half(side).pointee.flags.contains(.carried) {
      carriers.endCarrier(index, flow, side)
      carriers.abandonRest(index, flow, side)
    }
    if flow.pointee.profile == .unknown { flow.pointee.profile = .none }
    for side in 0...1 { streams.closeIsland(flow, side, at: flow.half(side).pointee.offset) }
    streams.flushIslands(flow)
  }

  /// How many acknowledged bytes stand behind the last one that came. A FIN has a number too: one that was seen is not
  /// counted, and a single number without one is taken for one that was not.
  private func unseenTail(_ flow: UnsafeMutablePointer<Flow>, _ side: Int) -> Int {
    let half = flow.half(side)
    let missing = half.pointee.acknowledged.distance(from: half.pointee.next)
    guard missing > 0, missing < 1 << 30 else { return 0 }
    if half.pointee.flags.contains(.fin) {
      return min(missing, flow.tail(side).pointee.finSequence.distance(from: half.pointee.next))
    }
    return missing == 1 ? 0 : missing
  }
}
