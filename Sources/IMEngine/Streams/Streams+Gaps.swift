import IMWire

/// Bytes that are missing from a stream, and what they do to the frames around them.
extension Streams {
  /// Whether bytes that a direction lacks lie inside the body of a frame whose header is known: then the next frame's place is
  /// known, too, and what comes up to there is passed over. A frame that the snaplen cuts is taken as far as it is there.
  mutating func passesOver(
    _ side: FlowSide, _ gap: Gap
  ) -> Bool {
    let flow = side.flow
    let state = side.state
    if gap.reason == .snaplen, state.pointee.flags.contains(.lost), !state.pointee.flags.contains(.carried),
      flow.pointee.profile.isPlan, let partial = state.pointee.partial
    {
      select(flow.pointee.profile)
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      if beginsWithHeader(bytes, partial) { state.pointee.flags.remove(.lost) }
    }
    if let partial = state.pointee.partial, flow.pointee.profile.isPlan, !state.pointee.flags.contains(.lost),
      !beginsOversized(side, partial)
    {
      select(flow.pointee.profile)
      let left = frameLength(side, partial) - partial.pointee.count - gap.byteCount
      if left >= 0 {
        if gap.reason != .snaplen || !completeCut(side, partial) {
          abandonRest(side, before: gap)
        }
        // The frame with the hole is not counted, though its type may be.
        loseCount(side)
        state.pointee.passOver = UInt32(left)
        if left > 0 { state.pointee.flags.insert(.passing) } else { closeGapRegion(side, at: state.pointee.offset) }
        return true
      }
    } else if state.pointee.flags.contains(.passing) {
      // The same frame, cut again.
      let left = Int(state.pointee.passOver) - gap.byteCount
      let isSkipping = isSkipping(side)
      if !isSkipping { openGapRegion(side, gap) }
      state.pointee.passOver = UInt32(max(0, left))
      if left <= 0 { state.pointee.flags.remove(.passing) }
      // What its header says is all that was wanted of it.
      if left <= 0, isSkipping { completeSkipped(side) }
      if left == 0 { closeGapRegion(side, at: state.pointee.offset) }
      if left < 0 { state.pointee.flags.insert(.lost) }
      return true
    }
    return false
  }

  /// Bytes of a direction will not come, and nobody knows where the next frame begins: it is looked for.
  mutating func lose(_ side: FlowSide, _ gap: Gap) {
    let flow = side.flow
    loseCount(side)
    abandonRest(side, before: gap)
    guard flow.pointee.profile != .none, flow.pointee.profile != .tls else { return }
    side.state.pointee.flags.insert(.lost)
  }

  /// Frames of a direction may be missing: what is counted of it is relative from here on.
  private mutating func loseCount(_ side: FlowSide) {
    guard counts(side.flow) else { return }
    counters.lose(serial: side.flow.pointee.serial, side.direction)
  }

  /// Forgets how far a connection has counted, which is over.
  mutating func forgetCount(_ flow: Ref<Flow>) {
    if counts(flow) { counters.forget(serial: flow.pointee.serial) }
  }

  /// Whether the protocol of a connection numbers frames by counting them. It is mutating because the compiler would copy the whole stage
  /// for a method that is not.
  private mutating func counts(_ flow: Ref<Flow>) -> Bool {
    flow.pointee.profile.isPlan && protocols[flow.pointee.profile].pointee.general?.pointee.hasCounter ?? false
  }

  /// Whether what a direction holds begins with a packet, and the packet with a header of the plan in use, of a type that it
  /// knows: where the snaplen cuts what is behind it, no more will ever prove it.
  mutating func beginsWithHeader(_ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>) -> Bool {
    let start = partial.pointee.start
    var probe = frame.pointee
    guard !currentPlan.pointee.framing.isDelimited, currentPlan.pointee.lengthRule == .field,
      partial.pointee.startsDelivery(at: start), partial.pointee.count >= Int(currentPlan.pointee.headerCount),
      currentPlan.read(bytes, start, partial.pointee.end, &probe) != .notAFrame
    else { return false }
    return probe.kind.pointee.index != FrameKind.unknownIndex
  }

  /// The length of the frame that a direction in step holds the beginning of, as far as its header tells; else 0.
  mutating func frameLength(_ side: FlowSide, _ partial: Ref<PartialFrame>) -> Int {
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    if [.counted, .headers].contains(currentPlan.pointee.framing.kind),
      case .needMore(let count) = currentPlan.layout(ofServer: side.direction == .serverToClient).nextGeneral(
        bytes, partial.pointee.start, partial.pointee.end, message: nil, contents.pointer),
      partial.pointee.count > Int(currentPlan.pointee.headerCount)
    {
      return count
    }
    var probe = frame.pointee
    // Where a delimiter ends frames, nobody knows how long one is before it is over.
    guard !currentPlan.pointee.framing.isDelimited, partial.pointee.count >= Int(currentPlan.pointee.headerCount),
      currentPlan.read(bytes, partial.pointee.start, partial.pointee.end, &probe) != .notAFrame,
      probe.count > probe.headerCount + 1 || currentPlan.pointee.lengthRule == .field
    else { return 0 }
    return probe.count
  }

  /// Ends what a direction holds: nothing will follow it, or nothing before what stands behind `gap`, which is remembered.
  mutating func abandonRest(
    _ side: FlowSide, before gap: Gap? = nil
  ) {
    let flow = side.flow
    let state = side.state
    if isSkipping(side) { cutSkipped(side) }
    guard state.pointee.partial != nil else {
      if let gap { openGapRegion(side, gap) }
      return
    }
    if flow.pointee.profile.isPlan {
      select(flow.pointee.profile)
      decodeRest(side, isEnd: true)
    }
    if let gap { openGapRegion(side, gap) }
    guard let partial = state.pointee.partial else { return }
    let count = wireCount(side, partial, partial.pointee.count)
    if !flow.pointee.profile.isPlan {
      ledger.pointee.unreadBytes += UInt64(count)
      undecoded.add(flow.pointee.key.ports, count)
      look(flow, partial)
    } else if count > 0 {
      setAside(side, partial, partial.pointee.count)
      ledger.pointee.strayBytes += UInt64(count)
      let figures = flow.pointee.figures
      if figures != .max {
        tracker.rare(of: flow).pointee.strayBytes += UInt64(count)
        tracker.rare(of: flow).pointee.cutFrames &+= 1
      }
      raise(
        Issue(
          .frameCut, timestamp: partial.pointee.mark(at: partial.pointee.start).timestamp,
          direction: side.direction, streamOffset: wireOffset(side, partial.pointee.streamOffset),
          byteCount: UInt64(count)), flow)
    }
    partials.take(back: &state.pointee.partial)
  }
}
