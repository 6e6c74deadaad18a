public import IMWire

/// Connections: when one is wanted, when another, and when one is given up.
extension ClientCore {
  /// Connects a session. If the client has a connection, that is at once. One that is connecting goes on.
  public mutating func connect(_ id: SessionID, at now: Instant) throws(IllegalConnectionEvent) {
    guard let place = place(of: id) else { return }
    let before = sessions[place].machine.state
    sessions[place].isWanted = before == .connecting || sessions[place].isWanted
    if before == .connecting { return }
    let after = try sessions[place].machine.handle(.connect, at: now)
    tell(.connection(id, after, .connect, nil))
    sessions[place].isWanted = true
    sessions[place].farewellEnds = nil
    if sessions[place].handshake.phase == .refused { sessions[place].handshake.phase = .none }
    if before == .disconnected, case .stopped = phase {
      reconnector.reset()
      phase = .idle
    }
    if openMask != 0 { becameOpen(place, at: now) }
    steer(at: now)
  }

  /// Disconnects a session once what waits has been sent and answered, or when the farewell has lasted too long; at once where
  /// there is no connection, and then no further attempt is made. It may be called in every state.
  public mutating func disconnect(_ id: SessionID, at now: Instant) throws(IllegalConnectionEvent) {
    guard let place = place(of: id) else { return }
    switch sessions[place].machine.state {
    case .disconnected:
      sessions[place].isWanted = false
      return steer(at: now)
    case .disconnecting: return
    case .connecting, .connected: break
    }
    let after = try sessions[place].machine.handle(.disconnect, at: now)
    tell(.connection(id, after, .disconnect, .requested))
    sessions[place].isWanted = false
    sessions[place].farewellEnds = now.advanced(by: configuration.farewell)
    wake(by: sessions[place].farewellEnds)
    finishFarewells(at: now)
  }

  /// Disconnects a session at once. Messages that wait stay, for another `connect`.
  public mutating func forceDisconnect(_ id: SessionID, at now: Instant) {
    guard let place = place(of: id) else { return }
    sessions[place].isWanted = false
    leave(place, at: now)
    move(place, .forceDisconnect, .requested, at: now)
    steer(at: now)
  }

  /// What the application is doing. On return to the foreground a heartbeat goes out at once.
  public mutating func setMode(_ mode: ApplicationMode, at now: Instant) {
    let isBack = mode == .foreground && heartbeat.mode != .foreground
    heartbeat.setMode(mode, at: now, &random)
    if isBack, phase != .idle, sessions.contains(where: \.isWanted) {
      reconnector.reset()
      phase = .idle
      steer(at: now)
    }
    beatIfDue(at: now)
    wake(by: heartbeat.due)
  }

  /// Takes the addresses that the server's name has now. An open connection stays; the next one goes to one of these addresses. Without an
  /// address nothing changes.
  public mutating func serverResolved(to endpoints: [Endpoint], at now: Instant) {
    clock = now
    servers.replace(endpoints)
  }

  // MARK: steering

  @inline(__always)
  var racing: RacingPolicy? {
    if case .racing(let policy) = configuration.resend { policy } else { nil }
  }

  @inline(__always)
  var isWarm: Bool { warmUntil != nil }

  /// How long after the last attempt another one may begin.
  var openSpacing: Int64 {
    let stagger = configuration.connectStagger.wholeNanoseconds
    // Behind a queue the answer to the first question may be on its way: only where segments are lost is it asked early.
    let patient = roundTrips.isEmpty && opensSinceSuccess <= 1 ? stagger * 2 : roundTrips.short + roundTrips.short / 4
    let base = max(stagger, isLossy ? roundTrips.short / 2 : patient)
    let longest = max(base, (racing?.longestSpacing ?? configuration.connectStagger).wholeNanoseconds)
    guard opensSinceSuccess > 4 else { return base }
    var spacing = Double(base)
    for _ in 4..<min(opensSinceSuccess, 12) { spacing *= 1.3 }
    spacing = min(spacing, Double(longest))
    // After half a minute in vain a network is not blinking, it is away.
    for _ in 0..<min(40, max(0, opensSinceSuccess - 75)) { spacing *= 1.3 }
    return Int64(min(spacing, 5e9))
  }

  /// Does what the state of things asks for: opens, gives up, waits. It may be called at any time.
  mutating func steer(at now: Instant) {
    forgetLoss(at: now)
    guard sessions.contains(where: { $0.isWanted || $0.machine.state == .disconnecting }) else {
      rest(at: now)
      return
    }
    if openMask == 0 { steerDown(at: now) } else { steerUp(at: now) }
  }

  private mutating func steerDown(at now: Instant) {
    guard sessions.contains(where: \.isWanted) else { return }
    switch phase {
    case .idle:
      if path.kind == .none {
        phase = .waiting(until: now.advanced(by: configuration.reconnect.lookInterval))
        wake(by: now.advanced(by: configuration.reconnect.lookInterval))
      } else {
        begin(at: now)
      }
    case .waiting(let until):
      if now >= until { begin(at: now) } else { wake(by: until) }
    case .attempting(let since):
      // Without a path one connection at a time looks whether there is one after all.
      let isLook = path.kind == .none
      let policy = configuration.reconnect
      let end = since.advanced(by: isLook ? policy.lookInterval : policy.attemptTimeout)
      if now >= end {
        attemptFailed(isLook ? .noPath : .connectTimeout, at: now)
        return
      }
      wake(by: end)
      if isLook { return }
      let next = lastOpenAt.advanced(byNanoseconds: openSpacing)
      if now >= next { openAnother(at: now) } else if openingMask != 0xff { wake(by: next) }
    case .stopped: break
    }
  }

  private mutating func steerUp(at now: Instant) {
    if let until = warmUntil, now >= until {
      warmUntil = nil
      opensSinceSuccess = 0
      if !wantsAnother { for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) } }
    }
    if !isWarm, !wantsAnother { dropSurplus(at: now) } else { wake(by: warmUntil) }
    let live = (openMask | openingMask).nonzeroBitCount
    let desired = isWarm ? min(racing?.warmConnections ?? 1, configuration.maximumConnections) : 1
    let isStaleOnly = (0..<8).allSatisfy { openMask & Self.bit($0) == 0 || links[$0].isStale }
    guard wantsAnother || live < desired || isStaleOnly else { return }
    if isProbing, openingMask != 0 { return }
    if case .waiting(let until) = phase, now < until {
      wake(by: until)
      return
    }
    let next = lastOpenAt.advanced(byNanoseconds: openSpacing)
    if now >= next { openAnother(at: now) } else { wake(by: next) }
  }

  /// An attempt begins: sessions that want a connection are connecting.
  mutating func begin(at now: Instant) {
    for place in sessions.indices where sessions[place].isWanted && sessions[place].machine.state == .disconnected {
      move(place, .reconnect, at: now)
    }
    reconnector.began()
    phase = .attempting(since: now)
    opensSinceSuccess = 0
    servers.begin()
    wake(by: now.advanced(by: configuration.reconnect.attemptTimeout))
    openAnother(at: now)
  }

  /// Opens a connection if there is a place for it, or one can be made.
  mutating func openAnother(at now: Instant) {
    let used = openMask | openingMask | closingMask
    if used.nonzeroBitCount >= configuration.maximumConnections { makePlace(at: now) }
    let free = (0..<8).first { links[$0].phase == .free }
    let isRoom = (openMask | openingMask | closingMask).nonzeroBitCount < configuration.maximumConnections
    guard let place = free, isRoom else {
      wake(by: now.advanced(byNanoseconds: max(50_000_000, openSpacing)))
      return
    }
    let generation = links[place].generation
    links[place] = ClientLink()
    links[place].generation = generation
    links[place].phase = .opening
    links[place].requestedAt = now
    openingMask |= Self.bit(place)
    lastOpenAt = now
    opensSinceSuccess += 1
    metrics.connectionAttempts += 1
    if openMask != 0 { metrics.racingConnections += 1 }
    var options = SocketOptions()
    options.retransmitsLinearly = racing?.retransmitsLinearly ?? false
    if let racing, let limit = racing.retransmissionLimit, roundTripIsShort(racing) {
      options.longestRetransmissionTimeout = limit
    }
    let remote = servers.take(isConnected: openMask != 0)
    links[place].remote = remote
    commands.append(.open(connection(place), to: remote, options: options))
    wake(by: now.advanced(byNanoseconds: openSpacing))
  }

  private func roundTripIsShort(_ racing: RacingPolicy) -> Bool {
    !roundTrips.isEmpty && roundTrips.short < racing.shortRoundTrip.wholeNanoseconds && isLossy && !isQueue(racing)
  }

  private var closingMask: UInt8 {
    var mask: UInt8 = 0
    for place in 0..<8 where links[place].phase == .closing { mask |= Self.bit(place) }
    return mask
  }

  /// Gives the oldest attempt up that has had its time, or else the connection that is stalled longest.
  private mutating func makePlace(at now: Instant) {
    let patience = max(1_000_000_000, roundTrips.short * 3)
    var worst: (place: Int, age: Int64)?
    for place in 0..<8 where openingMask & Self.bit(place) != 0 {
      let age = now.nanoseconds(since: links[place].requestedAt)
      if age >= patience, age > worst?.age ?? 0 { worst = (place, age) }
    }
    if worst == nil, openMask.nonzeroBitCount > 1 {
      for place in 0..<8 where openMask & Self.bit(place) != 0 {
        guard let since = links[place].suspectSince else { continue }
        let age = now.nanoseconds(since: since)
        if age >= patience, age > worst?.age ?? 0 { worst = (place, age) }
      }
    }
    guard let worst else { return }
    drop(worst.place, at: now)
  }

  /// After a stall is over, all connections but the best one go, when nothing waits on them.
  private mutating func dropSurplus(at now: Instant) {
    guard openMask.nonzeroBitCount > 1 else { return }
    let best = bestLink()
    for place in 0..<8 where openMask & Self.bit(place) != 0 && place != best && links[place].outstanding == 0 {
      if links[place].suspectSince != nil {
        // Nothing was heard on it since it stalled, while another one worked.
        heartbeat.died(after: links[place].silence)
        drop(place, at: now)
      } else {
        close(place)
      }
    }
  }

  /// No session wants a connection any more.
  private mutating func rest(at now: Instant) {
    for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
    for place in 0..<8 where openMask & Self.bit(place) != 0 { close(place) }
    phase = .idle
    wantsAnother = false
    isProbing = false
    warmUntil = nil
    raceAt = nil
    heartbeat.stop()
  }
}
