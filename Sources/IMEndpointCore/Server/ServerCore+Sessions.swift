internal import IMWire

/// Sessions and their connections: found, made, joined, left, forgotten.
extension ServerCore {
  /// The session of a frame on a connection; `nil` when its client has not been heard of on it.
  @inline(__always)
  func find(_ wireID: UInt16, on link: Int) -> Int? {
    let last = Int(links[link].lastSession)
    if last >= 0, sessions[last].traffic.wireID == wireID { return last }
    return links[link].sessions.first { sessions[Int($0)].traffic.wireID == wireID }.map { Int($0) }
  }

  /// The session of a frame, which joins the connection if it does not yet; `nil` when there is no room for a new one.
  mutating func join(_ wireID: UInt16, _ request: HandshakeRequest?, on link: Int, at now: Instant) -> Int? {
    guard links[link].sessions.count < configuration.sessionsPerConnection else { return nil }
    if let identity = request?.identity, let secret = request?.secret {
      links[link].peer = .client(DeviceKey(identity, secret))
    }
    let key = SessionKey(peer: links[link].peer, wireID: wireID)
    if index[key] == nil, index.count >= configuration.maximumSessions, !evictOldest(at: now) { return nil }
    let device = device(of: key.peer, claiming: request?.identity)
    if let request { takeOver(device, request, keeping: link, at: now) }
    let known = index[key].map { Int($0) }
    let place = known ?? make(key, device, at: now)
    devices[device].detachedAt = nil
    if let expiry = request?.expiry {
      let granted = min(Duration.seconds(Int64(expiry)), configuration.expiry)
      if granted != devices[device].expiry {
        devices[device].expiry = granted
        keepDevice(device)
      }
    }
    if let user = request?.user { join(device, user) }
    let isNew = known == nil
    if !links[link].sessions.contains(Int32(place)) {
      attach(place, to: link)
      tell(.joined(id(place), isNew: isNew))
    }
    links[link].lastSession = Int32(place)
    return place
  }

  private mutating func make(_ key: SessionKey, _ device: Int, at now: Instant) -> Int {
    let start = UInt32(truncatingIfNeeded: random.next() % UInt64(SequenceNumber.modulus))
    let traffic = Traffic(
      wireID: key.wireID, strategy: configuration.strategy, major: configuration.speech.version.major, start: start,
      epoch: random.next())
    let place: Int
    if let free = freeSessions.popLast() {
      place = Int(free)
      let generation = sessions[place].generation &+ 1
      sessions[place] = ServerSession(key: key, generation: generation, device: Int32(device), traffic: traffic)
    } else {
      place = sessions.count
      sessions.append(ServerSession(key: key, device: Int32(device), traffic: traffic))
    }
    index[key] = Int32(place)
    devices[device].sessions.append(Int32(place))
    return place
  }

  private mutating func attach(_ place: Int, to link: Int) {
    var bit = (~sessions[place].linkMask).trailingZeroBitCount
    if bit >= 8 {
      // A ninth connection: the one that nothing was heard on for longest is not the client's any more.
      bit = 0
      for other in 1..<8
      where links[Int(sessions[place].links[other])].heardAt < links[Int(sessions[place].links[bit])].heardAt {
        bit = other
      }
      detach(place, bit: bit)
    }
    sessions[place].links[bit] = Int32(link)
    sessions[place].linkMask |= Self.bit(bit)
    sessions[place].detachedAt = nil
    links[link].sessions.append(Int32(place))
  }

  private mutating func detach(_ place: Int, bit: Int) {
    let link = Int(sessions[place].links[bit])
    sessions[place].links[bit] = -1
    sessions[place].linkMask &= ~Self.bit(bit)
    if !sessions[place].traffic.pending.isEmpty { sessions[place].traffic.pending.dropCarriers(Self.bit(bit)) }
    sessions[place].traffic.transfers.pieces.dropCarriers(Self.bit(bit))
    links[link].sessions.removeAll { $0 == Int32(place) }
    if links[link].lastSession == Int32(place) { links[link].lastSession = -1 }
  }

  /// A session leaves a connection; `isForGood` when its client has said so. Then what comes for its user does not wait for
  /// it, unless it has asked for that.
  mutating func leave(_ place: Int, _ link: Int, isForGood: Bool = false, at now: Instant) {
    for bit in 0..<8 where sessions[place].links[bit] == Int32(link) { detach(place, bit: bit) }
    guard sessions[place].linkMask == 0 else {
      resendOrphans(place, at: now)
      return
    }
    guard sessions[place].detachedAt == nil, sessions[place].isKnown else { return }
    sessions[place].detachedAt = now
    evictions.append(id(place), since: now, isUsed: sessions[place].isUsed)
    evictions.compact(above: 1_024 + 2 * index.count) { [sessions] in Self.isAway(sessions, $0, since: $1) }
    arm(place, by: now.advanced(by: configuration.memory))
    tell(.left(id(place)))
    let device = Int(sessions[place].device)
    if isForGood { resetCursor(device) }
    detached(device, isForGood: isForGood, at: now)
  }

  /// A connection is gone: all its sessions leave it.
  mutating func release(_ link: Int, at now: Instant) {
    for place in links[link].sessions where sessions[Int(place)].isKnown { leave(Int(place), link, at: now) }
    waitingBytes -= links[link].waiting
    let generation = links[link].generation &+ 1
    let remote = links[link].remote
    let next = ConnectionID(place: UInt32(link), generation: generation)
    links[link] = ServerLink(remote: remote, openedAt: now, heardAt: now, peer: .connection(next))
    links[link].generation = generation
    freeLinks.append(Int32(link))
    openLinks -= 1
  }

  /// Forgets the session that has been without a connection longest, of those that were never used if there are any.
  private mutating func evictOldest(at now: Instant) -> Bool {
    guard let oldest = evictions.popFirst({ [sessions] in Self.isAway(sessions, $0, since: $1) }) else { return false }
    sessionsEvicted += 1
    requeueReceipts(Int(oldest.place), at: now)
    forget(Int(oldest.place), at: now)
    return true
  }

  /// Whether a session is remembered and has had no connection since then.
  private static func isAway(_ sessions: [ServerSession], _ id: SessionID, since: Instant) -> Bool {
    let place = Int(id.place)
    return place < sessions.count && sessions[place].isKnown && sessions[place].generation == id.generation
      && sessions[place].detachedAt == since
  }

  /// Forgets a session, and its device with the last one unless letters wait for it.
  mutating func forget(_ place: Int, keepsDevice: Bool = false, at now: Instant) {
    guard sessions[place].isKnown else { return }
    index[sessions[place].key] = nil
    keepPartial(of: place, at: now)
    let (key, generation) = (sessions[place].key, sessions[place].generation)
    let device = Int(sessions[place].device)
    let traffic = Traffic(wireID: 0, strategy: configuration.strategy, major: 0, start: 0, epoch: 0)
    sessions[place] = ServerSession(
      key: key, generation: generation, isKnown: false, device: -1, traffic: traffic)
    freeSessions.append(Int32(place))
    devices[device].sessions.removeAll { $0 == Int32(place) }
    guard !keepsDevice else { return }
    // What was under way in it goes out in another one, or when the device is back.
    if devices[device].mailbox >= 0 { resetCursor(device) }
    if devices[device].sessions.isEmpty, devices[device].mailbox < 0 { forgetDevice(device, at: now) }
  }

  // MARK: time

  /// Makes sure that the session is looked at by then.
  @inline(__always)
  mutating func arm(_ place: Int, by moment: Instant) {
    if let timer = sessions[place].timer, timer <= moment { return }
    sessions[place].timer = moment
    timers.insert(UInt64(place) << 2, at: moment)
  }

  mutating func armDevice(_ place: Int, by moment: Instant) {
    if let timer = devices[place].timer, timer <= moment { return }
    devices[place].timer = moment
    timers.insert(UInt64(place) << 2 | 2, at: moment)
  }

  mutating func armLink(_ link: Int, by moment: Instant) {
    timers.insert(UInt64(link) << 34 | UInt64(links[link].generation) << 2 | 1, at: moment)
  }

  /// See `EndpointCore`.
  public mutating func deadlineReached(at now: Instant) {
    while let late = delayed.pop(until: now) {
      if let place = place(of: late.session) { writeAcknowledgments(late.sequence, of: place, cameOn: nil, at: now) }
    }
    // What is put back is later than now, so this ends.
    while let key = timers.pop(until: now) {
      switch key & 3 {
      case 0: checkSession(Int(key >> 2), at: now)
      case 1: checkLink(key, at: now)
      default: checkDevice(Int(key >> 2), at: now)
      }
    }
    if !informed.isEmpty { inform(at: now) }
    serveLine(Self.servedAtOnce, at: now)
  }

  /// See `EndpointCore`.
  public var deadline: Instant? {
    [delayed.first, timers.first, lineAt].reduce(nil as Instant?) { earliest, moment in
      guard let moment else { return earliest }
      return min(earliest ?? moment, moment)
    }
  }

  private mutating func checkSession(_ place: Int, at now: Instant) {
    guard place < sessions.count, let timer = sessions[place].timer, timer <= now else { return }
    sessions[place].timer = nil
    guard sessions[place].isKnown else { return }
    if let since = sessions[place].detachedAt {
      let end = since.advanced(by: configuration.memory)
      guard now >= end else { return arm(place, by: end) }
      sessionsExpired += 1
      requeueReceipts(place, at: now)
      return forget(place, at: now)
    }
    hedge(place, at: now)
    dropDead(place, at: now)
    guard sessions[place].isKnown else { return }
    let first = sessions[place].traffic.pending.first
    if first >= 0 {
      let due = sessions[place].traffic.pending[first].lastSentAt.advanced(by: configuration.resendAfter)
      arm(place, by: max(due, now.advanced(by: configuration.resendAfter)))
    }
  }

  /// Drops connections that carry something unanswered and on which nothing was heard for long: their client is gone, and
  /// the network has not told.
  private mutating func dropDead(_ place: Int, at now: Instant) {
    let first = sessions[place].traffic.pending.first
    guard first >= 0 else { return }
    let pending = sessions[place].traffic.pending[first]
    let limit = configuration.answerTimeout
    guard now >= pending.firstSentAt.advanced(by: limit) else { return }
    for bit in 0..<8 where pending.carriers & Self.bit(bit) & sessions[place].linkMask != 0 {
      let link = Int(sessions[place].links[bit])
      if now >= links[link].heardAt.advanced(by: limit) { giveUp(link, at: now) }
      guard sessions[place].isKnown else { return }
    }
  }

  /// What is overdue goes out on another connection of the session, if its client has opened one: it does so when it
  /// finds its network bad.
  private mutating func hedge(_ place: Int, at now: Instant) {
    guard sessions[place].linkMask & (sessions[place].linkMask &- 1) != 0 else { return }
    var entry = sessions[place].traffic.pending.first
    for _ in 0..<min(64, sessions[place].traffic.pending.count) where entry >= 0 {
      let next = sessions[place].traffic.pending.after(entry)
      let pending = sessions[place].traffic.pending[entry]
      guard now >= pending.lastSentAt.advanced(by: configuration.resendAfter) else { break }
      if let bit = bestBit(place, besides: pending.carriers) { retransmit(entry, of: place, on: bit, at: now) }
      entry = next
    }
  }

  private mutating func retransmit(_ entry: Int32, of place: Int, on bit: Int, at now: Instant) {
    if let next = sessions[place].traffic.advance(entry, .retry) {
      tell(sessions[place].traffic.pending[entry].id, place, next)
    }
    if sessions[place].traffic.pending[entry].kind == .data { metrics.messagesRetried += 1 }
    transmit(entry, of: place, on: bit, at: now)
  }

  /// What no connection carries any more goes out again.
  mutating func resendOrphans(_ place: Int, at now: Instant) {
    guard let bit = bestBit(place) else { return }
    var entry = sessions[place].traffic.pending.first
    for _ in 0..<sessions[place].traffic.pending.count where entry >= 0 {
      let next = sessions[place].traffic.pending.after(entry)
      if sessions[place].traffic.pending[entry].carriers == 0 { retransmit(entry, of: place, on: bit, at: now) }
      entry = next
    }
  }

  private mutating func checkLink(_ key: UInt64, at now: Instant) {
    let link = Int(key >> 34)
    guard link < links.count, links[link].phase == .open, UInt64(links[link].generation) == key >> 2 & 0xffff_ffff
    else { return }
    let end =
      links[link].isIntroduced
      ? links[link].heardAt.advanced(by: configuration.idleTimeout)
      : links[link].openedAt.advanced(by: configuration.handshakeTimeout)
    guard now >= end else {
      armLink(link, by: end)
      return
    }
    commands.append(.abort(connection(link)))
    metrics.disconnects += 1
    release(link, at: now)
  }
}
