import IMWire

/// Who is the client of a connection whose beginning was not captured.
extension Streams {
  /// So many bytes of both directions, and so long, are waited for what tells; and so many connections wait.
  private static var awaitedBytes: Int { 48 << 10 }
  private static var awaitedTime: Nanoseconds { .seconds(10) }
  private static var awaitedCount: Int { 4_096 }

  /// Sets the client of a connection that speaks the plan in use, as far as something tells it: the port that the profile or the
  /// user names, types that only one side sends, the port that many connections share. False where nothing does yet, and
  /// more bytes may: then the connection waits for them, undecided.
  ///
  /// What waits is weighed again: among many bytes another protocol than the first one found may explain far more of them.
  mutating func settleRoles(
    _ side: FlowSide, _ profile: inout FlowProfile, isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    guard !flow.pointee.clientIsCertain else { return true }
    let plan = Int(profile.plan)
    let first = isServerPort(FlowSide(flow, 0), plan)
    let second = isServerPort(FlowSide(flow, 1), plan)
    if first != second {
      flow.pointee.client = first ? 1 : 0
      return true
    }
    let held = (0...1).reduce(0) { $0 + (flow.state($1).pointee.partial?.pointee.count ?? 0) }
    let mayWait =
      !isEnd && held < Self.awaitedBytes && !side.state.pointee.flags.contains(.carried)
      && clock.lastPacketAt.time(since: flow.pointee.firstSeen) < Self.awaitedTime
    var awaited = roles.awaited[flow.pointee.serial] ?? AwaitedRoles(profile: profile)
    // Not with every few bytes: that would cost the square of what is held.
    if !mayWait || held >= awaited.looked + awaited.looked / 4 {
      awaited.looked = held
      awaited.isSure = weighProfiles(flow, &profile) >= held / 2
      awaited.profile = profile
      if !mayWait || awaited.isSure, let client = clientByType(side) ?? clientByType(side.peer) {
        flow.pointee.client = UInt8(truncatingIfNeeded: client)
        return true
      }
    }
    if !mayWait || awaited.isSure, let server = roles.portUse.server(flow.pointee.key.ports) {
      flow.pointee.client = UInt8(truncatingIfNeeded: 1 - server)
      return true
    }
    guard mayWait, roles.awaited.count < Self.awaitedCount || roles.awaited[flow.pointee.serial] != nil else {
      return true
    }
    roles.awaited[flow.pointee.serial] = awaited
    return false
  }

  /// Changes `profile` to that of the plan which explains most of what both directions hold, where it explains more than twice
  /// as much, and selects it. Gives the bytes that are explained.
  private mutating func weighProfiles(_ flow: Ref<Flow>, _ profile: inout FlowProfile) -> Int {
    select(profile)
    guard !currentPlan.pointee.framing.isDelimited,
      !(0...1).contains(where: { flow.state($0).pointee.flags.contains(.fromStart) })
    else { return .max }
    var covered = coverage(flow)
    for i in protocols.plans.indices
    where !protocols.plans[i].pointer.pointee.framing.isDelimited && i != Int(profile.plan) {
      select(FlowProfile(rawValue: UInt8(i)))
      let other = coverage(flow)
      if other / 2 > covered {
        covered = other
        profile = FlowProfile(rawValue: UInt8(i))
      }
    }
    select(profile)
    return covered
  }

  /// Bytes of whole frames of the plan in use that follow one another in what both directions hold, from the first one found.
  private mutating func coverage(_ flow: Ref<Flow>) -> Int {
    var covered = 0
    for side in flow.sides {
      guard let partial = side.state.pointee.partial else { continue }
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      partial.pointee.beginSearch()
      guard case .at(var position) = search.find(bytes, partial, isEnd: true) else { continue }
      var probe = frame.pointee
      while position < partial.pointee.end, currentPlan.read(bytes, position, partial.pointee.end, &probe) == .frame {
        covered += probe.count
        position += probe.count
      }
    }
    return covered
  }

  /// The client, where what side `side` holds has a frame that only clients, or only servers, send.
  private mutating func clientByType(_ side: FlowSide) -> Int? {
    guard let partial = side.state.pointee.partial else { return nil }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    if currentPlan.pointee.framing.isDelimited { return clientOfChunk(bytes, partial, side) }
    partial.pointee.beginSearch()
    guard case .at(var position) = search.find(bytes, partial, isEnd: true) else { return nil }
    var probe = frame.pointee
    var looks = 4_096
    while looks > 0, currentPlan.read(bytes, position, partial.pointee.end, &probe) == .frame {
      if probe.kind.pointee.flags.contains(.fromClient) { return side.number }
      if probe.kind.pointee.flags.contains(.fromServer) { return side.peer.number }
      position += probe.count
      looks -= 1
    }
    return nil
  }
}
