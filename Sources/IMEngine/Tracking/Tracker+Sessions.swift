import IMWire

extension Tracker {
  /// Finds or begins the session of a frame whose name is not that of the flow's last one.
  ///
  /// A session on another connection is the same one when its counters go on, or when the client names itself; the same
  /// addresses without either make it the same one too, but marked uncertain. Numbers of 16 bits collide among
  /// thousands of clients, so the number alone is never enough.
  @inline(never)
  mutating func resolveSession(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ flowIndex: UInt32, _ flow: UnsafeMutablePointer<Flow>,
    _ direction: Direction, _ plan: UnsafePointer<Plan>, _ flows: borrowing FlowTable
  ) {
    let planIndex = flow.pointee.profile.rawValue
    let place = Self.place(flow)
    guard plan.pointee.session.isPresent else {
      resolveNamed(frame, bytes, flowIndex, flow, place, flows)
      flow.pointee.sessionKey = UInt32(truncatingIfNeeded: frame.pointee.session ^ frame.pointee.session >> 32)
      return
    }
    let key = frame.pointee.session
    var uncertain: UInt32?
    var candidate = sessions.newest(key, planIndex) ?? .max
    var steps = 0
    var found: UInt32?
    while candidate != .max, steps < 64 {
      let session = sessions.pointer(candidate)
      if session.pointee.flow == flowIndex, session.pointee.flowSerial == flow.pointee.serial {
        found = candidate
        break
      }
      if frame.pointee.checksumStatus != .bad, frame.pointee.flags.contains(.sequence) {
        // What an answer names was numbered by the other side.
        let isEcho =
          frame.pointee.kind.pointee.role == .acknowledgment
          && frame.pointee.bodyCount != Int(plan.pointee.ackBodyCount)
        let continues = sessions.continues(
          candidate, isEcho ? direction.reversed : direction, frame.pointee.sequence, plan)
        if continues == true {
          found = candidate
          break
        }
        if continues == nil, session.pointee.place == place, uncertain == nil { uncertain = candidate }
      }
      candidate = session.pointee.older
      steps += 1
    }
    if found == nil, let uncertain {
      found = uncertain
      sessions.pointer(uncertain).pointee.isUncertain = true
    }
    let index = found ?? sessions.add(key, planIndex, flow: flowIndex, serial: flow.pointee.serial, place: place)
    join(index, flowIndex, flow, place, flows)
    flow.pointee.session = index
    flow.pointee.sessionKey = UInt32(truncatingIfNeeded: key ^ key >> 32)
  }

  /// Protocols whose frames name no session: the client does, once, or the connection is the session.
  private mutating func resolveNamed(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ flowIndex: UInt32, _ flow: UnsafeMutablePointer<Flow>,
    _ place: UInt64, _ flows: borrowing FlowTable
  ) {
    let planIndex = flow.pointee.profile.rawValue
    guard frame.pointee.kind.pointee.flags.contains(.opensSession), frame.pointee.identityCount > 0 else {
      if flow.pointee.session == .max || frame.pointee.kind.pointee.flags.contains(.opensSession) {
        let own = Self.ownKey(flow)
        flow.pointee.session = sessions.add(own, planIndex, flow: flowIndex, serial: flow.pointee.serial, place: place)
      }
      return
    }
    let (hash, name) = bytes.span.withUnsafeBytes { raw -> (UInt64, String) in
      let from = frame.pointee.start + frame.pointee.identityOffset
      let slice = raw[from..<from + min(frame.pointee.identityCount, 1_024)]
      return (
        fingerprint(raw.baseAddress.map { $0 + from }, frame.pointee.identityCount),
        String(decoding: slice, as: UTF8.self)
      )
    }
    let key = hash >> 1
    if let known = sessions.newest(key, planIndex) {
      join(known, flowIndex, flow, place, flows)
      flow.pointee.session = known
    } else if flow.pointee.session != .max, sessions.pointer(flow.pointee.session).pointee.key == Self.ownKey(flow) {
      // The frame that names the client came behind others of its connection.
      sessions.rename(flow.pointee.session, key)
      sessions.name(flow.pointee.session, name)
      named = (flow.pointee.session, name)
    } else {
      let index = sessions.add(key, planIndex, flow: flowIndex, serial: flow.pointee.serial, place: place)
      sessions.name(index, name)
      named = (index, name)
      flow.pointee.session = index
    }
  }

  /// Brings a session to a flow, and counts a reconnect when its last connection was over.
  private mutating func join(
    _ index: UInt32, _ flowIndex: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ place: UInt64,
    _ flows: borrowing FlowTable
  ) {
    let session = sessions.pointer(index)
    let serial = session.pointee.flowSerial
    guard serial != flow.pointee.serial else { return }
    let last = flows.pointer(session.pointee.flow)
    let closedAt = last.pointee.serial == serial ? last.pointee.closedAt : session.pointee.closedAt
    if flow.pointee.session == .max, closedAt <= flow.pointee.lastSeen, serial < flow.pointee.serial {
      reconnects += 1
      let figure = figures.pointer(flow.pointee.figures)
      figure.pointee.isReconnect = true
      let begun = flow.pointee.establishedAt ?? flow.pointee.firstSeen
      figure.pointee.reconnectTime = max(0, begun.nanoseconds(since: closedAt) / 1_000)
    }
    session.pointee.flow = flowIndex
    session.pointee.flowSerial = flow.pointee.serial
    session.pointee.closedAt = .distantFuture
    session.pointee.place = place
    session.pointee.connections &+= session.pointee.connections == .max ? 0 : 1
  }

  /// A name of our own, which no client's can equal in the table but by a collision of 64 bits.
  private static func ownKey(_ flow: UnsafeMutablePointer<Flow>) -> UInt64 {
    UInt64(flow.pointee.serial) &* 0x9E37_79B9_7F4A_7C15 | 1 << 63
  }

  /// A hash of the client's address and the server's endpoint.
  private static func place(_ flow: UnsafeMutablePointer<Flow>) -> UInt64 {
    let client = flow.pointee.key.endpoint(Int(flow.pointee.client)).address
    let server = flow.pointee.key.endpoint(1 - Int(flow.pointee.client))
    var h: UInt64 = 0xcbf2_9ce4_8422_2325
    for word in [client.high, client.low, server.address.high, server.address.low, UInt64(server.port)] {
      h = (h ^ word) &* 0x9E37_79B9_7F4A_7C15
      h ^= h >> 29
    }
    return h
  }
}
