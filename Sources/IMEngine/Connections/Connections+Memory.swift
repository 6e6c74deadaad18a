import IMWire

/// Staying within the limit on memory: `EngineOptions.memory`.
///
/// Tables ask before they grow. One that may not, and is nearly full, makes the next packet wait for `relieve`, so that
/// nothing is forgotten while something else is in hand.
extension Connections {
  /// Free places that a table of connections keeps ready: a packet needs one.
  private static var margin: Int { 64 }
  /// The newest connections without an answer are not touched: each sound one is among them for a moment.
  private static var handshakes: Int { 1_024 }

  /// Sees to it that there is room for one more flow, or soon will be.
  @inline(never)
  mutating func makeRoomForFlow() {
    let growth = Pool<Flow>.growth * FlowTable.costPerFlow
    guard reassembler.flows.pool.room <= Self.margin else { return }
    if budget.admits(.connections, growth) {
      if reassembler.flows.pool.room == 0 { budget.take(.connections, growth) }
    } else {
      clock.wakeNow()
    }
  }

  /// Forgets what is oldest, where tables are full and may not grow, or streams hold more than they may.
  @inline(never)
  mutating func relieve() {
    if reassembler.flows.pool.room <= Self.margin,
      !budget.admits(.connections, Pool<Flow>.growth * FlowTable.costPerFlow)
    {
      forgetEnded(Pool<Flow>.growth)
      if reassembler.flows.pool.room <= Self.margin { evictQuiet { _ in true } }
    }
    if streams.isShortOfFigures {
      evictQuiet { $0.pointee.figures != .max }
    }
    if tracker.isShortOfRareFigures {
      evictOwners(of: tracker.rareFigures.count) { connections, index in
        connections.holder(of: index, connections.tracker.rareFigures.owner(index)) { $0.pointee.rare }
      }
    }
    if tracker.isShortOfHeartbeats {
      evictOwners(of: tracker.heartbeats.count) { connections, index in
        connections.holder(of: index, connections.tracker.heartbeats.owner(index)) { $0.pointee.heartbeats }
          ?? connections.pinger(of: index, connections.tracker.heartbeats.owner(index))
      }
    }
    if tracker.isShortOfCarriers {
      evictOwners(of: tracker.carriers.count) { connections, index in
        let flow = connections.tracker.carriers.owner(index)
        return connections.reassembler.flows.pointer(flow).pointee.carrier == index ? flow : nil
      }
    }
    if anomalyRecords.isShort {
      evictOwners(of: anomalyRecords.count) { connections, index in
        let flow = connections.anomalyRecords.owner(index)
        return connections.reassembler.flows.pointer(flow).pointee.anomalyRecord == index ? flow : nil
      }
    }
    if budget.isOverHeld { releaseHolders() }
  }

  // MARK: Connections

  /// Forgets connections whose end was reported, then those that nothing has answered, then those that are over.
  private mutating func forgetEnded(_ wanted: Int) {
    var found: [(index: UInt32, why: Eviction)] = []
    while found.count < wanted, let entry = recycling.popFirst() {
      if isThere(entry) { found.append((entry.flow, .ended)) }
    }
    while found.count < wanted, opening.count > Self.handshakes, let entry = opening.popFirst() {
      if isThere(entry), reassembler.flows.pointer(entry.flow).pointee.phase == .opening {
        found.append((entry.flow, .halfOpen))
      }
    }
    while found.count < wanted, let entry = ending.popFirst() {
      if isThere(entry) { found.append((entry.flow, .ended)) }
    }
    evict(found)
  }

  private mutating func isThere(_ entry: ClosingQueue.Entry) -> Bool {
    reassembler.flows.pointer(entry.flow).pointee.serial == entry.serial
  }

  /// Ends connections now, reports on them, and forgets them.
  private mutating func evict(_ found: [(index: UInt32, why: Eviction)]) {
    var open = 0
    if resumes.isEmpty, found.contains(where: { $0.why == .connection }) {
      resumes.allocate(within: budget.takeForResuming(ResumeTable.cost))
      tracker.hasEvictedConnections = true
    }
    for (i, (index, _)) in found.enumerated() {
      prefetchEvicted(found, after: i)
      let flow = reassembler.flows.pointer(index)
      let point = ResumePoint(flow)
      if flow.pointee.phase != .closed {
        flow.pointee.enter(.end)
        flow.pointee.closeReason = .evicted
        flow.pointee.closedAt = max(clock.now, flow.pointee.lastSeen)
      }
      flush(index, flow)
      if let point, !point.isPassed(by: flow) {
        resumes.remember(point, reassembler.flows.hasher.hash(flow.pointee.key))
      }
      flow.pointee.isLeaving = true
      let figures = flow.pointee.figures
      if figures != .max { open += Int(tracker.figures.pointer(figures).pointee.unsettled) }
    }
    // Their messages lose their connections together: one look through all that are open, the oldest first.
    if open > 0 { tracker.settleLeaving(open) }
    for (index, why) in found {
      let flow = reassembler.flows.pointer(index)
      // Where a connection is in two queues, it is found twice.
      guard flow.pointee.serial != 0 else { continue }
      if !flow.pointee.reported { report(flow, isFinal: true) }
      ledger.pointee.evicted[why] += 1
      discard(index, flow)
    }
  }

  /// Prefetches what is read of the connections 8 and 16 after the `i`th of `found`: they are far apart in memory.
  private mutating func prefetchEvicted(_ found: [(index: UInt32, why: Eviction)], after i: Int) {
    let (far, near) = (i + 16, i + 8)
    if far < found.count { reassembler.flows.pointer(found[far].index).prefetch() }
    guard near < found.count else { return }
    let flow = reassembler.flows.pointer(found[near].index)
    if flow.pointee.figures != .max { tracker.figures.pointer(flow.pointee.figures).prefetch() }
    if flow.pointee.session != .max { tracker.sessions.pointer(flow.pointee.session).prefetch(at: 0) }
    reassembler.flows.prefetchSlot(flow.pointee.key)
  }

  /// Forgets a part of all connections that `isMeant`, those that have been quiet for longest. What "long" is a sample
  /// tells.
  ///
  /// It looks at all connections, so it takes a sixteenth, and where few are meant up to half of them: else one would cost too much.
  /// Those that wait for an answer stay while there are others: their messages would be `unknown`, and `settleLeaving` looks at
  /// all messages.
  private mutating func evictQuiet(_ isMeant: (Ref<Flow>) -> Bool) {
    let count = UInt32(truncatingIfNeeded: reassembler.flows.pool.count)
    guard count > 0 else { return }
    var sample: [Timestamp] = []
    let step = max(1, count / 1_024)
    var looked = 0
    for index in stride(from: hand % step, to: count, by: Int(step)) {
      let flow = reassembler.flows.pointer(index)
      looked += 1
      if flow.pointee.serial != 0, isMeant(flow) { sample.append(flow.pointee.lastSeen) }
    }
    guard !sample.isEmpty else { return }
    sample.sort()
    let limit = sample[min(max(sample.count / 16, looked / 64), sample.count / 2)]
    var found: [(index: UInt32, why: Eviction)] = [], waiting = found
    let wanted = max(Self.margin * 2, Int(count) / 16)
    for _ in 0..<count where found.count < wanted {
      hand = hand + 1 < count ? hand + 1 : 0
      let flow = reassembler.flows.pointer(hand)
      guard flow.pointee.serial != 0, flow.pointee.lastSeen <= limit, isMeant(flow) else { continue }
      if openMessages(flow) == 0 { found.append((hand, .connection)) } else { waiting.append((hand, .connection)) }
    }
    if found.count < Self.margin * 2 { found += waiting.prefix(max(0, wanted - found.count)) }
    evict(found)
  }

  /// Messages of a flow whose fate is open.
  private mutating func openMessages(_ flow: Ref<Flow>) -> UInt32 {
    flow.pointee.figures == .max ? 0 : tracker.figures.pointer(flow.pointee.figures).pointee.unsettled
  }

  /// The flow `owner`, if its metrics name `index` as theirs.
  private func holder(
    of index: UInt32, _ owner: UInt32, _ place: (Ref<ConnectionMetrics>) -> UInt32
  ) -> UInt32? {
    let figures = reassembler.flows.pointer(owner).pointee.figures
    guard figures != .max, place(tracker.figures.pointer(figures)) == index else { return nil }
    return owner
  }

  /// The flow `owner`, if the metrics at `index` are those of the pings of its carrier.
  private func pinger(of index: UInt32, _ owner: UInt32) -> UInt32? {
    let carrier = reassembler.flows.pointer(owner).pointee.carrier
    guard carrier != .max, tracker.carriers.pointer(carrier).pointee.beats == index else { return nil }
    return owner
  }

  /// Forgets a part of the connections that have an element in a small pool, of which `count` were ever in use: those that have been
  /// quiet for longest. `owner` says whose the element with an index is; `nil` where it is not in use.
  ///
  /// It looks at the pool and at nothing else: such a pool may be full a thousand times while the table of connections is not.
  private mutating func evictOwners(of count: Int, _ owner: (borrowing Connections, UInt32) -> UInt32?) {
    var candidates: [(lastSeen: Timestamp, flow: UInt32)] = []
    candidates.reserveCapacity(count)
    for index in 0..<UInt32(truncatingIfNeeded: count) {
      guard let flow = owner(self, index), reassembler.flows.pointer(flow).pointee.serial != 0 else { continue }
      candidates.append((reassembler.flows.pointer(flow).pointee.lastSeen, flow))
    }
    guard !candidates.isEmpty else { return }
    let wanted = min(candidates.count / 2 + 1, max(Self.margin * 2, candidates.count / 4))
    candidates.sort { ($0.lastSeen, $0.flow) < ($1.lastSeen, $1.flow) }
    // Those that wait for an answer stay while there are others, as in `evictQuiet`.
    var found: [UInt32] = [], waiting: [UInt32] = []
    for (_, flow) in candidates where found.count < wanted {
      if openMessages(reassembler.flows.pointer(flow)) == 0 { found.append(flow) } else { waiting.append(flow) }
    }
    if found.count < min(wanted, Self.margin * 2) { found += waiting.prefix(wanted - found.count) }
    evict(found.map { ($0, .connection) })
  }

  // MARK: Streams

  /// Lets those go that have held bytes for longest, until streams hold no more than they may. Who was heard of since
  /// the last look gets a second chance.
  private mutating func releaseHolders() {
    var chances = 256
    while budget.isOverHeld, let entry = bufferingFlows.pop() {
      let flow = reassembler.flows.pointer(entry.flow)
      guard flow.pointee.serial == entry.serial else { continue }
      flow.pointee.isHolder = false
      guard flow.holdsBytes else { continue }
      if flow.pointee.lastSeen > entry.at, chances > 0 {
        chances -= 1
        bufferingFlows.add(FlowSide(flow, entry.flow, 0), reassembler.flows.places)
        continue
      }
      ledger.pointee.evicted[.held] += 1
      releaseHeld(entry.flow, flow)
    }
  }

  /// Gives up the holes of both directions and cuts their frames. A connection that is not known yet stays unread.
  private mutating func releaseHeld(_ index: UInt32, _ flow: Ref<Flow>) {
    for side in flow.sides {
      let state = side.state
      openHeld(side)
      while let start = state.pointee.queue?.pointee.firstStart {
        release(side, givingUpTo: start, .unseen)
      }
      if state.pointee.flags.contains(.carried) { carriers.releaseCarrier(side) }
      guard flow.pointee.profile.isPlan else { continue }
      if state.pointee.partial?.pointee.count ?? 0 > 0 {
        carriers.abandonRest(side)
        state.pointee.flags.insert(.lost)
      }
      streams.partials.take(back: &state.pointee.partial)
      finishIfDone(side)
    }
    if flow.pointee.profile == .unknown { streams.giveUp(flow) }
  }
}
