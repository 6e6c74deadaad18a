import IMWire

extension Engine {
  /// Bytes held while a header waits for its proof; then it is passed over.
  static var maximumHeld: Int { 256 << 10 }

  /// What a candidate header turned out to be.
  enum Verdict {
    case confirmed
    case rejected
    /// More bytes would tell.
    case open
  }

  /// Looks for the next frame in what a lost direction holds. True when it is found and stands at the start.
  ///
  /// A candidate counts when its proof reaches the plan's measure: fixed bits of its header, a right checksum, and the
  /// headers that follow it. Bytes that no frame can begin at are dropped and counted.
  mutating func resynchronise(
    _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ rest: UnsafeMutablePointer<StreamRest>, isEnd: Bool
  ) -> Bool {
    let half = flow.half(side)
    let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
    let end = rest.pointee.end
    var position = rest.pointee.start
    var isFinal = isEnd
    let needed = Int(currentPlan.pointee.confirmEvidence)
    // Without a magic number an open candidate proves little: one behind it that is confirmed comes first.
    let waits = currentPlan.pointee.magicEvidence >= 32
    var firstOpen: Int?
    scan: while position < end {
      position = nextCandidate(bytes, position, end)
      guard position < end else { break }
      switch verify(bytes, position, end, rest, isFinal: isFinal, needed: needed) {
      case .confirmed:
        drop(flow, side, rest, position - rest.pointee.start, isFound: true)
        half.pointee.flags.remove(.lost)
        rest.pointee.needed = 0
        return true
      case .rejected:
        position += 1
      case .open:
        if end - position > (waits ? Self.maximumHeld : Self.maximumHeld / 8) {
          isFinal = true
          continue
        }
        if firstOpen == nil { firstOpen = position }
        if waits { break scan }
        position += 1
      }
    }
    // Wait for more, but keep only what may still matter.
    drop(flow, side, rest, (firstOpen ?? end) - rest.pointee.start, isFound: false)
    return false
  }

  /// Passes over bytes that are no frame.
  mutating func drop(
    _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ rest: UnsafeMutablePointer<StreamRest>, _ count: Int,
    isFound: Bool
  ) {
    let figures = flow.pointee.figures
    if figures != .max { tracker.figures.pointer(figures).pointee.skippedBytes += UInt64(count) }
    pendingSkip[flow.pointee.serial << 1 | UInt32(side), default: 0] += UInt64(count)
    ledger.skippedBytes += UInt64(count)
    let offset = rest.pointee.streamOffset
    let at = rest.pointee.count > 0 ? rest.pointee.mark(at: rest.pointee.start).timestamp : now
    rest.pointee.consume(count)
    guard isFound, let total = pendingSkip.removeValue(forKey: flow.pointee.serial << 1 | UInt32(side)), total > 0
    else { return }
    raise(
      Issue(
        kind: .resynchronised, timestamp: at, direction: flow.pointee.direction(side),
        streamOffset: offset &+ UInt64(count) &- total, byteCount: total), flow)
  }

  /// The next place at or behind `position` where a header may begin; with fewer bytes left than tell, that place.
  func nextCandidate(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int {
    let mask = currentPlan.pointee.magicMask
    let magic = currentPlan.pointee.magic
    guard mask != 0 else { return position }
    var position = position
    while position < end {
      let available = min(8, end - position)
      let seen = available == 8 ? mask : mask & ~(UInt64.max >> UInt64(available * 8))
      if bytes.u64(position) & seen == magic & seen { return position }
      position += 1
    }
    return end
  }

  /// Whether the bytes at `position`, fewer than a header, are the beginning of one as far as they go.
  func mayBegin(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    let available = min(8, end - position)
    let mask = currentPlan.pointee.magicMask & ~(available == 8 ? 0 : UInt64.max >> UInt64(available * 8))
    return bytes.u64(position) & mask == currentPlan.pointee.magic & mask
  }

  /// Weighs the candidate at `position`, and the frames behind it as far as they prove it.
  mutating func verify(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ rest: UnsafeMutablePointer<StreamRest>, isFinal: Bool,
    needed: Int
  ) -> Verdict {
    let plan = currentPlan
    var evidence = rest.pointee.startsDelivery(at: position) ? 8 : 0
    var probe = frame.pointee
    var at = position
    for _ in 0..<64 {
      switch plan.read(bytes, at, end, &probe) {
      case .notAFrame:
        return .rejected
      case .needMore:
        if end - at < Int(plan.pointee.headerCount), !mayBegin(bytes, at, end) { return .rejected }
        // A header that is there counts, but only behind another frame.
        if at > position, end - at >= Int(plan.pointee.headerCount), plan.pointee.lengthRule == .field {
          evidence += Int(plan.pointee.magicEvidence)
        }
        if evidence >= needed { return .confirmed }
        // Whole frames and the beginning of one that was cut: as good as a chain that ends with the data.
        if isFinal, at > position, evidence >= needed / 2 { return .confirmed }
        return isFinal ? .rejected : .open
      case .frame:
        guard plan.open(bytes, &probe) else { return .rejected }
        if plan.pointee.checksumRule == .none, probe.kind.pointee.index == FrameKind.unknownIndex { return .rejected }
        evidence += plan.evidence(&probe)
        at += probe.count
        if evidence >= needed { return .confirmed }
        if at == end {
          // The chain ends with the data: half a proof, which is enough when no more can come.
          if evidence + 8 >= needed { return .confirmed }
          // Frames that fill their deliveries from the first byte to the last prove some more.
          let fit = rest.pointee.startsDelivery(at: position) ? 8 : 0
          if isFinal { return evidence + fit >= needed / 2 ? .confirmed : .rejected }
          return .open
        }
      }
    }
    return .confirmed
  }

  // MARK: Gaps

  /// Bytes of a direction will not come: a frame in the middle is cut, and the next one must be found.
  ///
  /// When the gap lies inside the body of a frame whose header is known, the next frame's place is known too.
  mutating func lose(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ gap: Gap) {
    let half = flow.half(side)
    raise(
      Issue(
        kind: .gap, timestamp: max(segment.pointee.timestamp, now), direction: flow.pointee.direction(side),
        streamOffset: half.pointee.offset &- UInt64(gap.byteCount), byteCount: UInt64(gap.byteCount), gap: gap.reason),
      flow)
    rememberGap(index, flow, side, gap)
    if let rest = half.pointee.rest, flow.pointee.profile.isPlan, !half.pointee.flags.contains(.lost) {
      select(flow.pointee.profile)
      let left = frameLength(rest) - rest.pointee.count - gap.byteCount
      if left >= 0 {
        abandonRest(index, flow, side)
        half.pointee.passOver = UInt32(left)
        if left > 0 { half.pointee.flags.insert(.passing) }
        return
      }
    } else if half.pointee.flags.contains(.passing) {
      // The same frame, cut again.
      let left = Int(half.pointee.passOver) - gap.byteCount
      half.pointee.passOver = UInt32(max(0, left))
      if left <= 0 { half.pointee.flags.remove(.passing) }
      if left >= 0 { return }
    }
    abandonRest(index, flow, side)
    guard flow.pointee.profile != .none, flow.pointee.profile != .tls else { return }
    half.pointee.flags.insert(.lost)
  }

  /// The length of the frame that a direction in step holds the beginning of, as far as its header tells; else 0.
  func frameLength(_ rest: UnsafeMutablePointer<StreamRest>) -> Int {
    let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
    var probe = frame.pointee
    guard rest.pointee.count >= Int(currentPlan.pointee.headerCount),
      currentPlan.read(bytes, rest.pointee.start, rest.pointee.end, &probe) != .notAFrame,
      probe.count > probe.headerCount + 1 || currentPlan.pointee.lengthRule == .field
    else { return 0 }
    return probe.count
  }

  /// Ends what a direction holds: nothing will follow it.
  mutating func abandonRest(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    let half = flow.half(side)
    guard half.pointee.rest != nil else { return }
    if flow.pointee.profile.isPlan {
      select(flow.pointee.profile)
      decodeRest(index, flow, side, isEnd: true)
    } else if flow.pointee.profile == .unknown {
      choose(index, flow, side, isEnd: true)
    }
    guard let rest = half.pointee.rest else { return }
    let count = rest.pointee.count
    if !flow.pointee.profile.isPlan {
      ledger.unreadBytes += UInt64(count)
      countUndecoded(flow, count)
    } else if count > 0 {
      ledger.skippedBytes += UInt64(count)
      let figures = flow.pointee.figures
      if figures != .max {
        tracker.figures.pointer(figures).pointee.skippedBytes += UInt64(count)
        tracker.figures.pointer(figures).pointee.cutFrames &+= 1
      }
      raise(
        Issue(
          kind: .frameCut, timestamp: rest.pointee.mark(at: rest.pointee.start).timestamp,
          direction: flow.pointee.direction(side), streamOffset: rest.pointee.streamOffset,
          byteCount: UInt64(count)), flow)
    }
    Reassembler.destroy(&half.pointee.rest)
  }
}
