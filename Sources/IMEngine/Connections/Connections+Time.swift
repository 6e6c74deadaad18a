import CMachine
import IMWire

/// What becomes due as packet time goes on, and at the end of a capture.
extension Connections {
  /// Does what is due at `time`. Holes are many where packets are missing, and each has its own moment: it leaves the frames
  /// that wait where they are, and nothing else is looked at.
  @inline(never)
  mutating func wake(at time: Timestamp) {
    guard time < clock.due else { return advance(to: time) }
    giveUpHoles(until: time)
    clock.sleep(untilHoles: nextHole)
  }

  /// Drops the holes whose time has come at `time`, each at its own moment.
  private mutating func giveUpHoles(until time: Timestamp) {
    while nextHole <= time {
      let isPatient = reassembler.patientHoles.nextDeadline < reassembler.holes.nextDeadline
      guard let hole = isPatient ? reassembler.patientHoles.pop(at: time) : reassembler.holes.pop(at: time) else {
        return
      }
      if !isPatient { askForHoles() }
      setClock(hole.deadline)
      giveUpHole(hole, isPatient ? .unseen : .captureLoss)
    }
  }

  /// What is done from here on is done at `time`, whichever packet made that moment pass.
  private func setClock(_ time: Timestamp) {
    clock.now = max(clock.now, time)
    clock.lastPacketAt = time
  }

  /// Asks for the memory of the holes whose turn comes next, each step a hole earlier than the one that needs it: flows were last
  /// touched long ago, and what hangs on them stands elsewhere.
  private mutating func askForHoles() {
    if let hole = reassembler.holes.upcoming(2) { reassembler.flows.pointer(hole.flow).prefetch() }
    if let hole = reassembler.holes.upcoming(1) {
      let flow = reassembler.flows.pointer(hole.flow)
      if let queue = flow.state(hole.side).pointee.queue { queue.prefetch() }
      if let partial = flow.state(hole.side).pointee.partial { partial.prefetch() }
      if let anomalyRecord = anomalyRecords.existing(flow) { anomalyRecord.prefetch() }
      if flow.pointee.figures != .max { tracker.figures.pointer(flow.pointee.figures).prefetch() }
    }
    if let hole = reassembler.holes.upcoming(0) {
      let flow = reassembler.flows.pointer(hole.flow)
      flow.state(hole.side).pointee.queue?.pointee.prefetchFirst()
      tracker.prefetchLosses(of: flow)
    }
  }

  /// When the next hole's time comes.
  private var nextHole: Timestamp {
    @inline(__always) get { min(reassembler.holes.nextDeadline, reassembler.patientHoles.nextDeadline) }
  }
  /// When the next connection is to be looked at.
  private var nextEnd: Timestamp {
    @inline(__always) get { min(opening.nextDue, min(ending.nextDue, recycling.nextDue)) }
  }

  /// Does what is due at `time`: holes, timeouts, reports.
  ///
  /// A packet of any connection advances the time, perhaps by a lot at once. So everything is done at its own moment, in the order of the moments,
  /// and messages are resolved at ticks of the clock: the outcome of a connection depends on its own packets and on time, and not on how often
  /// packets of others came.
  mutating func advance(to time: Timestamp) {
    streams.trackRecords()
    if ledger.pointee.firstAt == nil { ledger.pointee.firstAt = time }
    relieve()
    let end = max(clock.now, time)
    while true {
      let next = min(nextHole, nextEnd, streams.living.nextDue)
      // What is due when time ends, which a clock may claim, stays for the end of the capture; so does nothing at all.
      guard next <= end, next < .distantFuture else { break }
      settle(upTo: next)
      giveUpHoles(until: next)
      setClock(next)
      while let entry = opening.pop(at: next) {
        let flow = reassembler.flows.pointer(entry.flow)
        guard flow.pointee.serial == entry.serial, flow.pointee.phase == .opening else { continue }
        timeOut(entry.flow, entry.due)
      }
      // After holes that were dropped frames have come out.
      streams.trackRecords()
      while let entry = ending.pop(at: next) { self.end(entry) }
      while let entry = recycling.pop(at: next) { forget(entry) }
      if streams.living.nextDue <= next { reportLiving(at: next, upTo: end) }
    }
    awaitReports()
    settle(upTo: end)
    clock.now = end
    clock.sleep(until: min(nextEnd, settledTo.advanced(by: PacketClock.tick)))
    clock.sleep(untilHoles: nextHole)
  }

  /// Settles messages whose time for an answer was over at the last tick up to `time`.
  private mutating func settle(upTo time: Timestamp) {
    let tick = PacketClock.tick(before: time)
    guard tick > settledTo else { return }
    settledTo = tick
    tracker.settleExpired(tick)
    tracker.forgetOld(tick)
    if !tracker.orphans.isEmpty { tracker.forgetOrphans(tick) }
  }

  private mutating func timeOut(_ index: UInt32, _ at: Timestamp) {
    ledger.pointee.connectionsTimedOut += 1
    close(index, .timeout, at)
  }

  private mutating func giveUpHole(_ hole: HoleQueue.Hole, _ reason: GapReason) {
    let flow = reassembler.flows.pointer(hole.flow)
    guard flow.pointee.serial == hole.serial else { return }
    let side = FlowSide(flow, hole.flow, Int(hole.side))
    if side.state.pointee.phase == .held {
      openHeld(side)
    } else {
      side.state.pointee.flags.remove(.holeScheduled)
      if side.tail.pointee.holeMark.isAfter(side.state.pointee.next) {
        release(side, givingUpTo: side.tail.pointee.holeMark, reason)
      }
      reassembler.scheduleHole(side, hole.deadline)
    }
    finishIfDone(side)
  }

  private mutating func end(_ entry: ClosingQueue.Entry) {
    let flow = reassembler.flows.pointer(entry.flow)
    guard flow.pointee.serial == entry.serial, !flow.pointee.reported else { return }
    let since = entry.due.time(since: flow.pointee.closedAt)
    if since < Self.lingering, flow.pointee.figures != .max, tracker.mayStillChange(flow.pointee.figures) {
      tellEnd(flow, since: since)
      ending.add(flow: entry.flow, serial: entry.serial, due: entry.due.advanced(by: Self.endingDelay))
      return
    }
    if !needs.contains(.lateReports) {
      if since < Self.lingering, isNoisy(entry.flow, flow) {
        tellEnd(flow, since: since)
      } else {
        report(flow, isFinal: true)
      }
    }
    recycling.add(flow: entry.flow, serial: entry.serial, due: entry.due.advanced(by: Self.lingering))
  }

  /// Tells that a connection is over, once; what it counted is told when that is final.
  private mutating func tellEnd(_ flow: Ref<Flow>, since time: Nanoseconds) {
    if time < 2 * Self.endingDelay, flow.pointee.figures != .max { report(flow, isFinal: false) }
  }

  /// Whether packets arrived long after the end of a connection, so that more may come: one side does not know that it is over, and
  /// retransmits its FIN, or data that a reset made void, at growing intervals. Not where another connection has the same addresses
  /// by now: they would be its own.
  private mutating func isNoisy(_ index: UInt32, _ flow: Ref<Flow>) -> Bool {
    (flow.pointee.closeReason == .fin || flow.pointee.closeReason == .reset)
      && flow.pointee.lastSeen.time(since: flow.pointee.closedAt) >= Self.quiet
      && reassembler.flows.find(flow.pointee.key) == index
  }

  private mutating func forget(_ entry: ClosingQueue.Entry) {
    let flow = reassembler.flows.pointer(entry.flow)
    guard flow.pointee.serial == entry.serial else { return }
    // Segments that came behind the end may still be held.
    flush(entry.flow, flow)
    carriers.flushLate(flow, isEnd: false)
    streams.tellSkipped(flow)
    if flow.pointee.figures != .max, tracker.figures.pointer(flow.pointee.figures).pointee.unsettled > 0 {
      recycling.add(flow: entry.flow, serial: entry.serial, due: max(entry.due, clock.now).advanced(by: Self.lingering))
      return
    }
    if !flow.pointee.reported { report(flow, isFinal: true) }
    discard(entry.flow, flow)
  }

  /// Gives the place of a flow back, and those of what was counted for it. It is over, reported, and flushed.
  mutating func discard(_ index: UInt32, _ flow: Ref<Flow>) {
    streams.closeGapRegions(flow)
    streams.trackRecords()
    streams.forgetCount(flow)
    streams.roles.stopWaiting(for: flow.pointee.serial)
    if flow.pointee.session != .max {
      let session = tracker.sessions.pointer(flow.pointee.session)
      if tracker.sessions.isKnown(flow.pointee.session), session.pointee.flowSerial == flow.pointee.serial {
        tracker.sessions.root(flow.pointee.session).pointee.closedAt = flow.pointee.closedAt
        session.pointee.endedCleanly = flow.pointee.closeReason == .fin
      }
    }
    if flow.pointee.figures != .max { tracker.release(flow.pointee.figures) }
    anomalyRecords.release(flow)
    if flow.pointee.carrier != .max { carriers.dropReaders(flow) }
    if flow.pointee.carrier != .max { tracker.carriers.release(flow.pointee.carrier) }
    if reassembler.flows.find(flow.pointee.key) == index { reassembler.flows.unlink(index) }
    for side in flow.sides {
      reassembler.segments.take(back: &side.state.pointee.queue)
      streams.partials.take(back: &side.state.pointee.partial)
    }
    flow.pointee.serial = 0
    reassembler.flows.release(index)
  }

  /// Ends the capture: everything held is released, every exchange gets its fate, every connection is reported.
  mutating func finish() {
    streams.trackRecords()
    for index in 0..<UInt32(truncatingIfNeeded: reassembler.flows.pool.count) {
      let flow = reassembler.flows.pointer(index)
      guard flow.pointee.serial != 0 else { continue }
      // Four SYNs take seven seconds; whoever sent them has had no answer.
      if flow.pointee.phase == .opening, flow.pointee.synCount >= 4 {
        timeOut(index, clock.now)
      } else {
        flush(index, flow)
        carriers.flushLate(flow, isEnd: true)
      }
    }
    streams.closeGapRegions()
    streams.trackRecords()
    tracker.settleExpired(clock.now, isEnd: true)
    let count = UInt32(truncatingIfNeeded: reassembler.flows.pool.count)
    for index in 0..<count {
      askForReport(of: index, count)
      let flow = reassembler.flows.pointer(index)
      if flow.pointee.serial != 0, !flow.pointee.reported { report(flow, isFinal: true) }
    }
    tracker.forgetAll()
    tracker.tellSettlements()
  }

  /// Asks for the cache lines that reports read, of the connections some places behind `index`, of which there are `count`.
  private mutating func askForReport(of index: UInt32, _ count: UInt32) {
    let (far, middle, near) = (index + 24, index + 16, index + 8)
    if far < count { reassembler.flows.pointer(far).prefetch() }
    if middle < count { figures(at: middle)?.prefetch() }
    if near < count, let beats = figures(at: near)?.pointee.heartbeats, beats != .max {
      tracker.heartbeats.pointer(beats).prefetch()
    }
  }

  private mutating func figures(at index: UInt32) -> Ref<ConnectionMetrics>? {
    let flow = reassembler.flows.pointer(index)
    guard flow.pointee.serial != 0, flow.pointee.figures != .max else { return nil }
    return tracker.figures.pointer(flow.pointee.figures)
  }
}
