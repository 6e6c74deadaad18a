import IMEndpoint
import IMMetrics
import IMWire

/// What all clients of a load have come to.
struct LoadTally {
  var sent: UInt64 = 0
  var delivered: UInt64 = 0
  var failed: UInt64 = 0
  var echoed: UInt64 = 0
  var echoedTwice: UInt64 = 0
  var refused: UInt64 = 0
  var damaged: UInt64 = 0
  /// Delivered within 5, 10 and 30 seconds.
  var within = [UInt64](repeating: 0, count: LoadTally.limits.count)
  var latency = RTTHistogram()
  var connecting = RTTHistogram()
  var reconnecting = RTTHistogram()

  /// Seconds.
  static let limits: [Int64] = [5, 10, 30]

  /// Messages whose fate is open.
  var open: UInt64 { sent - delivered - failed }

  mutating func delivered(after nanoseconds: Int64) {
    delivered += 1
    latency.record(microseconds: nanoseconds / 1_000)
    for (place, limit) in Self.limits.enumerated() where nanoseconds <= limit * 1_000_000_000 { within[place] += 1 }
  }
}

/// One client of a load: sends, and follows each message to its end.
final class LoadClient {
  let transport: LinuxTransport<ClientCore>
  private let run: LoadRun
  private let number: Int
  private var session: SessionID
  private var inbox = Inbox()
  /// When each message was accepted, from the oldest whose fate is open; 0 once it is known.
  private var accepted: [Int64] = []
  private var head = 0
  private var firstID: UInt64 = 1
  private var echoes: [Bool] = []
  private var sent: UInt64 = 0
  private var downSince: Int64?
  private var wasUp = false
  private var log = SentLog()
  private(set) var open = 0
  private(set) var isUp = false
  /// Why the last attempt to connect failed.
  private(set) var lastFailure: DisconnectReason?

  init(_ run: LoadRun, number: Int, _ configuration: ClientConfiguration, tls: TLSContext?) {
    self.run = run
    self.number = number
    transport = LinuxTransport(ClientCore(configuration), loop: run.loop, tls: tls)
    transport.tunesSockets = run.tunesSockets
    session = transport.update { $0.addSession(at: $1) }
    transport.tap = Taps.joined(run.ledger.map { LedgerTap($0) }, run.reporter?.tap(client: number))
    transport.onTurn = { [unowned self] core, now in turn(&core, now) }
  }

  /// Begins to connect.
  func connect() {
    downSince = transport.loop.now
    transport.update { core, now in try? core.connect(session, at: now) }
  }

  /// Sends what waits and ends the connection.
  func disconnect() {
    transport.update { core, now in try? core.disconnect(session, at: now) }
  }

  /// Sends one message; false when the queue is full.
  func send() -> Bool {
    transport.update { core, now in send(&core, now) }
  }

  private func send(_ core: inout ClientCore, _ now: Moment) -> Bool {
    let (body, category) = run.maker.body(client: number, number: sent)
    guard (try? core.send(body: body, category: category, in: session, at: now)) != nil else { return false }
    accepted.append(now.nanoseconds)
    sent += 1
    open += 1
    run.tally.sent += 1
    return true
  }

  private func turn(_ core: inout ClientCore, _ now: Moment) {
    core.take(&inbox)
    for event in inbox.events {
      switch event {
      case .progress(let id, _, let state):
        if let reporter = run.reporter { log.note(id, state, by: number, reporter, at: now) }
        progress(id, state, now)
      case .message(let message): came(message)
      case .connection(_, let state, _, let reason):
        // The end of the run is no failure.
        if let reason, reason != .requested { lastFailure = reason }
        connection(state, now)
      case .handshake(_, .refused): run.tally.refused += 1
      case .damaged: run.tally.damaged += 1
      default: break
      }
    }
    if let reporter = run.reporter { log.note(core.metrics, by: number, reporter, at: now) }
    guard let window = run.window, run.isSending, isUp else { return }
    while open < window { if !send(&core, now) { break } }
  }

  private func progress(_ id: MessageID, _ state: MessageState, _ now: Moment) {
    switch state {
    case .accepted, .delivered, .read, .failed, .cancelled: break
    case .created, .sending, .sent, .retrying: return
    }
    guard id.rawValue >= firstID else { return }
    let place = head + Int(id.rawValue - firstID)
    guard place < accepted.count, accepted[place] > 0 else { return }
    let began = accepted[place]
    accepted[place] = 0
    open -= 1
    if state == .failed || state == .cancelled {
      run.tally.failed += 1
    } else {
      run.tally.delivered(after: now.nanoseconds - began)
    }
    while head < accepted.count, accepted[head] == 0 {
      head += 1
      firstID += 1
    }
    if head > 4_096, head * 2 > accepted.count {
      accepted.removeFirst(head)
      head = 0
    }
  }

  /// A message that the server sent back: its mark says which.
  private func came(_ message: ReceivedMessage) {
    guard let mark = Mark(in: inbox.body(of: message)), mark.client == number, mark.number < sent else { return }
    let place = Int(mark.number)
    while echoes.count <= place { echoes.append(false) }
    if echoes[place] { run.tally.echoedTwice += 1 } else { run.tally.echoed += 1 }
    echoes[place] = true
  }

  private func connection(_ state: ConnectionState, _ now: Moment) {
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
