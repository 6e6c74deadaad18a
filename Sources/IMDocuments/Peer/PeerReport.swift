package import IMAlerts
package import IMEngine
import IMMetrics
import IMOutput
package import IMWire

/// What an endpoint tells of itself: documents of its minutes, and alerts, by the rules that are held against captures.
///
/// It knows what became of its messages and needs no packets to find out, so there is nothing in its documents of captures, and
/// `connection` in a rule is one client. Fates are those of the messages that this end sent.
package final class PeerReport {
  /// Which end it is.
  package enum Role: String, Sendable {
    case client, server
  }

  /// Gives what the endpoint has counted so far, by the article's names; times in seconds.
  package var counted: () -> [String: Double] = { [:] }
  /// Alerts that fired, and those that are resolved.
  package var alertFigures: AlertMetrics { monitor?.figures ?? AlertMetrics() }

  private let role: Role
  private let server: Endpoint
  private let writer: ECSWriter
  private let monitor: AlertMonitor?
  private let write: (UnsafeRawBufferPointer) -> Void
  private let kinds: (message: UInt8, heartbeat: UInt8)
  private var lines = JSONLines()
  private var clock = PeriodClock()
  private var metrics = PeriodMetrics()
  /// Periods that are over and not yet written.
  private var ended: [(period: Period, metrics: PeriodMetrics)] = []
  private var before: [String: Double] = [:]
  private var clients: [UInt32: ConnectionInfo] = [:]
  private var lastID: UInt32 = 0
  /// Messages whose fate is open.
  private var open = 0

  /// A report on what is said with the server at `server` by the protocol of `plan`. Lines of documents are handed to `write`,
  /// alerts to `tell`, too.
  package init(
    _ role: Role, server: Endpoint, plan: ProtocolPlan, rules: [AlertRule], context: ECSContext,
    write: @escaping (UnsafeRawBufferPointer) -> Void, tell: @escaping (AlertEvent) -> Void
  ) {
    self.role = role
    self.server = server
    self.write = write
    let writer = ECSWriter(context: context, options: ECSOptions(), plans: [plan])
    self.writer = writer
    func kind(_ role: FrameRole) -> UInt8 { UInt8(plan.typeRoles.firstIndex { $0 == role } ?? 255) }
    kinds = (kind(.message), kind(.heartbeat))
    monitor =
      rules.isEmpty
      ? nil
      : AlertMonitor(rules: rules, plans: [plan]) { event in
        var lines = JSONLines()
        if writer.alert(event, &lines) { lines.writer.withBytes(write) }
        tell(event)
      }
  }

  // MARK: State

  /// Resumes the counters and alerts of an earlier run, before the first event, at `time`; `old` are the rules of `snapshot.text`. The counters of a
  /// connection go on if the client has the same address and port.
  package func resume(_ snapshot: AlertSnapshot, rules old: [AlertRule], at time: Timestamp) -> RuleChanges {
    monitor?.resume(snapshot, rules: old, watchedFrom: time) ?? RuleChanges()
  }

  /// The counters and alerts of the rules so far; `text` is the text of the rules file. `nil` if nothing was counted.
  package func snapshot(text: String) -> AlertSnapshot? { monitor?.snapshot(text: text) }

  /// The firing alerts.
  package var firing: [AlertEvent] { monitor?.firing ?? [] }

  // MARK: connections

  /// A connection of the client with this number is being opened.
  package func opening(at time: Timestamp) {
    tick(time)
    metrics.tried()
  }

  /// A connection came about; `wasAsked` where this end opened it.
  package func opened(_ client: UInt32, from address: Endpoint, wasAsked: Bool, at time: Timestamp) {
    tick(time)
    var info = ConnectionInfo(told: client, client: address, server: server)
    if let known = clients[client] { info.client = known.client } else { clients[client] = info }
    if !wasAsked { metrics.tried() }
    metrics.opened()
    monitor?.attempted(info, hasSucceeded: true, at: time)
  }

  /// A connection is gone, or did not come about.
  package func closed(_ client: UInt32, hadComeAbout: Bool, because reason: CloseReason, at time: Timestamp) {
    tick(time)
    if hadComeAbout {
      metrics.closed(isReset: reason == .reset)
      // Each connection of a server is a client of its own.
      if role == .server { clients[client] = nil }
    } else {
      switch reason {
      case .refused: metrics.failed(isRefused: true)
      case .requested: metrics.withdrawn()
      case .timedOut, .reset, .other: metrics.failed(isRefused: false)
      }
      if reason != .requested { monitor?.attempted(info(client), hasSucceeded: false, at: time) }
    }
  }

  /// Why a connection is gone, as far as it is told apart.
  package enum CloseReason: Sendable {
    /// The other end reset it; nobody listens there; nothing came back; this end wanted it no more; anything else.
    case reset, refused, timedOut, requested, other
  }

  /// A client whose connections were all lost has one again.
  package func returned(_ client: UInt32, at time: Timestamp) {
    tick(time)
    metrics.returned()
    monitor?.returned(info(client), at: time)
  }

  /// Bytes went to the server or came from it.
  package func passed(_ byteCount: Int, _ direction: Direction, at time: Timestamp) {
    tick(time)
    metrics.passed(byteCount, direction)
  }

  // MARK: messages

  /// A message was sent for the first time. - Returns: its name, for `resolved`.
  package func sent(by client: UInt32, at time: Timestamp) -> UInt32 {
    tick(time)
    lastID &+= 1
    open += 1
    monitor?.sent(lastID, of: info(client), at: time)
    return lastID
  }

  /// What became of a message that was sent `copies` times from `sentAt` on is known.
  package func resolved(
    _ id: UInt32, by client: UInt32, isAnswered: Bool, copies: Int, sentAt: Timestamp, at time: Timestamp
  ) {
    tick(time)
    open -= 1
    let fate: Fate = !isAnswered ? .unanswered : copies > 1 ? .ackedAfterRetry : .acked
    tell(exchange(fate, kinds.message, id, client, copies, sentAt, time), role: .message, at: time)
  }

  /// A heartbeat was sent.
  package func beat(at time: Timestamp) {
    tick(time)
    metrics.beat()
  }

  /// A heartbeat was answered, or its answer is overdue.
  package func beatSettled(by client: UInt32, isAnswered: Bool, roundTrip: Int64?, at time: Timestamp) {
    tick(time)
    let sentAt = time.advanced(by: -(roundTrip ?? 0))
    lastID &+= 1
    let copies = roundTrip == nil ? 2 : 1
    tell(
      exchange(isAnswered ? .acked : .unanswered, kinds.heartbeat, lastID, client, copies, sentAt, time),
      role: .heartbeat, at: time)
  }

  private func exchange(
    _ fate: Fate, _ kind: UInt8, _ id: UInt32, _ client: UInt32, _ copies: Int, _ sentAt: Timestamp, _ time: Timestamp
  ) -> Exchange {
    Exchange(
      told: fate, role: kind, direction: role == .client ? .clientToServer : .serverToClient, id: id,
      connection: client, sentAt: sentAt, decidedAt: time, copies: copies)
  }

  private func tell(_ exchange: Exchange, role: FrameRole, at time: Timestamp) {
    metrics.resolved(exchange, role: role, elsewhere: false)
    monitor?.told(exchange, of: info(exchange.connection), at: time)
  }

  private func info(_ client: UInt32) -> ConnectionInfo {
    clients[client]
      ?? ConnectionInfo(told: client, client: server, server: server)
  }

  // MARK: time

  /// Time goes on: minutes that have ended are written, and silence is noticed. Whoever tells of events calls this too,
  /// outside of what `counted` reads.
  package func advance(to time: Timestamp) {
    tick(time)
    writeEnded()
  }

  /// Writes the last document and evaluates the rules once more. If their state is kept, unfinished evaluations are left to the next run.
  package func finish(at time: Timestamp, keepsState: Bool = false) {
    tick(time)
    if keepsState {
      monitor?.suspend(at: time)
    } else {
      monitor?.finish(at: time)
      monitor?.end()
    }
    for _ in 0..<max(0, open) {
      metrics.resolved(exchange(.pending, kinds.message, 0, 0, 1, time, time), role: .message, elsewhere: false)
    }
    if let period = clock.finish() { end(period) }
    writeEnded()
  }

  @inline(__always)
  private func tick(_ time: Timestamp) {
    guard let period = clock.advance(to: time) else { return }
    end(period)
    monitor?.advance(to: time)
  }

  /// Events tell that a period is over while their core is at work: its counters are read later.
  private func end(_ period: Period) {
    ended.append((period, metrics))
    metrics.begin()
  }

  /// Writes the periods that are over; what the core counted is told with the last of them.
  private func writeEnded() {
    guard !ended.isEmpty else { return }
    let now = counted()
    for (index, (period, metrics)) in ended.enumerated() {
      let then = index == ended.count - 1 ? now : before
      if writer.peerSummary(role, server, metrics, then, since: before, period, &lines) {
        lines.writer.withBytes(write)
      }
      lines.writer.removeAll()
      before = then
    }
    ended.removeAll(keepingCapacity: true)
  }
}
