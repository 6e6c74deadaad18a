import IMWire

extension Engine {
  /// Takes `count` stream bytes of side `side` that have just become contiguous, at `offset` of `bytes`.
  @inline(__always)
  mutating func consume(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ offset: Int,
    _ count: Int, _ at: Timestamp, _ number: UInt64
  ) {
    let half = flow.half(side)
    guard flow.pointee.profile.isPlan else {
      undecided(index, flow, side, bytes, offset, count, at, number)
      return
    }
    select(flow.pointee.profile)
    if half.pointee.rest != nil || !half.pointee.flags.isDisjoint(with: .detour) {
      consumeBehindRest(index, flow, side, bytes, offset, count, at, number)
      return
    }
    // The usual case: whole frames, read where the packet holds them.
    var position = offset
    let end = offset &+ count
    let base = half.pointee.offset &- UInt64(truncatingIfNeeded: count)
    loop: while position < end {
      switch currentPlan.read(bytes, position, end, frame) {
      case .frame:
        frame.pointee.timestamp = at
        frame.pointee.number = number
        frame.pointee.streamOffset = base &+ UInt64(truncatingIfNeeded: position &- offset)
        guard isSound(flow, bytes, end) else {
          half.pointee.flags.insert(.lost)
          break loop
        }
        complete(index, flow, side, bytes)
        position = position &+ frame.pointee.count
      case .needMore:
        break loop
      case .notAFrame:
        if speaksVariant(flow, bytes, position, end) { continue loop }
        noteVersion(flow, side, bytes, position, at)
        half.pointee.flags.insert(.lost)
        break loop
      }
    }
    if position < end { keep(index, flow, side, bytes, position, end, at, number) }
  }

  /// Bytes behind what a direction holds, or while it is lost, or of a frame that a gap has cut.
  @inline(never)
  private mutating func consumeBehindRest(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ offset: Int,
    _ count: Int, _ at: Timestamp, _ number: UInt64
  ) {
    let half = flow.half(side)
    if half.pointee.flags.contains(.carried) {
      carry(index, flow, side, bytes, offset, count, at, number)
      return
    }
    if half.pointee.flags.contains(.delimited) {
      consumeStretches(index, flow, side, bytes, offset, count, at, number)
      return
    }
    if half.pointee.flags.contains(.passing) {
      let passed = min(count, Int(half.pointee.passOver))
      half.pointee.passOver -= UInt32(passed)
      ledger.skippedBytes += UInt64(passed)
      tracker.rare(tracker.figures.pointer(flow.pointee.figures)).pointee.skippedBytes += UInt64(passed)
      setAside(flow, side, bytes, offset, passed, after: count - passed, at, number)
      if half.pointee.passOver == 0 {
        half.pointee.flags.remove(.passing)
        closeIsland(flow, side, at: half.pointee.offset &- UInt64(count - passed))
      }
      if passed < count { consume(index, flow, side, bytes, offset + passed, count - passed, at, number) }
      return
    }
    append(index, flow, half, bytes, offset, count, at, number)
    decodeRest(index, flow, side)
  }

  /// Makes `profile` the plan in use; the branch is predicted, so that decoding does not wait for the flow.
  @inline(__always)
  mutating func select(_ profile: FlowProfile) {
    if profile.rawValue != currentPlanIndex {
      currentPlanIndex = profile.rawValue
      currentPlan = planPointers[Int(profile.rawValue)]
      frame.pointee.trailerCount = Int(currentPlan.pointee.framing.trailerCount)
    }
  }

  /// Keeps what is left of a delivery until more comes.
  @inline(never)
  private mutating func keep(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ position: Int,
    _ end: Int, _ at: Timestamp, _ number: UInt64
  ) {
    let half = flow.half(side)
    append(index, flow, half, bytes, position, end - position, at, number)
    if half.pointee.flags.contains(.lost) {
      decodeRest(index, flow, side)
    } else {
      half.pointee.rest?.pointee.needed = frame.pointee.count
    }
  }

  /// Keeps the last `count` bytes that were delivered.
  mutating func append(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ half: UnsafeMutablePointer<Half>, _ bytes: borrowing Bytes,
    _ offset: Int, _ count: Int, _ at: Timestamp,
    _ number: UInt64
  ) {
    let rest: UnsafeMutablePointer<StreamRest>
    if let existing = half.pointee.rest {
      rest = existing
    } else {
      rest = reassembler.rests.make()
      half.pointee.rest = rest
      reassembler.addHolder(index, flow)
    }
    rest.pointee.append(
      bytes, offset, count, at, number, streamOffset: half.pointee.offset &- UInt64(truncatingIfNeeded: count))
    if budget.isOverHeld { wake = .distantPast }
  }

  /// Decodes what a direction holds, as far as it goes.
  @inline(never)
  mutating func decodeRest(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, isEnd: Bool = false) {
    let half = flow.half(side)
    guard !currentPlan.pointee.framing.isDelimited else { return decodeStretches(index, flow, side) }
    var found: UInt64?
    while let rest = half.pointee.rest {
      if half.pointee.flags.contains(.lost) {
        guard resynchronise(flow, side, rest, isEnd: isEnd) else { break }
        found = rest.pointee.streamOffset
      }
      if rest.pointee.count == 0 { break }
      if rest.pointee.count < rest.pointee.needed { break }
      let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
      let start = rest.pointee.start
      let end = rest.pointee.end
      if rest.pointee.mark(at: start).timestamp > decodeLimit { return }
      switch currentPlan.read(bytes, start, end, frame) {
      case .frame:
        let last = rest.pointee.mark(at: start + frame.pointee.count - 1)
        frame.pointee.timestamp = last.timestamp
        frame.pointee.number = last.number
        let isCarried = half.pointee.flags.contains(.carried)
        frame.pointee.streamOffset = rest.pointee.streamOffset
        if isCarried { frame.pointee.streamOffset = wireOffset(flow, side, rest.pointee.streamOffset) }
        guard isSound(flow, bytes, end) else {
          half.pointee.flags.insert(.lost)
          // What was found by its proof and is no frame all the same must not be found again.
          if found == rest.pointee.streamOffset { drop(flow, side, rest, 1, isFound: false) }
          continue
        }
        complete(index, flow, side, bytes)
        if isCarried { countOnWire(flow, side, rest) }
        rest.pointee.needed = 0
        rest.pointee.consume(frame.pointee.count)
      case .needMore:
        rest.pointee.needed = frame.pointee.count
        return
      case .notAFrame:
        if speaksVariant(flow, bytes, start, end) { continue }
        noteVersion(flow, side, bytes, start, rest.pointee.mark(at: start).timestamp)
        half.pointee.flags.insert(.lost)
      }
    }
    if let rest = half.pointee.rest, rest.pointee.count == 0 { reassembler.rests.take(back: &half.pointee.rest) }
  }

  /// The same for a frame that stands in the scratch, because its escapes had to be taken out.
  @inline(never)
  mutating func completeStretch(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    let memory = scratch.memory
    complete(index, flow, side, Bytes(RawSpan(_unsafeStart: memory.start, byteCount: memory.count)))
  }

  /// Opens the frame in hand; false when its length cannot be believed, so that the next frame must be looked for.
  ///
  /// A damaged frame that another one follows is damaged in its body. Where none follows, its length may lie: too short, and
  /// it is a damaged frame all the same; too long, and a sound frame stands inside it.
  @inline(__always)
  private mutating func isSound(
    _ flow: UnsafeMutablePointer<Flow>, _ bytes: borrowing Bytes, _ end: Int
  ) -> Bool {
    let isOpen = currentPlan.open(bytes, frame)
    if isOpen, frame.pointee.checksumStatus != .bad { return true }
    if currentPlan.pointee.hasVariant, reopens(flow, bytes, end) { return true }
    return follows(bytes, end) || (isOpen && currentPlan.pointee.magicEvidence >= 32 && !hidesFrame(bytes))
  }

  /// Whether a frame whose checksum is right stands inside the body of the one in hand.
  @inline(never)
  private mutating func hidesFrame(_ bytes: borrowing Bytes) -> Bool {
    let end = frame.pointee.start + frame.pointee.count
    var probe = frame.pointee
    var position = frame.pointee.start + frame.pointee.headerCount
    // Headers by the thousand whose frames all reach to the end of this one tell nothing, but would cost its square.
    var credit = 16 * frame.pointee.count
    while position < end {
      position = nextCandidate(bytes, position, end)
      guard position < end else { return false }
      if currentPlan.read(bytes, position, end, &probe) == .frame {
        credit -= probe.count
        guard credit > 0 else { return false }
        if currentPlan.open(bytes, &probe), probe.checksumStatus != .bad { return true }
      }
      position += 1
    }
    return false
  }

  /// Tells of a header that has the magic number, but a version that the profile does not describe.
  @inline(never)
  private mutating func noteVersion(
    _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ position: Int, _ at: Timestamp
  ) {
    let plan = currentPlan.pointee
    guard plan.signatureMask != 0, plan.signatureMask != plan.magicMask else { return }
    let head = bytes.u64(position)
    guard head & plan.signatureMask == plan.magic & plan.signatureMask, head & plan.magicMask != plan.magic else {
      return
    }
    raise(
      Issue(
        .unsupportedVersion(head: head), timestamp: at, direction: flow.pointee.direction(side),
        streamOffset: flow.half(side).pointee.offset), flow)
  }

  /// Whether a header follows the damaged frame, so that its length was right; also when nothing follows yet.
  @inline(never)
  private mutating func follows(_ bytes: borrowing Bytes, _ end: Int) -> Bool {
    let next = frame.pointee.start + frame.pointee.count
    guard next < end else { return true }
    var probe = frame.pointee
    if end - next < Int(currentPlan.pointee.headerCount) { return mayBegin(bytes, next, end) }
    return currentPlan.read(bytes, next, end, &probe) != .notAFrame
  }

  /// One whole frame: its TLVs, what the tracker says of it, and the sink's call.
  @inline(__always)
  private mutating func complete(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes
  ) {
    let plan = currentPlan
    // By a name of its own: the thread sanitizer makes no code for calls through a constant of what cannot be copied.
    let frame = frame
    let kind = frame.pointee.kind
    let direction = flow.pointee.direction(side)
    ledger.checksums[Int(frame.pointee.checksumStatus.rawValue)] &+= 1
    if frame.pointee.checksumStatus == .bad {
      ledger.damagedBytes &+= UInt64(truncatingIfNeeded: frame.pointee.count)
    } else {
      ledger.decodedBytes &+= UInt64(truncatingIfNeeded: frame.pointee.count)
    }
    if plan.pointee.time.isPresent {
      frame.pointee.time = plan.pointee.time.read(bytes, frame.pointee.start)
      // The sender's clock counts seconds; more than a minute from the capture's is worth a word.
      let passed = frame.pointee.timestamp.nanoseconds &- second.start
      if UInt64(bitPattern: passed) >= 1_000_000_000 { second = Second(frame.pointee.timestamp) }
      let ahead = second.number &- Int64(truncatingIfNeeded: frame.pointee.time)
      if ahead > 60 || ahead < -60 { frame.pointee.flags.insert(.timestampWindow) }
    } else {
      frame.pointee.time = 0
    }
    if plan.pointee.duplicate.isPresent, plan.pointee.duplicate.read(bytes, frame.pointee.start) != 0 {
      frame.pointee.flags.insert(.markedDuplicate)
    }
    frame.pointee.tlvCount = 0
    frame.pointee.tlvDepth = 0
    if plan.pointee.tlv.shape != .none, !kind.pointee.flags.contains(.noTLV), frame.pointee.bodyCount > 0 {
      if plan.isPlain(bytes, frame.pointee.start) {
        walker.walk(plan, bytes, frame.pointee.body, frame.pointee.bodyCount, frame)
      } else {
        openBody(plan, bytes)
      }
      ledger.tlvs &+= UInt64(truncatingIfNeeded: frame.pointee.tlvCount)
    } else {
      walker.clear()
    }
    if tracker.table.isFull { tracker.makeRoom(frame.pointee.timestamp, reassembler.flows.places) }
    tracker.track(frame, bytes, index, flow, direction, plan, reassembler.flows.places, &note)
    if !kind.pointee.flags.isDisjoint(with: .tagged) { readTags(flow, direction, plan, bytes) }
    if tracker.sessions.hasNews { tellSessions() }
    if needs.contains(.frames) { tellFrame(flow, direction, bytes) }
    if tracker.adopted != nil { tellAdopted() }
    if !frame.pointee.flags.isDisjoint(with: Self.remarkable) || frame.pointee.checksumStatus == .bad || note.isOrphan
      || kind.pointee.index == FrameKind.unknownIndex
    {
      remark(flow, direction)
    }
  }

  /// The longest frame that is taken for a message when the snaplen has cut its body.
  private static var longestCut: Int { 1 << 20 }

  /// A frame whose body the snaplen has cut: what its header says, and the part of its body that is there, makes it a
  /// message. Of its body nothing is judged; what is missing reads as zeros. False where a direction holds no such frame.
  @inline(never)
  mutating func completeCut(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ rest: UnsafeMutablePointer<StreamRest>
  ) -> Bool {
    let have = rest.pointee.count
    let whole = frameLength(rest)
    guard !flow.half(side).pointee.flags.contains(.carried), whole > have, whole <= Self.longestCut else {
      return false
    }
    let last = rest.pointee.mark(at: rest.pointee.start + have - 1)
    var copy = [UInt8](
      UnsafeRawBufferPointer(start: rest.pointee.memoryStart + rest.pointee.start, count: have))
    copy += [UInt8](repeating: 0, count: whole - have + RawBuffer.slack)
    let bytes = Bytes(copy.span.bytes)
    guard currentPlan.read(bytes, 0, whole, frame) == .frame, frame.pointee.headerCount <= have else { return false }
    // The steps read what is there.
    frame.pointee.count = have
    let trailer = frame.pointee.trailerCount
    frame.pointee.trailerCount = 0
    _ = currentPlan.open(bytes, frame)
    frame.pointee.count = whole
    frame.pointee.trailerCount = trailer
    frame.pointee.flags.remove(.malformed)
    frame.pointee.checksumStatus = .unchecked
    frame.pointee.timestamp = last.timestamp
    frame.pointee.number = last.number
    frame.pointee.streamOffset = rest.pointee.streamOffset
    let plan = currentPlan
    let direction = flow.pointee.direction(side)
    frame.pointee.time = plan.pointee.time.isPresent ? plan.pointee.time.read(bytes, 0) : 0
    if plan.pointee.duplicate.isPresent, plan.pointee.duplicate.read(bytes, 0) != 0 {
      frame.pointee.flags.insert(.markedDuplicate)
    }
    frame.pointee.tlvCount = 0
    frame.pointee.tlvDepth = 0
    walker.clear()
    ledger.checksums[Int(ChecksumStatus.unchecked.rawValue)] &+= 1
    ledger.decodedBytes &+= UInt64(have)
    ledger.cutBytes &+= UInt64(whole - have)
    rest.pointee.consume(have)
    reassembler.rests.take(back: &flow.half(side).pointee.rest)
    if tracker.table.isFull { tracker.makeRoom(frame.pointee.timestamp, reassembler.flows.places) }
    tracker.track(frame, bytes, index, flow, direction, plan, reassembler.flows.places, &note)
    if tracker.sessions.hasNews { tellSessions() }
    if needs.contains(.frames) { tellFrame(flow, direction, bytes) }
    if tracker.adopted != nil { tellAdopted() }
    if note.isOrphan { remark(flow, direction) }
    return true
  }

  /// A frame whose tags tell the tracker something: a handshake's, or a receipt.
  @inline(never)
  private mutating func readTags(
    _ flow: UnsafeMutablePointer<Flow>, _ direction: Direction, _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes
  ) {
    guard frame.pointee.checksumStatus != .bad else { return }
    if frame.pointee.kind.pointee.flags.contains(.tellsVariant) { flow.pointee.variantIsCertain = true }
    if frame.pointee.kind.pointee.flags.isDisjoint(with: [.handshake, .receipt]) { return }
    if frame.pointee.kind.pointee.flags.contains(.handshake) {
      let request = plan.pointee.handshakeRequest
      if request == .max || element(request) != nil {
        tracker.handshake(frame, .request, flow, direction, plan)
      } else if plan.pointee.handshakeAnswer != .max, element(plan.pointee.handshakeAnswer) != nil {
        tracker.handshake(frame, .answer, flow, direction, plan)
      }
    } else if let name = element(plan.pointee.receiptTag), (1...8).contains(name.count) {
      let number: UInt64
      if frame.pointee.flags.contains(.inflated) {
        let start = UnsafeRawPointer(inflater.output.pointer)
        let span = RawSpan(_unsafeStart: start, byteCount: inflater.count + RawBuffer.slack)
        number = Self.number(Bytes(span), Int(name.offset), Int(name.count))
      } else {
        number = Self.number(bytes, frame.pointee.body + Int(name.offset), Int(name.count))
      }
      tracker.receipt(number, flow, direction, frame.pointee.timestamp, &note)
    }
  }

  /// A big-endian number of up to eight bytes.
  private static func number(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> UInt64 {
    var number: UInt64 = 0
    for i in 0..<count { number = number << 8 | UInt64(bytes.u8(offset &+ i)) }
    return number
  }

  /// The first element of the frame's own list of TLVs with a tag.
  private func element(_ tag: UInt32) -> TLVRef? {
    for i in 0..<walker.count where walker.references[i].tag == tag && walker.references[i].depth == 0 {
      return walker.references[i]
    }
    return nil
  }

  /// Flags of a frame that are worth an issue.
  private static var remarkable: Frame.Flags {
    [
      .compressLabelOnly, .inflateLimit, .malformed, .duplicateTag, .nestedTooDeep, .incompleteTag, .incompleteLength,
      .incompleteValue, .tlvLimit, .timestampWindow,
    ]
  }

  /// A body that its header calls encrypted or compressed. A compressed body is inflated when it is whole zlib; many
  /// senders set the label and compress nothing.
  @inline(never)
  private mutating func openBody(_ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes) {
    let frame = frame
    walker.clear()
    if plan.pointee.encryption.isPresent,
      plan.pointee.encryption.read(bytes, frame.pointee.start) >= plan.pointee.encryptedFrom
    {
      frame.pointee.flags.insert(.encrypted)
      return
    }
    // A zlib header: deflate with a window of 32 KiB, and a check of five bits.
    if frame.pointee.bodyCount >= 2, bytes.u8(frame.pointee.body) == 0x78, bytes.u16(frame.pointee.body) % 31 == 0 {
      switch inflater.inflate(bytes, frame.pointee.body, frame.pointee.bodyCount) {
      case nil:
        frame.pointee.flags.insert(.inflated)
        let start = UnsafeRawPointer(inflater.output.pointer)
        let inflated = Bytes(RawSpan(_unsafeStart: start, byteCount: inflater.count + RawBuffer.slack))
        walker.walk(plan, inflated, 0, inflater.count, frame)
        return
      case .limit:
        frame.pointee.flags.insert(.inflateLimit)
        return
      case .notZlib:
        break
      }
    }
    frame.pointee.flags.insert(.compressLabelOnly)
    walker.walk(plan, bytes, frame.pointee.body, frame.pointee.bodyCount, frame)
  }
}
