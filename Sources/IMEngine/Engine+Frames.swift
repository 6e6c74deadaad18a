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
    if half.pointee.rest != nil || !half.pointee.flags.isDisjoint(with: [.lost, .passing]) {
      consumeBehindRest(index, flow, side, bytes, offset, count, at, number)
      return
    }
    // The usual case: whole frames, read where the packet holds them.
    let plan = currentPlan
    var position = offset
    let end = offset &+ count
    let base = half.pointee.offset &- UInt64(truncatingIfNeeded: count)
    loop: while position < end {
      switch plan.pointee.read(bytes, position, end, &frame) {
      case .frame:
        frame.timestamp = at
        frame.number = number
        frame.streamOffset = base &+ UInt64(truncatingIfNeeded: position &- offset)
        guard (plan.pointee.open(bytes, &frame) && frame.checksumStatus != .bad) || follows(bytes, end) else {
          half.pointee.flags.insert(.lost)
          break loop
        }
        complete(index, flow, side, bytes)
        position = position &+ frame.count
      case .needMore:
        break loop
      case .notAFrame:
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
    if half.pointee.flags.contains(.passing) {
      let passed = min(count, Int(half.pointee.passOver))
      half.pointee.passOver -= UInt32(passed)
      ledger.skippedBytes += UInt64(passed)
      tracker.figures.pointer(flow.pointee.figures).pointee.skippedBytes += UInt64(passed)
      if half.pointee.passOver == 0 { half.pointee.flags.remove(.passing) }
      if passed < count { consume(index, flow, side, bytes, offset + passed, count - passed, at, number) }
      return
    }
    append(half, bytes, offset, count, at, number)
    decodeRest(index, flow, side)
  }

  /// Makes `profile` the plan in use; the branch is predicted, so that decoding does not wait for the flow.
  @inline(__always)
  mutating func select(_ profile: FlowProfile) {
    if profile.rawValue != currentPlanIndex {
      currentPlanIndex = profile.rawValue
      currentPlan = planPointers[Int(profile.rawValue)]
    }
  }

  /// Keeps what is left of a delivery until more comes.
  @inline(never)
  private mutating func keep(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes, _ position: Int,
    _ end: Int, _ at: Timestamp, _ number: UInt64
  ) {
    let half = flow.half(side)
    append(half, bytes, position, end - position, at, number)
    if half.pointee.flags.contains(.lost) {
      decodeRest(index, flow, side)
    } else {
      half.pointee.rest?.pointee.needed = frame.count
    }
  }

  /// Keeps the last `count` bytes that were delivered.
  func append(
    _ half: UnsafeMutablePointer<Half>, _ bytes: borrowing Bytes, _ offset: Int, _ count: Int, _ at: Timestamp,
    _ number: UInt64
  ) {
    let rest: UnsafeMutablePointer<StreamRest>
    if let existing = half.pointee.rest {
      rest = existing
    } else {
      rest = .allocate(capacity: 1)
      rest.initialize(to: StreamRest())
      half.pointee.rest = rest
    }
    rest.pointee.append(
      bytes, offset, count, at, number, streamOffset: half.pointee.offset &- UInt64(truncatingIfNeeded: count))
  }

  /// Decodes what a direction holds, as far as it goes.
  @inline(never)
  mutating func decodeRest(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, isEnd: Bool = false) {
    let half = flow.half(side)
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
      switch currentPlan.pointee.read(bytes, start, end, &frame) {
      case .frame:
        let last = rest.pointee.mark(at: start + frame.count - 1)
        frame.timestamp = last.timestamp
        frame.number = last.number
        frame.streamOffset = rest.pointee.streamOffset
        guard (currentPlan.pointee.open(bytes, &frame) && frame.checksumStatus != .bad) || follows(bytes, end) else {
          half.pointee.flags.insert(.lost)
          // What was found by its proof and is no frame all the same must not be found again.
          if found == rest.pointee.streamOffset { drop(flow, side, rest, 1, isFound: false) }
          continue
        }
        complete(index, flow, side, bytes)
        rest.pointee.needed = 0
        rest.pointee.consume(frame.count)
      case .needMore:
        rest.pointee.needed = frame.count
        return
      case .notAFrame:
        half.pointee.flags.insert(.lost)
      }
    }
    if let rest = half.pointee.rest, rest.pointee.count == 0 { Reassembler.destroy(&half.pointee.rest) }
  }

  /// Whether a header follows the damaged frame, so that its length was right; also when nothing follows yet.
  @inline(never)
  private func follows(_ bytes: borrowing Bytes, _ end: Int) -> Bool {
    let next = frame.start + frame.count
    guard next < end else { return true }
    var probe = frame
    if end - next < Int(currentPlan.pointee.headerCount) { return mayBegin(bytes, next, end) }
    return currentPlan.pointee.read(bytes, next, end, &probe) != .notAFrame
  }

  /// One whole frame: its TLVs, what the tracker says of it, and the sink's call.
  @inline(__always)
  private mutating func complete(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ bytes: borrowing Bytes
  ) {
    let plan = currentPlan
    let kind = frame.kind.pointee
    let direction = flow.pointee.direction(side)
    ledger.checksums[Int(frame.checksumStatus.rawValue)] &+= 1
    if frame.checksumStatus == .bad {
      ledger.damagedBytes &+= UInt64(truncatingIfNeeded: frame.count)
    } else {
      ledger.decodedBytes &+= UInt64(truncatingIfNeeded: frame.count)
    }
    if plan.pointee.time.isPresent { frame.time = plan.pointee.time.read(bytes, frame.start) }
    if plan.pointee.duplicate.isPresent, plan.pointee.duplicate.read(bytes, frame.start) != 0 {
      frame.flags.insert(.markedDuplicate)
    }
    frame.tlvCount = 0
    frame.tlvDepth = 0
    let isPlain = plan.pointee.compression.mask | plan.pointee.encryption.mask == 0
    if plan.pointee.tlv.shape != .none, !kind.flags.contains(.noTLV), frame.bodyCount > 0 {
      if isPlain || isReadable(plan, bytes) {
        walker.walk(plan.pointee.tlv, bytes, frame.body, frame.bodyCount, &frame)
      } else {
        openBody(plan, bytes)
      }
      ledger.tlvs &+= UInt64(truncatingIfNeeded: frame.tlvCount)
    } else {
      walker.clear()
    }
    if tracker.table.isFull { tracker.makeRoom(frame.timestamp, reassembler.flows) }
    tracker.track(frame, bytes, index, flow, direction, plan, reassembler.flows, &note)
    if tracker.named != nil { tellNamed() }
    if needs.contains(.frames) { tellFrame(flow, direction, bytes) }
    if tracker.adopted != nil { tellAdopted() }
    if !frame.flags.isDisjoint(with: Self.remarkable) || frame.checksumStatus == .bad || note.isOrphan
      || kind.index == .max
    {
      remark(flow, direction)
    }
  }

  /// Flags of a frame that are worth an issue.
  private static var remarkable: Frame.Flags {
    [
      .compressLabelOnly, .inflateLimit, .malformed, .duplicateTag, .nestedTooDeep, .incompleteTag, .incompleteLength,
      .incompleteValue, .tlvLimit,
    ]
  }

  @inline(__always)
  private func isReadable(_ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes) -> Bool {
    !(plan.pointee.compression.isPresent
      && plan.pointee.compression.read(bytes, frame.start) == plan.pointee.zlibValue)
      && !(plan.pointee.encryption.isPresent
        && plan.pointee.encryption.read(bytes, frame.start) >= plan.pointee.encryptedFrom)
  }

  /// A body that its header calls encrypted or compressed. A compressed body is inflated when it is whole zlib; many
  /// senders set the label and compress nothing.
  @inline(never)
  private mutating func openBody(_ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes) {
    walker.clear()
    if plan.pointee.encryption.isPresent,
      plan.pointee.encryption.read(bytes, frame.start) >= plan.pointee.encryptedFrom
    {
      frame.flags.insert(.encrypted)
      return
    }
    // A zlib header: deflate with a window of 32 KiB, and a check of five bits.
    if frame.bodyCount >= 2, bytes.u8(frame.body) == 0x78, bytes.u16(frame.body) % 31 == 0 {
      switch inflater.inflate(bytes, frame.body, frame.bodyCount) {
      case nil:
        frame.flags.insert(.inflated)
        let start = UnsafeRawPointer(inflater.output.pointer)
        let inflated = Bytes(RawSpan(_unsafeStart: start, byteCount: inflater.count + RawBuffer.slack))
        walker.walk(plan.pointee.tlv, inflated, 0, inflater.count, &frame)
        return
      case .limit:
        frame.flags.insert(.inflateLimit)
        return
      case .notZlib:
        break
      }
    }
    frame.flags.insert(.compressLabelOnly)
    walker.walk(plan.pointee.tlv, bytes, frame.body, frame.bodyCount, &frame)
  }

  // MARK: Telling

  /// Brings `info` up to date for `flow`.
  @inline(__always)
  mutating func inform(_ flow: UnsafeMutablePointer<Flow>) {
    if info.serial != flow.pointee.serial || info.plan != flow.pointee.profile.rawValue { describe(flow) }
  }

  @inline(never)
  private mutating func describe(_ flow: UnsafeMutablePointer<Flow>) { info = connectionInfo(flow) }

  func connectionInfo(_ flow: UnsafeMutablePointer<Flow>) -> ConnectionInfo {
    let client = Int(flow.pointee.client)
    return ConnectionInfo(
      serial: flow.pointee.serial, client: flow.pointee.key.endpoint(client),
      server: flow.pointee.key.endpoint(1 - client), plan: flow.pointee.profile.rawValue,
      endpoint: flow.pointee.figures == .max ? .max : tracker.figures.pointer(flow.pointee.figures).pointee.endpoint)
  }

  @inline(never)
  private mutating func tellFrame(
    _ flow: UnsafeMutablePointer<Flow>, _ direction: Direction, _ bytes: borrowing Bytes
  ) {
    inform(flow)
    let tlvs = Span(_unsafeStart: UnsafePointer(walker.references), count: walker.count)
    if frame.flags.contains(.inflated) {
      let body = RawSpan(_unsafeStart: UnsafeRawPointer(inflater.output.pointer), byteCount: inflater.count)
      sink.frame(frame, note, info, direction, bytes: bytes.span, body: body, tlvs: tlvs)
    } else {
      let body = bytes.slice(frame.body, frame.bodyCount)
      sink.frame(frame, note, info, direction, bytes: bytes.span, body: body, tlvs: tlvs)
    }
  }

  private mutating func tellNamed() {
    guard let (session, name) = tracker.named else { return }
    tracker.named = nil
    sink.named(session, name)
  }

  private mutating func tellAdopted() {
    guard let (exchange, times) = tracker.adopted else { return }
    tracker.adopted = nil
    ledger.issues[Int(IssueKind.orphanAck.rawValue)] &-= UInt64(times.count)
    sink.adopted(exchange, times)
  }

  /// Counts an issue, and tells of it when somebody listens.
  mutating func raise(_ issue: Issue, _ flow: UnsafeMutablePointer<Flow>) {
    ledger.issues[Int(issue.kind.rawValue)] &+= 1
    guard needs.contains(.issues) else { return }
    inform(flow)
    sink.issue(issue, info)
  }

  @inline(never)
  private mutating func remark(_ flow: UnsafeMutablePointer<Flow>, _ direction: Direction) {
    func issue(_ kind: IssueKind, _ a: UInt64 = 0, _ b: UInt64 = 0) -> Issue {
      Issue(
        kind: kind, timestamp: frame.timestamp, direction: direction, streamOffset: frame.streamOffset,
        byteCount: UInt64(frame.count), a: a, b: b)
    }
    if frame.checksumStatus == .bad { raise(issue(.checksumMismatch, frame.type, frame.checksum), flow) }
    let flags = frame.flags
    if flags.contains(.compressLabelOnly) { raise(issue(.compressLabelOnly), flow) }
    if flags.contains(.inflateLimit) { raise(issue(.inflateLimit), flow) }
    if flags.contains(.malformed) { raise(issue(.malformedBody, frame.type), flow) }
    if flags.contains(.duplicateTag) { raise(issue(.duplicateTag), flow) }
    if flags.contains(.nestedTooDeep) { raise(issue(.nestedTooDeep), flow) }
    if flags.contains(.incompleteTag) { raise(issue(.incompleteTag), flow) }
    if flags.contains(.incompleteLength) { raise(issue(.incompleteLength), flow) }
    if flags.contains(.incompleteValue) { raise(issue(.incompleteValue), flow) }
    if flags.contains(.tlvLimit) { raise(issue(.tlvLimit), flow) }
    if note.isOrphan { raise(issue(.orphanAck, frame.type, note.ackOf ?? 0), flow) }
    if frame.kind.pointee.index == .max { raise(issue(.unknownType, frame.type), flow) }
  }

  /// What the last segment brought beside new bytes of its stream: other bytes for old ones, old bytes never seen.
  @inline(never)
  mutating func takeNews(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ bytes: borrowing Bytes) {
    reassembler.hasNews = false
    if reassembler.conflict != nil { reportConflict(flow) }
    if !reassembler.islands.isEmpty { fillIslands(index, flow, bytes) }
  }

  private mutating func reportConflict(_ flow: UnsafeMutablePointer<Flow>) {
    guard let conflict = reassembler.conflict else { return }
    reassembler.conflict = nil
    raise(
      Issue(
        kind: .inconsistentRetransmission, timestamp: segment.timestamp,
        direction: flow.pointee.direction(segment.side), streamOffset: conflict.offset,
        byteCount: UInt64(segment.payloadCount), a: conflict.kept, b: conflict.other), flow)
  }
}
