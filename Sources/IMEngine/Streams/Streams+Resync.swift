import IMWire

/// Finding the next frame in a direction that is lost.
extension Streams {
  /// Bytes held while a header waits for its proof; then it is passed over. A magic number is proof enough to wait for as
  /// long as its frame may be, unless that was in vain too often.
  private mutating func maximumHeld(_ rest: Ref<StreamRest>) -> Int {
    let isPatient = currentPlan.pointee.magicEvidence >= 32 && rest.pointee.search.wasted < Self.mostWasted
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
    _ side: FlowSide, _ rest: Ref<StreamRest>, isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
    var result = findAny(flow, bytes, rest, isEnd: isEnd)
    if case .open(let position) = result, rest.pointee.end - position > maximumHeld(rest) {
      result = findAny(flow, bytes, rest, isEnd: true, countsParts: true)
    }
    if rest.pointee.count > Self.usuallyHeld { noteWaste(rest, result) }
    switch result {
    case .at(let position):
      drop(side, rest, position - rest.pointee.start, isFound: true)
      side.half.pointee.flags.remove(.lost)
      rest.pointee.needed = 0
      rest.pointee.search.candidates.removeAll()
      return true
    case .open(let position):
      // Wait for more, but keep only what may still matter.
      drop(side, rest, position - rest.pointee.start, isFound: false)
    case .none:
      drop(side, rest, rest.pointee.count, isFound: false)
    }
    return false
  }

  /// Whether a direction that is lost and holds nothing goes on with a frame that its first byte begins, and that proves itself by
  /// magic number and checksum: then nothing is kept to look for it. It is what `FrameSearch` would find there.
  @inline(never)
  mutating func goesOn(_ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk) -> Bool {
    let (half, plan, frame) = (side.half, currentPlan, frame)
    guard half.pointee.flags.intersection(.detour) == .lost, doubt == 0, decodeLimit == .distantFuture,
      plan.pointee.magicEvidence >= 32, plan.pointee.checksumEvidence >= 32, !plan.weighsBodies,
      plan.read(bytes, chunk.offset, chunk.end, frame) == .frame, plan.open(bytes, frame),
      frame.pointee.checksumStatus != .bad,
      // That it begins where a packet does proves something, too.
      8 + plan.evidence(frame) >= Int(plan.pointee.confirmEvidence)
    else { return false }
    let offset = half.pointee.offset &- UInt64(truncatingIfNeeded: chunk.count)
    half.pointee.flags.remove(.lost)
    closeGapRegion(side, at: offset)
    tellFound(side, offset, chunk.timestamp)
    return true
  }

  private mutating func noteWaste(_ rest: Ref<StreamRest>, _ result: SearchResult) {
    switch result {
    case .at(let position) where position == rest.pointee.start: return
    case .open(let position) where position == rest.pointee.start: return
    default: rest.pointee.search.wasted += rest.pointee.count
    }
  }

  /// Passes over bytes that are no frame.
  mutating func drop(
    _ side: FlowSide, _ rest: Ref<StreamRest>, _ count: Int,
    isFound: Bool
  ) {
    let flow = side.flow
    let half = side.half
    let figures = flow.pointee.figures
    let isCarried = half.pointee.flags.contains(.carried)
    let skipped = isCarried ? wireCount(side, rest, count) : count
    if figures != .max, skipped > 0 {
      tracker.rare(of: flow).pointee.strayBytes += UInt64(skipped)
    }
    let note = journals.note(side)
    if isCarried, note.pointee.skipped == 0 { noteSkipped(side, rest) }
    note.pointee.skipped += UInt64(skipped)
    ledger.pointee.strayBytes += UInt64(skipped)
    let offset = rest.pointee.streamOffset
    let at = rest.pointee.count > 0 ? rest.pointee.mark(at: rest.pointee.start).timestamp : clock.moment
    if count > 0 { setAside(side, rest, count) }
    if isFound {
      closeGapRegion(side, at: offset &+ UInt64(count))
      if isCarried { noteFound(side, offset &+ UInt64(count)) }
    }
    rest.pointee.consume(count)
    if isFound { tellFound(side, offset &+ UInt64(count), at) }
  }

  /// Tells what was passed over before a frame that begins at `offset` of the stream and came at `at`.
  private mutating func tellFound(_ side: FlowSide, _ offset: UInt64, _ at: Timestamp) {
    let (flow, note) = (side.flow, journals.note(side))
    let total = note.pointee.skipped
    guard total > 0 else { return }
    note.pointee.skipped = 0
    let isCarried = side.half.pointee.flags.contains(.carried)
    raise(
      Issue(
        .resynchronised, timestamp: at, direction: side.direction,
        streamOffset: isCarried ? skippedFrom(side) : offset &- total, byteCount: total), flow)
  }
}
