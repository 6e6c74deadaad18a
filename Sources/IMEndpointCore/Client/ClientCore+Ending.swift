/// Connections that end, attempts that fail, and what follows from that.
extension ClientCore {
  @inline(__always)
  func connection(_ place: Int) -> ConnectionID {
    ConnectionID(place: UInt32(place), generation: links[place].generation)
  }

  /// Lets go of a connection at once; its place is free.
  mutating func abort(_ place: Int) {
    commands.append(.abort(connection(place)))
    forget(place)
  }

  /// Closes a connection in order; its place is free when the transport says so.
  mutating func close(_ place: Int) {
    commands.append(.close(connection(place)))
    openMask &= ~Self.bit(place)
    links[place].phase = .closing
    detach(place)
  }

  /// A connection is gone; its place is free.
  mutating func forget(_ place: Int) {
    openMask &= ~Self.bit(place)
    openingMask &= ~Self.bit(place)
    measuring &= ~Self.bit(place)
    let generation = links[place].generation &+ 1
    links[place] = ClientLink()
    links[place].generation = generation
    detach(place)
  }

  private mutating func detach(_ place: Int) {
    for session in sessions.indices {
      sessions[session].announced &= ~Self.bit(place)
      sessions[session].traffic.transfers.pieces.dropCarriers(Self.bit(place))
      if !sessions[session].traffic.pending.isEmpty { sessions[session].traffic.pending.dropCarriers(Self.bit(place)) }
    }
  }

  /// Gives a connection up: what went out on it alone goes out on another one.
  mutating func drop(_ place: Int, at now: Instant) {
    let wasOpen = openMask & Self.bit(place) != 0
    abort(place)
    if wasOpen { lostOpen(.network, at: now) }
  }

  /// An open connection is gone.
  mutating func lostOpen(_ reason: DisconnectReason, at now: Instant) {
    metrics.disconnects += 1
    if openMask != 0 {
      resendOrphans(at: now)
      return
    }
    heartbeat.stop()
    raceAt = nil
    warmUntil = nil
    wantsAnother = false
    isProbing = false
    for place in sessions.indices {
      sessions[place].handshake.lostAt = now
      switch sessions[place].machine.state {
      case .connected: move(place, .networkError, reason, at: now)
      case .disconnecting: move(place, .disconnectComplete, reason, at: now)
      default: break
      }
    }
    guard sessions.contains(where: \.isWanted) else {
      steer(at: now)
      return
    }
    plan(after: reason, at: now)
  }

  /// An attempt to connect has failed.
  mutating func attemptFailed(_ reason: DisconnectReason, at now: Instant) {
    for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
    for place in sessions.indices where sessions[place].machine.state == .connecting {
      move(place, .connectFailure, reason, at: now)
    }
    plan(after: reason, at: now)
  }

  private mutating func plan(after reason: DisconnectReason, at now: Instant) {
    switch reconnector.lost(reason, path: path.kind, at: now, &random) {
    case .stop:
      phase = .stopped
      for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
    case .giveUp(let attempts):
      phase = .stopped
      for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
      tell(.gaveUp(attempts: attempts))
    case .attempt(let moment):
      phase = .waiting(until: moment)
      wake(by: moment)
      steer(at: now)
    }
  }

  /// Sessions that wait for nothing more are disconnected.
  mutating func finishFarewells(at now: Instant) {
    var hasEnded = false
    for place in sessions.indices where sessions[place].machine.state == .disconnecting {
      let isDone = sessions[place].traffic.isIdle
      guard isDone || openMask == 0 || now >= sessions[place].farewellEnds ?? now else { continue }
      leave(place, at: now)
      sessions[place].farewellEnds = nil
      move(place, .disconnectComplete, .requested, at: now)
      hasEnded = true
    }
    if hasEnded { steer(at: now) }
  }

  /// Tells the server that a session is over, while others use the connection on.
  mutating func leave(_ place: Int, at now: Instant) {
    guard configuration.speech.introducesItself else { return }
    var body: [UInt8] = []
    TLV.append(.leave, [], to: &body)
    for link in 0..<8 where sessions[place].announced & openMask & Self.bit(link) != 0 {
      writeControl(body, of: place, on: link, at: now)
      sessions[place].announced &= ~Self.bit(link)
    }
  }
}
