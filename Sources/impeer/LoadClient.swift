import IMEndpoint
import IMMetrics
import IMWire

/// One client of a load: sends, and follows each message to its end.
///
/// Its process can be killed: then a new core takes its place, which begins with what the one before had kept.
final class LoadClient {
  private(set) var transport: LinuxTransport<ClientCore>
  private let run: LoadRun
  private let number: Int
  private let tls: TLSContext?
  private var configuration: ClientConfiguration
  private var session: SessionID
  private var inbox = Inbox()
  /// When each message was accepted by its core, from the oldest whose fate is open; 0 once it is known.
  private var accepted: [Int64] = []
  private var head = 0
  /// The number of the first of them.
  private var firstOpen: UInt64 = 0
  private var echoes: [Bool] = []
  private var sent: UInt64 = 0
  private var backlog: UInt64 = 0
  private var downSince: Int64?
  private var wasUp = false
  private var log = SentLog()
  private(set) var open = 0
  private(set) var isUp = false
  /// Why the last attempt to connect failed.
  private(set) var lastFailure: DisconnectReason?
  /// What reached this client from the one before it.
  private(set) var arrivals = RingArrivals()
  /// The numbers of messages that failed.
  private(set) var failures: Set<UInt64> = []
  /// What a store would have, and what earlier processes of this client have counted.
  private var kept = ClientState()
  private var earlier = IMEndpoint.EndpointMetrics()
  /// The numbers of messages that the process before left, by their names in this one, which begin with 1; and the number
  /// of the first message after those.
  private var restored: [UInt64] = []
  private var base: UInt64 = 0

  init(_ run: LoadRun, number: Int, _ configuration: ClientConfiguration, tls: TLSContext?) {
    self.run = run
    self.number = number
    self.tls = tls
    self.configuration = configuration
    if run.isRing {
      self.configuration.acknowledges = .manual
      self.configuration.isKept = run.keepsState
      self.configuration.expiry = .seconds(600)
    }
    transport = LinuxTransport(ClientCore(self.configuration), loop: run.loop, tls: tls)
    session = transport.update { $0.addSession(at: $1) }
    setUp()
  }

  private func setUp() {
    transport.tunesSockets = run.tunesSockets
    transport.tap = Taps.joined(run.ledger.map { LedgerTap($0) }, run.reporter?.tap(client: number))
    transport.onTurn = { [unowned self] core, now in turn(&core, now) }
  }

  /// Begins to connect.
  func connect() {
    downSince = downSince ?? transport.loop.now
    transport.update { core, now in try? core.connect(session, at: now) }
  }

  /// Sends what waits and ends the connection.
  func disconnect() {
    transport.update { core, now in try? core.disconnect(session, at: now) }
  }

  /// What this client has counted, in all its processes.
  var metrics: IMEndpoint.EndpointMetrics {
    var all = earlier
    all.add(transport.core.metrics)
    return all
  }

  /// Messages that it has sent.
  var count: UInt64 { sent }

  // MARK: killing

  /// Resets all its connections.
  func killConnections() {
    run.tally.connectionKills += 1
    transport.drop(because: .reset)
  }

  /// Ends its process, as SIGKILL would, and starts the next one: what was not kept is gone.
  func killProcess() {
    run.tally.processKills += 1
    transport.update { core, now in turn(&core, now) }
    transport.drop(because: .reset)
    earlier = metrics
    transport.shutDown()
    if isUp { downSince = transport.loop.now }
    isUp = false
    configuration.seed = configuration.seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    transport = LinuxTransport(ClientCore(configuration), loop: run.loop, tls: tls)
    session = transport.update { $0.addSession(at: $1) }
    restored = transport.update { core, now in
      core.restore(kept, in: session, at: now).map { Mark(in: $0.message.body[...])?.number ?? .max }
    }
    base = sent
    setUp()
    try? transport.watchPath(to: configuration.server)
    connect()
  }

  // MARK: sending

  /// Queues so many bytes of low priority.
  func fill(_ bytes: Int) {
    transport.update { core, now in
      for _ in 0..<bytes / MessageMaker.backlogSize {
        let body = MessageMaker.backlogBody(client: number, number: sent)
        guard send(body, .normal, .low, &core, now) else { return }
        backlog = sent
      }
    }
  }

  /// Sends one message; false when the queue is full.
  func send() -> Bool {
    transport.update { core, now in send(&core, now) }
  }

  private func send(_ core: inout ClientCore, _ now: Instant) -> Bool {
    let (body, category) = run.maker.body(client: number, number: sent)
    return send(body, category, run.priority, &core, now)
  }

  private func send(
    _ body: [UInt8], _ category: SequenceCategory, _ priority: Priority, _ core: inout ClientCore, _ now: Instant
  ) -> Bool {
    if run.isRing {
      // As an application sends it: with its place in the order, and kept until it is accepted.
      guard var message = try? Message(decoding: body) else { return false }
      message.recipient = run.name(of: run.next(after: number))
      guard (try? core.send(message, priority: priority, in: session, at: now)) != nil else { return false }
    } else {
      guard (try? core.send(body: body, category: category, priority: priority, in: session, at: now)) != nil else {
        return false
      }
    }
    accepted.append(now.nanoseconds)
    sent += 1
    open += 1
    run.tally.sent += 1
    return true
  }

  /// The number of a message by its name in the core of now.
  private func number(of id: MessageID) -> UInt64? {
    guard id.rawValue > 0 else { return nil }
    let place = id.rawValue - 1
    let known = UInt64(restored.count)
    return place < known ? restored[Int(place)] : base + (place - known)
  }

  // MARK: what happens

  private func turn(_ core: inout ClientCore, _ now: Instant) {
    core.take(&inbox)
    for event in inbox.events {
      switch event {
      case .progress(let id, _, let state):
        guard let number = number(of: id) else { break }
        if let reporter = run.reporter {
          log.note(MessageID(rawValue: number + 1), state, by: self.number, reporter, at: now)
        }
        progress(number, state, now)
      case .message(let message):
        if run.isRing { arrived(message, &core, now) } else { came(message) }
      case .connection(_, let state, _, let reason):
        // The end of the run is no failure.
        if let reason, reason != .requested { lastFailure = reason }
        connection(state, now)
      case .handshake(_, .refused): run.tally.refused += 1
      case .damaged: run.tally.damaged += 1
      default: break
      }
    }
    if run.isRing {
      core.confirmTaken(at: now)
      for operation in core.takeOperations() { kept.apply(operation) }
    }
    if let reporter = run.reporter {
      var all = earlier
      all.add(core.metrics)
      log.note(all, by: number, reporter, at: now)
    }
    guard let window = run.window, run.isSending, isUp else { return }
    while open < window { if !send(&core, now) { break } }
  }

  private func progress(_ number: UInt64, _ state: MessageState, _ now: Instant) {
    switch state {
    case .accepted, .delivered, .read, .failed, .cancelled: break
    case .created, .sending, .sent, .retrying: return
    }
    if run.isRing, state == .delivered || state == .read, !run.hasArrived(number, from: self.number) {
      run.differences.deliveredEarly += 1
    }
    guard number >= firstOpen else { return }
    let place = head + Int(number - firstOpen)
    guard place < accepted.count, accepted[place] > 0 else { return }
    let began = accepted[place]
    accepted[place] = 0
    open -= 1
    if state == .failed || state == .cancelled {
      run.tally.failed += 1
      if run.isRing { failures.insert(number) }
    } else if number < backlog {
      run.tally.delivered += 1
      run.tally.backlogDelivered += 1
    } else {
      run.tally.delivered(after: now.nanoseconds - began)
    }
    while head < accepted.count, accepted[head] == 0 {
      head += 1
      firstOpen += 1
    }
    if head > 4_096, head * 2 > accepted.count {
      accepted.removeFirst(head)
      head = 0
    }
  }

  /// Whether a message has no fate yet.
  func isOpen(_ number: UInt64) -> Bool {
    guard number >= firstOpen else { return false }
    let place = head + Int(number - firstOpen)
    return place < accepted.count && accepted[place] > 0
  }

  /// A message that the server sent back: its mark says which.
  private func came(_ message: ReceivedMessage) {
    guard let mark = Mark(in: inbox.body(of: message)), mark.client == number, mark.number < sent else { return }
    let place = Int(mark.number)
    while echoes.count <= place { echoes.append(false) }
    if echoes[place] { run.tally.echoedTwice += 1 } else { run.tally.echoed += 1 }
    echoes[place] = true
  }

  /// A message of the client before this one: it is noted, then its sender is told.
  private func arrived(_ message: ReceivedMessage, _ core: inout ClientCore, _ now: Instant) {
    if let mark = Mark(in: inbox.body(of: message)), run.next(after: mark.client) == number {
      arrivals.add(
        mark.number, lane: UInt8(truncatingIfNeeded: (message.origin?.number ?? 0) >> 56), isLate: message.isLate)
    } else {
      arrivals.strange += 1
    }
    core.acknowledge(message.sequence, in: session, at: now)
  }

  private func connection(_ state: ConnectionState, _ now: Instant) {
    isUp = state == .connected
    if isUp, let since = downSince {
      let taken = (now.nanoseconds - since) / 1_000
      if wasUp {
        run.tally.reconnecting.record(microseconds: taken)
        run.reporter?.returned(number, at: now)
      } else {
        run.tally.connecting.record(microseconds: taken)
      }
      downSince = nil
      wasUp = true
    } else if !isUp, downSince == nil {
      downSince = now.nanoseconds
    }
  }
}
