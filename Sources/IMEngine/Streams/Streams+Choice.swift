import IMWire

/// Which plan decodes a connection.
extension Streams {
  /// Counts stream bytes of a connection that nothing decodes.
  mutating func countUnread(_ flow: Ref<Flow>, _ count: Int) {
    ledger.pointee.unreadBytes += UInt64(count)
    if flow.pointee.profile == .tls { ledger.pointee.tlsBytes += UInt64(count) }
    undecoded.add(flow.pointee.key.ports, count)
  }

  /// Whether a connection's protocol is known, and its client is waited for.
  mutating func awaitsRoles(_ flow: Ref<Flow>) -> Bool {
    !roles.awaited.isEmpty && roles.awaited[flow.pointee.serial] != nil
  }

  /// How many bytes a direction may hold before its connection counts as none of the protocols.
  private mutating func patience(_ state: Ref<DirectionState>) -> Int {
    state.pointee.flags.contains(.fromStart) ? Self.patienceAtStart : Self.patienceInMidst
  }

  /// The first frame of a stream stands in its first packets, three of the usual 1,460 bytes; without the beginning, a frame
  /// may be under way that began before the capture.
  private static var patienceAtStart: Int { 4 << 10 }
  private static var patienceInMidst: Int { 64 << 10 }

  /// Looks for a plan whose frames stand in what side `side` holds; decodes both directions when there is one.
  ///
  /// The last `count` bytes are new. `isCut` says that the snaplen took what was behind them; `isThorough`, whether every
  /// byte is to be looked at, where that is known.
  mutating func choose(
    _ side: FlowSide, new count: Int, isEnd: Bool, isCut: Bool = false,
    isThorough: Bool? = nil
  ) {
    let flow = side.flow
    let state = side.state
    guard let partial = state.pointee.partial, partial.pointee.count > 0 else { return }
    if !roles.awaited.isEmpty, let awaited = roles.awaited[flow.pointee.serial] {
      select(awaited.profile)
      decide(side, awaited.profile, isEnd: isEnd)
      return
    }
    let isCarried = state.pointee.flags.contains(.carried)
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let start = partial.pointee.start
    let end = partial.pointee.end
    if !isCarried, state.pointee.flags.contains(.fromStart), let hello = TLSHello(bytes, start, end) {
      guard hello.isWhole || end - start > 4_096 || isEnd else { return }
      noteTLS(flow, hello)
      return
    }
    let isThorough = isThorough ?? self.isThorough(state, partial, isEnd: isEnd)
    var (best, second, bestProfile) = (0, 0, FlowProfile.unknown)
    for i in 0..<protocols.plans.count {
      for profile in [FlowProfile(rawValue: UInt8(i)), FlowProfile.variant(of: i)] {
        guard profile.generation == 0 || (protocols.plans[i].variant != nil && i < FlowProfile.variantCount) else {
          break
        }
        select(profile)
        if currentPlan.pointee.framing.isGeneral {
          // Those that look alike are compared: the one that explains most is chosen, and not the first.
          guard isThorough || state.pointee.flags.contains(.fromStart) && partial.pointee.deliveryCount <= 32,
            let bits = proofOfGeneral(side, partial), bits >= neededOfGeneral(side, i, isEnd: isEnd)
          else { continue }
          let weight = bits + (isHinted(flow, i) ? 24 : 0)
          if weight > best {
            (best, second, bestProfile) = (weight, best, profile)
          } else {
            second = max(second, weight)
          }
          continue
        }
        if stands(side, partial, bytes, new: count, isThorough: isThorough, isEnd: isEnd),
          !isContradicted(side, isEnd: isEnd)
        {
          decide(side, profile, isEnd: isEnd)
          return
        }
      }
    }
    let isOver = partial.pointee.count > patience(state)
    if best > 0, best >= second + 16 || isEnd || isOver {
      select(bestProfile)
      decide(side, bestProfile, isEnd: isEnd)
      return
    }
    guard isOver || isCut else { return }
    if let profile = promisedAtStart(side, partial, bytes) {
      decide(side, profile, isEnd: isEnd)
    } else if !isOver {
      return
    } else if isAwaited(flow, state) {
      passOver(side, partial)
    } else {
      giveUp(flow)
    }
  }

  /// Bits of proof that the plan at `index`, one of the general reader, wants.
  private mutating func neededOfGeneral(_ side: FlowSide, _ index: Int, isEnd: Bool) -> Int {
    let isExpected = isExpectedAtStart(side, index)
    let isStranger = !isExpected && protocols.plans.indices.contains { isHinted(side.flow, $0) }
    let needed =
      isExpected
      ? Self.promisedEvidence : Int(protocols.plans[index].pointer.pointee.chooseEvidence) + (isStranger ? 24 : 0)
    return isEnd ? max(12, needed / 2) : needed
  }

  /// Whether every byte that an undecided direction holds is to be looked at: when the amount has doubled. Else a look is
  /// taken only where a delivery begins.
  mutating func isThorough(
    _ state: Ref<DirectionState>, _ partial: Ref<PartialFrame>, isEnd: Bool
  ) -> Bool {
    let isThorough =
      isEnd || partial.pointee.count >= max(256, partial.pointee.needed)
      || partial.pointee.count > patience(state)
    if isThorough { partial.pointee.needed = partial.pointee.count * 2 }
    return isThorough
  }

  /// The plan that the connection's ports promise, where the direction's first bytes speak for it and only the rest of a
  /// long frame is missing: with nothing before it, half of the proof is enough there.
  private mutating func promisedAtStart(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ bytes: borrowing Bytes
  ) -> FlowProfile? {
    guard side.state.pointee.flags.contains(.fromStart) else { return nil }
    let (start, end) = (partial.pointee.start, partial.pointee.end)
    for i in protocols.plans.indices
    where isHinted(side.flow, i) && !protocols.plans[i].pointer.pointee.framing.isDelimited {
      for profile in [FlowProfile(rawValue: UInt8(i)), FlowProfile.variant(of: i)] {
        guard profile.generation == 0 || (protocols.plans[i].variant != nil && i < FlowProfile.variantCount) else {
          break
        }
        select(profile)
        switch search.verify(bytes, start, end, partial, needed: Self.promisedEvidence, isTrusted: true) {
        case .confirmed: return profile
        case .open(let bits, _) where bits >= Self.promisedEvidence / 2 || beginsWithHeader(bytes, partial):
          return profile
        case .open, .rejected: continue
        }
      }
    }
    return nil
  }

  /// Bits of proof that frames want on a port that promises them.
  private static var promisedEvidence: Int { 24 }

  /// Whether a direction without its beginning may still be inside one long frame of a protocol that its ports promise.
  private mutating func isAwaited(_ flow: Ref<Flow>, _ state: Ref<DirectionState>) -> Bool {
    guard !state.pointee.flags.contains(.fromStart) else { return false }
    return protocols.plans.indices.contains {
      isHinted(flow, $0)
        && state.pointee.offset < UInt64(protocols.plans[$0].pointer.pointee.maximumBody)
          + UInt64(Self.patienceInMidst)
    }
  }

  /// Drops the older half of what an undecided direction holds: no frame was found to begin there.
  private mutating func passOver(
    _ side: FlowSide, _ partial: Ref<PartialFrame>
  ) {
    let count = partial.pointee.count / 2
    let unread = wireCount(side, partial, count)
    ledger.pointee.unreadBytes += UInt64(unread)
    undecoded.add(side.flow.pointee.key.ports, unread)
    partial.pointee.consume(count)
    partial.pointee.needed = partial.pointee.count * 3 / 2
  }

  /// Whether `bytes`, with the pending ones in `partial`, are frames of the plan in use; the last `count` of them are new.
  private mutating func stands(
    _ side: FlowSide, _ partial: Ref<PartialFrame>,
    _ bytes: borrowing Bytes, new count: Int, isThorough: Bool, isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    let (start, end) = (partial.pointee.start, partial.pointee.end)
    let plan = currentPlan
    let index = Int(protocols.currentIndex & 63)
    let isHinted = isHinted(flow, index), isExpected = isExpectedAtStart(side, index)
    if plan.pointee.framing.isDelimited {
      return standsDelimited(
        bytes, start, end, isFromStart: side.state.pointee.flags.contains(.fromStart), isHinted: isExpected,
        isThorough: isThorough)
    }
    // A magic number with its version is proof in itself; without one, frames must follow one another.
    // Where the port promises another protocol, one has to say more for itself.
    let isStranger = !isHinted && protocols.plans.indices.contains { self.isHinted(flow, $0) }
    let needed =
      (isHinted ? Self.promisedEvidence : Int(plan.pointee.chooseEvidence) + (isStranger ? 24 : 0))
      + (isVariant ? Self.variantEvidence : 0)
    if plan.pointee.magicEvidence >= 32 {
      // Where a whole header would have been seen before, there is none.
      let header = Int(plan.pointee.headerCount)
      var position = max(start, end - count - header)
      while position < end {
        position = search.nextCandidate(bytes, position, end)
        var probe = frame.pointee
        if end - position >= header, plan.read(bytes, position, end, &probe) != .notAFrame { return true }
        position += 1
      }
      return false
    }
    // Where the beginning is there, the first frame is waited for; else one may be longer than anyone waits.
    let isTrusted = isHinted && !side.state.pointee.flags.contains(.fromStart)
    // A type of many bits proves a frame in the midst of anything a little too easily for half of the proof.
    let state = plan.weighsBodies ? needed - 8 : needed / 2
    let enough = isEnd ? max(state, FrameSearch.chance(end - start)) : .max
    if isExpected, !isHinted {
      let needed = Self.promisedEvidence + (isVariant ? Self.variantEvidence : 0)
      let enough = isEnd ? (plan.weighsBodies ? needed - 8 : needed / 2) : .max
      let verdict = search.verify(bytes, start, end, partial, needed: needed, isTrusted: false)
      if isProof(verdict, enough, .max) { return true }
    }
    if isThorough {
      var position = search.nextCandidate(bytes, start, end)
      while position < end {
        // In the midst of what another protocol says, small numbers and zeros look like headers of this kind too easily.
        let isBeginning = position == start || !plan.weighsBodies || partial.pointee.startsDelivery(at: position)
        let needed = isBeginning || isHinted ? needed : needed + 24
        let enough = isBeginning || isHinted ? enough : .max
        let verdict = search.verify(bytes, position, end, partial, needed: needed, isTrusted: isTrusted)
        if isProof(verdict, enough, isTrusted ? needed : .max) { return true }
        position = search.nextCandidate(bytes, position + 1, end)
      }
      return false
    }
    // So many deliveries that weighing each with every one that comes would cost their square are left to the next
    // thorough look.
    guard partial.pointee.deliveryCount <= 32 else { return false }
    for (position, _, _) in partial.pointee.deliveries(end - start) {
      let verdict = search.verify(bytes, position, end, partial, needed: needed, isTrusted: isTrusted)
      if isProof(verdict, enough, isTrusted ? needed : .max) { return true }
    }
    return false
  }

  /// Whether a candidate is confirmed, or has so many `bits` to say for itself; `forPart`, when it is not whole.
  private mutating func isProof(_ verdict: FrameSearch.Verdict, _ bits: Int, _ forPart: Int) -> Bool {
    switch verdict {
    case .confirmed: true
    case .open(let found, let isWhole): found >= (isWhole ? bits : forPart)
    case .rejected: false
    }
  }

  /// Whether one of the connection's ports is one of the plan's, or of those that the user named.
  mutating func isHinted(_ flow: Ref<Flow>, _ plan: Int) -> Bool {
    isServerPort(FlowSide(flow, 0), plan) || isServerPort(FlowSide(flow, 1), plan)
      || carrier(of: flow).map { Int($0.pointee.hint) == plan } == true
  }

  /// Whether a plan is expected at the first byte of a direction: by the connection's ports, or because it is the only plan and the user named it.
  /// Later in a stream, only the ports count: weak evidence occurs by chance in that many bytes.
  private mutating func isExpectedAtStart(_ side: FlowSide, _ plan: Int) -> Bool {
    isHinted(side.flow, plan) || expectsOnlyPlan && side.state.pointee.flags.contains(.fromStart)
  }

  /// Whether a side's port is one of the plan's, or of those that the user named.
  mutating func isServerPort(_ side: FlowSide, _ plan: Int) -> Bool {
    let ports = side.flow.pointee.key.ports
    let port = UInt16(truncatingIfNeeded: side.number == 0 ? ports >> 16 : ports)
    return protocols.plans[plan].ports.contains(port) || self.ports.contains(port)
  }

  /// Gives the connection its plan and decodes what both directions hold, once it is known who is the client.
  private mutating func decide(
    _ side: FlowSide, _ found: FlowProfile, isEnd: Bool
  ) {
    let flow = side.flow
    var profile = found
    guard settleRoles(side, &profile, isEnd: isEnd) else { return }
    let hasWaited = roles.stopWaiting(for: flow.pointee.serial)
    flow.pointee.profile = profile
    makeFigures(flow, side.index)
    for side in side.both where !side.state.pointee.flags.contains(.fromStart) {
      side.state.pointee.flags.insert(.lost)
    }
    if currentPlan.pointee.framing.isDelimited {
      for side in side.both { side.state.pointee.flags.insert(.delimited) }
    }
    for side in side.both { side.state.pointee.partial?.pointee.beginSearch() }
    // What came first is decoded first; what has waited, in turns.
    defer { decodeLimit = .distantFuture }
    var turn = isEarlier(side.peer) ? side.peer : side
    var turns = hasWaited ? 4_096 : 0
    while turns > 0, let other = Self.start(turn.peer), Self.start(turn) != nil {
      decodeLimit = other
      decodeRest(turn)
      turn = turn.peer
      turns -= 1
    }
    decodeLimit = .distantFuture
    for side in turn.both { decodeRest(side) }
  }

  /// Makes the figures of a connection, the one at `index`, whose plan and client are known.
  private mutating func makeFigures(_ flow: Ref<Flow>, _ index: UInt32) {
    let server = flow.pointee.key.endpoint(1 - Int(flow.pointee.client))
    let endpoint = servers.index(of: EndpointKey(endpoint: server, plan: flow.pointee.profile.plan))
    makeRoomForFigures()
    flow.pointee.figures = tracker.figures.allocate(ConnectionMetrics(endpoint: endpoint))
    watch(index, flow)
  }

  /// Goes on with a connection, now the one at `index`, that was evicted at `point`.
  mutating func resume(_ flow: Ref<Flow>, _ index: UInt32, _ point: ResumePoint) {
    makeFigures(flow, index)
    tracker.resume(flow, index, point)
  }

  /// When the first of the bytes came that a direction holds and that may be a frame's.
  private static func start(_ side: FlowSide) -> Timestamp? {
    guard let partial = side.state.pointee.partial, partial.pointee.count > 0,
      partial.pointee.count >= partial.pointee.needed
    else { return nil }
    return partial.pointee.mark(at: partial.pointee.start).timestamp
  }

  private mutating func isEarlier(_ side: FlowSide) -> Bool {
    guard let mine = side.state.pointee.partial, mine.pointee.count > 0,
      let theirs = side.peer.state.pointee.partial, theirs.pointee.count > 0
    else { return false }
    return mine.pointee.mark(at: mine.pointee.start).timestamp < theirs.pointee.mark(at: theirs.pointee.start).timestamp
  }

  /// None of the plans' protocols: what both directions hold stays unread.
  mutating func giveUp(_ flow: Ref<Flow>) {
    flow.pointee.profile = .none
    dropUnread(flow)
  }

  /// The same of a connection whose records could not be read; `byteCount` of their bytes were counted as unread.
  mutating func noteUnreadTLS(_ flow: Ref<Flow>, _ hello: TLSHello, byteCount: UInt64) {
    ledger.pointee.tlsBytes += byteCount
    noteTLS(flow, hello)
  }

  /// The same of one that goes on in TLS after a beginning in the clear, in a run without a key log.
  mutating func noteUpgrade(_ flow: Ref<Flow>, _ hello: TLSHello) { noteTLS(flow, hello) }

  private mutating func noteTLS(_ flow: Ref<Flow>, _ hello: TLSHello) {
    flow.pointee.profile = .tls
    ledger.pointee.tlsConnections += 1
    if tlsHellos.count < 4_096 { tlsHellos[flow.pointee.serial] = hello }
    if firstHellos.count < 64 { firstHellos[flow.pointee.serial] = hello }
    dropUnread(flow)
  }

  /// The first message of the TLS handshake of the connection with this serial number; with `isLast` it is forgotten. It is
  /// mutating because the compiler would copy the whole stage for a method that is not.
  mutating func hello(of serial: UInt32, isLast: Bool) -> TLSHello? {
    isLast ? tlsHellos.removeValue(forKey: serial) : tlsHellos[serial]
  }

  private mutating func dropUnread(_ flow: Ref<Flow>) {
    for side in flow.sides {
      let state = side.state
      let count = state.pointee.partial.map { wireCount(side, $0, $0.pointee.count) } ?? 0
      ledger.pointee.unreadBytes += UInt64(count)
      if flow.pointee.profile == .tls { ledger.pointee.tlsBytes += UInt64(count) }
      undecoded.add(flow.pointee.key.ports, count)
      if flow.pointee.profile != .tls, let partial = state.pointee.partial { look(flow, partial) }
      partials.take(back: &state.pointee.partial)
    }
  }

  /// Takes note of what the bytes of an undecoded direction look like.
  mutating func look(_ flow: Ref<Flow>, _ partial: Ref<PartialFrame>) {
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    undecoded.look(flow.pointee.key.ports, bytes, partial.pointee.start, count: partial.pointee.count)
  }
}
