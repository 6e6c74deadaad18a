import IMWire

/// Frames that stand whole in a stream.
extension Streams {
  /// One whole frame: its TLVs, what the tracker says of it, and the sink's call.
  @inline(__always)
  mutating func complete(
    _ side: FlowSide, _ bytes: borrowing Bytes
  ) {
    let flow = side.flow
    let plan = currentPlan
    // By a name of its own: the thread sanitizer makes no code for calls through a constant of what cannot be copied.
    let frame = frame
    let kind = frame.pointee.kind
    let direction = side.direction
    ledger.pointee.checksums[Int(frame.pointee.checksumStatus.rawValue)] &+= 1
    if frame.pointee.checksumStatus == .bad {
      ledger.pointee.damagedBytes &+= UInt64(truncatingIfNeeded: frame.pointee.count)
    } else {
      ledger.pointee.decodedBytes &+= UInt64(truncatingIfNeeded: frame.pointee.count)
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
      bodies.open(plan, bytes, frame)
      ledger.pointee.tlvs &+= UInt64(truncatingIfNeeded: frame.pointee.tlvCount)
    } else {
      bodies.clear()
    }
    track(side, bytes)
    if !kind.pointee.flags.isDisjoint(with: .tagged) { readTags(flow, direction, plan, bytes) }
    if tracker.sessions.hasNews { tellSessions() }
    if needs.contains(.frames) { tellFrame(flow, direction, bytes) }
    if tracker.adopted != nil { tellAdopted() }
    if !frame.pointee.flags.isDisjoint(with: Self.remarkable) || frame.pointee.checksumStatus == .bad
      || (note.isOrphan && !records.isBatched) || kind.pointee.index == FrameKind.unknownIndex
    {
      remark(flow, direction)
    }
  }

  /// Hands the frame in hand on to be tracked, at once or with those that follow it.
  @inline(__always)
  mutating func track(_ side: FlowSide, _ bytes: borrowing Bytes) {
    let (frame, plan) = (frame, currentPlan)
    let hasContract = tracker.hasContract(frame, side.flow)
    if hasContract { trackRecords() }
    tracker.count(frame, side, plan, hasContract: hasContract)
    if tracker.namesSession(frame, side.flow) {
      trackRecords()
      tracker.resolveSession(frame, bytes, side, plan)
    }
    let record = records.start + records.count
    record.initialize(to: FrameRecord(frame, bytes, side, plan))
    if frame.pointee.flags.contains(.status), record.pointee.kind.pointee.role == .acknowledgment,
      !record.pointee.facts.contains(.isBad)
    {
      tracker.noteStatus(frame, record, plan)
    }
    guard records.isBatched else { return tracker.track(record, plan, &note) }
    records.count &+= 1
    // What answers in order asks for what the capture lacks now.
    if records.isFull || !record.pointee.kind.pointee.flags.isDisjoint(with: [.tagged, .unnumbered]) {
      trackRecords()
    } else {
      tracker.prefetchSession(of: record, side.flow)
    }
  }

  /// Tracks the frames that wait. Comes before everything else that reads or changes what the tracker keeps, and before the
  /// sink is told of anything else.
  @inline(__always)
  mutating func trackRecords() {
    if records.count > 0 { trackAll() }
  }

  @inline(never)
  private mutating func trackAll() {
    let ahead = 8
    let count = records.count
    records.count = 0
    for i in 0..<min(ahead, count) { tracker.prefetchExchange(of: records.start + i) }
    for i in 0..<count {
      let record = records.start + i
      if count &- i > ahead { tracker.prefetchExchange(of: record + ahead) }
      tracker.track(record, protocols[record.pointee.profile], &note)
      if tracker.sessions.hasNews { tellSessions() }
      if tracker.adopted != nil { tellAdopted() }
      if note.isOrphan { ledger.pointee.issues[Int(IssueKind.orphanAck.rawValue)] &+= 1 }
    }
  }

  /// The longest frame that is taken for a message when the snaplen has cut its body.
  private static var longestCut: Int { 1 << 20 }

  /// A frame whose body the snaplen has cut: what its header says, and the part of its body that is there, makes it a
  /// message. Of its body nothing is judged; what is missing reads as zeros. False where a direction holds no such frame.
  @inline(never)
  mutating func completeCut(
    _ side: FlowSide, _ partial: Ref<PartialFrame>
  ) -> Bool {
    let flow = side.flow
    let have = partial.pointee.count
    let whole = frameLength(side, partial)
    guard !side.state.pointee.flags.contains(.carried), whole > have, whole <= Self.longestCut else {
      return false
    }
    let last = partial.pointee.mark(at: partial.pointee.start + have - 1)
    var copy = [UInt8](
      UnsafeRawBufferPointer(start: partial.pointee.memoryStart + partial.pointee.start, count: have))
    copy += [UInt8](repeating: 0, count: whole - have + RawBuffer.slack)
    if let general = currentPlan.pointee.general, currentPlan.pointee.framing.kind == .headers {
      // The bytes that end a frame are known.
      let ends = Int(general.pointee.endCount)
      for i in 0..<ends where whole - ends + i >= have {
        copy[whole - ends + i] = UInt8(truncatingIfNeeded: general.pointee.ends >> UInt32(8 * (ends - 1 - i)))
      }
    }
    let bytes = Bytes(copy.span.bytes)
    if currentPlan.pointee.general != nil {
      guard readCut(side, bytes, whole: whole, have: have) else { return false }
    } else {
      guard currentPlan.read(bytes, 0, whole, frame) == .frame, frame.pointee.headerCount <= have else { return false }
      // The steps read the captured bytes.
      frame.pointee.count = have
      let trailer = frame.pointee.trailerCount
      frame.pointee.trailerCount = 0
      _ = currentPlan.open(bytes, frame)
      frame.pointee.count = whole
      frame.pointee.trailerCount = trailer
    }
    frame.pointee.flags.remove(.malformed)
    frame.pointee.checksumStatus = .unchecked
    frame.pointee.timestamp = last.timestamp
    frame.pointee.number = last.number
    frame.pointee.streamOffset = partial.pointee.streamOffset
    let plan = currentPlan
    let direction = side.direction
    frame.pointee.time = plan.pointee.time.isPresent ? plan.pointee.time.read(bytes, 0) : 0
    if plan.pointee.duplicate.isPresent, plan.pointee.duplicate.read(bytes, 0) != 0 {
      frame.pointee.flags.insert(.markedDuplicate)
    }
    frame.pointee.tlvCount = 0
    frame.pointee.tlvDepth = 0
    bodies.clear()
    ledger.pointee.checksums[Int(ChecksumStatus.unchecked.rawValue)] &+= 1
    ledger.pointee.decodedBytes &+= UInt64(have)
    ledger.pointee.cutBytes &+= UInt64(whole - have)
    partial.pointee.consume(have)
    partials.take(back: &side.state.pointee.partial)
    track(side, bytes)
    if tracker.sessions.hasNews { tellSessions() }
    if needs.contains(.frames) { tellFrame(flow, direction, bytes) }
    if tracker.adopted != nil { tellAdopted() }
    if note.isOrphan, !records.isBatched { remark(flow, direction) }
    return true
  }

  /// A frame whose tags tell the tracker something: a handshake's, or a receipt.
  @inline(never)
  private mutating func readTags(
    _ flow: Ref<Flow>, _ direction: Direction, _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes
  ) {
    guard frame.pointee.checksumStatus != .bad else { return }
    if frame.pointee.kind.pointee.flags.contains(.tellsVariant) { flow.pointee.variantIsCertain = true }
    if frame.pointee.kind.pointee.flags.contains(.referenced) { tracker.refer(frame, flow, direction) }
    if frame.pointee.kind.pointee.flags.isDisjoint(with: [.handshake, .receipt]) { return }
    if frame.pointee.kind.pointee.flags.contains(.handshake) {
      let request = plan.pointee.handshakeRequest
      if request == .max || bodies.element(request) != nil {
        tracker.handshake(frame, as: .request, flow, direction, plan)
      } else if plan.pointee.handshakeAnswer != .max, bodies.element(plan.pointee.handshakeAnswer) != nil {
        tracker.handshake(frame, as: .answer, flow, direction, plan)
      }
    } else {
      readReceipt(flow, direction, plan, bytes)
    }
  }

  /// Numbers of one receipt that are looked up, at most. IMEndpoint puts 1,024 into one.
  private static var receiptLimit: Int { 16_384 }

  /// A frame that says which messages have arrived, and which were read.
  private mutating func readReceipt(
    _ flow: Ref<Flow>, _ direction: Direction, _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes
  ) {
    var partial = Self.receiptLimit
    for level in MessageReceipt.Level.allCases {
      let tag = level == .read ? plan.pointee.receiptTag : plan.pointee.deliveryTag
      guard tag != .max else { continue }
      let size = Int(plan.pointee.receiptSize)
      var place = BodyReader.NumberPlace()
      while partial > 0, let number = bodies.nextNumber(&place, tag, size: size, bytes, frame) {
        tracker.receipt(number, level, flow, direction, at: frame.pointee.timestamp, &partial, &note)
      }
    }
  }

  /// Flags of a frame that are worth an issue.
  private static var remarkable: Frame.Flags {
    [
      .compressLabelOnly, .inflateLimit, .malformed, .duplicateTag, .nestedTooDeep, .incompleteTag, .incompleteLength,
      .incompleteValue, .tlvLimit, .timestampWindow,
    ]
  }
}
