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
  mutating func join(_ wireID: UInt16, _ request: HandshakeRequest?, on link: Int, at now: Moment) -> Int? {
    guard links[link].sessions.count < configuration.sessionsPerConnection else { return nil }
    if let identity = request?.identity { links[link].peer = .client(identity) }
    let key = SessionKey(peer: links[link].peer, wireID: wireID)
    let known = index[key].map { Int($0) }
    guard let place = known ?? make(key, at: now) else { return nil }
    if let user = request?.user { name(place, user) }
    let isNew = known == nil
    if !links[link].sessions.contains(Int32(place)) {
      attach(place, to: link)
      tell(.joined(id(place), isNew: isNew))
    }
    links[link].lastSession = Int32(place)
    return place
  }

  private mutating func make(_ key: SessionKey, at now: Moment) -> Int? {
    if index.count >= configuration.maximumSessions, !evictOldest() { return nil }
    let start = UInt32(truncatingIfNeeded: random.next() % UInt64(SequenceNumber.modulus))
    let traffic = Traffic(
      wireID: key.wireID, strategy: configuration.strategy, major: configuration.speech.version.major, start: start,
      epoch: random.next())
    let place: Int
    if let free = freeSessions.popLast() {
      place = Int(free)
      let generation = sessions[place].generation &+ 1
      sessions[place] = ServerSession(key: key, generation: generation, traffic: traffic)
    } else {
      place = sessions.count
      sessions.append(ServerSession(key: key, traffic: traffic))
    }
    index[key] = Int32(place)
    return place
  }

  private mutating func name(_ place: Int, _ user: String) {
    guard sessions[place].user != user else { return }
    unname(place)
    sessions[place].user = user
    sessions[place].hasNewName = true
    users[user, default: []].append(Int32(place))
  }

  private mutating func unname(_ place: Int) {
    guard let user = sessions[place].user else { return }
    users[user]?.removeAll { $0 == Int32(place) }
    if users[user]?.isEmpty ?? false { users[user] = nil }
    sessions[place].user = nil
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
    links[link].sessions.removeAll { $0 == Int32(place) }
    if links[link].lastSession == Int32(place) { links[link].lastSession = -1 }
  }

  /// A session leaves a connection; `isForGood` when its client has said so. Then what comes for its user does not wait for it.
  mutating func leave(_ place: Int, _ link: Int, isForGood: Bool = false, at now: Moment) {
    for bit in 0..<8 where sessions[place].links[bit] == Int32(link) { detach(place, bit: bit) }
    guard sessions[place].linkMask == 0 else {
      resendOrphans(place, at: now)
      return
    }
    guard sessions[place].detachedAt == nil else { return }
    if isForGood { unname(place) }
    sessions[place].detachedAt = now
    evictions.append(id(place), since: now, isUsed: sessions[place].isUsed)
    evictions.compact(above: 1_024 + 2 * index.count) { [sessions] in Self.isAway(sessions, $0, since: $1) }
    arm(place, by: now.advanced(by: configuration.memory))
    tell(.left(id(place)))
  }

  /// A connection is gone: all its sessions leave it.
  mutating func release(_ link: Int, at now: Moment) {
    for place in links[link].sessions { leave(Int(place), link, at: now) }
    let generation = links[link].generation &+ 1
    let remote = links[link].remote
    links[link] = ServerLink(remote: remote, openedAt: now, heardAt: now, peer: .address(remote.address))
    links[link].generation = generation
    freeLinks.append(Int32(link))
    openLinks -= 1
  }

  /// Forgets the session that has been without a connection longest, of those that were never used if there are any.
  private mutating func evictOldest() -> Bool {
    guard let oldest = evictions.popFirst({ [sessions] in Self.isAway(sessions, $0, since: $1) }) else { return false }
    sessionsEvicted += 1
    forget(Int(oldest.place))
    return true
  }

  /// Whether a session is remembered and has had no connection since then.
  private static func isAway(_ sessions: [ServerSession], _ id: SessionID, since: Moment) -> Bool {
    let place = Int(id.place)
    return place < sessions.count && sessions[place].isKnown && sessions[place].generation == id.generation
      && sessions[place].detachedAt == since
  }

  mutating func forget(_ place: Int) {
    unname(place)
    index[sessions[place].key] = nil
    let (key, generation) = (sessions[place].key, sessions[place].generation)
    let traffic = Traffic(wireID: 0, strategy: configuration.strategy, major: 0, start: 0, epoch: 0)
    sessions[place] = ServerSession(key: key, generation: generation, isKnown: false, traffic: traffic)
    freeSessions.append(Int32(place))
  }

  // MARK: time

  /// Makes sure that the session is looked at by then.
  @inline(__always)
  mutating func arm(_ place: Int, by moment: Moment) {
    if let timer = sessions[place].timer, timer <= moment { return }
    sessions[place].timer = moment
    timers.insert(UInt64(place) << 1, at: moment)
  }

  mutating func armLink(_ link: Int, by moment: Moment) {
    timers.insert(UInt64(link) << 33 | UInt64(links[link].generation & 0x7fff_ffff) << 1 | 1, at: moment)
  }

  /// See `EndpointCore`.
  public mutating func deadlineReached(at now: Moment) {
    while let late = delayed.pop(until: now) {
      if let place = place(of: late.session) { writeAcknowledgments(late.sequence, of: place, cameOn: nil, at: now) }
    }
    // What is put back is later than now, so this ends.
    while let key = timers.pop(until: now) {
      if key & 1 == 0 { checkSession(Int(key >> 1), at: now) } else { checkLink(key, at: now) }
    }
  }

  /// See `EndpointCore`.
  public var deadline: Moment? {
    guard let late = delayed.first else { return timers.first }
    return min(late, timers.first ?? late)
  }

  private mutating func checkSession(_ place: Int, at now: Moment) {
    guard place < sessions.count, let timer = sessions[place].timer, timer <= now else { return }
    sessions[place].timer = nil
    guard sessions[place].isKnown else { return }
    if let since = sessions[place].detachedAt {
      let end = since.advanced(by: configuration.memory)
      guard now >= end else { return arm(place, by: end) }
      sessionsExpired += 1
      return forget(place)
    }
    hedge(place, at: now)
    let first = sessions[place].traffic.pending.first
    if first >= 0 {
      let due = sessions[place].traffic.pending[first].lastSentAt.advanced(by: configuration.resendAfter)
      arm(place, by: max(due, now.advanced(by: configuration.resendAfter)))
    }
  }

  /// What is overdue goes out on another connection of the session, if its client has opened one: it does so when it
  /// finds its network bad.
  private mutating func hedge(_ place: Int, at now: Moment) {
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

  private mutating func retransmit(_ entry: Int32, of place: Int, on bit: Int, at now: Moment) {
    if let next = sessions[place].traffic.advance(entry, .retry) {
      tell(sessions[place].traffic.pending[entry].id, place, next)
    }
    if sessions[place].traffic.pending[entry].kind == .data { metrics.messagesRetried += 1 }
    transmit(entry, of: place, on: bit, at: now)
  }

  /// What no connection carries any more goes out again.
  mutating func resendOrphans(_ place: Int, at now: Moment) {
    guard let bit = bestBit(place) else { return }
    var entry = sessions[place].traffic.pending.first
    for _ in 0..<sessions[place].traffic.pending.count where entry >= 0 {
      let next = sessions[place].traffic.pending.after(entry)
      if sessions[place].traffic.pending[entry].carriers == 0 { retransmit(entry, of: place, on: bit, at: now) }
      entry = next
    }
  }

  private mutating func checkLink(_ key: UInt64, at now: Moment) {
    let link = Int(key >> 33)
    guard link < links.count, links[link].phase == .open,
      UInt64(links[link].generation & 0x7fff_ffff) == key >> 1 & 0x7fff_ffff
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
