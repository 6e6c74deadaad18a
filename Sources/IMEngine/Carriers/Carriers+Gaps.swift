import IMWire

/// WebSocket frames of which bytes are missing or wrong: passing over them, and finding the next one.
extension Carriers {
  // MARK: Losing

  /// Bytes of a carried direction will not come. Inside a frame whose length is known, the stream that it carries lacks as
  /// many; else the next frame is looked for.
  mutating func loseCarrierBytes(_ side: FlowSide, _ gap: Gap) {
    guard let reader = streams.reader(side) else { return }
    let count = gap.byteCount
    guard reader.pointee.state == .payload, reader.pointee.held == nil, reader.pointee.remaining >= count else {
      if mayBeControl(side, reader, gap) {
        reader.pointee.isInDoubt = true
        reader.pointee.doubtFrom = .max
        return
      }
      loseCarrier(side, reader)
      dropHeld(side, reader)
      return
    }
    reader.pointee.remaining -= count
    reader.pointee.phase = (reader.pointee.phase + count) & 3
    reader.pointee.loseMessage()
    switch reader.pointee.message {
    case .plain: loseFrame(side, gap)
    case .compressed:
      dropIdle(side.flow, reader)
      reader.pointee.inflater?.reset()
      reader.pointee.message = .unreadable
      loseCarried(side)
    case .none, .unreadable, .unknown: break
    }
    guard reader.pointee.remaining == 0 else { return }
    reader.pointee.state = .header
    if reader.pointee.isFinal {
      tellNotInflated(side, reader, clock.moment)
      reader.pointee.message = .none
    }
  }

  /// Whether a gap between two fragments of a message may have been a control frame: it is no longer than one, and the protocol's frame
  /// in hand says how many bytes it lacks.
  private mutating func mayBeControl(_ side: FlowSide, _ reader: Ref<WebSocketReader>, _ gap: Gap) -> Bool {
    reader.pointee.state == .header && reader.pointee.held == nil && reader.pointee.message == .plain
      && !reader.pointee.isInDoubt && (2...139).contains(gap.byteCount) && missingBytes(side) > 0
  }

  /// Bytes that the protocol's frame in hand lacks; 0 where that is not known.
  private mutating func missingBytes(_ side: FlowSide) -> Int {
    let state = side.state
    guard side.flow.pointee.profile.isPlan, state.pointee.flags.isDisjoint(with: [.lost, .passing]),
      let partial = state.pointee.partial, partial.pointee.count > 0
    else { return 0 }
    streams.select(side.flow.pointee.profile)
    return max(0, streams.frameLength(side, partial) - partial.pointee.count)
  }

  /// Whether the fragments after such a gap are exactly what the protocol's frame lacks, as far as they came: then none is missing.
  /// `place` is that of the fragment in hand.
  mutating func goesOnAfterControl(
    _ header: WebSocketHeader, _ side: FlowSide, _ reader: Ref<WebSocketReader>, at place: UInt64
  ) -> Bool {
    if header.isControl { return true }
    let missing = missingBytes(side)
    guard header.opcode == 0, header.isFinal ? header.payloadCount == missing : header.payloadCount < missing else {
      return false
    }
    reader.pointee.doubtFrom = min(reader.pointee.doubtFrom, place)
    guard header.isFinal else { return true }
    reader.pointee.isInDoubt = false
    if replay == nil {
      streams.carrier(of: side.flow)?.pointee.late[side.number]?.pointee.close(at: reader.pointee.doubtFrom)
    }
    return true
  }

  /// The next frame is not where it should be: it is looked for, and so is the protocol's next one.
  mutating func loseCarrier(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>
  ) {
    guard reader.pointee.state != .lost else { return }
    reader.pointee.isInDoubt = false
    dropIdle(side.flow, reader)
    tellNotInflated(side, reader, clock.moment)
    reader.pointee.inflater?.reset()
    reader.pointee.state = .lost
    reader.pointee.message = .unknown
    reader.pointee.loseMessage()
    reader.pointee.pingAt = nil
    loseCarried(side)
  }

  /// The stream that frames carry has a hole of unknown length.
  mutating func loseCarried(_ side: FlowSide) {
    let state = side.state
    state.pointee.flags.remove(.passing)
    state.pointee.passOver = 0
    abandonRest(side)
    state.pointee.flags.remove(.fromStart)
    if side.flow.pointee.profile != .none { state.pointee.flags.insert(.lost) }
  }

  /// Passes over what a reader holds.
  mutating func dropHeld(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>
  ) {
    guard let held = reader.pointee.held else { return }
    if held.pointee.count > 0 { passOver(side, held, held.pointee.count) }
    streams.partials.take(back: &reader.pointee.held)
  }

  /// Bytes of a compressed message that have made nothing yet never will.
  private mutating func dropIdle(_ flow: Ref<Flow>, _ reader: Ref<WebSocketReader>) {
    guard reader.pointee.idle > 0 else { return }
    countSkipped(flow, reader.pointee.idle)
    reader.pointee.idle = 0
  }

  private mutating func passOver(
    _ side: FlowSide, _ held: Ref<PartialFrame>, _ count: Int
  ) {
    let flow = side.flow
    guard count > 0 else { return }
    streams.raise(
      Issue(
        .webSocketFrame, timestamp: held.pointee.mark(at: held.pointee.start).timestamp,
        direction: side.direction, streamOffset: streams.place(side, held.pointee.streamOffset),
        byteCount: UInt64(count)),
      flow)
    countSkipped(flow, count)
    held.pointee.consume(count)
  }

  /// Ends what a carried direction holds: nothing will follow it.
  mutating func endCarrier(_ side: FlowSide) {
    guard side.state.pointee.flags.contains(.carried) else { return }
    beginUpgraded(side.flow)
    if let tls = streams.tls(of: side.flow) { endRecords(side, tls) }
    guard let reader = streams.reader(side) else { return }
    carryHeld(side, isEnd: true)
    // The connection may have turned out to be none that is read.
    guard side.state.pointee.flags.contains(.carried) else { return }
    dropIdle(side.flow, reader)
    tellNotInflated(side, reader, clock.moment)
    dropHeld(side, reader)
  }

  /// Frees what a direction holds for its frames beyond its reader; what is compressed and goes on with what came before
  /// cannot be read any more.
  mutating func releaseCarrier(_ side: FlowSide) {
    flushLate(side)
    dropLate(side)
    if let tls = streams.tls(of: side.flow) { releaseRecords(side, tls) }
    guard let reader = streams.reader(side) else { return }
    let isInFrame = reader.pointee.state == .payload && reader.pointee.held == nil
    let isCompressed = reader.pointee.message == .compressed
    endCarrier(side)
    if isCompressed { reader.pointee.message = .unreadable }
    if !isInFrame, reader.pointee.state != .upgrade { loseCarrier(side, reader) }
    loseCarried(side)
    reader.pointee.clear(budget)
    reader.pointee.offsets.clear()
    side.state.pointee.flags.remove(.inflating)
  }

  /// Frees the readers of a connection that is not read any more; what they hold was not read.
  mutating func dropReaders(_ flow: Ref<Flow>) {
    guard let record = streams.carrier(of: flow) else { return }
    if record.pointee.beats != .max { streams.tracker.heartbeats.release(record.pointee.beats) }
    record.pointee.beats = .max
    for side in flow.sides {
      flushLate(side)
      dropLate(side)
    }
    for side in flow.sides {
      guard let reader = record.pointee.readers[side.number] else { continue }
      let state = side.state
      let partial = state.pointee.partial.map { streams.wireCount(side, $0, $0.pointee.count) } ?? 0
      let count = partial + (reader.pointee.held?.pointee.count ?? 0) + reader.pointee.idle
      if count > 0 {
        ledger.pointee.unreadBytes += UInt64(count)
        streams.undecoded.add(flow.pointee.key.ports, count)
      }
      streams.partials.take(back: &state.pointee.partial)
      reader.pointee.clear(budget)
      budget.take(.connections, -WebSocketReader.cost)
      reader.free()
      record.pointee.readers[side.number] = nil
      state.pointee.flags.subtract([.carried, .inflating])
    }
    dropTLS(flow, record)
  }

  // MARK: Finding

  /// Bytes that are held while a frame is looked for.
  private static var maximumHeld: Int { 64 << 10 }

  /// Looks for the next frame in what a lost direction holds. True when it stands at the beginning.
  ///
  /// A place that was rejected is not looked at again; those that more bytes would tell are, at most 32 of them.
  mutating func findCarried(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ held: Ref<PartialFrame>, isEnd: Bool
  ) -> Bool {
    let bytes = Bytes(RawSpan(_unsafeStart: held.pointee.memoryStart, byteCount: held.pointee.readableCount))
    let start = held.pointee.start
    let end = held.pointee.end
    let base = held.pointee.streamOffset &- UInt64(start)
    var open: [UInt64] = []
    var best = (position: start, bits: 19)
    var known = isEnd ? [] : held.pointee.search.candidates.filter { $0 >= held.pointee.streamOffset }[...]
    var next = start
    if !isEnd, held.pointee.search.reached > held.pointee.streamOffset {
      next = min(end, Int(truncatingIfNeeded: held.pointee.search.reached &- base))
    }
    while true {
      let position = known.popFirst().map { Int(truncatingIfNeeded: $0 &- base) } ?? next
      guard position < end else { break }
      if position == next { next += 1 }
      guard held.pointee.search.credit > 0 else {
        passOver(side, held, held.pointee.count)
        return false
      }
      held.pointee.search.credit -= 1
      switch weighCarrier(bytes, at: position, end: end, reader, held, side.flow) {
      case .confirmed: return stand(side, reader, held, at: position - start)
      case .open(let bits, _):
        if open.count < 32 { open.append(base &+ UInt64(position)) }
        if bits > best.bits { best = (position, bits) }
      case .rejected: break
      }
    }
    if isEnd, best.bits > 19 { return stand(side, reader, held, at: best.position - start) }
    // Wait for more, but keep only what may still matter.
    held.pointee.search.reached = base &+ UInt64(end)
    held.pointee.search.candidates = open
    let keep = open.first.map { Int(truncatingIfNeeded: $0 &- base) } ?? end
    passOver(side, held, max(keep - start, held.pointee.count - Self.maximumHeld))
    return false
  }

  /// A lost direction has found its frames again, behind `count` bytes.
  private mutating func stand(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ held: Ref<PartialFrame>, at count: Int
  ) -> Bool {
    passOver(side, held, count)
    held.pointee.search.candidates.removeAll()
    held.pointee.search.reached = 0
    reader.pointee.state = .header
    if replay == nil, let late = streams.carrier(of: side.flow)?.pointee.late[side.number], let open = late.pointee.open
    {
      let place = streams.place(side, held.pointee.streamOffset)
      late.pointee.all[open].frames = min(late.pointee.all[open].frames, place)
    }
    return true
  }

  /// Weighs a place where a frame may begin: whether headers follow one another from there on, and whether what they carry
  /// is the protocol's.
  private mutating func weighCarrier(
    _ bytes: borrowing Bytes, at position: Int, end: Int, _ reader: Ref<WebSocketReader>,
    _ held: Ref<PartialFrame>, _ flow: Ref<Flow>
  ) -> FrameSearch.Verdict {
    guard
      var chain = Self.chain(
        bytes, position, end, isMasked: reader.pointee.isMasked != reader.pointee.hasToldMask,
        allowsCompression: reader.pointee.allowsCompression)
    else { return .rejected }
    held.pointee.search.credit -= 4 * chain.frames
    let begins = held.pointee.startsDelivery(at: position)
    var bits = 6 * chain.frames + (chain.isExact ? 8 : 0) + (begins ? 8 : 0)
    let hint = streams.carrier(of: flow)?.pointee.hint ?? 255
    let profile = flow.pointee.profile.isPlan ? flow.pointee.profile : FlowProfile(rawValue: hint)
    if profile.isPlan, bits < 32, chain.frames > 0 {
      collect(bytes, position, end, &chain)
      held.pointee.search.credit -= chain.looked >> 2
      streams.select(profile)
      bits += min(24, innerEvidence(chain.content, needed: Int(streams.currentPlan.pointee.confirmEvidence)))
      free(chain.content)
    }
    return bits >= 24 && (chain.frames > 1 || chain.isExact || bits >= 32)
      ? .confirmed : .open(bits: bits, isWhole: chain.isExact)
  }

  /// Frames that follow one another.
  struct FrameChain {
    /// Headers, the first one included; at most eight.
    var frames = 0
    /// Whether the last of them ends where the data does.
    var isExact = false
    /// Bytes of payload that were looked at.
    var looked = 0
    /// What the first messages carry, uncompressed and without mask, if they begin in the chain.
    var content: Ref<PartialFrame>?
  }

  /// The frames from `position` on; `nil` when something else follows one of them, or stands there.
  static func chain(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, isMasked: Bool, allowsCompression: Bool
  ) -> FrameChain? {
    var chain = FrameChain()
    var at = position
    var isOpen: Bool?
    while at < end, chain.frames < 8 {
      switch WebSocketHeader.read(bytes, at, end, isMasked: isMasked, allowsCompression: allowsCompression) {
      case .invalid: return nil
      case .needMore: return chain
      case .header(let header):
        if !header.isControl {
          if let isOpen, isOpen != (header.opcode == 0) { return nil }
          isOpen = !header.isFinal
        }
        chain.frames += 1
        at += header.frameCount
      }
    }
    chain.isExact = at == end
    return chain
  }

  /// Puts what the first messages of a chain carry together, as far as it is neither compressed nor begins elsewhere.
  mutating func collect(_ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ chain: inout FrameChain) {
    var at = position
    for _ in 0..<chain.frames {
      guard case .header(let header) = WebSocketHeader.read(bytes, at, end, isMasked: nil, allowsCompression: true)
      else {
        return
      }
      if !header.isControl {
        // A part of a message proves nothing that begins elsewhere.
        if header.isCompressed || (header.opcode == 0 && chain.content == nil) { return }
        let count = min(header.payloadCount, end - at - header.count, 1_024 - chain.looked)
        if count > 0 { add(bytes, at + header.count, count, header.key, to: &chain) }
        if count < header.payloadCount { return }
      }
      at += header.frameCount
    }
  }

  private mutating func add(
    _ bytes: borrowing Bytes, _ offset: Int, _ count: Int, _ key: UInt32?, to chain: inout FrameChain
  ) {
    carried.reserve(count)
    WebSocketHeader.unmask(bytes, offset, count, key: key, phase: 0, to: carried.pointer)
    let content: Ref<PartialFrame>
    if let existing = chain.content {
      content = existing
    } else {
      content = streams.partials.make()
      chain.content = content
    }
    let start = UnsafeRawPointer(carried.pointer)
    content.pointee.append(
      Bytes(RawSpan(_unsafeStart: start, byteCount: carried.capacity + RawBuffer.slack)),
      StreamChunk(offset: 0, count: count, timestamp: clock.moment, number: 0), streamOffset: 0)
    chain.looked += count
  }

  mutating func free(_ content: Ref<PartialFrame>?) {
    var content = content
    streams.partials.take(back: &content)
  }

  /// Bits of proof that what frames carry is the plan's in use.
  mutating func innerEvidence(_ content: Ref<PartialFrame>?, needed: Int) -> Int {
    guard let content else { return 0 }
    let bytes = Bytes(RawSpan(_unsafeStart: content.pointee.memoryStart, byteCount: content.pointee.readableCount))
    if streams.currentPlan.pointee.framing.isGeneral {
      return streams.innerProof(bytes, content.pointee.start, content.pointee.end)
    }
    if streams.currentPlan.pointee.framing.isDelimited {
      let stands = streams.standsDelimited(
        bytes, content.pointee.start, content.pointee.end, isFromStart: true, isHinted: true, isThorough: true)
      return stands ? needed : 0
    }
    switch streams.search.verify(
      bytes, content.pointee.start, content.pointee.end, content, needed: needed, isTrusted: true)
    {
    case .confirmed: return needed
    case .open(let bits, _): return bits
    case .rejected: return 0
    }
  }
}
