import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMRun
import IMWire

/// Gathers what the page of a live capture shows, in memory that is bounded however long it runs: everything older than the page's
/// window is forgotten, slice by slice. Time is that of packets.
final class PageSink: EngineSink {
  static let needs: EngineOptions.Needs = [.frames, .resolved, .issues, .connections]

  /// The most names of sessions, and attempts that failed, that are kept.
  private static let maximumNames = 65_536, maximumFailures = 256

  let window: PageWindow
  private var plans: [ProtocolPlan]
  private var roles: RoleTable
  /// The slices of the window in which something happened.
  private var slices: [Int64: PageSlice] = [:]
  /// Over time: in steps of a second, which grow with what the window has.
  private(set) var series = TimeBuckets<ReportBucket>()
  /// The metrics of TCP over time, in the same steps.
  private(set) var transport = TimeBuckets<TransportBucket>()
  private(set) var connections = TrackedConnections()
  /// Attempts that failed, the latest ones.
  private(set) var failures: [ConnectionReport] = []
  /// The slice that is running.
  private var running = Int64.min
  private var typeNames: [UInt16: String] = [:]
  private var names: [UInt32: String] = [:]
  private var numbers: [UInt32: UInt64] = [:]
  private var hello = ReportedHello()
  /// When something was sent last on a session.
  private var sessions: [UInt32: Timestamp] = [:]
  /// Whether there were more sessions than are kept.
  private(set) var hasMoreSessions = false
  /// The session of the last frame, which is noted already.
  private var lastSession = UInt32.max, lastNoted = Int64.min

  init(plans: [ProtocolPlan], window: PageWindow) {
    self.plans = plans
    self.window = window
    roles = RoleTable(plans: plans)
  }

  /// When the oldest slice of the window begins.
  var begin: Timestamp { running == .min ? .distantPast : window.begin(of: running - window.count) }

  // MARK: Time

  /// The capture's clock has come this far: what is older than the window is forgotten.
  func advance(to at: Timestamp) {
    let number = window.number(of: at)
    guard number > running else { return }
    running = number
    for key in slices.keys where key < number - window.count { slices[key] = nil }
    series.drop(before: begin)
    transport.drop(before: begin)
    connections.forget(before: begin)
    let oldest = begin
    failures.removeAll { $0.lastSeen < oldest }
    sessions = sessions.filter { $0.value >= oldest }
    lastSession = .max
  }

  /// Changes the slice of a moment; nothing where it is older than the window.
  private func change(_ at: Timestamp, _ body: (inout PageSlice) -> Void) {
    advance(to: at)
    let number = window.number(of: at)
    guard number >= running - window.count else { return }
    body(&slices[number, default: PageSlice()])
  }

  private func changeBucket(_ at: Timestamp, _ body: (inout ReportBucket) -> Void) {
    if at >= begin { series.change(at, body) }
  }

  // MARK: Frames

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let at = frame.timestamp
    advance(to: at)
    let plan = plans[Int(connection.plan)]
    if note.session != .max { met(note.session, plan.hasSession ? frame.session : nil, at) }
    let isBeat = note.isHeartbeat(frame)
    var interval: Nanoseconds?
    let forgotten = connections.carry(connection, at: at) { tracked in
      tracked.info = connection
      tracked.lastSeen = max(tracked.lastSeen, at)
      if note.session != .max { tracked.session = note.session }
      tracked.trail.frame(LadderCollector.step(frame, note, direction, plan), at: at, of: note.exchange)
      guard isBeat else { return }
      let last = tracked.lastBeats[Int(direction.rawValue)]
      tracked.lastBeats[Int(direction.rawValue)] = at
      if last != .distantPast { interval = .microseconds(max(0, at.microseconds - last.microseconds)) }
    }
    guard isBeat || forgotten > 0 else { return }
    change(at) { slice in
      slice.forgotten += forgotten
      if isBeat { slice.heartbeat(at, after: interval, connection.serial) }
    }
    if let interval { changeBucket(at) { $0.heartbeat(after: interval) } }
  }

  private func met(_ session: UInt32, _ number: UInt64?, _ at: Timestamp) {
    // Frames of one session come in a row more often than not.
    guard session != lastSession || at.seconds != lastNoted else { return }
    (lastSession, lastNoted) = (session, at.seconds)
    if let number, numbers[session] == nil, numbers.count < Self.maximumNames { numbers[session] = number }
    if sessions[session] != nil || sessions.count < Self.maximumNames {
      sessions[session] = max(at, sessions[session] ?? at)
    } else {
      hasMoreSessions = true
    }
  }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    change(issue.timestamp) { $0.met(issue, connection.serial) }
    connections.change(connection.serial) { $0.met(issue) }
    if case .gap = issue.details { changeBucket(issue.timestamp) { $0.missing(issue.byteCount) } }
  }

  // MARK: Messages

  func resolved(_ exchange: borrowing Exchange) {
    let exchange = copy exchange
    let role = roles[exchange.plan, exchange.kind]
    change(exchange.firstAt) { $0.resolved(exchange, role) }
    changeBucket(exchange.firstAt) { $0.count(exchange, role, isRevision: exchange.isRevised) }
    connections.change(exchange.connection) { $0.resolved(exchange, role) }
    let key = ReportBucket.key(plan: exchange.plan, kind: exchange.kind)
    if typeNames[key] == nil { typeNames[key] = plans[Int(exchange.plan)].reportName(of: exchange.kind) }
  }

  func named(_ session: UInt32, _ name: String) {
    if names[session] != nil || names.count < Self.maximumNames { names[session] = name }
  }

  func forgotten(_ session: UInt32) {
    names[session] = nil
    numbers[session] = nil
  }

  /// A profile was read again.
  func reloaded(_ plans: [ProtocolPlan]) {
    self.plans = plans
    roles = RoleTable(plans: plans)
    typeNames = [:]
  }

  // MARK: Connections

  func opened(_ connection: ConnectionInfo, _ at: Timestamp) {
    advance(to: at)
    connections.opened(connection.serial, at: at)
    if at >= begin { transport.open(at: at) }
  }

  /// Adds the bytes of packets.
  func add(_ bytes: TimeBuckets<TransportBucket>) {
    transport.add(bytes)
    transport.drop(before: begin)
  }

  func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {
    guard let last = connections.all[previous]?.lastSeen else { return }
    connections.change(connection) { $0.reconnectTime = max(0, time.nanoseconds(since: last) / 1_000) }
  }

  func hello(_ hello: TLSHello, _ connection: ConnectionInfo) { self.hello.note(hello, connection) }

  func connection(_ report: ConnectionReport) {
    guard report.isFinal || report.reason != .open else { return }
    let hello = self.hello.of(report)
    connections.change(report.info.serial) { $0.ended(report, hello) }
    guard report.isFinal else { return }
    transport.count(
      ListedConnection(report, hello: hello), closedAt: report.closedAt, isOpened: true, from: begin)
    change(report.closedAt ?? report.lastSeen) { $0.ended(report) }
    guard report.isFailure else { return }
    if failures.count >= Self.maximumFailures { failures.removeFirst(Self.maximumFailures / 4) }
    failures.append(report)
  }

  // MARK: The whole

  /// All slices of the window as one.
  var whole: PageSlice {
    var sum = PageSlice()
    for number in slices.keys.sorted() { if let slice = slices[number] { sum.add(slice) } }
    return sum
  }

  /// Sessions on which something was sent in the window.
  var sessionCount: UInt64 { UInt64(sessions.count) }

  /// A session's name or number; `nil` where none is known.
  func name(of session: UInt32?) -> String? {
    session.flatMap { session in names[session] ?? numbers[session].map { String($0) } }
  }

  /// The name of the profile that decodes a connection; `nil` where none does.
  func profile(of info: ConnectionInfo) -> String? {
    Int(info.plan) < plans.count ? plans[Int(info.plan)].name : nil
  }

  /// The names of types, with their profile's where several decoded something.
  var namesOfTypes: [UInt16: String] { ReportBucket.names(typeNames, plans) }
}
