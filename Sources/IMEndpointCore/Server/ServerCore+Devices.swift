internal import IMWire

/// Devices: made, waited for, taken over, forgotten.
extension ServerCore {
  @inline(__always)
  func id(ofDevice place: Int) -> DeviceID { DeviceID(place: Int32(place), generation: devices[place].generation) }

  /// The place of a device that is still remembered.
  @inline(__always)
  func place(of id: DeviceID) -> Int? {
    let place = Int(id.place)
    guard place >= 0, place < devices.count, devices[place].isKnown, devices[place].generation == id.generation else {
      return nil
    }
    return place
  }

  /// The device of a peer, made if it is new.
  mutating func device(of peer: ServerPeer, claiming identity: ClientIdentity?) -> Int {
    if let known = deviceIndex[peer] {
      if let identity { own(identity, Int(known)) }
      return Int(known)
    }
    let place: Int
    if let free = freeDevices.popLast() {
      place = Int(free)
      let generation = devices[place].generation &+ 1
      devices[place] = ServerDevice(peer: peer, generation: generation, identity: drawIdentity())
    } else {
      place = devices.count
      devices.append(ServerDevice(peer: peer, identity: drawIdentity()))
    }
    deviceIndex[peer] = Int32(place)
    if let identity { own(identity, place) }
    return place
  }

  private mutating func drawIdentity() -> ClientIdentity { ClientIdentity(high: random.next(), low: random.next()) }

  /// Gives a device the identity that it claims, unless another has it that has proved more: no client's messages are taken
  /// for those of another client.
  private mutating func own(_ identity: ClientIdentity, _ place: Int) {
    guard devices[place].identity != identity else { return }
    if let owner = identities[identity].map({ Int($0) }) {
      guard case .connection = devices[owner].peer, case .client = devices[place].peer else { return }
      devices[owner].identity = drawIdentity()
    }
    if identities[devices[place].identity] == Int32(place) { identities[devices[place].identity] = nil }
    devices[place].identity = identity
    identities[identity] = Int32(place)
  }

  /// Another process of the same client is here: what the one before had under way, and did not take, is sent anew.
  mutating func takeOver(_ place: Int, _ request: HandshakeRequest, keeping link: Int, at now: Instant) {
    guard let instance = request.instance, instance != devices[place].instance else { return }
    defer { devices[place].instance = instance }
    guard devices[place].instance != nil else { return }
    let refusal = HandshakeResponse.refused(HandshakeRefusal(.takenOver, version: configuration.speech.version))
    for session in devices[place].sessions {
      for bit in 0..<8 where sessions[Int(session)].linkMask & Self.bit(bit) != 0 {
        let old = Int(sessions[Int(session)].links[bit])
        guard old != link, links[old].phase == .open else { continue }
        writeControl(
          refusal.encoded, sessions[Int(session)].traffic.wireID, SequenceNumber(.control, 0),
          sessions[Int(session)].traffic.version, on: old, at: now)
        close(old)
      }
      leave(Int(session), link, at: now)
      requeueReceipts(Int(session), at: now)
      forget(Int(session), keepsDevice: true, at: now)
    }
    resetCursor(place)
  }

  /// What was sent and not taken will be sent again.
  mutating func resetCursor(_ place: Int) {
    devices[place].cursor.next = devices[place].cursor.done
    devices[place].byteCount = 0
    enqueue(place)
  }

  // MARK: waiting for a device

  /// A device goes by a user's name: it is sent what no device of the user's has, and what comes from now on.
  mutating func join(_ place: Int, _ user: String) {
    guard devices[place].user != user || devices[place].mailbox < 0 else { return }
    unsubscribe(place)
    devices[place].user = user
    let box = openMailbox(of: user)
    mailboxes[box].isVisited = true
    mailboxes[box].devices.append(Int32(place))
    devices[place].mailbox = Int32(box)
    devices[place].cursor = MailboxCursor(at: mailboxes[box].base)
    devices[place].joinedAt = mailboxes[box].end
    devices[place].byteCount = 0
    keepDevice(place)
    enqueue(place)
  }

  /// A device is not waited for any more.
  mutating func unsubscribe(_ place: Int) {
    let box = Int(devices[place].mailbox)
    guard box >= 0 else { return }
    if let key = keptKey(place) { keep(.forgot(key: key)) }
    devices[place].mailbox = -1
    devices[place].byteCount = 0
    mailboxes[box].devices.removeAll { $0 == Int32(place) }
    trim(box)
  }

  /// The last connection of a device's is gone.
  mutating func detached(_ place: Int, isForGood: Bool, at now: Instant) {
    guard devices[place].sessions.allSatisfy({ sessions[Int($0)].linkMask == 0 }) else { return }
    if case .connection = devices[place].peer { return forgetDevice(place, at: now) }
    devices[place].detachedAt = now
    if isForGood, devices[place].expiry == .zero { return unsubscribe(place) }
    armDevice(place, by: now.advanced(by: patience(place)))
  }

  /// For how long a device is waited for: one that did not ask for it may only have lost its network for a moment.
  private func patience(_ place: Int) -> Duration { max(devices[place].expiry, configuration.grace) }

  mutating func checkDevice(_ place: Int, at now: Instant) {
    guard place < devices.count else { return }
    devices[place].timer = nil
    guard devices[place].isKnown, let since = devices[place].detachedAt else { return }
    let end = since.advanced(by: patience(place))
    guard now >= end else { return armDevice(place, by: end) }
    unsubscribe(place)
    if devices[place].sessions.isEmpty { forgetDevice(place, at: now) }
  }

  /// A device that has no sessions and is not waited for is forgotten.
  mutating func forgetDevice(_ place: Int, at now: Instant) {
    guard devices[place].isKnown else { return }
    unsubscribe(place)
    dropPendingReceipts(place)
    let orphans = devices[place].sessions
    devices[place].sessions = []
    for session in orphans { forget(Int(session), keepsDevice: true, at: now) }
    dropPartial(of: place, at: now)
    deviceIndex[devices[place].peer] = nil
    if identities[devices[place].identity] == Int32(place) { identities[devices[place].identity] = nil }
    let (peer, generation) = (devices[place].peer, devices[place].generation)
    let isInLine = devices[place].isInLine
    devices[place] = ServerDevice(
      peer: peer, generation: generation, isKnown: false, identity: ClientIdentity(high: 0, low: 0))
    devices[place].isInLine = isInLine
    freeDevices.append(Int32(place))
  }
}
