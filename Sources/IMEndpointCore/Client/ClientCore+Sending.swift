/// Why a message was not accepted.
public enum SendError: Error, Hashable, Sendable {
  /// There is no such session.
  case noSession
  /// So many messages of this priority wait already, or so many bytes: `room` tells when to go on.
  case queueFull(Priority)
  /// No body can have so many bytes: 4 GiB and more.
  case tooLong(Int)
  /// The client's store has failed: what it does not keep is not sent.
  case storeFailed
}

/// Messages on their way out.
extension ClientCore {
  /// Takes a message. It goes out as soon as its turn comes, now or when there is a connection again.
  @discardableResult
  public mutating func send(_ message: Message, priority: Priority = .normal, in session: SessionID, at now: Instant)
    throws(SendError) -> MessageID
  {
    guard let name = message.group ?? message.recipient else {
      return try send(body: message.encoded, category: message.category, priority: priority, in: session, at: now)
    }
    let conversation = Conversation(
      name: name, isGroup: message.group != nil, lane: MessageOrigin.lane(message.content.category, priority))
    let origin = MessageOrigin(
      device: configuration.identity, number: message.isOrdered ? numbers.upcoming(conversation) : 0,
      milliseconds: unixMilliseconds(now))
    var body = message.encoded
    TLV.append(.origin, origin.outgoing, to: &body)
    let id = try send(body: body, category: message.category, priority: priority, in: session, at: now)
    guard message.isOrdered else { return id }
    numbers.take(conversation)
    sentNames.note(
      MessageName(conversation: name, isGroup: conversation.isGroup, number: origin.number), id, session)
    if configuration.isKept {
      kept[id] = KeptMessage(conversation: name, isGroup: conversation.isGroup, number: origin.number)
      operations.append(
        .sent(
          StoredMessage(
            conversation: name, isGroup: conversation.isGroup, number: origin.number, category: message.category,
            priority: priority, body: body)))
    }
    return id
  }

  /// Takes a message whose body is encoded already.
  @discardableResult
  public mutating func send(
    body: [UInt8], category: SequenceCategory = .normal, priority: Priority = .normal, in session: SessionID,
    at now: Instant
  ) throws(SendError) -> MessageID {
    try accept(.data, body, category, priority, session, at: now)
  }

  /// Tells the other end that the message with this number has been read. With the message's origin, and its group, the receipt
  /// finds the sender also where the server has forgotten this session.
  public mutating func markRead(
    _ sequence: SequenceNumber, in session: SessionID, origin: MessageOrigin? = nil, group: String? = nil,
    at now: Instant
  ) throws(SendError) {
    var body: [UInt8] = []
    TLV.append(.readReceipt, TLV.bigEndian(sequence.rawValue), to: &body)
    if let origin, MessageOrigin.counter(of: origin.number) > 0, let place = place(of: session),
      sessions[place].traffic.features.contains(.namedReceipts)
    {
      let name = Array((group ?? "").utf8)
      TLV.append(.readOrigin, origin.device.bytes + TLV.bigEndian(origin.number) + name, to: &body)
    }
    try accept(.receipt, body, .normal, .normal, session, at: now)
  }

  mutating func sendReceipt(_ body: [UInt8], in session: SessionID, at now: Instant) throws(SendError) {
    try accept(.receipt, body, .normal, .normal, session, at: now)
  }

  /// Fails everything that waits in a session, for its turn or for its answer, and says why. It may have arrived.
  /// - Returns: how many messages that were.
  @discardableResult
  public mutating func abandon(_ session: SessionID, because reason: FailureReason, at now: Instant) -> Int {
    guard let place = place(of: session) else { return 0 }
    var count = 0
    while sessions[place].traffic.pending.first >= 0 {
      let entry = sessions[place].traffic.pending.first
      if sessions[place].traffic.pending[entry].kind == .data { count += 1 }
      giveUp(entry, of: place, because: reason)
    }
    for message in sessions[place].traffic.transfers.messages {
      withdrawPieces(sessions[place].traffic.transfers.remove(message) ?? [], of: place)
      count += 1
      failed(message, place, because: reason)
    }
    for message in sessions[place].traffic.queues.removeOlder(than: .seconds(-1), at: now)
    where message.id.rawValue != 0 {
      count += 1
      failed(message.id, place, because: reason)
    }
    if sessions[place].machine.state == .disconnecting { finishFarewells(at: now) }
    return count
  }

  /// Takes a message back that has no answer yet. One that has gone out is not sent again, though it may have arrived; an
  /// acknowledgment that still comes is counted and changes nothing.
  /// - Returns: whether it was taken back.
  public mutating func cancel(_ message: MessageID, in session: SessionID, at now: Instant) -> Bool {
    guard let place = place(of: session), message.rawValue != 0 else { return false }
    if let pieces = sessions[place].traffic.transfers.remove(message) {
      withdrawPieces(pieces, of: place)
      pump(at: now)
    } else if sessions[place].traffic.queues.remove(message) == nil {
      guard let entry = sessions[place].traffic.pending.find(message) else { return false }
      withdraw(entry, of: place)
      pump(at: now)
    }
    metrics.messagesCancelled += 1
    tell(message, session, .cancelled)
    if sessions[place].machine.state == .disconnecting { finishFarewells(at: now) }
    return true
  }

  @discardableResult
  private mutating func accept(
    _ kind: FrameKind, _ body: [UInt8], _ category: SequenceCategory, _ priority: Priority, _ session: SessionID,
    at now: Instant
  ) throws(SendError) -> MessageID {
    guard let place = place(of: session) else { throw .noSession }
    let id = MessageID(rawValue: kind == .data ? nextMessage : 0)
    try sessions[place].traffic.accept(
      QueuedMessage(id: id, kind: kind, category: category, priority: priority, body: body, acceptedAt: now),
      configuration.speech)
    if kind == .data {
      nextMessage += 1
      metrics.messagesSent += 1
    }
    tell(id, session, .created)
    if openMask != 0 { pump(at: now) } else { wake(by: configuration.messageLifetime.map { now.advanced(by: $0) }) }
    return id
  }

  // MARK: turns

  /// The connection that new frames go out on: one that is not stalled, with the least under way.
  @inline(__always)
  func bestLink() -> Int? {
    guard openMask & (openMask &- 1) != 0 else { return openMask == 0 ? nil : openMask.trailingZeroBitCount }
    return Self.bestLink(openMask, links)
  }

  private static func bestLink(_ openMask: UInt8, _ links: [ClientLink]) -> Int? {
    var best: Int?
    for place in 0..<8 where openMask & bit(place) != 0 {
      guard let known = best else {
        best = place
        continue
      }
      if isBetter(links[place], than: links[known]) { best = place }
    }
    return best
  }

  private static func isBetter(_ a: ClientLink, than b: ClientLink) -> Bool {
    if a.isStale != b.isStale { return b.isStale }
    switch (a.suspectSince, b.suspectSince) {
    case (nil, nil): return a.outstanding < b.outstanding
    case (nil, _): return true
    case (_, nil): return false
    default: return a.heardAt > b.heardAt
    }
  }

  /// Hands over messages whose turn it is, as many as windows and buffers take: the sessions in turn, each its share.
  mutating func pump(at now: Instant) {
    guard openMask != 0, let link = bestLink() else { return }
    let count = sessions.count
    var isMoving = true
    while isMoving {
      isMoving = false
      for step in 0..<count {
        let place = count == 1 ? 0 : (turn + step) % count
        if pump(place, on: link, at: now) { isMoving = true }
      }
      if count == 1 { break }
      turn = (turn + 1) % count
    }
    heartbeat.alive(at: now)
  }

  /// One session's share. - Returns: whether the session could go on.
  private mutating func pump(_ place: Int, on link: Int, at now: Instant) -> Bool {
    guard mayTransmit(place) else { return false }
    defer { if !sessions[place].traffic.transfers.isEmpty { pumpPieces(place, on: link, at: now) } }
    guard !sessions[place].traffic.queues.isEmpty else { return false }
    let isWeak = heartbeat.quality.isWeak
    let share = sessions.count == 1 ? Int.max : sessions[place].traffic.strategy.turn
    let limit = sessions[place].traffic.strategy.bufferBytes
    let session = sessions[place].id
    var moved = 0
    while moved < share, links[link].output.byteCount < limit {
      let isOpen = links[link].window.takesMessages
      guard let entry = sessions[place].traffic.dequeue(isWeak: isWeak, urgentOnly: !isOpen, at: now) else {
        if isWeak { wake(by: sessions[place].traffic.queues.lowDeadline(after: now)) }
        break
      }
      let id = sessions[place].traffic.pending[entry].id
      tell(id, session, .sending)
      transmit(entry, of: place, on: link, at: now)
      moved += 1
    }
    if moved > 0, sessions[place].traffic.fullQueues != 0 { tellRoom(place) }
    return moved == share
  }

  @inline(__always)
  func mayTransmit(_ place: Int) -> Bool {
    sessions[place].machine.state == .connected || sessions[place].machine.state == .disconnecting
  }

  private mutating func tellRoom(_ place: Int) {
    for priority in sessions[place].traffic.roomAgain() { tell(.room(sessions[place].id, priority)) }
  }

  /// Writes a frame to a connection's buffer; the transport is told once.
  mutating func transmit(_ entry: Int32, of place: Int, on link: Int, at now: Instant) {
    let bit = Self.bit(link)
    if sessions[place].announced & bit == 0 { announce(place, on: link, at: now) }
    if sessions[place].traffic.pending[entry].carriers & bit == 0 {
      if links[link].outstanding == 0 { links[link].waitingSince = now }
      links[link].outstanding += 1
      if Self.isHeldBack(sessions[place].traffic.pending[entry]) {
        links[link].window.sent(sessions[place].traffic.pending[entry].body.count)
      }
    }
    sessions[place].traffic.transmit(
      entry, to: &links[link].output, bit: bit, time: unixTime(now), configuration.speech, at: now)
    if let next = sessions[place].traffic.advance(entry, .write) {
      tell(sessions[place].traffic.pending[entry].id, sessions[place].id, next)
    }
    writable(link)
    if raceAt == nil { planRace(at: now) }
  }

  /// Whether a frame waits while as much is under way as the path carries.
  @inline(__always)
  static func isHeldBack(_ entry: PendingTable.Entry) -> Bool { entry.kind == .data && entry.priority != .urgent }

  /// A frame goes out once more.
  mutating func retransmit(_ entry: Int32, of place: Int, on link: Int, at now: Instant) {
    if let next = sessions[place].traffic.advance(entry, .retry) {
      tell(sessions[place].traffic.pending[entry].id, sessions[place].id, next)
    }
    if sessions[place].traffic.pending[entry].kind == .data { metrics.messagesRetried += 1 }
    transmit(entry, of: place, on: link, at: now)
  }

  /// All frames that no connection carries any more go out again, in the order they first went out.
  mutating func resendOrphans(at now: Instant) {
    guard racing != nil, let link = bestLink() else { return }
    for place in sessions.indices where mayTransmit(place) {
      var entry = sessions[place].traffic.pending.first
      for _ in 0..<sessions[place].traffic.pending.count where entry >= 0 {
        let next = sessions[place].traffic.pending.after(entry)
        if sessions[place].traffic.pending[entry].carriers & openMask == 0 {
          retransmit(entry, of: place, on: link, at: now)
        }
        entry = next
      }
    }
  }

  @inline(__always)
  mutating func writable(_ link: Int) {
    guard !links[link].isWriting else { return }
    links[link].isWriting = true
    commands.append(.write(connection(link)))
  }

  // MARK: control

  /// Introduces a session on a connection, ahead of all else it sends there.
  mutating func announce(_ place: Int, on link: Int, at now: Instant) {
    sessions[place].announced |= Self.bit(link)
    let speech = configuration.speech
    if sessions[place].handshake.isExpired(at: now), sessions[place].handshake.phase != .refused {
      sessions[place].handshake.phase = .asked(at: now)
      sessions[place].traffic.features = .basic
      sessions[place].traffic.version = ProtocolVersion(speech.version.major, 0)
      wake(by: now.advanced(by: HandshakeProgress.patience))
    }
    var request = HandshakeRequest(version: speech.version, features: speech.features)
    if speech.introducesItself {
      request.identity = configuration.identity
      request.secret = configuration.secret
      request.user = configuration.user
      request.token = configuration.token
      request.instance = instance
      if configuration.expiry > .zero {
        request.expiry = UInt32(clamping: configuration.expiry.wholeNanoseconds / 1_000_000_000)
      }
      request.unsettled = sessions[place].traffic.unsettled()
    }
    writeControl(request.encoded, of: place, on: link, at: now)
    for group in sessions[place].groups { writeMembership(.join, group, of: place, on: link, at: now) }
    for group in sessions[place].memberQuestions { writeMembership(.list, group, of: place, on: link, at: now) }
  }

  private mutating func writeMembership(
    _ what: Membership, _ group: String, of place: Int, on link: Int, at now: Instant
  ) {
    var body: [UInt8] = []
    TLV.append(.membership, [what.rawValue] + group.utf8, to: &body)
    writeControl(body, of: place, on: link, at: now)
  }

  /// Questions about groups that wait for their answers, in a session, at most.
  private static var mostQuestions: Int { 64 }

  /// Asks the server who is in a group that this client's user is in: `EndpointEvent.members` is the answer. Where the connection is lost
  /// before that, the next one asks again. A server without `Features.memberLists` does not answer.
  public mutating func askMembers(of group: String, in session: SessionID, at now: Instant) {
    guard let place = place(of: session), sessions[place].memberQuestions.count < Self.mostQuestions,
      (1...256).contains(group.utf8.count)
    else { return }
    if !sessions[place].memberQuestions.contains(group) { sessions[place].memberQuestions.append(group) }
    guard let link = (0..<8).first(where: { sessions[place].announced & openMask & Self.bit($0) != 0 }) else { return }
    writeMembership(.list, group, of: place, on: link, at: now)
  }

  /// A server has said who is in a group, whether it was asked or not.
  mutating func membersCame(_ body: RawSpan, _ range: Range<Int>, in place: Int) {
    guard let group = GroupMembers.names(body, range).first,
      let question = sessions[place].memberQuestions.firstIndex(of: group)
    else { return }
    sessions[place].memberQuestions.remove(at: question)
    tell(.members(inbox.add(body, range, session: sessions[place].id)))
  }

  /// Makes this client's user a member of a group, and says so again on every connection. A message to a group of which its
  /// sender is no member is refused.
  public mutating func join(_ group: String, in session: SessionID, at now: Instant) {
    guard let place = place(of: session), !sessions[place].groups.contains(group) else { return }
    sessions[place].groups.append(group)
    for link in 0..<8 where sessions[place].announced & openMask & Self.bit(link) != 0 {
      writeMembership(.join, group, of: place, on: link, at: now)
    }
  }

  /// Ends the membership, for all devices of the user's.
  public mutating func leave(_ group: String, in session: SessionID, at now: Instant) {
    guard let place = place(of: session) else { return }
    sessions[place].groups.removeAll { $0 == group }
    for link in 0..<8 where sessions[place].announced & openMask & Self.bit(link) != 0 {
      writeMembership(.leave, group, of: place, on: link, at: now)
    }
  }

  mutating func writeControl(_ body: [UInt8], of place: Int, on link: Int, at now: Instant) {
    let header = FrameHeader(
      control: body, sessions[place].traffic.counters.take(.control), version: sessions[place].traffic.version,
      time: unixTime(now), session: sessions[place].traffic.wireID)
    links[link].output.append(header, body)
    metrics.controlSent += 1
    writable(link)
  }

  /// Sends a heartbeat if it is time, on the connection that new frames go out on.
  mutating func beatIfDue(at now: Instant) {
    guard let due = heartbeat.due, now >= due, let link = bestLink(),
      let place = sessions.indices.first(where: { mayTransmit($0) })
    else { return }
    let beat = QueuedMessage(
      id: MessageID(rawValue: 0), kind: .heartbeat, category: .heartbeat, priority: .urgent, body: [],
      acceptedAt: links[link].heardAt)
    let entry = sessions[place].traffic.insert(beat, at: now)
    transmit(entry, of: place, on: link, at: now)
    metrics.heartbeatsSent += 1
    heartbeat.beaten(at: now, &random)
    metrics.heartbeatInterval = heartbeat.interval?.wholeNanoseconds
    metrics.heartbeatTimeout = heartbeatTimeout
  }
}
