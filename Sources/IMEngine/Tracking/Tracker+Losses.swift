import IMWire

/// What the capture lacks, and what that makes of messages without an answer.
extension Tracker {
  /// A copy of an exchange on another connection than its first.
  struct CopyElsewhere {
    /// The connection's flow and its serial number.
    var flow: UInt32, serial: UInt32
    /// The low half of the stream offset behind the copy.
    var end: UInt32
  }

  /// Copies on other connections that are remembered; beyond, the first copy's connection speaks for all.
  static var maximumElsewhere: Int { 65_536 }

  /// The peer acknowledged bytes of `side` that were not captured.
  @inline(never)
  mutating func noteAhead(_ side: FlowSide, _ now: Timestamp) {
    let (flow, state) = (side.flow, side.state)
    guard flow.pointee.figures != .max, state.pointee.phase != .held else { return }
    var held: (UInt32, UInt32)?
    if let queue = state.pointee.queue, let first = queue.pointee.firstStart, let last = queue.pointee.lastEnd {
      held = (first, last)
    }
    let (acknowledged, next) = (state.pointee.acknowledged, state.pointee.next)
    // A FIN has a number, and is no byte.
    guard acknowledged &- next != 1 else { return }
    rare(of: flow).pointee.losses[side.number].ahead(
      at: now, to: acknowledged, next: next, held: held, isCertain: state.pointee.phase == .fresh)
  }

  /// Bytes of `side` up to what comes next were given up; `now` is when bytes behind them were seen first.
  @inline(never)
  mutating func noteLoss(_ side: FlowSide, _ count: Int, _ now: Timestamp) {
    let flow = side.flow
    guard flow.pointee.figures != .max else { return }
    let next = side.state.pointee.next
    rare(of: flow).pointee.losses[side.number].lost(
      from: next &- UInt32(truncatingIfNeeded: count), to: next, at: now)
  }

  /// Whether the capture lacks bytes of `side` of a decoded connection that were sent behind `begin` and not behind `end`.
  // Mutating, because a struct that cannot be copied is copied all the same to call what does not change it.
  private mutating func lacks(
    _ flow: Ref<Flow>, _ side: Int, after begin: Timestamp, upTo end: Timestamp
  ) -> Bool {
    let state = flow.state(side)
    // A hole that may still be filled is one as long as it is not.
    if state.pointee.phase == .open, let queue = state.pointee.queue,
      queue.pointee.hasHole(after: begin, upTo: end, next: state.pointee.next)
    {
      return true
    }
    let rare = figures.pointer(flow.pointee.figures).pointee.rare
    guard rare != .max else { return false }
    return rareFigures.pointer(rare).pointee.losses[side].contains(
      after: begin, upTo: end, next: state.pointee.next)
  }

  /// A hole younger than this may still be filled by what is sent again.
  private static var youngHole: Nanoseconds { .seconds(2) }

  /// Whether an answer may still come out from a hole that opened before the time for it was over.
  @inline(__always)
  func mayBeFilled(
    _ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>, _ deadline: Timestamp,
    _ now: Timestamp
  ) -> Bool {
    let state = flow.state(flow.pointee.side(exchange.pointee.direction.reversed))
    guard let queue = state.pointee.queue, state.pointee.phase == .open, let first = queue.pointee.firstTimestamp,
      first > exchange.pointee.firstAt, first <= deadline
    else { return false }
    return now.time(since: first) < Self.youngHole
  }

  /// The last time, not behind `end`, at which bytes of `side` turned out to be missing; `nil` where none are.
  mutating func lastLoss(_ flow: Ref<Flow>, _ side: Int, upTo end: Timestamp) -> Timestamp? {
    let rare = figures.pointer(flow.pointee.figures).pointee.rare
    guard rare != .max else { return nil }
    let losses = rareFigures.pointer(rare)
    guard !losses.pointee.losses[side].isEmpty else { return nil }
    return losses.pointee.losses[side].last(upTo: end, next: flow.state(side).pointee.next)
  }

  /// Decides what a message is whose time for an answer ended at `deadline`, and takes note of where it stopped.
  mutating func outcomeWithoutAnswer(
    _ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>,
    _ deadline: Timestamp
  ) -> Fate {
    guard exchange.pointee.flags.contains(.good) else { return .damaged }
    let direction = exchange.pointee.direction
    let begin = exchange.pointee.firstAt
    var isUnknown = lacks(flow, flow.pointee.side(direction.reversed), after: begin, upTo: deadline)
    var isReached = flow.hasAcknowledged(exchange.pointee.end, direction)
    if let other = copyElsewhere(exchange) {
      isUnknown =
        isUnknown || lacks(other.flow, other.flow.pointee.side(direction.reversed), after: begin, upTo: deadline)
      if isReached != true { isReached = other.flow.hasAcknowledged(other.end, direction) ?? isReached }
    }
    exchange.pointee.outcome.reach(isReached)
    return isUnknown ? .unknown : .unanswered
  }

  /// The last copy of an exchange on another connection than its first, as long as that is remembered.
  @inline(__always)
  func copyElsewhere(
    _ exchange: Ref<KeptExchange>
  ) -> (flow: Ref<Flow>, end: UInt32)? {
    guard exchange.pointee.mayHaveCopyElsewhere, let copy = elsewhere[table.link(of: exchange)]
    else { return nil }
    let flow = flows.pointer(copy.flow)
    return flow.pointee.serial == copy.serial ? (flow, copy.end) : nil
  }
}

extension Ref<Flow> {
  /// Whether the peer has acknowledged what was sent in `direction` up to the stream offset with the low half `end`; `nil`
  /// where no packet of the peer was captured.
  func hasAcknowledged(_ end: UInt32, _ direction: Direction) -> Bool? {
    let side = pointee.side(direction)
    let state = state(side)
    guard self.state(1 - side).pointee.packets > 0 else { return nil }
    guard state.pointee.flags.contains(.acknowledged), state.pointee.phase == .open else { return false }
    // A FIN has a number, and is no byte.
    let next = state.pointee.flags.contains(.finished) ? state.pointee.next &- 1 : state.pointee.next
    let ahead = state.pointee.acknowledged &- next
    // What a carrier holds may be longer than it was on the wire: then everything that came is the measure.
    if pointee.carrier != .max, state.pointee.acknowledged.isAtOrAfter(next) { return true }
    return (UInt32(truncatingIfNeeded: state.pointee.offset) &+ ahead).isAtOrAfter(end)
  }
}
