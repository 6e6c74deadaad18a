import IMWire

extension Tracker {
  /// Finds or begins the session of a frame whose name is not that of the flow's last one.
  ///
  /// A session on another connection is the same one when its counters go on, or when the client names itself; the same
  /// addresses without either make it the same one too, but marked uncertain. Numbers of 16 bits collide among
  /// thousands of clients, so the number alone is never enough; and while the other connection goes on talking, only the
  /// very next number, or a frame sent before, is. From the same address a number close by is enough: the counters of two
  /// clients are rarely there, and a client that races connections has several of them open.
  @inline(never)
  mutating func resolveSession(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ side: FlowSide, _ plan: UnsafePointer<Plan>
  ) {
    let (flow, direction) = (side.flow, side.direction)
    let planIndex = flow.pointee.profile.plan
    let place = place(flow)
    guard plan.pointee.session.isPresent else {
      resolveNamed(frame, bytes, side, place: place, plan)
      flow.pointee.sessionKey = UInt32(truncatingIfNeeded: frame.pointee.session ^ frame.pointee.session >> 32)
      return
    }
    let key = frame.pointee.session
    var uncertain: UInt32?
    var candidate = sessions.newest(key, planIndex) ?? .max
    var steps = 0
    var found: UInt32?
    if plan.pointee.framing.sessionIsUnique, candidate != .max, sessions.isKnown(candidate) { found = candidate }
    while found == nil, candidate != .max, steps < 64 {
      let session = sessions.pointer(candidate)
      // The place of a session that was forgotten ends the chain.
      guard sessions.isKnown(candidate) else { break }
      if session.pointee.flow == side.index, session.pointee.flowSerial == flow.pointee.serial {
        found = candidate
        break
      }
      if frame.pointee.checksumStatus != .bad, frame.pointee.flags.contains(.sequence) {
        // What an answer names was numbered by the other side.
        let isEcho =
          frame.pointee.kind.pointee.role == .acknowledgment
          && frame.pointee.bodyCount != Int(plan.pointee.ackBodyCount) && !frame.pointee.flags.contains(.answered)
        let way = isEcho ? direction.reversed : direction
        let isPlaced = sessions.root(candidate).pointee.place == place
        switch sessions.continuity(candidate, way, frame.pointee.sequence, plan) {
        case .next: if isPlaced || !mayHaveBeenForgotten(flow) { found = candidate }
        case .near:
          // Where the other connection goes on talking, two clients may share the number, but hardly from one address.
          if isPlaced || !mayHaveBeenForgotten(flow) && !isTalking(session, since: flow.pointee.firstSeen) {
            found = candidate
          }
        case .behind:
          // A client that opens several connections at once has their first frames overtake one another.
          let isNew =
            sessions.root(candidate).pointee.place == place && find(candidate, way, frame.pointee.sequence) == nil
          if isNew || repeats(frame, bytes, in: candidate, way, plan) { found = candidate }
        case .unknown: if sessions.root(candidate).pointee.place == place, uncertain == nil { uncertain = candidate }
        case .far: break
        }
        if found != nil { break }
      }
      candidate = session.pointee.older
      steps += 1
    }
    if found == nil, let uncertain {
      found = uncertain
      sessions.pointer(uncertain).pointee.isUncertain = true
    }
    let index = found ?? beginSession(key, on: flow, side.index, place: place, plan)
    join(index, to: side, place: place, plan)
    flow.pointee.session = index
    flow.pointee.sessionKey = UInt32(truncatingIfNeeded: key ^ key >> 32)
  }

  /// Whether a connection may have been evicted and come back, so that its numbers may be near those of any client by chance: one
  /// that reconnects begins with a SYN.
  private func mayHaveBeenForgotten(_ flow: Ref<Flow>) -> Bool { hasEvictedConnections && flow.pointee.synCount == 0 }

  /// Whether the connection that a session was last seen on is open, and has carried a frame since `time`.
  private mutating func isTalking(_ session: Ref<Session>, since time: Timestamp) -> Bool {
    let last = flows.pointer(session.pointee.flow)
    guard last.pointee.serial == session.pointee.flowSerial, last.pointee.phase != .closed,
      last.pointee.figures != .max
    else { return false }
    return figures.pointer(last.pointee.figures).pointee.lastFrameAt > time
  }

  /// Whether a frame is one that the session has sent before, or an answer to one. A connection begins with a control frame
  /// of its own: one that is like another connection's tells of two clients.
  private mutating func repeats(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, in session: UInt32, _ direction: Direction,
    _ plan: UnsafePointer<Plan>
  ) -> Bool {
    guard let known = find(session, direction, frame.pointee.sequence) else { return false }
    let kind = frame.pointee.kind
    if kind.pointee.role == .acknowledgment { return kind.pointee.answers >> UInt64(known.pointee.kind & 63) & 1 == 1 }
    return kind.pointee.role != .control && known.pointee.kind == frame.pointee.kind.pointee.index
      && table.fingerprint(of: known) == FrameRecord.fingerprint(frame, bytes, plan)
  }

  /// Gives a connection a session of its own when it uses a number for other content than another connection of its
  /// session did: two clients that share the session's number. False where a session is no number.
  @inline(never)
  mutating func part(
    _ flow: Ref<Flow>, _ flowIndex: UInt32, _ plan: UnsafePointer<Plan>
  ) -> Bool {
    guard plan.pointee.session.isPresent, !plan.pointee.framing.sessionIsUnique else { return false }
    flow.pointee.session = beginSession(
      sessions.key(flow.pointee.session), on: flow, flowIndex, place: place(flow), plan)
    return true
  }

  /// Protocols whose frames name no session: the client does, once, or the connection is the session.
  private mutating func resolveNamed(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ side: FlowSide, place: UInt64,
    _ plan: UnsafePointer<Plan>
  ) {
    let (flow, flowIndex) = (side.flow, side.index)
    let planIndex = flow.pointee.profile.plan
    guard !frame.pointee.kind.pointee.flags.isDisjoint(with: [.opensSession, .assignsIdentity]),
      frame.pointee.identityCount > 0
    else {
      let begins = frame.pointee.kind.pointee.flags.contains(.opensSession)
      if flow.pointee.session == .max || begins && !frame.pointee.kind.pointee.flags.contains(.namesSession) {
        let own = Self.ownKey(flow)
        flow.pointee.session = beginSession(own, on: flow, flowIndex, place: place, plan)
      }
      return
    }
    let (hash, name) = bytes.span.withUnsafeBytes { raw -> (UInt64, String) in
      let from = frame.pointee.start + frame.pointee.identityOffset
      let slice = raw[from..<from + min(frame.pointee.identityCount, 1_024)]
      return (
        fingerprint(raw.baseAddress.map { $0 + from }, frame.pointee.identityCount),
        plan.pointee.hidesIdentity ? identities.text(slice) : String(decoding: slice, as: UTF8.self)
      )
    }
    if frame.pointee.kind.pointee.flags.contains(.namesSession) {
      // Several connections may have the name, each with numbers of its own.
      if flow.pointee.session == .max || !sessions.isKnown(flow.pointee.session) {
        flow.pointee.session = beginSession(
          Self.ownKey(flow), on: flow, flowIndex, place: place, plan)
      }
      sessions.name(flow.pointee.session, name)
      named = (flow.pointee.session, name)
      sessions.hasNews = true
      return
    }
    let key = hash >> 1
    if let known = sessions.newest(key, planIndex) {
      join(known, to: side, place: place, plan)
      flow.pointee.session = known
    } else if flow.pointee.session != .max, sessions.isKnown(flow.pointee.session),
      sessions.key(flow.pointee.session) == Self.ownKey(flow)
    {
      // The frame that names the client came behind others of its connection.
      sessions.rename(flow.pointee.session, key)
      sessions.name(flow.pointee.session, name)
      named = (flow.pointee.session, name)
      sessions.hasNews = true
    } else {
      let index = beginSession(key, on: flow, flowIndex, place: place, plan)
      sessions.name(index, name)
      named = (index, name)
      sessions.hasNews = true
      flow.pointee.session = index
    }
  }

  /// Brings the session of a connection that was evicted at `point` to its flow, now the one at `index`; no reconnect. Where the session
  /// was forgotten, or is on another connection by now, the next frame tells.
  mutating func resume(_ flow: Ref<Flow>, _ index: UInt32, _ point: ResumePoint) {
    guard point.session != .max, sessions.isKnown(point.session) else { return }
    let session = sessions.pointer(point.session)
    guard session.pointee.flowSerial == point.serial else { return }
    session.pointee.flow = index
    session.pointee.flowSerial = flow.pointee.serial
    sessions.root(point.session).pointee.closedAt = .distantFuture
    flow.pointee.session = point.session
    flow.pointee.sessionKey = point.sessionKey
  }

  /// Brings a session to a flow, and counts a reconnect when its last connection was over.
  private mutating func join(
    _ index: UInt32, to side: FlowSide, place: UInt64, _ plan: UnsafePointer<Plan>
  ) {
    let flow = side.flow
    let (session, root) = (sessions.pointer(index), sessions.root(index))
    let serial = session.pointee.flowSerial
    guard serial != flow.pointee.serial else { return }
    let last = flows.pointer(session.pointee.flow)
    let isKept = last.pointee.serial == serial
    let closedAt = isKept ? last.pointee.closedAt : root.pointee.closedAt
    if flow.pointee.session == .max, closedAt <= flow.pointee.lastSeen, serial < flow.pointee.serial {
      reconnects += 1
      let rare = self.rare(of: flow)
      let begun = flow.pointee.establishedAt ?? flow.pointee.firstSeen
      rare.pointee.reconnectTime = .microseconds(max(0, begun.time(since: closedAt).microseconds))
      rare.pointee.followsCleanClose = isKept ? last.pointee.closeReason == .fin : session.pointee.endedCleanly
      sink.reconnected(flow.pointee.serial, previous: serial, at: begun)
    }
    if plan.pointee.numberLife == .connection { sessions.beginCounters(index) }
    session.pointee.flow = side.index
    session.pointee.flowSerial = flow.pointee.serial
    root.pointee.closedAt = .distantFuture
    root.pointee.place = place
    session.pointee.connections &+= session.pointee.connections == .max ? 0 : 1
  }

  /// A name of our own, which no client's can equal in the table but by a collision of 64 bits.
  private static func ownKey(_ flow: Ref<Flow>) -> UInt64 {
    UInt64(flow.pointee.serial) &* GoldenRatio.of64Bits | 1 << 63
  }

  /// A hash of the client's address and the server's endpoint.
  private mutating func place(_ flow: Ref<Flow>) -> UInt64 {
    var client = flow.pointee.key.endpoint(Int(flow.pointee.client)).address
    if flow.pointee.carrier != .max, let named = carriers.pointer(flow.pointee.carrier).pointee.client {
      client = named.address
    }
    let server = flow.pointee.key.endpoint(1 - Int(flow.pointee.client))
    var h: UInt64 = FNV1a.basis
    for word in [client.high, client.low, server.address.high, server.address.low, UInt64(server.port)] {
      h = (h ^ word) &* GoldenRatio.of64Bits
      h ^= h >> 29
    }
    return h
  }
}
