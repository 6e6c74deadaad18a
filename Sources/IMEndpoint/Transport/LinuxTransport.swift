import Glibc
public import IMWire

/// Drives one core on plain sockets of Linux: a client, or a server with all its clients.
///
/// Several transports may share a loop, each with its own core; the loop's timer wheel holds the deadlines of all. What it
/// does happens on the loop's thread. The loop keeps it alive until `shutDown`.
public final class LinuxTransport<Core: EndpointCore> {
  /// The loop it runs in.
  public let loop: EventLoop
  /// What it tells the core, and what the core asks for, after which `onTurn` may look at what came of it.
  public private(set) var core: Core
  /// Called at the end of every turn in which the core was called, before its commands are carried out: the place to take
  /// out what arrived and to send more.
  public var onTurn: ((inout Core, Instant) -> Void)?

  /// Whether connections are set up as the core asks. False leaves them as the system has them but for `TCP_NODELAY`: what
  /// plain TCP does, to compare with.
  public var tunesSockets = true
  /// Sees what passes, if there is one.
  public var tap: (any WireTap)?

  let tls: TLSContext?
  /// The most bytes of a message that has not arrived in full, a power of two.
  let receiveLimit: Int
  /// The most bytes of messages that have not arrived in full, on all connections of the loop.
  public var receiveTotal = 256 << 20
  private var channels: [Channel<Core>?] = []
  /// Connections that keep much of a frame that has not arrived in full.
  private var partial: [ObjectIdentifier: (channel: Channel<Core>, byteCount: Int)] = [:]
  private var listener: Listener<Core>?
  private var path: PathWatch?
  private var clockwork: Clockwork<Core>?

  /// A transport for `core` in `loop`, with TLS on every connection if there is a context for it.
  ///
  /// `receiveLimit` is rounded up to a power of two; a peer whose message exceeds it loses its connection.
  public init(_ core: consuming Core, loop: EventLoop, tls: TLSContext? = nil, receiveLimit: Int = 16 << 20) {
    self.core = core
    self.loop = loop
    self.tls = tls
    var limit = 1 << 16
    while limit < min(receiveLimit, 1 << 40) { limit *= 2 }
    self.receiveLimit = limit
    let clockwork = Clockwork(self)
    self.clockwork = clockwork
    self.core.setWallClock(unixSeconds: Int64(time(nil)), at: moment)
  }

  /// The moment of the loop's turn, as cores have it.
  public var moment: Instant { Instant(nanoseconds: loop.now) }

  /// Calls the core; what it asks for is done at the end of the turn.
  public func update<Result>(_ body: (inout Core, Instant) -> Result) -> Result {
    clockwork?.wake()
    return body(&core, moment)
  }

  /// Accepts connections at `endpoint` for the core, which is a server's.  The endpoint with the port that was bound.
  public func listen(at endpoint: Endpoint) throws(TransportError) -> Endpoint {
    let listener = try Listener(self, at: endpoint)
    self.listener = listener
    return listener.endpoint
  }

  /// Tells the core how the network is reached, now and whenever that changes, as seen by what leads to `destination`.
  public func watchPath(to destination: Endpoint) throws(TransportError) {
    path = try PathWatch(loop, to: destination) { [self] found in
      update { $0.pathChanged(to: found, at: $1) }
    }
  }

  /// Stops listening and resets every connection, and tells the core of each, with a reason: what happens to a server that
  /// goes down and keeps what it knows, or to a client whose network resets its connections. It may listen again.
  public func drop(because reason: CloseReason = .requested) {
    listener?.stop()
    listener = nil
    for channel in channels { channel?.fail(reason) }
  }

  /// Closes everything at once, without a word to the core. The transport is of no use afterwards.
  public func shutDown() {
    listener?.stop()
    listener = nil
    path?.stop()
    path = nil
    clockwork?.stop()
    clockwork = nil
    for channel in channels { channel?.fail(.requested) }
    channels = []
  }

  /// Connections that are open or being opened.
  public var connectionCount: Int { channels.reduce(0) { $0 + ($1 == nil ? 0 : 1) } }

  // MARK: what channels say

  /// The core's name of a connection that can carry bytes; nil when the core does not want it.
  func established(_ channel: Channel<Core>, _ id: ConnectionID?, local: Endpoint?) -> ConnectionID? {
    clockwork?.wake()
    if let id {
      tap?.opened(id, local: local, remote: channel.remote, at: moment)
      core.opened(id, local: local, at: moment)
      return id
    }
    if tls != nil { listener?.finishedHandshake() }
    guard let id = core.accepted(from: channel.remote, at: moment) else { return nil }
    keep(channel, id)
    tap?.opened(id, local: local, remote: channel.remote, at: moment)
    return id
  }

  func received(_ bytes: RawSpan, on id: ConnectionID) -> Intake {
    clockwork?.wake()
    let start = monotonicNow()
    let intake = core.received(bytes, on: id, at: moment)
    core.parsed(in: monotonicNow() &- start, leaving: bytes.byteCount - intake.consumed)
    tap?.read(bytes.extracting(first: intake.consumed), on: id, at: moment)
    return intake
  }

  func drain(_ id: ConnectionID, _ write: (OutgoingPieces) -> Int) -> Bool {
    guard let tap else { return core.drain(id, at: moment, write) }
    let now = moment
    return core.drain(id, at: now) { pieces in
      let taken = write(pieces)
      var left = taken
      _ = pieces.forEach { bytes in
        let part = min(left, bytes.byteCount)
        if part > 0 { tap.wrote(bytes.extracting(first: part), on: id, at: now) }
        left -= part
        return part
      }
      return taken
    }
  }

  func ended(_ channel: Channel<Core>, _ reason: CloseReason, wasSecuring: Bool) {
    guard let id = channel.id else {
      if wasSecuring { listener?.finishedHandshake() }
      return
    }
    if Int(id.place) < channels.count, channels[Int(id.place)] === channel { channels[Int(id.place)] = nil }
    if !partial.isEmpty { partial[ObjectIdentifier(channel)] = nil }
    guard let clockwork else { return }
    clockwork.wake()
    tap?.closed(id, because: reason, at: moment)
    core.closed(id, because: reason, at: moment)
  }

  /// Takes in a connection that a peer has opened.
  func accepted(_ file: Int32, from remote: Endpoint) {
    Sockets.apply(tuned(SocketOptions()), to: file)
    guard let channel = try? Channel(self, file, id: nil, remote: remote, phase: .securing) else { return }
    channel.begin()
  }

  // MARK: what the core asks for

  /// Nanoseconds that may be spent on what the core asks for before connections that wait have their turn.
  private static var longestTurn: Int64 { 5_000_000 }

  /// Carries out what the core asks for; false when it asks for so much that others come first.
  func carryOut() -> Bool {
    let begin = monotonicNow()
    for number in 1...10_000 {
      if number & 31 == 0, monotonicNow() - begin > Self.longestTurn { return false }
      guard let command = core.nextCommand() else { return true }
      switch command {
      case .open(let id, let endpoint, let options): open(id, endpoint, options)
      case .write(let id): channel(id)?.write()
      case .measure(let id):
        if let facts = channel(id)?.facts { core.measured(facts, on: id, at: moment) }
      case .close(let id): channel(id)?.end()
      case .abort(let id): channel(id)?.fail(.requested)
      }
    }
    return false
  }

  func deadlineCame() { core.deadlineReached(at: moment) }

  func descriptorsRanOut() { update { $0.descriptorsRanOut(at: $1) } }

  // MARK: memory

  /// Bytes of storage that a connection keeps between two reads, when they are many: a frame that has not arrived in full.
  func keeps(_ byteCount: Int, _ channel: Channel<Core>) {
    let name = ObjectIdentifier(channel)
    if byteCount > 1 << 16 {
      partial[name] = (channel, byteCount)
      if loop.pool.lentBytes > receiveTotal { dropLargest() }
    } else if !partial.isEmpty {
      partial[name] = nil
    }
  }

  /// All connections together may keep so much of frames that have not arrived in full: the one that keeps most loses its
  /// connection, and its peer sends the frame again on another.
  private func dropLargest() {
    guard let largest = partial.values.max(by: { $0.byteCount < $1.byteCount }) else { return }
    largest.channel.fail(.system(ENOBUFS))
  }

  var deadline: Instant? { core.deadline }

  func callOnTurn() { onTurn?(&core, moment) }

  private func open(_ id: ConnectionID, _ endpoint: Endpoint, _ options: SocketOptions) {
    tap?.opening(id, to: endpoint, at: moment)
    do throws(TransportError) {
      let file = try Sockets.open(for: endpoint)
      Sockets.apply(tuned(options), to: file)
      if let code = Sockets.connect(file, to: endpoint) {
        close(file)
        throw TransportError("connect", code)
      }
      keep(try Channel(self, file, id: id, remote: endpoint, phase: .connecting), id)
    } catch {
      tap?.closed(id, because: Sockets.closeReason(error.code), at: moment)
      core.closed(id, because: Sockets.closeReason(error.code), at: moment)
    }
  }

  private func tuned(_ options: SocketOptions) -> SocketOptions {
    if tunesSockets { return options }
    var plain = SocketOptions()
    plain.retransmitsLinearly = false
    return plain
  }

  private func keep(_ channel: Channel<Core>, _ id: ConnectionID) {
    while channels.count <= Int(id.place) { channels.append(nil) }
    channels[Int(id.place)] = channel
  }

  private func channel(_ id: ConnectionID) -> Channel<Core>? {
    guard Int(id.place) < channels.count, let channel = channels[Int(id.place)], channel.id == id else { return nil }
    return channel
  }
}
