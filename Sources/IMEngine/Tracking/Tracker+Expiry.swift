import IMWire

/// Expired exchanges: they are resolved, moved and forgotten.
extension Tracker {
  /// Settles what has run out of time at `now`, oldest first. `isEnd` settles everything.
  @inline(never)
  mutating func settleExpired(_ now: Timestamp, isEnd: Bool = false) {
    settleCursor = max(settleCursor, table.head)
    let end = table.tail
    while settleCursor < end {
      if table.isFull {
        makeRoom(now)
        settleCursor = max(settleCursor, table.head)
      }
      let exchange = table.pointer(settleCursor)
      if exchange.pointee.flags.isDisjoint(with: [.resolved, .moved]) {
        let flow = flows.pointer(exchange.pointee.flow)
        let deadline = deadline(exchange, flow)
        if deadline <= now || isEnd, isEnd || !mayBeFilled(exchange, flow, deadline, now) {
          expire(exchange, flow, at: deadline <= now ? deadline : nil)
        } else if now.time(since: exchange.pointee.firstAt) < Self.leastTimeout {
          break
        } else {
          // It was repeated, or its kind has more time: it must not hold up those behind it.
          move(exchange)
        }
      }
      settleCursor = max(settleCursor + 1, table.head)
    }
    if waiting.count > 0, !isEnd { settleWaiting(now) }
  }

  /// Takes note that the exchange at the front, which began at `firstAt`, stands behind younger ones.
  private mutating func waits(_ firstAt: Timestamp) {
    // What was moved more than once has left entries behind, and so has what was answered.
    if waiting.isFull {
      waiting.makeRoom {
        table.pointer(ifThere: $0).map { !$0.pointee.flags.isDisjoint(with: [.resolved, .moved]) } ?? true
      }
    }
    waiting.add(UInt32(truncatingIfNeeded: table.tail &- 1), due: firstAt.advanced(by: Self.leastTimeout))
  }

  /// Settles what has run out of time behind younger exchanges.
  private mutating func settleWaiting(_ now: Timestamp) {
    while let link = waiting.popDue(now) {
      guard let exchange = table.pointer(ifThere: link), exchange.pointee.flags.isDisjoint(with: [.resolved, .moved])
      else { continue }
      let flow = flows.pointer(exchange.pointee.flow)
      let deadline = deadline(exchange, flow)
      if deadline > now {
        waiting.add(link, due: deadline)
      } else if mayBeFilled(exchange, flow, deadline, now) {
        // Whether it is depends on the next packets.
        waiting.add(link, due: now.advanced(by: .milliseconds(1)))
      } else {
        expire(exchange, flow, at: deadline)
      }
    }
  }

  private mutating func deadline(
    _ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>
  ) -> Timestamp {
    let last = copyElsewhere(exchange)?.flow ?? flow
    return min(table.lastAt(exchange).advanced(by: timeouts(exchange)), last.pointee.closedAt)
  }

  /// Resolves an open exchange whose time for an answer was over before `now`, when its next frame came. The next tick would resolve it anyway, but
  /// when a tick examines it depends on the exchanges that began before it.
  @inline(never)
  mutating func settleOverdue(_ exchange: Ref<KeptExchange>, _ now: Timestamp) {
    guard exchange.pointee.flags.isDisjoint(with: [.resolved, .moved]),
      now > table.lastAt(exchange).advanced(by: timeouts(exchange))
    else { return }
    let flow = flows.pointer(exchange.pointee.flow)
    guard flow.pointee.serial == exchange.pointee.connection else { return }
    expire(exchange, flow, at: deadline(exchange, flow))
  }

  /// Whether an exchange may have been open for longer than its answer may take.
  @inline(__always)
  func mayBeOverdue(_ exchange: Ref<KeptExchange>, _ now: Timestamp) -> Bool {
    now.time(since: exchange.pointee.firstAt) > Self.leastTimeout
  }

  /// Whether an exchange has been quiet for so long that it is to be forgotten: when it is depends on those that began before it.
  @inline(__always)
  func isForgotten(_ exchange: Ref<KeptExchange>, _ now: Timestamp) -> Bool {
    now.time(since: exchange.pointee.firstAt) > Self.retention && exchange.pointee.flags.contains(.resolved)
      && now.time(since: max(table.lastAt(exchange), exchange.pointee.ackedAt)) > Self.retention
  }

  @inline(__always)
  private func timeouts(_ exchange: Ref<KeptExchange>) -> Nanoseconds {
    planTimeouts[Int(exchange.pointee.plan) * Self.kinds + min(Self.kinds - 1, Int(exchange.pointee.kind))]
  }

  /// Settles an exchange that is forgotten, while it is open, to stay within a limit.
  private mutating func expireByLimit(_ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>) {
    evicted += 1
    exchange.pointee.outcome.decideByLimit()
    expire(exchange, flow, .unknown)
  }

  /// Settles an exchange whose time for an answer ended at `deadline`, or, with `nil`, that is still open at the end.
  private mutating func expire(
    _ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>,
    at deadline: Timestamp?
  ) {
    expire(exchange, flow, deadline.map { outcomeWithoutAnswer(exchange, flow, $0) } ?? .pending)
  }

  private mutating func expire(_ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>, _ fate: Fate) {
    let figure = figures.pointer(flow.pointee.figures)
    let role = role(exchange)
    if fate != .pending, figure.pointee.heartbeats != .max, role == .heartbeat {
      heartbeats.pointer(figure.pointee.heartbeats).pointee.wentWithoutAnswer(fate)
    }
    resolve(exchange, role, fate, flow)
  }

  /// What an exchange's type is for.
  @inline(__always)
  func role(_ exchange: Ref<KeptExchange>) -> FrameRole {
    planRoles[Int(exchange.pointee.plan) &* Self.kinds &+ min(Self.kinds &- 1, Int(exchange.pointee.kind))]
  }

  /// Puts an open exchange at the front of the table.
  private mutating func move(_ exchange: Ref<KeptExchange>) {
    let firstAt = exchange.pointee.firstAt
    moveToFront(exchange)
    waits(firstAt)
  }

  /// Forgets the oldest exchange of a full table if nothing else needs to be done: it is resolved, no sink has to be notified of it, and the table
  /// has its intended size.
  @inline(__always)
  private mutating func dropsOldest() -> Bool {
    guard table.indexed == 0, !wantsFinished, !table.canGrow, table.head < roundEnd, moved &* 2 <= table.capacity else {
      return false
    }
    let oldest = table.pointer(table.head)
    guard oldest.pointee.flags.intersection([.resolved, .moved]) == .resolved, !oldest.pointee.hasRest else {
      return false
    }
    table.dropOldest()
    return true
  }

  /// Makes room for one more exchange: forgets resolved ones, moves open ones, or grows.
  @inline(never)
  mutating func makeRoom(_ now: Timestamp) {
    if dropsOldest() { return }
    let oldest = table.pointer(table.head)
    if table.canGrow, !oldest.pointee.flags.contains(.moved),
      now.time(since: table.lastAt(oldest)) < Self.retention, grow()
    {
      return
    }
    while table.isFull {
      if table.head >= roundEnd {
        moved = 0
        roundEnd = table.head &+ UInt64(table.capacity)
      }
      // Where many of all are still open, moving them round after round would cost more than room for them.
      if moved * 2 > table.capacity, table.canGrowFar, grow() { return }
      let exchange = table.pointer(table.head)
      let flags = exchange.pointee.flags
      // What was dropped stands in its place until something is put at the front.
      table.dropOldest()
      if flags.contains(.moved) { continue }
      if !flags.contains(.resolved) {
        // At most three in four are moved in a round, three for each message that is added: in a flood of messages without answers,
        // making room must not become expensive.
        if moved < table.capacity / 4 * 3 {
          moved += 1
          moveDropped(exchange)
          continue
        }
        expireByLimit(exchange, flows.pointer(exchange.pointee.flow))
      }
      finish(exchange)
    }
  }

  /// Puts an open exchange that was dropped from the tail at the front.
  private mutating func moveDropped(_ exchange: Ref<KeptExchange>) {
    let firstAt = exchange.pointee.firstAt
    if waiting.count >= 2 * table.capacity { waiting.removeAll { table.pointer(ifThere: $0) == nil } }
    moveToFront(exchange)
    waits(firstAt)
  }

  /// Doubles the table if the limit on memory lets it, and its index, which may have to grow with it.
  private mutating func grow() -> Bool {
    let cost = table.capacity * (table.costPerExchange + sinkCost)
    guard budget.admits(.exchanges, cost + table.indexCost) else { return false }
    budget.take(.exchanges, cost)
    table.grow()
    moved = 0
    roundEnd = table.head &+ UInt64(table.capacity)
    return true
  }

  /// Settles the `count` open exchanges of connections that are about to be evicted: their answers are not waited for.
  @inline(never)
  mutating func settleLeaving(_ count: Int) {
    var left = count
    var position = max(settleCursor, table.head)
    while left > 0, position < table.tail {
      let exchange = table.pointer(position)
      position += 1
      guard exchange.pointee.flags.isDisjoint(with: [.resolved, .moved]) else { continue }
      let flow = flows.pointer(exchange.pointee.flow)
      guard flow.pointee.isLeaving else { continue }
      left -= 1
      expireByLimit(exchange, flow)
    }
  }

  /// Forgets exchanges that have been quiet for long enough.
  mutating func forgetOld(_ now: Timestamp) {
    while table.head < table.tail {
      let exchange = table.pointer(table.head)
      if !exchange.pointee.flags.contains(.moved) {
        let last = max(table.lastAt(exchange), exchange.pointee.ackedAt)
        guard exchange.pointee.flags.contains(.resolved), now.time(since: last) > Self.retention
        else { return }
        table.dropOldest()
        finish(exchange)
      } else {
        table.dropOldest()
      }
    }
  }

  /// Forgets everything, at the end of the capture.
  mutating func forgetAll() {
    while table.head < table.tail {
      let exchange = table.pointer(table.head)
      table.dropOldest()
      if !exchange.pointee.flags.contains(.moved) { finish(exchange) }
    }
  }

  @inline(__always)
  private mutating func finish(_ exchange: Ref<KeptExchange>) {
    if wantsFinished { sink.finished(table.told(exchange)) }
    if exchange.pointee.mayHaveCopyElsewhere { elsewhere[table.link(of: exchange)] = nil }
    table.release(exchange)
  }
}
