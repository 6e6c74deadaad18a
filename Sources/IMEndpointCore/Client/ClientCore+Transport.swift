public import IMWire

/// What the transport says, and what it is told.
extension ClientCore {
  /// See `EndpointCore`.
  public mutating func setWallClock(unixSeconds: Int64, at now: Instant) {
    unixOffset = unixSeconds &- now.nanoseconds / 1_000_000_000
  }

  /// The place of a connection the core still knows.
  @inline(__always)
  private func link(_ id: ConnectionID) -> Int? {
    let place = Int(id.place)
    guard place < 8, links[place].generation == id.generation, links[place].phase != .free else { return nil }
    return place
  }

  /// See `EndpointCore`.
  public mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Instant) {
    guard let link = link(connection), links[link].phase == .opening else { return }
    let wasDown = openMask == 0
    links[link].phase = .open
    links[link].heardAt = now
    openingMask &= ~Self.bit(link)
    metrics.connectionSuccesses += 1
    metrics.heartbeatTimeout = heartbeatTimeout
    weighOpening(link, at: now)
    if isProbing, !isLossy, openMask != 0 {
      // It overtook nothing: the others are slow, and one more would make them slower.
      abort(link)
      standDown()
      return
    }
    openMask |= Self.bit(link)
    if wasDown, let remote = links[link].remote { servers.succeeded(remote) }
    // A round trip of a second or more is the kernel's second question.
    let roundTrip = now.nanoseconds(since: links[link].requestedAt)
    if roundTrip < 1_000_000_000 { roundTrips.add(roundTrip, at: now) }
    wantsAnother = false
    isProbing = false
    budget.connected()
    if wasDown { cameUp(at: now) }
    opensSinceSuccess = 0
    if !isWarm {
      for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
    }
    for place in 0..<8 where openMask & Self.bit(place) != 0 && links[place].isStale { abort(place) }
    resendOrphans(at: now)
    if !wasDown { checkRace(at: now) }
    pump(at: now)
    steer(at: now)
  }

  private mutating func cameUp(at now: Instant) {
    if wasUp { metrics.reconnects += 1 }
    wasUp = true
    phase = .idle
    opensSinceSuccess = 0
    heartbeat.start(beatsAtOnce: configuration.beatsOnConnect, at: now, &random)
    wake(by: heartbeat.due)
    for place in sessions.indices where sessions[place].isWanted { becameOpen(place, at: now) }
    if configuration.beatsOnConnect { beatIfDue(at: now) }
    planRace(at: now)
  }

  /// A session that is connecting has its connection.
  mutating func becameOpen(_ place: Int, at now: Instant) {
    if sessions[place].machine.state == .disconnected { move(place, .reconnect, at: now) }
    guard sessions[place].machine.state == .connecting else { return }
    move(place, .connectSuccess, at: now)
    if let link = bestLink(), sessions[place].announced & Self.bit(link) == 0 { announce(place, on: link, at: now) }
    sessions[place].handshake.lostAt = nil
    // What went out on lost connections goes first: what has waited since was said later.
    resendOrphans(at: now)
    pump(at: now)
  }

  /// See `EndpointCore`.
  public mutating func accepted(from remote: Endpoint, at now: Instant) -> ConnectionID? { nil }

  /// See `EndpointCore`.
  public mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake {
    clock = now
    guard let link = link(connection), links[link].phase == .open else {
      metrics.bytesReceived += UInt64(bytes.byteCount)
      return Intake(consumed: bytes.byteCount, wanted: FrameHeader.byteCount)
    }
    let intake = read(bytes, on: link, at: now)
    metrics.bytesReceived += UInt64(max(0, intake.consumed))
    guard links[link].phase == .open, intake.consumed > 0 else { return intake }
    links[link].heardAt = now
    links[link].suspectSince = nil
    if !unconfirmed.isEmpty {
      handed += unconfirmed
      unconfirmed = []
    }
    if reconnector.attempts != 0 { reconnector.succeeded() }
    heartbeat.alive(at: now)
    pump(at: now)
    if sessions.contains(where: { $0.machine.state == .disconnecting }) { finishFarewells(at: now) }
    return intake
  }

  /// See `EndpointCore`.
  public mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    guard let link = link(connection) else { return }
    let before = links[link].phase
    forget(link)
    switch before {
    case .free: break
    case .closing: steer(at: now)
    case .opening:
      let ended = DisconnectReason(reason)
      // A host that turns one attempt away turns all away; other failures may be those of one attempt.
      guard openMask == 0, case .attempting = phase, isFinal(ended) else {
        steer(at: now)
        break
      }
      // Another address may be another host.
      if servers.hasUntried {
        openAnother(at: now)
      } else if openingMask == 0 || servers.all.count == 1 {
        attemptFailed(ended, at: now)
      } else {
        steer(at: now)
      }
    case .open:
      lostOpen(DisconnectReason(reason), at: now)
      steer(at: now)
    }
  }

  private func isFinal(_ reason: DisconnectReason) -> Bool {
    reason == .refused || reason == .secureChannel || path.kind == .none || configuration.maximumConnections == 1
  }

  /// See `EndpointCore`.
  public mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Instant) {
    guard let link = link(connection), measuring & Self.bit(link) != 0 else { return }
    links[link].facts = facts
    weigh(facts, on: link, at: now)
    measuring &= ~Self.bit(link)
    if measuring == 0, let racing { decideRace(racing, at: now) }
  }

  /// See `EndpointCore`.
  public mutating func pathChanged(to path: NetworkPath, at now: Instant) {
    let before = self.path
    guard path != before else { return }
    self.path = path
    if path.kind == .none {
      pathLost(at: now)
      return
    }
    roundTrips.reset()
    lossUntil = nil
    probes = 0
    probeAt = now
    heartbeat.pathChanged()
    tellQuality()
    guard sessions.contains(where: \.isWanted) else { return }
    reconnector.reset()
    let isCellular = path.kind == .cellular
    let begins = isCellular ? now.advanced(by: configuration.reconnect.cellularDelay) : now
    for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
    lastOpenAt = Instant(nanoseconds: .min)
    opensSinceSuccess = 0
    if openMask != 0 {
      // What stands was made on another path: it may work on, but is not to be relied on.
      for place in 0..<8 where openMask & Self.bit(place) != 0 { links[place].isStale = true }
      phase = begins > now ? .waiting(until: begins) : .idle
    } else {
      phase = .waiting(until: begins)
    }
    steer(at: now)
  }

  /// There is no way to the network: what stands is given up, and a look taken from time to time.
  private mutating func pathLost(at now: Instant) {
    for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
    let wasUp = openMask != 0
    for place in 0..<8 where openMask & Self.bit(place) != 0 { abort(place) }
    if wasUp {
      lostOpen(.noPath, at: now)
    } else if case .attempting = phase {
      attemptFailed(.noPath, at: now)
    } else if case .waiting = phase {
      phase = .idle
      steer(at: now)
    }
  }

  /// See `EndpointCore`.
  public var deadline: Instant? { deadlineAt }

  /// See `EndpointCore`.
  public mutating func deadlineReached(at now: Instant) {
    deadlineAt = nil
    clock = now
    checkOrder(at: now)
    finishFarewells(at: now)
    checkHandshakes(at: now)
    beatIfDue(at: now)
    if let raceAt, raceAt <= now { checkRace(at: now) }
    checkSilence(at: now)
    checkLifetimes(at: now)
    for id in sweepPool(at: now) { try? disconnect(id, at: now) }
    steer(at: now)
    if sessions.contains(where: { !$0.traffic.queues.isEmpty || !$0.traffic.transfers.isEmpty }) { pump(at: now) }
    wake(by: pool.deadline)
    wake(by: raceAt)
    wake(by: heartbeat.due)
    wake(by: warmUntil)
    for session in sessions where session.machine.state == .disconnecting { wake(by: session.farewellEnds) }
  }

  private mutating func sweepPool(at now: Instant) -> [SessionID] {
    let (sessions, limits) = (sessions, pool.limits)
    return pool.sweep(at: now) { Self.isHealthy(sessions[Int($0.place)], limits) }
  }

  private mutating func checkHandshakes(at now: Instant) {
    for place in sessions.indices {
      guard case .asked(let asked) = sessions[place].handshake.phase else { continue }
      let end = asked.advanced(by: HandshakeProgress.patience)
      if now < end {
        wake(by: end)
      } else if openMask != 0 {
        sessions[place].handshake.phase = .unanswered
        tell(.handshake(sessions[place].id, .unanswered))
      }
    }
  }

  /// How long an answer may take, in nanoseconds.
  @inline(__always)
  var heartbeatTimeout: Int64 { heartbeat.policy.timeout(roundTrip: heartbeat.window.roundTrip).wholeNanoseconds }

  /// Gives up connections on which something waits and nothing has been heard for as long as an answer may take.
  private mutating func checkSilence(at now: Instant) {
    let limit = heartbeatTimeout
    for place in 0..<8 where openMask & Self.bit(place) != 0 && links[place].outstanding + links[place].pieces > 0 {
      var since = racing == nil ? beatSince(on: place) : max(links[place].waitingSince, links[place].heardAt)
      if links[place].outstanding == 0 { since = max(links[place].pieceAt, links[place].heardAt) }
      guard let since else { continue }
      let end = since.advanced(byNanoseconds: limit)
      guard now >= end else {
        wake(by: end)
        continue
      }
      metrics.heartbeatsLost += racing == nil ? 1 : 0
      abort(place)
      lostOpen(.heartbeatTimeout, at: now)
    }
  }

  /// Since when a heartbeat waits on a connection.
  @inline(__always)
  private func beatSince(on link: Int) -> Instant? {
    for session in sessions {
      var entry = session.traffic.pending.first
      while entry >= 0 {
        let pending = session.traffic.pending[entry]
        if pending.kind == .heartbeat, pending.carriers & Self.bit(link) != 0 { return pending.firstSentAt }
        entry = session.traffic.pending.after(entry)
      }
    }
    return nil
  }

  private mutating func checkLifetimes(at now: Instant) {
    guard let lifetime = configuration.messageLifetime else { return }
    for place in sessions.indices {
      var entry = sessions[place].traffic.pending.first
      for _ in 0..<sessions[place].traffic.pending.count where entry >= 0 {
        let next = sessions[place].traffic.pending.after(entry)
        let pending = sessions[place].traffic.pending[entry]
        let end = pending.acceptedAt.advanced(by: lifetime)
        if pending.kind == .data { if now >= end { giveUp(entry, of: place) } else { wake(by: end) } }
        entry = next
      }
      for message in sessions[place].traffic.queues.removeOlder(than: lifetime, at: now) where message.id.rawValue != 0
      {
        failed(message.id, place, because: .timedOut)
      }
      if let oldest = sessions[place].traffic.queues.oldest { wake(by: oldest.advanced(by: lifetime)) }
    }
  }

  /// See `EndpointCore`.
  public mutating func nextCommand() -> TransportCommand? {
    if !handed.isEmpty { confirm() }
    return commands.next()
  }

  /// See `EndpointCore`.
  public mutating func drain(_ connection: ConnectionID, at now: Instant, _ write: (OutgoingPieces) -> Int) -> Bool {
    guard let link = link(connection), links[link].phase == .open || links[link].phase == .closing else { return true }
    while true {
      metrics.bytesSent += UInt64(links[link].output.drain(write))
      guard links[link].output.isEmpty else { return false }
      if links[link].phase == .open { pump(at: now) }
      if links[link].output.isEmpty { break }
    }
    links[link].isWriting = false
    return true
  }
}
