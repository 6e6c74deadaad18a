import IMWire

/// A second of the capture's clock, kept because a division for each frame costs more than a comparison.
struct Second {
  /// Its number since the epoch, and its first nanosecond.
  var number: Int64, start: Int64

  /// The second that `time` lies in.
  init(_ time: Timestamp) {
    number = time.seconds
    start = number &* 1_000_000_000
  }
}

/// The stage that makes frames of streams: it takes bytes that have become contiguous, chooses the plan that decodes a
/// connection, cuts frames, finds the next one behind a gap, and hands each on to be tracked.
struct Streams: ~Copyable {
  /// The stage behind: what frames say.
  var tracker: Tracker
  /// The plans, and the one in use.
  var protocols: PlanTable
  /// The frame in hand; on the heap, so that handing it on copies nothing.
  let frame: UnsafeMutablePointer<Frame>
  /// What waits to be tracked, in the order of the frames.
  var records: RecordQueue
  /// What the tracker says of it.
  var note = FrameNote()
  /// What stands in its body.
  var bodies: BodyReader
  /// Where frames stand whose escapes were taken out.
  var scratch = FrameScratch()
  /// What the paths of a content lead to, in the frame in hand.
  let contents = ContentValues()
  /// Numbers of frames that are not on the wire.
  var counters = ImplicitCounters()
  /// Whether the frames that the general reader reads or weighs next have compressed bodies.
  var readsZlib = ZlibUse.no
  /// The second of the last frame.
  var second = Second(Timestamp(nanoseconds: 0))
  /// What directions hold of frames that are not whole yet.
  let partials: PartialFrameStore
  /// Frames that are passed over by their length, by the serial number and the side of their connection.
  var skipped: [UInt64: SkippedFrame] = [:]
  /// Whether what is decoded is in a gap region.
  var isInGapRegion = false
  /// Whether TLS records are read: the run has a key log.
  var readsTLS = false
  /// Gaps that late segments may still fill.
  var gapRegions: GapRegionTable
  /// Who is the client of connections whose beginning was not captured.
  var roles = RoleTable()
  /// Ports beyond the profiles' own on which they are expected.
  let ports: Set<UInt16>
  /// Whether the only plan is expected at the beginning of any connection.
  let expectsOnlyPlan: Bool
  /// What came later than this waits when what was held is decoded.
  var decodeLimit = Timestamp.distantFuture
  /// Decoded connections, to be reported on while they live; see `EngineOptions.Needs.progress`.
  var living = ClosingQueue()
  /// What the sink keeps of a connection, in bytes.
  let sinkCost: Int
  /// Bits of proof that a search wants beyond the usual.
  var extraEvidence = 0
  /// What is known of TLS connections that are not over, by serial number; at most 4,096.
  var tlsHellos: [UInt32: TLSHello] = [:]
  /// The first of these, whether their connections are over or not.
  var firstHellos: [UInt32: TLSHello] = [:]
  /// Why connections could not be decrypted.
  var tlsReasons = TLSReasons()
  /// The servers that frames were decoded of, and those that failed connections were meant for.
  var servers: ServerTable
  /// Bytes of connections that nothing decodes.
  var undecoded = UndecodedPorts()
  /// The connection that the sink was told of last, and what `info` says of its plan was made of.
  var info = ConnectionInfo.none, informedOf = FlowProfile.none

  let anomalyRecords: AnomalyRecords
  let bufferingFlows: BufferingQueue
  let ledger: UnsafeMutablePointer<Ledger>
  let clock: PacketClock
  let budget: MemoryBudget
  let needs: EngineOptions.Needs
  let sink: any EngineSink

  /// The stage for `options`, with what it shares with the others.
  init(options: EngineOptions, sink: any EngineSink, shared: SharedState, tracker: consuming Tracker) {
    self.tracker = tracker
    protocols = PlanTable(options.plans)
    frame = .allocate(capacity: 1)
    records = RecordQueue(isBatched: options.needs.isDisjoint(with: [.frames, .issues]))
    frame.initialize(to: Frame(kind: protocols.current.pointee.unknownKind))
    frame.pointee.numbers = options.identities.numbers
    frame.pointee.trailerCount = Int(protocols.current.pointee.framing.trailerCount)
    bodies = BodyReader(
      tlvLimit: options.tlvLimit, inflateLimit: options.inflateLimit, inflateRatio: options.inflateRatio)
    partials = PartialFrameStore(budget: shared.budget)
    gapRegions = GapRegionTable(budget: shared.budget)
    ports = Set(options.ports)
    expectsOnlyPlan = options.expectsOnlyPlan && options.plans.count == 1
    sinkCost = options.sinkCost.connection
    servers = ServerTable(budget: shared.budget, cost: options.sinkCost.server)
    (anomalyRecords, bufferingFlows) = (shared.anomalyRecords, shared.bufferingFlows)
    (ledger, clock, budget) = (shared.ledger, shared.clock, shared.budget)
    needs = options.needs
    self.sink = sink
  }

  deinit { frame.deallocate() }

  /// The plan in use, and its place in the table.
  @inline(__always)
  var currentPlan: UnsafePointer<Plan> { protocols.current }

  /// A search for frames of the plan in use.
  var search: FrameSearch {
    FrameSearch(plan: protocols.current, template: frame.pointee, extraEvidence: extraEvidence)
  }
}

// MARK: - Bytes in order

extension Streams {
  /// Takes bytes of a side's stream that have just become contiguous. A plan decodes the connection.
  @inline(__always)
  mutating func consume(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    let flow = side.flow
    let state = side.state
    select(flow.pointee.profile)
    if state.pointee.partial != nil || !state.pointee.flags.isDisjoint(with: .detour) {
      consumeBehindRest(side, bytes, chunk)
      return
    }
    // The usual case: whole frames, read where the packet holds them.
    var position = chunk.offset
    let end = chunk.end
    let base = state.pointee.offset &- UInt64(truncatingIfNeeded: chunk.count)
    loop: while position < end {
      switch currentPlan.read(bytes, position, end, frame) {
      case .frame:
        frame.pointee.timestamp = chunk.timestamp
        frame.pointee.number = chunk.number
        frame.pointee.streamOffset = base &+ UInt64(truncatingIfNeeded: position &- chunk.offset)
        guard isSound(flow, bytes, end) else {
          state.pointee.flags.insert(.lost)
          break loop
        }
        complete(side, bytes)
        position = position &+ frame.pointee.count
      case .needMore:
        break loop
      case .notAFrame:
        if upgrades(side, bytes, position, end) { return append(side, bytes, chunk.from(position)) }
        if speaksVariant(flow, bytes, position, end) { continue loop }
        let misfit = oversize(side, bytes, position, end) != nil ? .needMore : readMisfit(side, bytes, position, end)
        if misfit == .needMore { break loop }
        noteVersion(side, bytes, position, chunk.timestamp)
        guard misfit == .frame else {
          state.pointee.flags.insert(.lost)
          break loop
        }
        let place = base &+ UInt64(truncatingIfNeeded: position &- chunk.offset)
        completeMisfit(side, bytes, at: chunk.timestamp, number: chunk.number, streamOffset: place)
        position = position &+ frame.pointee.count
      }
    }
    if position < end { keep(side, bytes, chunk.from(position)) }
  }

  /// Decodes the frames that stand whole in a chunk of a carried stream, which is in step and holds nothing; `place` is where the chunk
  /// begins on the wire, whose bytes are as many. Answers how many bytes they took; what follows goes the usual way.
  mutating func decodeInPlace(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk, at place: UInt64
  ) -> Int {
    select(side.flow.pointee.profile)
    guard !currentPlan.pointee.framing.isDelimited else { return 0 }
    var position = chunk.offset
    while position < chunk.end, currentPlan.read(bytes, position, chunk.end, frame) == .frame {
      frame.pointee.timestamp = chunk.timestamp
      frame.pointee.number = chunk.number
      frame.pointee.streamOffset = place &+ UInt64(truncatingIfNeeded: position &- chunk.offset)
      guard isSound(side.flow, bytes, chunk.end) else { break }
      complete(side, bytes)
      position = position &+ frame.pointee.count
    }
    return position &- chunk.offset
  }

  /// Bytes behind what a direction holds, or while it is lost, or of a frame that a gap has cut.
  @inline(never)
  private mutating func consumeBehindRest(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    let flow = side.flow
    let state = side.state
    if state.pointee.flags.intersection([.delimited, .passing]) == .delimited {
      consumeChunks(side, bytes, chunk)
      return
    }
    if state.pointee.flags.contains(.passing) {
      let passed = min(chunk.count, Int(state.pointee.passOver))
      state.pointee.passOver -= UInt32(passed)
      let isSkipped = skips(side, chunk, passed)
      if !isSkipped {
        ledger.pointee.strayBytes += UInt64(passed)
        tracker.rare(of: flow).pointee.strayBytes += UInt64(passed)
        setAside(side, bytes, chunk.prefix(passed), after: chunk.count - passed)
      }
      if state.pointee.passOver == 0 {
        state.pointee.flags.remove(.passing)
        if isSkipped { completeSkipped(side) }
        closeGapRegion(side, at: state.pointee.offset &- UInt64(chunk.count - passed))
      }
      if passed < chunk.count { consume(side, bytes, chunk.from(chunk.offset + passed)) }
      return
    }
    if state.pointee.partial == nil, goesOn(side, bytes, chunk) {
      consume(side, bytes, chunk)
      return
    }
    append(side, bytes, chunk)
    decodeRest(side)
  }

  /// Makes `profile` the plan in use; the branch is predicted, so that decoding does not wait for the flow.
  @inline(__always)
  mutating func select(_ profile: FlowProfile) {
    if protocols.select(profile) { frame.pointee.trailerCount = Int(currentPlan.pointee.framing.trailerCount) }
  }

  /// Keeps what is left of a delivery until more comes.
  @inline(never)
  private mutating func keep(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    let state = side.state
    append(side, bytes, chunk)
    if state.pointee.flags.contains(.lost) {
      decodeRest(side)
    } else {
      state.pointee.partial?.pointee.needed = frame.pointee.count
    }
  }

  /// Keeps the last bytes that were delivered.
  mutating func append(_ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk) {
    let state = side.state
    let partial: Ref<PartialFrame>
    if let existing = state.pointee.partial {
      partial = existing
    } else {
      partial = partials.make()
      state.pointee.partial = partial
      bufferingFlows.add(side, tracker.flows)
    }
    partial.pointee.append(
      bytes, chunk, streamOffset: state.pointee.offset &- UInt64(truncatingIfNeeded: chunk.count))
    if budget.isOverHeld { clock.wakeNow() }
  }

  /// Decodes what a direction holds, as far as it goes.
  @inline(never)
  mutating func decodeRest(_ side: FlowSide, isEnd: Bool = false) {
    let flow = side.flow
    let state = side.state
    guard !currentPlan.pointee.framing.isDelimited else {
      return currentPlan.pointee.framing.isGeneral ? decodeGeneral(side, isEnd: isEnd) : decodeChunks(side)
    }
    var found: UInt64?
    while let partial = state.pointee.partial {
      if state.pointee.flags.contains(.lost) {
        guard resynchronise(side, partial, isEnd: isEnd) else { break }
        found = partial.pointee.streamOffset
      }
      if partial.pointee.count == 0 { break }
      if partial.pointee.count < partial.pointee.needed { break }
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      let start = partial.pointee.start
      let end = partial.pointee.end
      if partial.pointee.mark(at: start).timestamp > decodeLimit { return }
      switch currentPlan.read(bytes, start, end, frame) {
      case .frame:
        let isCarried = locate(side, partial, partial.pointee.mark(at: start + frame.pointee.count - 1))
        guard isSound(flow, bytes, end) else {
          state.pointee.flags.insert(.lost)
          // What was found by its proof and is no frame all the same must not be found again.
          if found == partial.pointee.streamOffset { drop(side, partial, 1, isFound: false) }
          continue
        }
        if isCarried, needs.contains(.undecoded) {
          tell(
            .frame(isCarried: true), side, at: partial.pointee.streamOffset, bytes, from: start,
            count: frame.pointee.count)
        }
        complete(side, bytes)
        if isCarried { countOnWire(side, partial) }
        partial.pointee.needed = 0
        partial.pointee.consume(frame.pointee.count)
      case .needMore:
        partial.pointee.needed = frame.pointee.count
        return
      case .notAFrame:
        if upgrades(side, bytes, start, end) { return }
        if speaksVariant(flow, bytes, start, end) { continue }
        if !isEnd, let count = oversize(side, bytes, start, end) {
          guard skipOversized(side, partial, bytes, count) else { return }
          continue
        }
        let misfit = readMisfit(side, bytes, start, end)
        if misfit == .needMore, !isEnd {
          partial.pointee.needed = frame.pointee.count
          return
        }
        noteVersion(side, bytes, start, partial.pointee.mark(at: start).timestamp)
        guard misfit == .frame else {
          state.pointee.flags.insert(.lost)
          continue
        }
        completeHeldMisfit(side, partial, bytes)
      }
    }
    if let partial = state.pointee.partial, partial.pointee.count == 0 { partials.take(back: &state.pointee.partial) }
  }

  /// Gives the frame in hand, at the front of what a direction holds, its offset, and the time and number of the packet that
  /// brought its last byte; whether a carrier brought it.
  @inline(__always)
  mutating func locate(_ side: FlowSide, _ partial: Ref<PartialFrame>, _ last: PartialFrame.Mark) -> Bool {
    frame.pointee.timestamp = last.timestamp
    frame.pointee.number = last.number
    frame.pointee.acknowledged = last.acknowledged
    let isCarried = side.state.pointee.flags.contains(.carried)
    frame.pointee.streamOffset =
      isCarried ? wireOffset(side, partial.pointee.streamOffset) : partial.pointee.streamOffset
    return isCarried
  }

  /// The same for a frame that stands in the scratch, because its escapes had to be taken out.
  @inline(never)
  mutating func completeChunk(_ side: FlowSide) {
    let memory = scratch.memory
    complete(side, Bytes(RawSpan(_unsafeStart: memory.start, byteCount: memory.count)))
  }

  /// Opens the frame in hand; false when its length cannot be believed, so that the next frame must be looked for.
  ///
  /// A damaged frame that another one follows is damaged in its body. Where none follows, its length may lie: too short, and
  /// it is a damaged frame all the same; too long, and a sound frame stands inside it.
  @inline(__always)
  private mutating func isSound(
    _ flow: Ref<Flow>, _ bytes: borrowing Bytes, _ end: Int
  ) -> Bool {
    let isOpen = currentPlan.open(bytes, frame)
    if isOpen, frame.pointee.checksumStatus != .bad { return true }
    if currentPlan.pointee.hasVariant, reopens(flow, bytes, end) { return true }
    if !isOpen { frame.pointee.flags.insert(.malformed) }
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
      position = search.nextCandidate(bytes, position, end)
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
    _ side: FlowSide, _ bytes: borrowing Bytes, _ position: Int, _ at: Timestamp
  ) {
    let plan = currentPlan.pointee
    guard plan.signatureMask != 0, plan.signatureMask != plan.magicMask else { return }
    let head = bytes.u64(position)
    guard head & plan.signatureMask == plan.magic & plan.signatureMask, head & plan.magicMask != plan.magic else {
      return
    }
    raise(
      Issue(
        .unsupportedVersion(head: head), timestamp: at, direction: side.direction,
        streamOffset: side.state.pointee.offset), side.flow)
  }

  /// Whether a header follows the damaged frame, so that its length was right; also when nothing follows yet.
  @inline(never)
  mutating func follows(_ bytes: borrowing Bytes, _ end: Int) -> Bool {
    let next = frame.pointee.start + frame.pointee.count
    guard next < end else { return true }
    var probe = frame.pointee
    if end - next < Int(currentPlan.pointee.headerCount) { return search.mayBegin(bytes, next, end) }
    return currentPlan.read(bytes, next, end, &probe) != .notAFrame
  }
}
