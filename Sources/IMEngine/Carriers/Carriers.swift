import IMWire

/// The stage of what protocols travel in beside TCP: PROXY headers in front of a stream, and WebSocket frames around it. What
/// they carry, and every stream without them, goes on to `Streams`.
struct Carriers: ~Copyable {
  /// The stage behind: what streams hold.
  var streams: Streams
  /// What WebSocket frames carry, without its mask; what a compressed part of it says.
  var carried = RawBuffer(), inflated = RawBuffer()
  /// The most bytes that a message may inflate to, and the most for each byte on the wire.
  let inflateLimit: Int, inflateRatio: Int
  let holders: HolderQueue
  let ledger: UnsafeMutablePointer<Ledger>
  let clock: PacketClock
  let budget: MemoryBudget

  /// The stage for `options`, with what it shares with the others.
  init(options: EngineOptions, shared: SharedState, streams: consuming Streams) {
    self.streams = streams
    inflateLimit = options.inflateLimit
    inflateRatio = options.inflateRatio
    (holders, ledger, clock, budget) = (shared.holders, shared.ledger, shared.clock, shared.budget)
  }

  /// Takes `count` stream bytes of side `side` that have just become contiguous, at `offset` of `bytes`.
  @inline(__always)
  mutating func consume(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ offset: Int,
    _ count: Int, _ at: Timestamp, _ number: UInt64
  ) {
    if flow.pointee.profile.isPlan, !flow.half(side).pointee.flags.contains(.carried) {
      streams.consume(index, flow, side, bytes, offset, count, at, number)
    } else {
      consumeOther(index, flow, side, bytes, offset, count, at, number)
    }
  }

  /// The same for bytes of a carrier, and of connections that no plan has been chosen for.
  @inline(never)
  private mutating func consumeOther(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ offset: Int,
    _ count: Int, _ at: Timestamp, _ number: UInt64
  ) {
    if flow.half(side).pointee.flags.contains(.carried) {
      carry(index, flow, side, bytes, offset, count, at, number)
    } else if flow.pointee.profile == .unknown {
      streams.append(index, flow, flow.half(side), bytes, offset, count, at, number)
      choose(index, flow, side, new: count, isEnd: false)
    } else {
      streams.countUnread(flow, count)
    }
  }

  /// Looks for a carrier, and then for a plan, in what side `side` holds. See `Streams.choose`.
  mutating func choose(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, new count: Int, isEnd: Bool, isCut: Bool = false
  ) {
    let half = flow.half(side)
    guard let rest = half.pointee.rest, rest.pointee.count > 0 else { return }
    var isThorough: Bool?
    if !half.pointee.flags.contains(.carried), !streams.awaitsRoles(flow) {
      if readsCarrier(index, flow, side, rest, isEnd: isEnd) { return }
      if !half.pointee.flags.contains(.fromStart) {
        let looksAtAll = streams.isThorough(half, rest, isEnd: isEnd)
        if findWebSocket(index, flow, side, rest, isThorough: looksAtAll) { return }
        isThorough = looksAtAll
      }
    }
    streams.choose(index, flow, side, new: count, isEnd: isEnd, isCut: isCut, isThorough: isThorough)
  }

  // MARK: Missing bytes

  /// Bytes of a direction will not come: a frame in the middle is cut, and the next one must be found.
  ///
  /// When the gap lies inside the body of a frame whose header is known, the next frame's place is known too.
  mutating func lose(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ gap: Gap) {
    let half = flow.half(side)
    streams.raise(
      Issue(
        .gap(gap.reason), timestamp: clock.moment, direction: flow.pointee.direction(side),
        streamOffset: half.pointee.offset &- UInt64(gap.byteCount), byteCount: UInt64(gap.byteCount)),
      flow)
    // Of what the snaplen cut off from a known frame, nothing can have been an answer.
    let isBody = gap.reason == .snaplen && (half.pointee.rest != nil || half.pointee.flags.contains(.passing))
    if half.pointee.flags.contains(.carried) {
      loseCarrierBytes(index, flow, side, gap)
    } else {
      loseFrame(index, flow, side, gap)
    }
    if !isBody || half.pointee.flags.contains(.lost) {
      streams.tracker.noteLoss(flow, side, gap.byteCount, min(gap.seenAt, clock.moment))
    }
  }

  /// The same for the stream that the plan's frames stand in.
  mutating func loseFrame(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ gap: Gap) {
    let half = flow.half(side)
    // Of a frame that the snaplen cuts, the beginning is all there will be.
    if gap.reason == .snaplen, flow.pointee.profile == .unknown, let held = half.pointee.rest?.pointee.count {
      choose(index, flow, side, new: held, isEnd: true, isCut: true)
    }
    if streams.passesOver(index, flow, side, gap) { return }
    chooseAtEnd(index, flow, side)
    streams.lose(index, flow, side, gap)
  }

  /// Ends what a direction holds: nothing will follow it.
  mutating func abandonRest(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    chooseAtEnd(index, flow, side)
    streams.abandonRest(index, flow, side)
  }

  /// Nothing will follow what an undecided direction holds.
  private mutating func chooseAtEnd(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    guard flow.pointee.profile == .unknown, let rest = flow.half(side).pointee.rest else { return }
    choose(index, flow, side, new: rest.pointee.count, isEnd: true)
  }
}
