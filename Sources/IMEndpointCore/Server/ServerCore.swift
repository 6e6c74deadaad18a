/// The server's side of the protocol: sessions of many clients, each over as many connections as its client has opened.
///
/// What a client sends is told exactly once, whatever it sends twice and on which connections, for as long as the server
/// remembers its session (`ServerConfiguration.memory`, `maximumSessions`); what is sent to a client waits until it comes
/// back. A session is known by its client's identity and its number, never by an address, as long as the client introduces
/// itself.
public struct ServerCore: EndpointCore, Sendable {
  /// What it was made with.
  public let configuration: ServerConfiguration
  /// Says whether a client may come, called for each of its handshakes; `nil`: everybody may. With it no frame counts that
  /// comes before an accepted handshake, a refused client is told `unwelcome`, and its connection ends. It is called on the
  /// transport's thread and must not wait.
  public var authenticates: (@Sendable (Credentials) -> Bool)?
  /// Keeps large messages outside of memory, where the service is `forward`: `FileBodies`. Without a store they are assembled in
  /// memory, within `ServerConfiguration.maximumIncomingTotal`. To be set before `restore`, and before anything else.
  public var bodies: (any BodyStore)?
  /// Bodies that are whole, until their letters are kept.
  var wholeBodies: [UInt64] = []
  /// How many letters each body in the store is of, and bodies that are of none any more.
  var bodyUses: [UInt64: Int] = [:]
  var unusedBodies: [UInt64] = []
  /// Large messages that are relayed while they arrive, by their bodies in the store.
  var relays: [UInt64: Relay] = [:]
  /// What it has counted, over all sessions.
  public internal(set) var metrics = EndpointMetrics()
  /// Messages that were refused: they name no user, or one who is not known or for whom too many wait.
  public internal(set) var undeliverable: UInt64 = 0
  /// Handshakes that were refused, whatever the reason.
  public internal(set) var handshakesRefused: UInt64 = 0
  /// Sessions that were forgotten to make room for others.
  public internal(set) var sessionsEvicted: UInt64 = 0
  /// Sessions that were forgotten because they had been without a connection for `ServerConfiguration.memory`. A message that
  /// was told and whose acknowledgment never reached its client is told again when that client comes back after this.
  public internal(set) var sessionsExpired: UInt64 = 0

  var sessions: [ServerSession] = []
  var freeSessions: [Int32] = []
  var index: [SessionKey: Int32] = [:]
  var devices: [ServerDevice] = []
  var freeDevices: [Int32] = []
  var deviceIndex: [ServerPeer: Int32] = [:]
  var identities: [ClientIdentity: Int32] = [:]
  var mailboxes: [Mailbox] = []
  var freeMailboxes: [Int32] = []
  /// The mailbox of each user.
  var users: [String: Int32] = [:]
  /// Bytes of all letters.
  var storedBytes = 0
  /// Devices that are to be sent letters, and when those are served that had no turn.
  var line = FIFOQueue<Int32>(keeping: 4_096)
  var lineAt: Instant?
  /// Sessions whose clients are to be told what was delivered.
  var informed: [SessionID] = []
  /// Bytes that wait on all connections, and when those that take nothing were last looked for.
  var waitingBytes = 0
  /// The users in each group.
  var groups: [String: Set<String>] = [:]
  /// The recipients of the last message to each group: those of the next are most often the same.
  var recipients: [String: [String]] = [:]
  /// Messages to groups that not all have.
  var groupLog = GroupLog()
  /// Receipts that wait for senders who are away, and those that were forgotten.
  var pendingReceiptCount = 0
  var droppedReceipts: UInt64 = 0
  /// Bytes of large messages that have not come in full.
  var incomingBytes = 0
  var stallsSoughtAt = Instant(nanoseconds: .min)
  var links: [ServerLink] = []
  var freeLinks: [Int32] = []
  var timers = DeadlineQueue()
  var inbox = Inbox()
  var commands = CommandQueue(keeping: 4_096)
  var random: SeededGenerator
  var nextMessage: UInt64 = 1
  var unixOffset: Int64 = 0
  /// When the core was told the time first.
  var startedAt: Instant?
  var origins = OriginLog()
  /// What is to be kept, and numbers that have changed.
  var operations: [StoreOperation] = []
  var changedNumbers: Set<ChangedNumbers> = []
  /// Messages that are acknowledged once they are kept.
  var unstored: [(session: SessionID, sequence: SequenceNumber, connection: ConnectionID)] = []
  var delayed = DelayedAcknowledgments()
  var evictions = EvictionQueue()
  var framesWritten = 0
  /// The last session a frame came from, whose acknowledgments and messages are likely next.
  var openLinks = 0

  /// A server without clients.
  public init(_ configuration: ServerConfiguration) {
    self.configuration = configuration
    random = SeededGenerator(seed: configuration.seed)
  }

  // MARK: what is known

  /// Connections that stand now.
  public var connectionCount: Int { openLinks }
  /// Sessions that are remembered, with or without a connection.
  public var sessionCount: Int { index.count }

  /// The name a session's client goes by.
  public func user(of id: SessionID) -> String? {
    place(of: id).flatMap { devices[Int(sessions[$0].device)].user }
  }
  /// The number that stands for a session in frames.
  public func wireID(of id: SessionID) -> UInt16? { place(of: id).map { sessions[$0].traffic.wireID } }
  /// How many connections carry a session.
  public func connectionCount(of id: SessionID) -> Int {
    place(of: id).map { sessions[$0].linkMask.nonzeroBitCount } ?? 0
  }
  /// The sessions of a user.
  public func sessions(of user: String) -> [SessionID] {
    guard let box = users[user] else { return [] }
    return mailboxes[Int(box)].devices.flatMap { devices[Int($0)].sessions.map { id(Int($0)) } }
  }

  /// Letters that wait for a user, and their bytes with what each costs beside its body.
  public func mailbox(of user: String) -> (letters: Int, byteCount: Int) {
    guard let box = users[user].map({ Int($0) }) else { return (0, 0) }
    return (mailboxes[box].count, mailboxes[box].byteCount)
  }
  /// Bytes of the letters that wait for all users.
  public var mailboxBytes: Int { storedBytes }

  /// Messages for a session that wait: for their turn, and for their answer.
  public func waiting(in id: SessionID) -> (queued: Int, unacknowledged: Int) {
    guard let place = place(of: id) else { return (0, 0) }
    let traffic = sessions[place].traffic
    return (traffic.queues.count + traffic.transfers.count, traffic.pending.count)
  }

  @inline(__always)
  func place(of id: SessionID) -> Int? {
    let place = Int(id.place)
    guard place < sessions.count, sessions[place].isKnown, sessions[place].generation == id.generation else {
      return nil
    }
    return place
  }

  @inline(__always)
  func id(_ place: Int) -> SessionID { SessionID(place: UInt32(place), generation: sessions[place].generation) }

  // MARK: what came of it

  /// Takes what the core has to tell since the last call. The inbox is emptied first, and its memory used on.
  public mutating func take(_ inbox: inout Inbox) {
    inbox.removeAll()
    swap(&inbox, &self.inbox)
  }

  /// Whether `take` would bring anything.
  public var hasEvents: Bool { !inbox.events.isEmpty }

  @inline(__always)
  mutating func tell(_ event: EndpointEvent) { inbox.events.append(event) }

  @inline(__always)
  mutating func tell(_ id: MessageID, _ place: Int, _ state: MessageState) {
    if id.rawValue != 0, configuration.reports.contains(MessageStates(state)) {
      inbox.events.append(.progress(id, self.id(place), state))
    }
  }

  @inline(__always)
  func unixTime(_ now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000_000 &+ unixOffset)
  }

  static func bit(_ place: Int) -> UInt8 { 1 << UInt8(truncatingIfNeeded: place) }

  // MARK: sending

  /// Takes a message for a session. It goes out as soon as its turn comes, now or when the client is back.
  @discardableResult
  public mutating func send(_ message: Message, priority: Priority = .normal, to session: SessionID, at now: Instant)
    throws(SendError) -> MessageID
  {
    try send(body: message.encoded, category: message.category, priority: priority, to: session, at: now)
  }

  /// Takes a message whose body is encoded already.
  @discardableResult
  public mutating func send(
    body: [UInt8], category: SequenceCategory = .normal, priority: Priority = .normal, to session: SessionID,
    at now: Instant
  ) throws(SendError) -> MessageID {
    guard let place = place(of: session) else { throw .noSession }
    return try accept(.data, body, category, priority, place, at: now)
  }

  /// Tells a client that its message with this number has been read.
  public mutating func markRead(_ sequence: SequenceNumber, in session: SessionID, at now: Instant) throws(SendError) {
    guard let place = place(of: session) else { throw .noSession }
    try sendReceipt(sequence, place, at: now)
  }

  mutating func sendReceipt(_ sequence: SequenceNumber, _ place: Int, at now: Instant) throws(SendError) {
    var body: [UInt8] = []
    TLV.append(.readReceipt, TLV.bigEndian(sequence.rawValue), to: &body)
    try accept(.receipt, body, .normal, .normal, place, at: now)
  }

  @discardableResult
  mutating func accept(
    _ kind: FrameKind, _ body: [UInt8], _ category: SequenceCategory, _ priority: Priority, _ place: Int,
    at now: Instant
  ) throws(SendError) -> MessageID {
    let id = MessageID(rawValue: kind == .data ? nextMessage : 0)
    try sessions[place].traffic.accept(
      QueuedMessage(id: id, kind: kind, category: category, priority: priority, body: body, acceptedAt: now),
      configuration.speech)
    if kind == .data {
      nextMessage += 1
      metrics.messagesSent += 1
    }
    tell(id, place, .created)
    pump(place, at: now)
    return id
  }

  /// Hands over a session's messages whose turn it is.
  mutating func pump(_ place: Int, at now: Instant) {
    enqueue(Int(sessions[place].device))
    if !sessions[place].traffic.transfers.isEmpty { pumpPieces(place, at: now) }
    guard !sessions[place].traffic.queues.isEmpty, let bit = bestBit(place) else { return }
    let link = Int(sessions[place].links[bit])
    let limit = sessions[place].traffic.strategy.bufferBytes
    while links[link].output.byteCount < limit,
      let entry = sessions[place].traffic.dequeue(isWeak: false, urgentOnly: !links[link].window.takesMessages, at: now)
    {
      tell(sessions[place].traffic.pending[entry].id, place, .sending)
      transmit(entry, of: place, on: bit, at: now)
    }
    guard sessions[place].traffic.fullQueues != 0 else { return }
    for priority in sessions[place].traffic.roomAgain() { tell(.room(id(place), priority)) }
  }

  /// The session's connection that something was heard on last.
  func bestBit(_ place: Int, besides carriers: UInt8 = 0) -> Int? {
    let mask = sessions[place].linkMask & ~carriers
    guard mask & (mask &- 1) != 0 else { return mask == 0 ? nil : mask.trailingZeroBitCount }
    var best: (bit: Int, heard: Instant)?
    for bit in 0..<8 where mask & Self.bit(bit) != 0 {
      let heard = links[Int(sessions[place].links[bit])].heardAt
      if best == nil || heard > best?.heard ?? heard { best = (bit, heard) }
    }
    return best?.bit
  }

  mutating func transmit(_ entry: Int32, of place: Int, on bit: Int, at now: Instant) {
    let link = Int(sessions[place].links[bit])
    if ClientCore.isHeldBack(sessions[place].traffic.pending[entry]),
      sessions[place].traffic.pending[entry].carriers & Self.bit(bit) == 0
    {
      links[link].window.sent(sessions[place].traffic.pending[entry].body.count)
    }
    sessions[place].traffic.transmit(
      entry, to: &links[link].output, bit: Self.bit(bit), time: unixTime(now), configuration.speech, at: now)
    if let next = sessions[place].traffic.advance(entry, .write) {
      tell(sessions[place].traffic.pending[entry].id, place, next)
    }
    writable(link)
    arm(place, by: now.advanced(by: configuration.resendAfter))
  }

  @inline(__always)
  mutating func writable(_ link: Int) {
    waitingBytes += links[link].output.byteCount - links[link].waiting
    links[link].waiting = links[link].output.byteCount
    guard !links[link].isWriting else { return }
    links[link].isWriting = true
    commands.append(.write(connection(link)))
  }

  @inline(__always)
  func connection(_ link: Int) -> ConnectionID {
    ConnectionID(place: UInt32(link), generation: links[link].generation)
  }
}
