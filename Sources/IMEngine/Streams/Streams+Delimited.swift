import IMWire

/// Protocols whose frames end at a delimiter.
///
/// The delimiter stands nowhere inside a frame, so a direction that has seen one knows its place again: between two of them
/// there is a frame, a damaged one, or something else, and behind the second begins the next. Escapes are taken out into
/// `scratch`; times, offsets and lengths are those of the bytes on the wire.
extension Streams {
  /// Bytes of a direction that have just become contiguous, and what it holds in front of them.
  @inline(never)
  mutating func consumeChunks(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    let state = side.state
    let plan = currentPlan
    if state.pointee.partial == nil, bytes.u8(chunk.offset) == 0x16, upgrades(side, bytes, chunk.offset, chunk.end) {
      return append(side, bytes, chunk)
    }
    if plan.pointee.framing.isGeneral { return consumeGeneral(side, bytes, chunk) }
    var position = chunk.offset
    let end = chunk.end
    let base = state.pointee.offset &- UInt64(chunk.count)
    if state.pointee.partial == nil, !state.pointee.flags.contains(.lost) {
      // The usual case: whole frames, read where the packet holds them.
      while position < end, let next = plan.chunk(bytes, position, end),
        plan.readChunk(bytes, next, &scratch, frame)
      {
        frame.pointee.timestamp = chunk.timestamp
        frame.pointee.number = chunk.number
        frame.pointee.streamOffset = base &+ UInt64(position - chunk.offset)
        if needs.contains(.undecoded) {
          tell(
            .frame(isCarried: false), side, at: frame.pointee.streamOffset, bytes, from: next.start,
            count: next.end - next.start)
        }
        completeChunk(side)
        position = next.end
      }
    }
    guard position < end else { return }
    append(side, bytes, chunk.from(position))
    decodeChunks(side)
  }

  /// Decodes what a direction holds, as far as it goes.
  @inline(never)
  mutating func decodeChunks(_ side: FlowSide) {
    let state = side.state
    let plan = currentPlan
    while let partial = state.pointee.partial, partial.pointee.count > 0 {
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      let start = partial.pointee.start
      let end = partial.pointee.end
      if state.pointee.flags.contains(.lost) {
        switch search.findBeginning(bytes, partial) {
        case .at(let position):
          drop(side, partial, position - start, isFound: true)
          state.pointee.flags.remove(.lost)
        case .open(let position):
          drop(side, partial, position - start, isFound: false)
          return
        case .none:
          drop(side, partial, partial.pointee.count, isFound: false)
        }
        continue
      }
      let base = partial.pointee.streamOffset &- UInt64(start)
      let known = max(partial.pointee.streamOffset, partial.pointee.search.reached)
      guard let chunk = plan.chunk(bytes, start, end, known: Int(truncatingIfNeeded: known &- base)) else {
        partial.pointee.search.reached = partial.pointee.streamOffset &+ UInt64(partial.pointee.count)
        guard partial.pointee.count > plan.longestOnWire else { return }
        drop(side, partial, partial.pointee.count, isFound: false)
        state.pointee.flags.insert(.lost)
        continue
      }
      if plan.readChunk(bytes, chunk, &scratch, frame) {
        let isCarried = locate(side, partial, partial.pointee.mark(at: chunk.end - 1))
        if needs.contains(.undecoded) {
          tell(
            .frame(isCarried: isCarried), side, at: partial.pointee.streamOffset, bytes, from: chunk.start,
            count: chunk.end - chunk.start)
        }
        completeChunk(side)
        if isCarried { countOnWire(side, partial) }
        partial.pointee.consume(chunk.end - start)
      } else {
        drop(side, partial, chunk.end - start, isFound: true)
      }
    }
    if let partial = state.pointee.partial, partial.pointee.count == 0 { partials.take(back: &state.pointee.partial) }
  }

  /// Whether frames of the plan in use stand in bytes of a direction that no plan has been chosen for; `isFromStart` says that they
  /// are its first.
  ///
  /// What stands between delimiters has to be a frame with everything that proves one, again and again until that is
  /// enough; of those that are none, there may be three more than of those that are.
  mutating func standsDelimited(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, isFromStart: Bool, isHinted: Bool, isThorough: Bool
  ) -> Bool {
    let plan = currentPlan
    var position = start
    if !isFromStart {
      guard let place = plan.nextBeginning(bytes, start, end) else { return false }
      position = place
    } else if plan.pointee.framing.kind == .delimited, bytes.u8(start) != plan.pointee.framing.delimiter {
      return false
    }
    let needed = isHinted ? 24 : Int(plan.pointee.chooseEvidence)
    var probe = frame.pointee
    probe.trailerCount = Int(plan.pointee.framing.trailerCount)
    var bits = 0
    var failures = 0
    for _ in 0..<(isThorough ? 64 : 16) {
      guard position < end, let chunk = plan.chunk(bytes, position, end) else { return false }
      position = chunk.end
      if plan.readChunk(bytes, chunk, &scratch, &probe), let found = plan.evidence(ofChunk: &probe, scratch) {
        bits += found
        failures -= 1
        if bits >= needed { return true }
      } else {
        failures += 1
        if failures > 3 { return false }
      }
    }
    return false
  }

  /// The client, where what side `side` holds has a frame that only clients, or only servers, send.
  mutating func clientOfChunk(
    _ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>, _ side: FlowSide
  ) -> Int? {
    if currentPlan.pointee.framing.isGeneral { return clientOfGeneral(side, partial) }
    guard var position = currentPlan.nextBeginning(bytes, partial.pointee.start, partial.pointee.end) else {
      return nil
    }
    var probe = frame.pointee
    for _ in 0..<16 {
      guard let chunk = currentPlan.chunk(bytes, position, partial.pointee.end) else { return nil }
      position = chunk.end
      guard currentPlan.readChunk(bytes, chunk, &scratch, &probe) else { continue }
      if probe.kind.pointee.flags.contains(.fromClient) { return side.number }
      if probe.kind.pointee.flags.contains(.fromServer) { return side.peer.number }
    }
    return nil
  }
}
