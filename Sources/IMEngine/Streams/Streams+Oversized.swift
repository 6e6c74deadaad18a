import IMWire

/// A frame whose body is longer than is read: the beginning of it, and how much of it has been passed over.
struct SkippedFrame {
  /// Its first bytes.
  var prefix: [UInt8]
  /// Where it begins in its stream, and how long it is.
  let streamOffset: UInt64, count: Int
  /// Bytes of it that came, those of `prefix` included.
  var passed: Int
  /// The packet that brought the last of them.
  var timestamp: Timestamp, number: UInt64
}

/// Frames that are longer than the profile's maximum. Their length is known: they are passed over by it, and are messages all the same.
/// Of their bodies only the beginning is read, and nothing is looked for inside.
extension Streams {
  /// Bytes of one that are waited for, so that its beginning holds what its header and its first fields say; and those that are kept.
  private static var awaitedPrefix: Int { 4 << 10 }
  private static var longestPrefix: Int { 64 << 10 }
  /// Directions that may pass over one at the same time; bytes of others are looked through as if they had lost their place.
  private static var mostSkipped: Int { 1_024 }

  private static func key(_ side: FlowSide) -> UInt64 { UInt64(side.flow.pointee.serial) << 1 | UInt64(side.number) }

  /// The length of the frame at `position` where it is longer than the plan's maximum and its beginning is what its type has; `nil`
  /// where there is none. The frame in hand then wants as many bytes as are waited for.
  @inline(never)
  mutating func oversize(_ side: FlowSide, _ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int? {
    guard !isInGapRegion, !side.state.pointee.flags.contains(.carried), skipped.count < Self.mostSkipped,
      currentPlan.readOversized(bytes, position, end, frame)
    else { return nil }
    var probe = frame.pointee
    let bits =
      currentPlan.weighsBodies
      ? currentPlan.weighFrame(bytes, &probe, position, end) : search.weigh(bytes, &probe, position, end)
    guard bits != nil else { return nil }
    let count = frame.pointee.count
    frame.pointee.count = min(count, Self.awaitedPrefix)
    return count
  }

  /// Passes over the frame of `count` bytes that a direction holds the beginning of; true where it held all of it.
  @inline(never)
  mutating func skipOversized(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ bytes: borrowing Bytes, _ count: Int
  ) -> Bool {
    let held = partial.pointee.count
    guard held >= min(count, Self.awaitedPrefix) else {
      partial.pointee.needed = min(count, Self.awaitedPrefix)
      return false
    }
    return skip(side, partial, bytes, count)
  }

  @discardableResult
  private mutating func skip(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ bytes: borrowing Bytes, _ count: Int
  ) -> Bool {
    let here = min(partial.pointee.count, count)
    let start = partial.pointee.start
    let last = partial.pointee.mark(at: start + here - 1)
    let prefix = bytes.span.withUnsafeBytes { Array($0[start..<start + min(here, Self.longestPrefix)]) }
    skipped[Self.key(side)] = SkippedFrame(
      prefix: prefix, streamOffset: partial.pointee.streamOffset, count: count, passed: here, timestamp: last.timestamp,
      number: last.number)
    budget.held += prefix.count
    ledger.pointee.decodedBytes += UInt64(here)
    partial.pointee.needed = 0
    partial.pointee.consume(here)
    if here == count {
      completeSkipped(side)
      return true
    }
    partials.take(back: &side.state.pointee.partial)
    side.state.pointee.passOver = UInt32(count - here)
    side.state.pointee.flags.insert(.passing)
    return false
  }

  /// Whether a direction in step holds the beginning of such a frame, where bytes are missing after it: then it is passed over.
  mutating func beginsOversized(_ side: FlowSide, _ partial: Ref<PartialFrame>) -> Bool {
    select(side.flow.pointee.profile)
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    guard partial.pointee.count >= Int(currentPlan.pointee.headerCount),
      let count = oversize(side, bytes, partial.pointee.start, partial.pointee.end), count > partial.pointee.count
    else { return false }
    skip(side, partial, bytes, count)
    return true
  }

  /// Takes note of the first `count` bytes of a chunk, which a direction has just passed over, where they are those of a frame that
  /// is skipped; false where they are others.
  mutating func skips(_ side: FlowSide, _ chunk: StreamChunk, _ count: Int) -> Bool {
    guard !skipped.isEmpty, var frame = skipped[Self.key(side)] else { return false }
    let behind = side.state.pointee.offset &- UInt64(truncatingIfNeeded: chunk.count - count)
    guard behind &+ UInt64(side.state.pointee.passOver) == frame.streamOffset &+ UInt64(frame.count) else {
      cutSkipped(side)
      return false
    }
    frame.passed += count
    (frame.timestamp, frame.number) = (chunk.timestamp, chunk.number)
    skipped[Self.key(side)] = frame
    ledger.pointee.decodedBytes += UInt64(count)
    return true
  }

  /// Whether a direction is passing over such a frame.
  func isSkipping(_ side: FlowSide) -> Bool { !skipped.isEmpty && skipped[Self.key(side)] != nil }

  /// A frame that was passed over to its end is a message.
  @inline(never)
  mutating func completeSkipped(_ side: FlowSide) {
    guard let skipped = skipped.removeValue(forKey: Self.key(side)) else { return }
    budget.held -= skipped.prefix.count
    let flow = side.flow
    let have = skipped.prefix.count
    // Zeros take the place of what was skipped.
    guard let zeros = LargeMemory.zeros(skipped.count + RawBuffer.slack) else { return }
    defer { LargeMemory.release(zeros) }
    skipped.prefix.withUnsafeBytes { raw in
      if let base = raw.baseAddress { zeros.start.copyMemory(from: base, byteCount: raw.count) }
    }
    let bytes = Bytes(RawSpan(_unsafeStart: UnsafeRawPointer(zeros.start), byteCount: zeros.byteCount))
    guard currentPlan.readOversized(bytes, 0, have, frame) else { return }
    // The steps read what is there.
    frame.pointee.count = have
    let trailer = frame.pointee.trailerCount
    frame.pointee.trailerCount = 0
    frame.pointee.flags.insert(.opened)
    currentPlan.forgetSteps(frame)
    if frame.pointee.kind.pointee.stepCount > 0 { _ = currentPlan.runSteps(bytes, frame) }
    frame.pointee.count = skipped.count
    frame.pointee.trailerCount = trailer
    frame.pointee.flags.remove(.malformed)
    frame.pointee.flags.insert(.oversized)
    frame.pointee.checksumStatus = .unchecked
    (frame.pointee.timestamp, frame.pointee.number) = (skipped.timestamp, skipped.number)
    frame.pointee.streamOffset = skipped.streamOffset
    let plan = currentPlan
    frame.pointee.time = plan.pointee.time.isPresent ? plan.pointee.time.read(bytes, 0) : 0
    if plan.pointee.duplicate.isPresent, plan.pointee.duplicate.read(bytes, 0) != 0 {
      frame.pointee.flags.insert(.markedDuplicate)
    }
    frame.pointee.tlvCount = 0
    frame.pointee.tlvDepth = 0
    bodies.clear()
    ledger.pointee.checksums[Int(ChecksumStatus.unchecked.rawValue)] &+= 1
    ledger.pointee.cutBytes += UInt64(skipped.count - skipped.passed)
    track(side, bytes)
    if tracker.sessions.hasNews { tellSessions() }
    if needs.contains(.frames) { tellFrame(flow, side.direction, bytes, upTo: have) }
    if tracker.adopted != nil { tellAdopted() }
    remark(flow, side.direction)
  }

  /// Nothing more comes of a frame that is passed over: it is cut.
  @inline(never)
  mutating func cutSkipped(_ side: FlowSide) {
    guard let skipped = skipped.removeValue(forKey: Self.key(side)) else { return }
    budget.held -= skipped.prefix.count
    ledger.pointee.decodedBytes -= UInt64(skipped.passed)
    ledger.pointee.strayBytes += UInt64(skipped.passed)
    if side.flow.pointee.figures != .max {
      tracker.rare(of: side.flow).pointee.strayBytes += UInt64(skipped.passed)
      tracker.rare(of: side.flow).pointee.cutFrames &+= 1
    }
    raise(
      Issue(
        .frameCut, timestamp: skipped.timestamp, direction: side.direction, streamOffset: skipped.streamOffset,
        byteCount: UInt64(skipped.passed)), side.flow)
  }
}
