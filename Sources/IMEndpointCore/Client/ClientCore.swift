/// The client's side of the protocol: sessions of one application with one server, over as many connections as the
/// network needs. Events and time go in, commands and events come out; there is no socket and no clock in it.
///
/// A message that `send` has accepted is delivered exactly once, as soon as the network allows, whatever becomes of the
/// connections meanwhile; or `cancel`, a lifetime or the end of this value ends it, and the application is told.
public struct ClientCore: EndpointCore, Sendable {
  /// What it was made with.
  public let configuration: ClientConfiguration
  /// What it has counted.
  public internal(set) var metrics = EndpointMetrics()
  /// Keeps large messages that come, outside of memory: the bytes of files, images, sounds and films. The application takes what
  /// `ReceivedMessage.stored` names, and removes it. Without a store they are kept in memory, as far as `largestBody` allows. To be
  /// set before anything is received.
  public var bodies: (any BodyStore)? {
    didSet { restoreTransfers() }
  }
  /// Large messages that came to an earlier process and are not whole, by their names.
  var partial: [UInt64: IncomingTransfer] = [:]
  /// How the network is reached, as the transport says.
  public internal(set) var path = NetworkPath.wired

  /// Where making connections stands while there is none.
  enum Phase: Equatable, Sendable {
    /// None is wanted, or there is one.
    case idle
    /// An attempt is under way since.
    case attempting(since: Instant)
    /// The next attempt is made then.
    case waiting(until: Instant)
    /// Nothing more is tried until the application asks or the path changes.
    case stopped
  }

  var sessions: [ClientSession] = []
  /// Eight places. On the heap: a core that holds them inline is copied whole wherever a method that is not inlined reads one.
  var links = [ClientLink](repeating: ClientLink(), count: 8)
  var openMask: UInt8 = 0
  var openingMask: UInt8 = 0
  var servers: ServerAddresses
  var phase = Phase.idle
  var lastOpenAt = Instant(nanoseconds: .min)
  var opensSinceSuccess = 0
  var wantsAnother = false
  /// Another connection is wanted only to see whether its SYN overtakes what waits.
  var isProbing = false
  /// Such probes since a loss was seen, and when the next may be made.
  var probes = 0
  var probeAt = Instant(nanoseconds: .min)
  var lossUntil: Instant?
  var warmUntil: Instant?
  var raceAt: Instant?
  var measuring: UInt8 = 0
  var wasUp = false
  var inbox = Inbox()
  var commands = CommandQueue(keeping: 64)
  var deadlineAt: Instant?
  var random: SeededGenerator
  var heartbeat: HeartbeatTimer
  var reconnector: Reconnector
  var budget: ResendBudget
  var roundTrips = RoundTrips()
  var lastQuality = NetworkQuality.unknown
  var qualityAt = Instant(nanoseconds: .min)
  var pool: Pool<SessionKind, SessionID>
  var nextMessage: UInt64 = 1
  var turn = 0
  var unixOffset: Int64 = 0
  /// Which process of the client this is.
  let instance: UInt64
  var numbers = OutgoingNumbers()
  var arrivals: [IncomingConversation: ArrivalOrder] = [:]
  /// When the application is told that messages are missing.
  var ordersAt: Instant?
  /// Messages in the inbox, those that the application has taken out of it, and those of which the server cannot be told yet.
  var untaken: [(place: Int, sequence: SequenceNumber)] = []
  var handed: [(place: Int, sequence: SequenceNumber)] = []
  var unconfirmed: [(place: Int, sequence: SequenceNumber)] = []
  /// What is to be kept, and the messages that a store keeps.
  var operations: [ClientOperation] = []
  var kept: [MessageID: KeptMessage] = [:]
  /// What the newest messages are called beyond their sessions.
  var sentNames = SentNames()
  /// Where messages come from that the application has not taken, by the session and their number there.
  var arrived: [UInt64: (key: IncomingConversation, number: UInt64)] = [:]
  /// The moment of the last call.
  var clock = Instant(nanoseconds: 0)

  /// A client that does nothing yet.
  public init(_ configuration: ClientConfiguration) {
    var configuration = configuration
    configuration.maximumConnections = min(8, max(1, configuration.maximumConnections))
    self.configuration = configuration
    servers = ServerAddresses([configuration.server] + configuration.alternatives)
    random = SeededGenerator(seed: configuration.seed)
    var other = SeededGenerator(seed: ~configuration.seed)
    instance = other.next()
    heartbeat = HeartbeatTimer(policy: configuration.heartbeat)
    reconnector = Reconnector(policy: configuration.reconnect)
    pool = Pool(limits: configuration.pool)
    if case .racing(let policy) = configuration.resend {
      budget = ResendBudget(
        perAcknowledgment: policy.resendsPerAcknowledgment, perConnection: policy.resendsPerConnection,
        limit: policy.resendLimit, initially: policy.resendsPerConnection)
    } else {
      budget = ResendBudget()
    }
  }

  // MARK: sessions

  /// A new session, without a connection yet.
  public mutating func addSession(_ kind: SessionKind = .chat, strategy: SessionStrategy? = nil, at now: Instant)
    -> SessionID
  {
    var wireID = UInt16(truncatingIfNeeded: random.next())
    while sessions.contains(where: { $0.traffic.wireID == wireID }) { wireID &+= 1 }
    let id = SessionID(place: UInt32(sessions.count))
    let traffic = Traffic(
      wireID: wireID, strategy: strategy ?? .recommended(for: kind), major: configuration.speech.version.major,
      start: UInt32(truncatingIfNeeded: random.next() % UInt64(SequenceNumber.modulus)), epoch: random.next())
    sessions.append(ClientSession(id: id, kind: kind, traffic: traffic, at: now))
    return id
  }

  /// A session of `kind` from the pool: one that was released and is healthy, or a new one; it is connected.
  /// - Returns: `nil` when all the pool may hold are in use.
  public mutating func acquireSession(_ kind: SessionKind, at now: Instant) -> SessionID? {
    let (sessions, limits) = (sessions, pool.limits)
    switch pool.acquire(kind, isHealthy: { Self.isHealthy(sessions[Int($0.place)], limits) }) {
    case .reuse(let id): return id
    case .exhausted: return nil
    case .make:
      let closed = sessions.first { $0.kind == kind && $0.machine.state == .disconnected && !pool.holds($0.id) }
      let id = closed?.id ?? addSession(kind, at: now)
      pool.add(id, kind)
      try? connect(id, at: now)
      return id
    }
  }

  /// Gives a session back to the pool, which keeps it or closes it.
  public mutating func releaseSession(_ id: SessionID, at now: Instant) {
    guard let place = place(of: id) else { return }
    let isHealthy = Self.isHealthy(sessions[place], pool.limits)
    if !pool.release(id, isHealthy: isHealthy, at: now) { try? disconnect(id, at: now) }
    wake(by: pool.deadline)
  }

  static func isHealthy(_ session: ClientSession, _ limits: PoolLimits) -> Bool {
    session.isOpen && session.handshake.phase != .refused && session.traffic.pending.count <= limits.pendingMessages
  }

  /// The state of a session's connection; `disconnected` for a session that does not exist.
  public func state(of id: SessionID) -> ConnectionState {
    place(of: id).map { sessions[$0].machine.state } ?? .disconnected
  }

  /// The machine of a session's connection, with the time spent in each state.
  public func machine(of id: SessionID) -> ConnectionMachine? { place(of: id).map { sessions[$0].machine } }

  /// The number that stands for a session in frames.
  public func wireID(of id: SessionID) -> UInt16? { place(of: id).map { sessions[$0].traffic.wireID } }

  /// Messages of a session that wait: for their turn, and for their answer.
  public func waiting(in id: SessionID) -> (queued: Int, unacknowledged: Int) {
    guard let place = place(of: id) else { return (0, 0) }
    let traffic = sessions[place].traffic
    return (traffic.queues.count + traffic.transfers.count, traffic.pending.count)
  }

  /// Connections that stand now.
  public var connectionCount: Int { openMask.nonzeroBitCount }
  /// How good the network is.
  public var quality: NetworkQuality { heartbeat.quality }
  /// The interval between heartbeats, before it is drawn shorter or longer; `nil`: there are none.
  public var heartbeatInterval: Duration? { heartbeat.interval }

  @inline(__always)
  func place(of id: SessionID) -> Int? {
    let place = Int(id.place)
    return place < sessions.count && sessions[place].id == id ? place : nil
  }

  // MARK: what came of it

  /// Takes what the core has to tell since the last call. The inbox is emptied first, and its memory used on.
  ///
  /// With `Acknowledgment.onTake` the senders of the messages are told that they are delivered when the core is called next:
  /// by then the application has looked at the inbox.
  public mutating func take(_ inbox: inout Inbox) {
    inbox.removeAll()
    swap(&inbox, &self.inbox)
    guard !untaken.isEmpty else { return }
    handed += untaken
    untaken.removeAll(keepingCapacity: untaken.count <= 4_096)
  }

  /// Whether `take` would bring anything.
  public var hasEvents: Bool { !inbox.events.isEmpty }

  @inline(__always)
  mutating func tell(_ event: EndpointEvent) { inbox.events.append(event) }

  @inline(__always)
  mutating func tell(_ id: MessageID, _ session: SessionID, _ state: MessageState) {
    if configuration.isKept {
      switch state {
      case .accepted, .delivered, .read, .failed, .cancelled: settle(id)
      case .created, .sending, .sent, .retrying: break
      }
    }
    if id.rawValue != 0, configuration.reports.contains(MessageStates(state)) {
      inbox.events.append(.progress(id, session, state))
    }
  }

  /// Moves a session's connection, and tells.
  mutating func move(_ place: Int, _ event: ConnectionEvent, _ reason: DisconnectReason? = nil, at now: Instant) {
    let before = sessions[place].machine.state
    do {
      let after = try sessions[place].machine.handle(event, at: now)
      if after != before { tell(.connection(sessions[place].id, after, event, reason)) }
    } catch {
      metrics.illegalEvents += 1
    }
  }

  // MARK: time

  @inline(__always)
  func unixMilliseconds(_ now: Instant) -> UInt64 {
    UInt64(clamping: now.nanoseconds / 1_000_000 &+ unixOffset &* 1_000)
  }

  @inline(__always)
  func unixTime(_ now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000_000 &+ unixOffset)
  }

  @inline(__always)
  mutating func wake(by moment: Instant?) {
    guard let moment else { return }
    if let known = deadlineAt, known <= moment { return }
    deadlineAt = moment
  }

  static func bit(_ place: Int) -> UInt8 { 1 << UInt8(truncatingIfNeeded: place) }
}
