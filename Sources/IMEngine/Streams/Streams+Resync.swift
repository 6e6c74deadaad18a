import IMWire

/// Finding the next frame in a direction that is lost.
extension Streams {
  /// Bytes held while a header waits for its proof; then it is passed over. A magic number is proof enough to wait for as
  /// long as its frame may be, unless that was in vain too often.
  private mutating func maximumHeld(_ partial: Ref<PartialFrame>) -> Int {
    let isPatient = currentPlan.pointee.magicEvidence >= 32 && partial.pointee.search.wasted < Self.mostWasted
    return isPatient ? Int(currentPlan.pointee.maximumBody) + (64 << 10) : Self.usuallyHeld
  }

  private static var usuallyHeld: Int { 256 << 10 }
  /// Bytes held in vain after which a magic number is waited for no longer than anything else: four of the longest bodies
  /// that a profile may have unless it says otherwise (`Plan.maximumBody`).
  private static var mostWasted: Int { 64 << 20 }

  /// Looks for the next frame in what a lost direction holds. True when it is found and stands at the start.
  ///
  /// Bytes that no frame can begin at are dropped and counted.
  mutating func resynchronise(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    var result = findAny(flow, bytes, partial, isEnd: isEnd)
    if case .open(let position) = result, partial.pointee.end - position > maximumHeld(partial) {
      result = findAny(flow, bytes, partial, isEnd: true, countsParts: true)
    }
    if partial.pointee.count > Self.usuallyHeld { noteWaste(partial, result) }
    switch result {
    case .at(let position):
      drop(side, partial, position - partial.pointee.start, isFound: true)
      side.state.pointee.flags.remove(.lost)
      partial.pointee.needed = 0
      partial.pointee.search.candidates.removeAll()
      return true
    case .open(let position):
      // Wait for more, but keep only what may still matter.
      drop(side, partial, position - partial.pointee.start, isFound: false)
    case .none:
      drop(side, partial, partial.pointee.count, isFound: false)
    }
    return false
  }

  /// Whether a direction that is lost and holds nothing goes on with a frame that its first byte begins, and that proves itself by
  /// magic number and checksum: then nothing is kept to look for it. It is what `FrameSearch` would find there.
  @inline(never)
  mutating func goesOn(_ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk) -> Bool {
    let (state, plan, frame) = (side.state, currentPlan, frame)
    guard state.pointee.flags.intersection(.detour) == .lost, extraEvidence == 0, decodeLimit == .distantFuture,
      plan.pointee.magicEvidence >= 32, plan.pointee.checksumEvidence >= 32, !plan.weighsBodies,
      plan.read(bytes, chunk.offset, chunk.end, frame) == .frame, plan.open(bytes, frame),
      frame.pointee.checksumStatus != .bad,
      // That it begins where a packet does proves something, too.
      8 + plan.evidence(frame) >= Int(plan.pointee.confirmEvidence)
    else { return false }
    let offset = state.pointee.offset &- UInt64(truncatingIfNeeded: chunk.count)
    state.pointee.flags.remove(.lost)
    closeGapRegion(side, at: offset)
    tellFound(side, offset, chunk.timestamp)
    return true
  }

  private mutating func noteWaste(_ partial: Ref<PartialFrame>, _ result: SearchResult) {
    switch result {
    case .at(let position) where position == partial.pointee.start: return
    case .open(let position) where position == partial.pointee.start: return
    default: partial.pointee.search.wasted += partial.pointee.count
    }
  }

  /// Passes over bytes that are no frame.
  mutating func drop(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ count: Int,
    isFound: Bool
  ) {
    let flow = side.flow
    let state = side.state
    let figures = flow.pointee.figures
    let isCarried = state.pointee.flags.contains(.carried)
    let skipped = isCarried ? wireCount(side, partial, count) : count
    if figures != .max, skipped > 0 {
      tracker.rare(of: flow).pointee.strayBytes += UInt64(skipped)
    }
    let note = anomalyRecords.note(side)
    if isCarried, note.pointee.skipped == 0 { noteSkipped(side, partial) }
    note.pointee.skipped += UInt64(skipped)
    ledger.pointee.strayBytes += UInt64(skipped)
    let offset = partial.pointee.streamOffset
    let at = partial.pointee.count > 0 ? partial.pointee.mark(at: partial.pointee.start).timestamp : clock.moment
    if count > 0 { setAside(side, partial, count) }
    if isFound {
      closeGapRegion(side, at: offset &+ UInt64(count))
      if isCarried { noteFound(side, offset &+ UInt64(count)) }
    }
    partial.pointee.consume(count)
    if isFound { tellFound(side, offset &+ UInt64(count), at) }
  }

  /// Tells what was passed over before a frame that begins at `offset` of the stream and came at `at`.
  private mutating func tellFound(_ side: FlowSide, _ offset: UInt64, _ at: Timestamp) {
    let (flow, note) = (side.flow, anomalyRecords.note(side))
    let total = note.pointee.skipped
    guard total > 0 else { return }
    note.pointee.skipped = 0
    let isCarried = side.state.pointee.flags.contains(.carried)
    raise(
      Issue(
        .resynchronised, timestamp: at, direction: side.direction,
        streamOffset: isCarried ? skippedFrom(side) : offset &- total, byteCount: total), flow)
  }
}
