import IMWire

/// What the sink is told, and what of a frame is worth an issue.
extension Streams {
  /// Brings `info` up to date for `flow`.
  @inline(__always)
  mutating func inform(_ flow: Ref<Flow>) {
    if info.serial != flow.pointee.serial || informedOf != flow.pointee.profile { describe(flow) }
  }

  @inline(never)
  mutating func describe(_ flow: Ref<Flow>) {
    info = connectionInfo(flow)
    informedOf = flow.pointee.profile
  }

  mutating func connectionInfo(_ flow: Ref<Flow>) -> ConnectionInfo {
    let client = Int(flow.pointee.client)
    let peer = flow.pointee.key.endpoint(client)
    let carrier = carrier(of: flow)
    return ConnectionInfo(
      serial: flow.pointee.serial, client: carrier?.pointee.client ?? peer, peer: peer,
      carriers: carrier?.pointee.carriers ?? [],
      server: flow.pointee.key.endpoint(1 - client), plan: flow.pointee.profile.told,
      sawOpening: flow.pointee.synCount > 0, firstSeen: flow.pointee.firstSeen,
      firstSequence: flow.pointee.firstSequence,
      endpoint: flow.pointee.figures == .max ? .max : tracker.figures.pointer(flow.pointee.figures).pointee.endpoint)
  }

  @inline(never)
  mutating func tellFrame(
    _ flow: Ref<Flow>, _ direction: Direction, _ bytes: borrowing Bytes
  ) {
    inform(flow)
    let tlvs = Span(_unsafeStart: UnsafePointer(bodies.walker.references), count: bodies.walker.count)
    if frame.pointee.flags.contains(.inflated) {
      let body = RawSpan(
        _unsafeStart: UnsafeRawPointer(bodies.inflater.output.pointer), byteCount: bodies.inflater.count)
      sink.frame(frame.pointee, note, info, direction, bytes: bytes.span, body: body, tlvs: tlvs)
    } else {
      let body = bytes.slice(frame.pointee.body, frame.pointee.bodyCount)
      sink.frame(frame.pointee, note, info, direction, bytes: bytes.span, body: body, tlvs: tlvs)
    }
  }

  /// The same for a frame of which only the first `count` bytes were kept.
  @inline(never)
  mutating func tellFrame(
    _ flow: Ref<Flow>, _ direction: Direction, _ bytes: borrowing Bytes, upTo count: Int
  ) {
    inform(flow)
    let tlvs = Span(_unsafeStart: UnsafePointer(bodies.walker.references), count: 0)
    let body = bytes.slice(frame.pointee.body, max(0, count - frame.pointee.body))
    sink.frame(frame.pointee, note, info, direction, bytes: bytes.slice(0, count), body: body, tlvs: tlvs)
  }

  /// Tells of the `count` bytes from `offset` on, which stand at `streamOffset` of the stream.
  @inline(never)
  mutating func tell(
    _ kind: UndecodedChunk.Kind, _ side: FlowSide, at streamOffset: UInt64, _ bytes: borrowing Bytes, from offset: Int,
    count: Int
  ) {
    inform(side.flow)
    sink.undecoded(
      UndecodedChunk(kind, at: streamOffset), info, side.direction, bytes: bytes.slice(offset, count))
  }

  @inline(never)
  mutating func tellSessions() {
    for session in tracker.sessions.forgotten { sink.forgotten(session) }
    tracker.sessions.forgotten.removeAll(keepingCapacity: true)
    tracker.sessions.hasNews = false
    if !tracker.crowded.isEmpty { tracker.indexCrowded() }
    ledger.pointee.decodedConnections += tracker.newlyDecoded
    tracker.newlyDecoded = 0
    if tracker.isShortOfRareFigures || tracker.isShortOfHeartbeats { clock.wakeNow() }
    guard let (session, name) = tracker.named else { return }
    tracker.named = nil
    sink.named(session, name)
  }

  mutating func tellAdopted() {
    guard let (exchange, times) = tracker.adopted else { return }
    tracker.adopted = nil
    ledger.pointee.issues[Int(IssueKind.orphanAck.rawValue)] &-= UInt64(times.count)
    sink.adopted(exchange, times)
  }

  /// Whether a frame of the flow has come: until then its plan is a guess.
  private mutating func isDecoded(_ flow: Ref<Flow>) -> Bool {
    let figures = flow.pointee.figures
    return figures != .max && tracker.figures.pointer(figures).pointee.lastFrameAt != .distantPast
  }

  /// Counts an issue, and tells of it when somebody listens: of a gap in front of the first frame as one of an unknown protocol.
  mutating func raise(_ issue: Issue, _ flow: Ref<Flow>) {
    ledger.pointee.issues[Int(issue.kind.rawValue)] &+= 1
    guard needs.contains(.issues) else { return }
    inform(flow)
    guard issue.kind == .gap, flow.pointee.profile.isPlan, !isDecoded(flow) else { return sink.issue(issue, info) }
    var connection = info
    connection.plan = FlowProfile.unknown.told
    sink.issue(issue, connection)
  }

  @inline(never)
  mutating func remark(_ flow: Ref<Flow>, _ direction: Direction) {
    func issue(_ details: IssueDetails) -> Issue {
      Issue(
        details, timestamp: frame.pointee.timestamp, direction: direction, streamOffset: frame.pointee.streamOffset,
        byteCount: UInt64(frame.pointee.count))
    }
    if frame.pointee.checksumStatus == .bad {
      raise(issue(.checksumMismatch(type: frame.pointee.type, checksum: frame.pointee.checksum)), flow)
    }
    let flags = frame.pointee.flags
    if flags.contains(.compressLabelOnly) { raise(issue(.compressLabelOnly), flow) }
    if flags.contains(.inflateLimit) { raise(issue(.inflateLimit), flow) }
    if flags.contains(.malformed) { raise(issue(.malformedBody(type: frame.pointee.type)), flow) }
    if flags.contains(.duplicateTag) { raise(issue(.duplicateTag), flow) }
    if flags.contains(.nestedTooDeep) { raise(issue(.nestedTooDeep), flow) }
    if flags.contains(.incompleteTag) { raise(issue(.incompleteTag), flow) }
    if flags.contains(.incompleteLength) { raise(issue(.incompleteLength), flow) }
    if flags.contains(.incompleteValue) { raise(issue(.incompleteValue), flow) }
    if flags.contains(.timestampWindow) { raise(issue(.timestampWindow(sent: frame.pointee.time)), flow) }
    if flags.contains(.tlvLimit) { raise(issue(.tlvLimit), flow) }
    if note.isOrphan, !records.isBatched { raise(issue(.orphanAck(type: frame.pointee.type, names: note.ackOf)), flow) }
    if frame.pointee.kind.pointee.index == FrameKind.unknownIndex {
      raise(issue(.unknownType(frame.pointee.type)), flow)
    }
  }
}
