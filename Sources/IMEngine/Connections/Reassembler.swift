import IMWire

/// In-order bytes of the current segment, ready to be decoded where they stand.
struct Delivery {
  /// Where they stand in the packet, and how many they are; none is an ordinary answer.
  var offset = 0
  var count = 0
  /// Bytes behind them that the snaplen cut off.
  var cut = 0
}

/// What comes out of a direction's queue.
enum ReleasedPiece {
  /// A segment; whoever takes it frees its bytes. The first `skip` of them had been delivered.
  case data(SegmentQueue.Entry, skip: Int)
  /// Bytes that will not come.
  case gap(Gap)
}

/// Two retransmitted copies of one chunk that differ.
struct OverlapConflict {
  var offset: UInt64
  var kept: UInt64
  var other: UInt64
}

/// Puts the segments of each direction in order.
///
/// In-order segments pass without being copied. A segment beyond a hole is held until the hole is filled, or
/// until it is known not to be filled: bytes that the peer acknowledged reached it, so only the capture lacks them. Work
/// per packet does not grow with loss.
struct Reassembler: ~Copyable {
  var flows: FlowTable
  var holes: HoleQueue
  var patientHoles: HoleQueue
  /// Segments seen lately, of all connections.
  var recent: RecentSegments
  /// How far a number may be from the one that is expected: a quarter of all numbers, the largest window (RFC 7323,
  /// section 2.3). Beyond that it belongs to another connection.
  static var farthest: UInt32 { 1 << 30 }
  /// What was out of the ordinary.
  let anomalyRecords: AnomalyRecords
  /// What the last segment was counted as that came again or late.
  var verdict = SegmentVerdict()
  let options: ReassemblyOptions
  let budget: MemoryBudget
  let clock: PacketClock
  /// Where queues and the memory of their segments come from.
  let segments: SegmentStore
  /// Flows that hold bytes, in the order in which they began to; those that hold nothing any more are passed over.
  let bufferingFlows: BufferingQueue
  var counters = ReassemblyCounters()
  /// Bytes held beyond holes, in all directions.
  var heldBytes = 0
  /// Set when the last segment needs more than to be decoded: it has a conflict, or bytes that were given up.
  var hasNews = false
  /// The last segment before which its connection was silent, and for how long.
  var silence: (segment: UInt64, length: Nanoseconds) = (0, .zero)
  /// Set when the last segment could not belong to its connection: the number that was expected.
  var outOfWindow: UInt32?
  /// Set when the last segment repeated bytes that differ from the first copy.
  var conflict: OverlapConflict?

  init(
    options: ReassemblyOptions, shared: SharedState, seed: UInt64
  ) {
    self.options = options
    (budget, clock, anomalyRecords, bufferingFlows) = (
      shared.budget, shared.clock, shared.anomalyRecords, shared.bufferingFlows
    )
    segments = SegmentStore(budget: budget)
    recent = RecentSegments(memory: budget.limit)
    flows = FlowTable(seed: seed)
    holes = HoleQueue(patience: Nanoseconds(options.holePatience))
    patientHoles = HoleQueue(patience: Nanoseconds(options.oneSidedPatience))
  }

  deinit {
    for index in 0..<UInt32(truncatingIfNeeded: flows.pool.count) {
      for side in 0...1 {
        let state = flows.pointer(index).state(side)
        segments.take(back: &state.pointee.queue)
        if let partial = state.pointee.partial { partial.free() }
      }
    }
  }

  /// Takes the payload of a segment. Control flags have been handled before.
  @inline(__always)
  mutating func admit(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, _ bytes: borrowing Bytes
  ) -> Delivery {
    let state = side.state
    let count = segment.pointee.payloadCount
    if state.pointee.phase == .open, segment.pointee.sequence == state.pointee.next, state.pointee.queue == nil {
      recent.remember(
        side.flow.pointee.serial, segment, segment.pointee.sequence, count, sum: segment.pointee.payloadSum ?? 0)
      state.pointee.next &+= UInt32(truncatingIfNeeded: count)
      state.pointee.offset &+= UInt64(truncatingIfNeeded: count)
      if state.pointee.timedEnd == 0, Self.hasWindow(side.peer.state) {
        state.pointee.timedEnd = state.pointee.next
        state.pointee.timedAt = AckRoundTrips.tick(segment.pointee.timestamp)
      }
      return Delivery(offset: segment.pointee.payload, count: count, cut: segment.pointee.cutCount)
    }
    return admitOutOfOrder(side, segment, bytes)
  }

  /// Whether a side takes more bytes, as far as its packets tell. What is sent into a closed window is a probe: its answer comes
  /// when the window opens, however long that takes.
  @inline(__always)
  private static func hasWindow(_ state: Ref<DirectionState>) -> Bool {
    state.pointee.window != 0 || state.pointee.packets == 0
  }

  @inline(never)
  private mutating func admitOutOfOrder(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, _ bytes: borrowing Bytes
  ) -> Delivery {
    let flow = side.flow
    let state = side.state
    let count = segment.pointee.payloadCount
    let memory = recent.recall(flow.pointee.serial, segment, .payload(segment.pointee.sequence, count))
    if let memory, isCopy(side, segment, memory) {
      dropCopy(side, segment)
      return Delivery()
    }
    recent.remember(
      flow.pointee.serial, segment, segment.pointee.sequence, count,
      sum: memory.flatMap { $0.hasSameLength ? $0.sum : nil } ?? segment.pointee.payloadSum ?? 0)
    if state.pointee.phase == .fresh {
      // A bare ACK tells where the next data begins; a keep-alive probe tells one less.
      let sequence = segment.pointee.sequence
      let hint = state.pointee.next
      let known = state.pointee.flags.contains(.acknowledged) && state.pointee.acknowledged == sequence
      let hinted = state.pointee.flags.contains(.hinted) && (sequence == hint || sequence == hint &+ 1)
      // Of a segment that the snaplen cut to its header, nothing can be held.
      if known || hinted || count == 0 {
        open(state, at: sequence)
        return admit(side, segment, bytes)
      }
      state.pointee.phase = .held
      clock.wake(
        forHoleAt: holes.schedule(
          flow: side.index, serial: flow.pointee.serial, side: side.number, at: segment.pointee.timestamp))
      hold(side, segment, bytes, from: 0, base: segment.pointee.sequence &- Self.farthest, memory)
      return Delivery()
    }
    if state.pointee.phase == .held {
      let sequence = segment.pointee.sequence
      let base = (state.pointee.queue?.pointee.firstStart ?? sequence) &- Self.farthest
      guard abs(segment.pointee.sequence.distance(from: base &+ Self.farthest)) < Int(Self.farthest / 2) else {
        ignore(count, expected: base &+ Self.farthest)
        return Delivery()
      }
      hold(side, segment, bytes, from: 0, base: base, memory)
      return Delivery()
    }
    let distance = segment.pointee.sequence.distance(from: state.pointee.next)
    guard abs(distance) <= Int(Self.farthest) else {
      ignore(count, expected: state.pointee.next)
      return Delivery()
    }
    if distance < 0 { return admitRepeated(side, segment, behind: -distance, bytes, memory) }
    hold(side, segment, bytes, from: 0, base: state.pointee.next, memory)
    scheduleHole(side, segment.pointee.timestamp)
    return Delivery()
  }

  /// A segment that begins `behind` bytes before what is expected.
  private mutating func admitRepeated(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, behind: Int,
    _ bytes: borrowing Bytes, _ memory: RecentSegments.Memory?
  ) -> Delivery {
    let flow = side.flow
    let state = side.state
    let count = segment.pointee.payloadCount
    let old = min(behind, count)
    counters.repeatedBytes += UInt64(old)
    if anomalyRecords.hasGaps(flow) { hasNews = true }
    if behind == 1, count <= 1 {
      countKeepAlive(side, segment)
    } else if behind > 1 || count + segment.pointee.cutCount == 1 {
      // New data from just below the next number on stands behind a probe of a closed window.
      judge(side, segment, fillsHole: false, memory)
      if let memory, memory.hasSameLength, let sum = segment.pointee.payloadSum, memory.sum != 0, memory.sum != sum {
        let from = Int64(state.pointee.offset) - Int64(behind)
        noteConflict(
          flow, OverlapConflict(offset: UInt64(max(0, from)), kept: UInt64(memory.sum), other: UInt64(sum)))
      }
    }
    guard count > behind else { return Delivery() }
    if state.pointee.queue != nil {
      // The part that is new may overlap what waits behind the hole, which came first.
      hold(side, segment, bytes, from: behind, base: state.pointee.next, memory)
      return Delivery()
    }
    state.pointee.next &+= UInt32(count - behind)
    state.pointee.offset += UInt64(count - behind)
    return Delivery(offset: segment.pointee.payload + behind, count: count - behind, cut: segment.pointee.cutCount)
  }

  /// A segment of `count` bytes that cannot belong to its connection.
  private mutating func ignore(_ count: Int, expected: UInt32) {
    counters.outOfWindow += 1
    counters.ignoredBytes += UInt64(count)
    outOfWindow = expected
    hasNews = true
  }

  private mutating func noteConflict(_ flow: Ref<Flow>, _ found: OverlapConflict) {
    counters.conflicts += 1
    let anomalyRecord = anomalyRecords.anomalyRecord(flow)
    anomalyRecord.pointee.conflicts &+= anomalyRecord.pointee.conflicts == .max ? 0 : 1
    conflict = found
    hasNews = true
  }

  /// Corrects what was counted for a segment of which `count` bytes had been given up and never seen before.
  mutating func countLate(_ side: FlowSide, _ segment: UnsafePointer<Segment>, _ count: Int) {
    guard count > 0 else { return }
    counters.lateBytes += UInt64(count)
    counters.repeatedBytes -= UInt64(count)
    guard count == segment.pointee.payloadCount, verdict.isRetransmission else { return }
    takeBack(side)
    countOutOfOrder(side)
  }

  private mutating func hold(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>, _ bytes: borrowing Bytes,
    from skip: Int, base: UInt32, _ memory: RecentSegments.Memory?
  ) {
    let flow = side.flow
    let state = side.state
    let queue: Ref<SegmentQueue>
    if let existing = state.pointee.queue {
      queue = existing
    } else {
      queue = segments.makeQueue()
      state.pointee.queue = queue
      bufferingFlows.add(side, flows.places)
    }
    let start = segment.pointee.sequence &+ UInt32(skip)
    let isBelow = queue.pointee.lastEnd.map { $0.isAfter(start) } ?? false
    let before = queue.pointee.byteCount
    let result = queue.pointee.insert(
      bytes, segment.pointee.payload + skip, segment.pointee.payloadCount - skip,
      start: start,
      cut: UInt32(truncatingIfNeeded: segment.pointee.cutCount), base: base, timestamp: segment.pointee.timestamp,
      number: segment.pointee.number, acknowledged: segment.pointee.acknowledgment, policy: options.overlap, segments)
    heldBytes += queue.pointee.byteCount - before
    counters.repeatedBytes += UInt64(result.repeated)
    if skip == 0, result.added == 0 {
      if result.repeated > 0 { judge(side, segment, fillsHole: false, memory) }
    } else if skip == 0, isBelow {
      judge(side, segment, fillsHole: true, memory)
    } else {
      queue.pointee.highestAt = segment.pointee.timestamp
    }
    if let (kept, other) = result.conflict {
      let distance = Int64(segment.pointee.sequence.distance(from: state.pointee.next))
      let from = Int64(state.pointee.offset) + distance
      noteConflict(flow, OverlapConflict(offset: UInt64(max(0, from)), kept: kept, other: other))
    }
  }

  /// Notes the acknowledgment that `segment` carries for the other direction; true when it is a new one.
  @inline(__always)
  @discardableResult
  mutating func acknowledge(
    _ side: FlowSide, _ segment: UnsafePointer<Segment>
  ) -> Bool {
    let peer = side.peer.state
    let known = peer.pointee.acknowledged
    let isAhead = segment.pointee.acknowledgment.isAfter(known)
    // Every other packet moves it: written always, so that there is no branch to guess.
    let isFirst = !peer.pointee.flags.contains(.acknowledged)
    let isNew = (isAhead ? 1 : 0) | (isFirst ? 1 : 0) != 0
    peer.pointee.acknowledged = isNew ? segment.pointee.acknowledgment : known
    peer.pointee.flags.insert(.acknowledged)
    let timed = peer.pointee.timedEnd
    if timed != 0, segment.pointee.acknowledgment.isAtOrAfter(timed) {
      peer.pointee.timedEnd = 0
      side.peer.tail.pointee.roundTrips.record(
        from: peer.pointee.timedAt, to: AckRoundTrips.tick(segment.pointee.timestamp))
    }
    if peer.pointee.queue != nil, isNew {
      scheduleHole(side.peer, segment.pointee.timestamp)
    }
    return isNew
  }

  /// Lets the hole of a direction run out when it is known that its bytes will not come, and at once when a limit is hit.
  @inline(never)
  mutating func scheduleHole(
    _ side: FlowSide, _ now: Timestamp
  ) {
    let flow = side.flow
    let state = side.state
    guard state.pointee.phase == .open, let queue = state.pointee.queue, !queue.pointee.isEmpty,
      !state.pointee.flags.contains(.holeScheduled)
    else { return }
    let next = state.pointee.next
    if state.pointee.flags.contains(.acknowledged) {
      let acked = state.pointee.acknowledged.distance(from: next)
      guard acked > 0, acked < Int(Self.farthest) else { return }
      side.tail.pointee.holeMark = state.pointee.acknowledged
      clock.wake(
        forHoleAt: holes.schedule(flow: side.index, serial: flow.pointee.serial, side: side.number, at: now))
    } else if side.peer.state.pointee.packets == 0 {
      side.tail.pointee.holeMark = next &+ Self.farthest
      clock.wake(
        forHoleAt: patientHoles.schedule(flow: side.index, serial: flow.pointee.serial, side: side.number, at: now))
    } else {
      return
    }
    state.pointee.flags.insert(.holeScheduled)
  }

  /// Whether a direction holds more in its queue than it may; its first hole is given up then.
  @inline(__always)
  func isOverLimit(_ queue: Ref<SegmentQueue>) -> Bool {
    queue.pointee.byteCount > options.bytesPerDirection || queue.pointee.count > options.segmentsPerDirection
      || heldBytes > options.bytesInAll
  }

  /// Begins a direction at `sequence`.
  func open(_ state: Ref<DirectionState>, at sequence: UInt32) {
    state.pointee.next = sequence
    state.pointee.phase = .open
  }

  /// The next thing that a direction's queue can give: data at `next`, or the hole before data up to `mark`.
  ///
  /// `mark` is how far holes are given up, `nil` where only contiguous data is wanted.
  mutating func nextPiece(
    _ side: FlowSide, givingUpTo mark: UInt32?, reason: GapReason
  ) -> ReleasedPiece? {
    let state = side.state
    while let queue = state.pointee.queue {
      if let entry = queue.pointee.pop(at: state.pointee.next) {
        heldBytes -= Int(entry.count)
        let skip = Int(state.pointee.next &- entry.start)
        if skip >= Int(entry.count) {
          counters.repeatedBytes += UInt64(entry.count)
          segments.take(back: entry)
          continue
        }
        counters.repeatedBytes += UInt64(skip)
        var dated = entry
        dated.timestamp = max(queue.pointee.contiguousSince, entry.timestamp)
        queue.pointee.contiguousSince = dated.timestamp
        state.pointee.next &+= entry.count &- UInt32(skip)
        state.pointee.offset += UInt64(Int(entry.count) - skip)
        return .data(dated, skip: skip)
      }
      guard let start = queue.pointee.firstStart else {
        segments.take(back: &state.pointee.queue)
        return nil
      }
      guard let mark, mark.isAfter(state.pointee.next) else { return nil }
      let target = mark.isBefore(start) ? mark : start
      queue.pointee.contiguousSince = .distantPast
      var gap = skip(side, Int(target &- state.pointee.next), reason)
      gap.seenAt = queue.pointee.firstTimestamp ?? .distantFuture
      return .gap(gap)
    }
    return nil
  }

  /// Moves a direction over `count` bytes that will not come.
  mutating func skip(_ side: FlowSide, _ count: Int, _ reason: GapReason) -> Gap {
    if reason == .captureLoss { countMissed(side, count) }
    let state = side.state
    state.pointee.next &+= UInt32(truncatingIfNeeded: count)
    state.pointee.offset &+= UInt64(count)
    state.pointee.flags.remove(.fromStart)
    counters.gapBytes[Int(reason.rawValue)] += UInt64(count)
    counters.gaps[Int(reason.rawValue)] += 1
    let anomalyRecord = anomalyRecords.anomalyRecord(side.flow)
    anomalyRecord.pointee.gapCount &+= 1
    anomalyRecord.pointee.gapBytes &+= UInt64(count)
    return Gap(byteCount: count, reason: reason)
  }
}
