import IMWire

/// The stage that finds the connection of each segment and puts its bytes in order. What has become contiguous goes on to
/// `Carriers`, and so does what will not come.
///
///     segment -> flow -> (opening, ending) -> reassembly -> chunks and gaps
struct Connections: ~Copyable {
  /// The stage behind: what streams travel in.
  var carriers: Carriers
  /// The flows, and what holds their segments until they are in order.
  var reassembler: Reassembler
  /// SYNs by which connections are found that pass a NAT inside the capture.
  var twins = TwinTable()
  /// What the next packets seem to need.
  var lookahead = Lookahead()
  /// The segment in hand.
  var segment: UnsafeMutablePointer<Segment>
  /// The serial number of the next connection.
  private var nextSerial: UInt32 = 1
  /// Flows whose SYN waits for an answer; those that are over: to be reported, and later to be forgotten.
  var opening = ClosingQueue(), ending = ClosingQueue(), recycling = ClosingQueue()
  /// Open flows that were reported on, with the time of their next report, until they are put into `Streams.living` again.
  var reported: [ClosingQueue.Entry] = []
  /// The tick up to which unanswered messages have been resolved.
  var settledTo = Timestamp.distantPast
  /// Where the search for quiet connections goes on.
  var hand: UInt32 = 0
  /// Where connections that were evicted go on.
  var resumes = ResumeTable()
  let anomalyRecords: AnomalyRecords
  let bufferingFlows: BufferingQueue
  let ledger: UnsafeMutablePointer<Ledger>
  let clock: PacketClock
  let budget: MemoryBudget
  let needs: EngineOptions.Needs
  let sink: any EngineSink

  /// The stage for `options`, with what it shares with the others; `segment` is where the first segment will stand.
  init(
    options: EngineOptions, sink: any EngineSink, shared: SharedState, reassembler: consuming Reassembler,
    carriers: consuming Carriers, segment: UnsafeMutablePointer<Segment>
  ) {
    self.reassembler = reassembler
    self.carriers = carriers
    self.segment = segment
    (anomalyRecords, bufferingFlows) = (shared.anomalyRecords, shared.bufferingFlows)
    (ledger, clock, budget) = (shared.ledger, shared.clock, shared.budget)
    needs = options.needs
    self.sink = sink
  }

  /// The stages behind.
  var streams: Streams {
    @inline(__always) _read { yield carriers.streams }
    @inline(__always) _modify { yield &carriers.streams }
  }
  var tracker: Tracker {
    @inline(__always) _read { yield carriers.streams.tracker }
    @inline(__always) _modify { yield &carriers.streams.tracker }
  }

  // MARK: One segment

  /// One segment whose flow is still to be found, with the hash of its key.
  @inline(never)
  mutating func accept(_ bytes: borrowing Bytes, _ hash: UInt64) {
    let index = reassembler.flows.find(segment.pointee.key, hash) ?? insertFlow(hash)
    accept(bytes, index, reassembler.flows.pointer(index))
  }

  /// One segment: admit its payload, decode what is in order, take note of its acknowledgment.
  @inline(__always)
  mutating func accept(_ bytes: borrowing Bytes, _ index: UInt32, _ flow: Ref<Flow>) {
    ledger.pointee.segments &+= 1
    let side = FlowSide(flow, index, segment.pointee.side)
    let state = side.state
    if segment.pointee.checksum == .good {
      state.pointee.flags.insert(.goodChecksum)
    } else if !acceptsChecksum(state) {
      return
    }
    // Times 292 years apart wrap to a negative silence, which is none.
    let silence = Nanoseconds(segment.pointee.timestamp.nanoseconds &- flow.pointee.lastSeen.nanoseconds)
    if silence > Self.leastSilence || state.pointee.flags.contains(.awaited) {
      reassembler.silence = (segment.pointee.number, silence)
      noteSilence(silence, side)
    }
    flow.pointee.lastSeen = segment.pointee.timestamp
    if flow.pointee.phase == .accepted || flow.pointee.phase == .opening, !establish(side) { return }
    state.pointee.packets &+= 1
    state.pointee.wireBytes &+= UInt64(segment.pointee.wireCount)
    if !segment.pointee.flags.isDisjoint(with: .control) {
      control(side, bytes)
    } else {
      data(side, bytes)
    }
  }

  /// The acknowledgment and the payload of the segment in hand, which `side` sent.
  @inline(__always)
  mutating func data(_ side: FlowSide, _ bytes: borrowing Bytes) {
    let state = side.state
    let isNews = segment.pointee.flags.contains(.ack) && reassembler.acknowledge(side, segment)
    if isNews, segment.pointee.acknowledgment.isAfter(side.peer.state.pointee.next) {
      tracker.noteAhead(side.peer, segment.pointee.timestamp)
    }
    let lastWindow = state.pointee.window
    state.pointee.window = segment.pointee.window
    if segment.pointee.window == 0 { reassembler.countZeroWindow(side, segment) }
    if segment.pointee.payloadCount == 0, segment.pointee.cutCount == 0 {
      if state.pointee.phase == .fresh {
        state.pointee.next = segment.pointee.sequence
        state.pointee.flags.insert(.hinted)
      }
      reassembler.admitAck(side, segment, isNews: isNews, lastWindow, bytes)
      return
    }
    reassembler.counters.payloadBytes &+= UInt64(truncatingIfNeeded: segment.pointee.payloadCount)
    let delivery = reassembler.admit(side, segment, bytes)
    if reassembler.hasNews { takeNews(side, bytes) }
    if delivery.count > 0 {
      carriers.consume(
        side, bytes,
        StreamChunk(
          offset: delivery.offset, count: delivery.count, timestamp: segment.pointee.timestamp,
          number: segment.pointee.number, acknowledged: segment.pointee.acknowledgment))
    }
    if delivery.cut > 0 { carriers.lose(side, reassembler.skip(side, delivery.cut, .snaplen)) }
    if state.pointee.queue != nil { drain(side) }
  }

  /// Hands on everything of a direction that has become contiguous.
  @inline(never)
  mutating func drain(_ side: FlowSide) {
    if budget.isOverHeld { clock.wakeNow() }
    let state = side.state
    guard state.pointee.phase == .open else {
      if let queue = state.pointee.queue, reassembler.isOverLimit(queue) { openHeld(side) }
      return
    }
    release(side, givingUpTo: nil, .captureLoss)
    while let queue = state.pointee.queue, reassembler.isOverLimit(queue), let start = queue.pointee.firstStart {
      reassembler.counters.overLimit += 1
      release(side, givingUpTo: start, .unseen)
    }
    reassembler.scheduleHole(side, segment.pointee.timestamp)
    finishIfDone(side)
  }

  /// Takes pieces from a direction's queue, giving up holes below `mark`.
  mutating func release(
    _ side: FlowSide, givingUpTo mark: UInt32?, _ reason: GapReason
  ) {
    while let piece = reassembler.nextPiece(side, givingUpTo: mark, reason: reason) {
      switch piece {
      case .data(let entry, let skip):
        let span = RawSpan(
          _unsafeStart: UnsafeRawPointer(entry.bytes), byteCount: Int(entry.count) + RawBuffer.slack)
        carriers.consume(
          side, Bytes(span),
          StreamChunk(
            offset: skip, count: Int(entry.count) - skip, timestamp: entry.timestamp, number: entry.number,
            acknowledged: entry.acknowledged))
        reassembler.segments.take(back: entry)
        if entry.cut > 0 {
          let gap = reassembler.skip(side, Int(entry.cut), .snaplen)
          carriers.lose(side, gap)
        }
      case .gap(let gap):
        carriers.lose(side, gap)
      }
    }
  }

  /// Begins a direction whose first data came without a SYN, at the lowest byte that came.
  mutating func openHeld(_ side: FlowSide) {
    let state = side.state
    guard state.pointee.phase == .held, let start = state.pointee.queue?.pointee.firstStart else { return }
    reassembler.open(state, at: start)
    release(side, givingUpTo: nil, .captureLoss)
    reassembler.scheduleHole(side, clock.lastPacketAt)
  }

  /// A segment whose checksum is not right: offloaded and cut ones count; a wrong one only where no right one was seen.
  @inline(never)
  private mutating func acceptsChecksum(_ state: Ref<DirectionState>) -> Bool {
    switch segment.pointee.checksum {
    case .good, .unknown: return true
    case .offloaded:
      ledger.pointee.offloaded += 1
      return true
    case .bad:
      if state.pointee.flags.contains(.goodChecksum) {
        ledger.pointee.segments &-= 1
        ledger.pointee.skipped[Int(SkipReason.tcpChecksum.rawValue)] += 1
        ledger.pointee.rejectedBytes += UInt64(segment.pointee.payloadCount)
        return false
      }
      ledger.pointee.unverified += 1
      return true
    }
  }

  /// A new flow for the segment in hand, whose key has the hash `hash`.
  private mutating func insertFlow(_ hash: UInt64) -> UInt32 {
    var flow = begin(client: segment.pointee.sender)
    streams.roles.portUse.add(flow.key.ports)
    guard segment.pointee.flags.contains(.ack), !segment.pointee.flags.contains(.syn) else { return insert(flow) }
    if let point = resumes.take(hash, segment) {
      point.apply(to: &flow)
      let index = insert(flow)
      streams.resume(reassembler.flows.pointer(index), index, point)
      return index
    }
    // What it acknowledges from here on was sent while somebody looked.
    flow.directionStates[1 - segment.pointee.side].next = segment.pointee.acknowledgment
    return insert(flow)
  }

  /// A connection that begins with the segment in hand.
  mutating func begin(client: UInt8) -> Flow {
    let flow = Flow(
      key: segment.pointee.key, serial: nextSerial, client: client, at: segment.pointee.timestamp,
      sequence: segment.pointee.sequence)
    nextSerial &+= 1
    ledger.pointee.connections += 1
    return flow
  }

  /// Puts a flow into the table.
  mutating func insert(_ flow: Flow) -> UInt32 {
    makeRoomForFlow()
    let index = reassembler.flows.insert(flow)
    tracker.flows = reassembler.flows.places
    return index
  }

  /// Puts `fresh` in the place of the plan at `index`. See `Engine.reload`.
  mutating func reload(_ index: Int, _ fresh: ProtocolPlan) -> ReloadOutcome {
    let outcome = carriers.streams.reload(index, fresh, reassembler.flows)
    if outcome != .refused { resumes.forget(plan: index) }
    return outcome
  }

  /// Reads the connections that wait for secrets.
  mutating func readWaiting() { carriers.readWaiting(reassembler.flows) }

  // MARK: News

  /// What the last segment brought beside new bytes of its stream: other bytes for old ones, old bytes never seen.
  @inline(never)
  mutating func takeNews(_ side: FlowSide, _ bytes: borrowing Bytes) {
    reassembler.hasNews = false
    if let conflict = reassembler.conflict {
      reassembler.conflict = nil
      report(conflict, side)
    }
    if let expected = reassembler.outOfWindow {
      reassembler.outOfWindow = nil
      streams.raise(
        Issue(
          .outOfWindow(sequence: segment.pointee.sequence, expected: expected), timestamp: segment.pointee.timestamp,
          direction: side.direction,
          streamOffset: side.state.pointee.offset,
          byteCount: UInt64(segment.pointee.payloadCount + segment.pointee.cutCount)), side.flow)
    }
    if side.state.pointee.flags.contains(.carried) {
      reassembler.countLate(side, segment, carriers.fillLate(side, segment, bytes))
    } else if !streams.gapRegions.isEmpty {
      reassembler.countLate(side, segment, streams.fillGapRegions(segment, side, bytes))
    }
  }

  private mutating func report(_ conflict: OverlapConflict, _ side: FlowSide) {
    streams.raise(
      Issue(
        .inconsistentRetransmission(kept: conflict.kept, other: conflict.other), timestamp: segment.pointee.timestamp,
        direction: side.direction, streamOffset: conflict.offset,
        byteCount: UInt64(segment.pointee.payloadCount)), side.flow)
  }
}
