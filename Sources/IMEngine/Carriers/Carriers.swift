import IMTLS
import IMWire

/// The stage of what protocols travel in beside TCP: PROXY headers in front of a stream, TLS records around it, and WebSocket frames
/// in these. What they carry, and every stream without them, goes on to `Streams`.
struct Carriers: ~Copyable {
  /// The stage behind: what streams hold.
  var streams: Streams
  /// What WebSocket frames carry, without its mask; what a compressed part of it says.
  var carried = RawBuffer(), inflated = RawBuffer()
  /// The most bytes that a message may inflate to, and the most for each byte on the wire.
  let inflateLimit: Int, inflateRatio: Int
  /// Decrypts TLS records; `nil` where a run has no key log.
  let secrets: TLSContext?
  /// Connections that wait for keys.
  var waiting: [WaitingFlow] = []
  /// What is read again of a chunk that came late; `nil` while streams are read in order.
  var replay: Replay?
  let bufferingFlows: BufferingQueue
  let ledger: UnsafeMutablePointer<Ledger>
  let clock: PacketClock
  let budget: MemoryBudget

  /// The stage for `options`, with what it shares with the others.
  init(options: EngineOptions, shared: SharedState, streams: consuming Streams, secrets: TLSContext?) {
    self.streams = streams
    self.secrets = secrets
    self.streams.readsTLS = secrets != nil
    inflateLimit = options.inflateLimit
    inflateRatio = options.inflateRatio
    (bufferingFlows, ledger, clock, budget) = (shared.bufferingFlows, shared.ledger, shared.clock, shared.budget)
  }

  /// Takes bytes of a side's stream that have just become contiguous.
  @inline(__always)
  mutating func consume(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    if side.flow.pointee.profile.isPlan, !side.state.pointee.flags.contains(.carried) {
      streams.consume(side, bytes, chunk)
    } else {
      consumeOther(side, bytes, chunk)
    }
  }

  /// The same for bytes of a carrier, and of connections that no plan has been chosen for.
  @inline(never)
  private mutating func consumeOther(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    if side.state.pointee.flags.contains(.carried) {
      if let late = streams.carrier(of: side.flow)?.pointee.late[side.number] {
        keepAfterGap(side, late, bytes, chunk)
      }
      beginUpgraded(side.flow)
      if let tls = streams.tls(of: side.flow) {
        decrypt(side, tls, bytes, chunk)
      } else {
        carry(side, bytes, chunk, at: side.state.pointee.offset &- UInt64(chunk.count))
      }
    } else if side.flow.pointee.profile == .unknown {
      if side.flow.pointee.carrier != .max {
        let start = side.state.pointee.offset &- UInt64(chunk.count)
        let body = min(chunk.count, countOfBody(side, at: start))
        if body > 0 {
          streams.countUnread(side.flow, body)
          guard body < chunk.count else { return }
          consumeOther(side, bytes, chunk.from(chunk.offset + body))
          return
        }
      }
      streams.append(side, bytes, chunk)
      choose(side, new: chunk.count, isEnd: false)
    } else {
      streams.countUnread(side.flow, chunk.count)
    }
  }

  /// Looks for a carrier, and then for a plan, in what side `side` holds. See `Streams.choose`.
  mutating func choose(
    _ side: FlowSide, new count: Int, isEnd: Bool, isCut: Bool = false
  ) {
    let state = side.state
    guard let partial = state.pointee.partial, partial.pointee.count > 0 else { return }
    var isThorough: Bool?
    let isInTLS = state.pointee.flags.contains(.carried) && streams.reader(side) == nil
    if !state.pointee.flags.contains(.carried) || isInTLS, !streams.awaitsRoles(side.flow) {
      if readsCarrier(side, partial, isEnd: isEnd) { return }
      if !isInTLS, secrets != nil && findsTLS(side, partial) || findsUpgrade(side, partial, new: count) { return }
      if !state.pointee.flags.contains(.fromStart) {
        let looksAtAll = streams.isThorough(state, partial, isEnd: isEnd)
        if findWebSocket(side, partial, isThorough: looksAtAll) { return }
        isThorough = looksAtAll
      }
    }
    streams.choose(side, new: count, isEnd: isEnd, isCut: isCut, isThorough: isThorough)
  }

  // MARK: Missing bytes

  /// Bytes of a direction will not come: a frame in the middle is cut, and the next one must be found.
  ///
  /// When the gap lies inside the body of a frame whose header is known, the next frame's place is known too.
  mutating func lose(_ side: FlowSide, _ gap: Gap) {
    let state = side.state
    streams.raise(
      Issue(
        .gap(gap.reason), timestamp: clock.moment, direction: side.direction,
        streamOffset: state.pointee.offset &- UInt64(gap.byteCount), byteCount: UInt64(gap.byteCount)),
      side.flow)
    // Of what the snaplen cut off from a known frame, nothing can have been an answer.
    let isBody = gap.reason == .snaplen && (state.pointee.partial != nil || state.pointee.flags.contains(.passing))
    if state.pointee.flags.contains(.carried) {
      beginUpgraded(side.flow)
      rememberBeforeGap(side, gap)
      if let tls = streams.tls(of: side.flow) {
        loseRecords(side, tls, gap)
      } else {
        loseCarrierBytes(side, gap)
      }
      noteAfterGap(side)
    } else {
      loseFrame(side, gap)
    }
    if !isBody || state.pointee.flags.contains(.lost) {
      streams.tracker.noteLoss(side, gap.byteCount, min(gap.seenAt, clock.moment))
    }
  }

  /// The same for the stream that the plan's frames stand in.
  mutating func loseFrame(_ side: FlowSide, _ gap: Gap) {
    let state = side.state
    // Of a frame that the snaplen cuts, the beginning is all there will be.
    if gap.reason == .snaplen, side.flow.pointee.profile == .unknown, let held = state.pointee.partial?.pointee.count {
      choose(side, new: held, isEnd: true, isCut: true)
    }
    if streams.passesOver(side, gap) { return }
    // Of the body of an HTTP message whose length is known nothing is read anyway.
    if side.flow.pointee.profile == .unknown, side.flow.pointee.carrier != .max,
      side.state.pointee.offset <= streams.carrier(of: side.flow)?.pointee.begin[side.number] ?? 0
    {
      return
    }
    chooseAtEnd(side)
    streams.lose(side, gap)
  }

  /// Ends what a direction holds: nothing will follow it.
  mutating func abandonRest(_ side: FlowSide) {
    chooseAtEnd(side)
    streams.abandonRest(side)
  }

  /// Nothing will follow what an undecided direction holds.
  private mutating func chooseAtEnd(_ side: FlowSide) {
    guard side.flow.pointee.profile == .unknown, let partial = side.state.pointee.partial else { return }
    choose(side, new: partial.pointee.count, isEnd: true)
  }
}
