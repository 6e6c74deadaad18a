import IMWire

/// What a client's thread works on: a core on a transport, and who waits for what.
final class ClientDriver {
  private let transport: LinuxTransport<ClientCore>
  private let events: AsyncStream<ClientEvent>.Continuation
  private var sessions: [SessionKind: SessionID] = [:]
  private var inbox = Inbox()
  private var observers = MessageObservers()
  private let acknowledges: Acknowledgment
  private let store: (any ClientStore)?
  private let log: (@Sendable (LogEntry) -> Void)?
  private let resolution: NameResolution?
  /// Whether the store has failed: nothing is sent any more.
  private var hasStoreFailed = false
  private var isWanted = false
  /// Who waits until there is no connection any more.
  private var leaving: [CheckedContinuation<Void, Never>] = []

  init(
    _ configuration: ClientConfiguration, _ loop: EventLoop, _ tls: TLSContext?, _ bodies: (any BodyStore)?,
    _ store: (any ClientStore)?, _ name: ServerName?, _ log: (@Sendable (LogEntry) -> Void)?,
    _ events: AsyncStream<ClientEvent>.Continuation
  ) {
    self.events = events
    self.store = store
    self.log = log
    resolution = name.map { NameResolution($0, loop.remote) }
    acknowledges = configuration.acknowledges
    var configuration = configuration
    configuration.acknowledges = .manual
    configuration.reportsTransfers = true
    if let store {
      (configuration.identity, configuration.secret, configuration.isKept) = (store.identity, store.secret, true)
      if configuration.expiry == .zero { configuration.expiry = .seconds(30 * 86_400) }
    }
    var core = ClientCore(configuration)
    core.bodies = bodies
    transport = LinuxTransport(core, loop: loop, tls: tls)
    // Where the system does not tell of routes, the path counts as one that never changes.
    try? transport.watchPath(to: configuration.server)
    transport.onTurn = { [unowned self] core, now in turn(&core, now) }
    resolution?.onAnswer = { [unowned self] in resolved($0) }
    restore(in: session(.chat))
  }

  /// Begins with what an earlier process has left in the store.
  private func restore(in session: SessionID) {
    guard let store else { return }
    let restored = transport.update { $0.restore(store.state, in: session, at: $1) { FileReader.reopen($0) } }
    for (message, id) in restored {
      let file = message.file.map { file in
        MessageContent.file(.init([], name: file.path.split(separator: "/").last.map(String.init)))
      }
      events.yield(
        .restored(
          SentMessage(
            id: id, kind: .chat, states: observers.states(of: id),
            progress: file == nil ? .finished : observers.progress(of: id)),
          to: message.conversation, isGroup: message.isGroup,
          file ?? (try? Message(decoding: message.body))?.content))
    }
  }

  /// Has the store keep what has changed, before any of it is sent.
  private func keep(_ core: inout ClientCore, _ now: Instant) {
    guard let store, !hasStoreFailed else { return }
    do { try store.append(core.takeOperations()) } catch {
      hasStoreFailed = true
      isWanted = false
      core.storeFailed(at: now)
      log?(LogEntry(.error, "the store failed: \(error)"))
      events.yield(.storeFailed(error))
    }
  }

  var metrics: EndpointMetrics { transport.core.metrics }
  var quality: NetworkQuality { transport.core.quality }
  var state: ConnectionState { sessions[.chat].map { transport.core.state(of: $0) } ?? .disconnected }

  func setMode(_ mode: ApplicationMode) { transport.update { $0.setMode(mode, at: $1) } }

  // MARK: connecting

  func connect() {
    guard !hasStoreFailed else { return }
    isWanted = true
    for session in sessions.values { connect(session) }
  }

  func disconnect(_ continuation: CheckedContinuation<Void, Never>) {
    isWanted = false
    leaving.append(continuation)
    for session in sessions.values { transport.update { try? $0.disconnect(session, at: $1) } }
    tellWhoLeaves(transport.core)
  }

  func forceDisconnect() {
    isWanted = false
    for session in sessions.values { transport.update { $0.forceDisconnect(session, at: $1) } }
  }

  /// Messages that wait, for their turn or for their answer.
  var waiting: Int {
    sessions.values.reduce(0) { count, session in
      let waiting = transport.core.waiting(in: session)
      return count + waiting.queued + waiting.unacknowledged
    }
  }

  func shutDown() {
    transport.shutDown()
    observers.finishAll()
    events.finish()
    for continuation in leaving { continuation.resume() }
    leaving = []
  }

  private func session(_ kind: SessionKind) -> SessionID {
    if let known = sessions[kind] { return known }
    let session = transport.update { $0.addSession(kind, at: $1) }
    sessions[kind] = session
    if isWanted { connect(session) }
    return session
  }

  private func connect(_ session: SessionID) {
    transport.update { core, now in
      if core.state(of: session) == .disconnected { try? core.connect(session, at: now) }
    }
  }

  // MARK: messages

  func send(
    _ message: Message, _ content: FileReader? = nil, _ priority: Priority, _ kind: SessionKind
  ) -> Result<SentMessage, SendError> {
    guard !hasStoreFailed else { return .failure(.storeFailed) }
    let session = session(kind)
    return transport.update { core, now in
      Result { () throws(SendError) in
        let id =
          if let content {
            try core.send(
              message, content: content, file: store == nil ? nil : content.stored, priority: priority, in: session,
              at: now)
          } else {
            try core.send(message, priority: priority, in: session, at: now)
          }
        let progress = content != nil || message.category == .media ? observers.progress(of: id) : .finished
        return SentMessage(id: id, kind: kind, states: observers.states(of: id), progress: progress)
      }
    }
  }

  func cancel(_ message: SentMessage) -> Bool {
    let session = session(message.kind)
    return transport.update { $0.cancel(message.id, in: session, at: $1) }
  }

  /// The application has taken a message: `isAsked` when it says so, else because it came for the next event.
  func took(_ kind: SessionKind, _ sequence: SequenceNumber, isAsked: Bool) {
    guard isAsked || acknowledges == .onTake else { return }
    let session = session(kind)
    transport.update { $0.acknowledge(sequence, in: session, at: $1) }
  }

  func join(_ group: String) {
    let session = session(.chat)
    transport.update { $0.join(group, in: session, at: $1) }
  }

  func askMembers(of group: String) {
    let session = session(.chat)
    transport.update { $0.askMembers(of: group, in: session, at: $1) }
  }

  func leave(_ group: String) {
    let session = session(.chat)
    transport.update { $0.leave(group, in: session, at: $1) }
  }

  func markRead(_ message: IncomingMessage) -> Result<Void, SendError> {
    let session = session(message.kind)
    return transport.update { core, now in
      Result { () throws(SendError) in
        let origin = message.device.map {
          MessageOrigin(device: $0, number: message.number, milliseconds: message.sentAt)
        }
        try core.markRead(message.sequence, in: session, origin: origin, group: message.group, at: now)
      }
    }
  }

  // MARK: what the core tells

  private func turn(_ core: inout ClientCore, _ now: Instant) {
    core.take(&inbox)
    observers.publish(inbox)
    for event in inbox.events {
      if let log, let entry = LogEntry(event) { log(entry) }
      tell(event)
    }
    keep(&core, now)
    tellWhoLeaves(core)
  }

  private func tell(_ event: EndpointEvent) {
    switch event {
    case .message(let message): came(message)
    case .connection(let session, let state, _, let reason) where session == sessions[.chat]:
      events.yield(.connection(state, reason))
      if isWanted, state != .connected, reason != .requested { resolution?.ask(at: transport.loop.now) }
    case .handshake(let session, .refused(let refusal)): events.yield(.refused(kind(session), refusal))
    case .failure(let message, _, let reason): events.yield(.failed(message, reason))
    case .gap(_, let device, let first, let last): events.yield(.gap(device, first...last))
    case .read(_, let sequence): events.yield(.read(sequence))
    case .earlier(let receipt):
      events.yield(
        .earlier(
          to: inbox.conversation(of: receipt), isGroup: receipt.isGroup, number: receipt.number, receipt.state))
    case .members(let answer):
      let (group, members) = inbox.members(of: answer)
      events.yield(.members(of: group, members))
    case .gaveUp(let attempts): events.yield(.gaveUp(attempts: attempts))
    case .quality(let quality): events.yield(.quality(quality))
    case .room(let session, let priority): events.yield(.room(kind(session), priority))
    case .receiving(let name, _, let progress): events.yield(.receiving(name, progress))
    case .damagedContent(let name, _): events.yield(.damagedContent(name))
    case .withdrawn(let name, _): events.yield(.withdrawn(name))
    // A damaged frame comes again; bytes that are no frames end their connection, which is told.
    case .progress, .connection, .handshake, .damaged, .notFrames, .joined, .left, .sending: break
    }
  }

  /// Takes the addresses that the server's name has now.
  private func resolved(_ answer: Result<[Endpoint], TransportError>) {
    switch answer {
    case .success(let endpoints):
      log?(LogEntry(.debug, "the server has \(endpoints.count) address\(endpoints.count == 1 ? "" : "es")"))
      transport.update { $0.serverResolved(to: endpoints, at: $1) }
    case .failure(let error): log?(LogEntry(.warning, error.description))
    }
  }

  private func came(_ received: ReceivedMessage) {
    let body = inbox.body(of: received)
    do throws(MessageError) {
      let message = try Message(decoding: [UInt8](body))
      events.yield(
        .message(
          IncomingMessage(
            content: message.content, stored: received.stored, sender: message.sender, group: message.group,
            sentAt: received.origin?.milliseconds ?? UInt64(received.time) * 1_000, serverAt: received.time,
            device: received.origin?.device, number: received.origin?.number ?? 0, isLate: received.isLate,
            kind: kind(received.session), sequence: received.sequence)))
    } catch {
      events.yield(.unreadable(error, body: [UInt8](body)))
      // It will be no better a second time.
      took(kind(received.session), received.sequence, isAsked: true)
    }
  }

  private func kind(_ session: SessionID) -> SessionKind { sessions.first { $0.value == session }?.key ?? .chat }

  private func tellWhoLeaves(_ core: ClientCore) {
    guard !leaving.isEmpty, core.connectionCount == 0,
      sessions.values.allSatisfy({ core.state(of: $0) == .disconnected })
    else { return }
    for continuation in leaving { continuation.resume() }
    leaving = []
  }
}

extension AsyncStream<TransferProgress> {
  /// Nothing.
  fileprivate static var finished: Self { AsyncStream { $0.finish() } }
}
