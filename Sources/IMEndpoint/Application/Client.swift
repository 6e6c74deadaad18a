/// An application's client: connects to a server, sends, receives, and keeps at it however bad the network is.
///
///     let client = try Client(ClientConfiguration(server: server, user: "ann"))
///     await client.connect()
///     let sent = try await client.send(Message(.text("hello"), to: "bob"))
///     for await state in sent.states { print(state) }
///
/// A message that `send` has accepted is delivered exactly once, as soon as the network allows, as long as this value lives;
/// or `cancel` or `ClientConfiguration.messageLifetime` ends it. Everything can be called from any task. The work is done on a
/// thread of its own, which ends with the last reference. An application that has an event loop of its own drives a
/// `ClientCore` itself.
public final class Client: Sendable {
  /// What happens, in its order. One task can go through it; events that no task takes are kept, and messages with them.
  public let events: ClientEvents
  private let thread: LoopThread<ClientDriver>

  /// A client that does nothing yet. `tls` secures every connection; `bodies` keeps large files, images, sounds and films that come
  /// outside of memory (`FileBodies`), from which the application takes and removes them. Throws where the system has no
  /// descriptors or threads left.
  ///
  /// With a `store` (`FileStore`) the client outlives its process, however that ends: it has the identity and the secret of the store, what
  /// waited goes out (`ClientEvent.restored`), and what the application had taken is not shown again. The server then waits for it
  /// `ClientConfiguration.expiry`, 30 days if that is zero.
  ///
  /// With a `name` the server's addresses are asked for anew whenever the connection is lost or cannot be made, at most every 5 s.
  /// `log` is called on the client's thread.
  public init(
    _ configuration: ClientConfiguration, tls: sending TLSContext? = nil, bodies: (any BodyStore)? = nil,
    store: sending (any ClientStore)? = nil, name: ServerName? = nil,
    log: (@Sendable (LogEntry) -> Void)? = nil
  ) throws(TransportError) {
    let (events, continuation) = AsyncStream.makeStream(of: ClientEvent.self)
    let thread = try LoopThread { loop in
      ClientDriver(configuration, loop, tls, bodies, store, name, log, continuation)
    }
    self.thread = thread
    self.events = ClientEvents(stream: events) { kind, sequence in
      thread.tell { $0.took(kind, sequence, isAsked: false) }
    }
  }

  deinit { thread.stop { $0.shutDown() } }

  /// Begins to connect, and goes on until `disconnect`: `events` say what comes of it.
  public func connect() async { await thread.perform { $0.connect() } }

  /// Sends what waits, for at most `ClientConfiguration.farewell`, then ends the connection; at once where there is none, and
  /// no further attempt follows. Returns when it is gone. Messages that were not accepted are kept, and go out after another
  /// `connect`.
  /// - Returns: how many are kept, receipts included.
  @discardableResult
  public func disconnect() async -> Int {
    await thread.wait { $0.disconnect($1) }
    return await thread.perform { $0.waiting }
  }

  /// Ends the connection, or the attempt to make one, at once. What waits is kept, for another `connect`.
  public func forceDisconnect() async { await thread.perform { $0.forceDisconnect() } }

  /// Takes a message. It goes out as soon as its turn comes, now or when there is a connection again.
  ///
  /// Sessions of different kinds have queues of their own: what is large holds nothing up that goes in a `.chat` session when
  /// it goes in a `.media` one. Throws `SendError.queueFull` when too much waits: `ClientEvent.room` tells when to go on.
  public func send(_ message: Message, priority: Priority = .normal, in kind: SessionKind = .chat)
    async throws(SendError) -> SentMessage
  {
    try await thread.perform { $0.send(message, nil, priority, kind) }.get()
  }

  /// Takes a message whose file, image, sound or film is read from a file as it goes: at most 4 GiB. The bytes in the message itself
  /// are left out. `SentMessage.progress` says how far it is.
  public func send(
    _ message: Message, content: FileReader, priority: Priority = .normal, in kind: SessionKind = .chat
  ) async throws(SendError) -> SentMessage {
    try await thread.perform { $0.send(message, content, priority, kind) }.get()
  }

  /// Takes a message back that has not gone out yet or only waits to go out again.
  /// - Returns: whether it was taken back.
  @discardableResult
  public func cancel(_ message: SentMessage) async -> Bool { await thread.perform { $0.cancel(message) } }

  /// Tells the sender of a message that the application has it, where `ClientConfiguration.acknowledges` is `.manual`.
  public func acknowledge(_ message: IncomingMessage) async {
    await thread.perform { $0.took(message.kind, message.sequence, isAsked: true) }
  }

  /// Makes this client's user a member of a group: `Message.group` names it. It stays one until `leave`.
  public func join(_ group: String) async { await thread.perform { $0.join(group) } }

  /// Asks who is in a group: `ClientEvent.members` is the answer. A server of an earlier version gives none.
  public func askMembers(of group: String) async { await thread.perform { $0.askMembers(of: group) } }

  /// Ends the user's membership in a group.
  public func leave(_ group: String) async { await thread.perform { $0.leave(group) } }

  /// Tells the sender of a message that it has been read.
  public func markRead(_ message: IncomingMessage) async throws(SendError) {
    try await thread.perform { $0.markRead(message) }.get()
  }

  /// Says what the application is doing, on which the intervals of heartbeats depend. A beat goes out at once on return to
  /// the foreground.
  public func setMode(_ mode: ApplicationMode) async { await thread.perform { $0.setMode(mode) } }

  /// Where the connection stands.
  public var state: ConnectionState {
    get async { await thread.perform { $0.state } }
  }

  /// How good the network is.
  public var quality: NetworkQuality {
    get async { await thread.perform { $0.quality } }
  }

  /// What the client has counted since it was made.
  public var metrics: EndpointMetrics {
    get async { await thread.perform { $0.metrics } }
  }
}
