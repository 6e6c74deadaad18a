import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMRun
import IMWire

/// Gathers what a report shows beside the figures of `imdump stats`, in one reading of the capture.
final class ReportSink: EngineSink {
  /// The most that is kept of sessions and of connections with problems.
  private static let maximumCount = 65_536
  /// Rows of connections in the report.
  static let maximumRows = 300

  private let plans: [ProtocolPlan]
  private let roles: RoleTable
  private(set) var series = TimeBuckets<ReportBucket>()
  private(set) var transport = TimeBuckets<TransportBucket>()
  private(set) var heartbeats = HeartbeatMarks()
  private(set) var problems = ProblemTable()
  private(set) var losses: (first: Timestamp, last: Timestamp)?
  /// The lost messages that were sent first, with their sessions, and how many there are.
  private var lost: [(message: ReportModel.LostMessage, session: UInt32)] = []
  private var lostCount: UInt64 = 0
  private(set) var ambiguous: UInt64 = 0
  /// The worst message of each connection, and how many of its messages came to as bad an end.
  private var worstOfConnections: [UInt32: (message: ReportModel.WorstMessage, count: UInt64)] = [:]
  /// When the first problem of a connection began.
  private(set) var troubleAt: [UInt32: Timestamp] = [:]
  /// Connections that are over, the worst and the first ones.
  private var rows: [(row: ConnectionRow, session: UInt32?)] = []
  private(set) var connectionCount: UInt64 = 0
  /// Connections with trouble.
  private(set) var troubledCount: UInt64 = 0
  private(set) var sessions = SessionProblems()
  private var typeNames: [UInt16: String] = [:]
  /// By connection and direction, when the last heartbeat came.
  private var lastBeats: [UInt64: Timestamp] = [:]
  private var hello = ReportedHello()
  /// The session of the last frame.
  private var lastSession = UInt32.max

  static let needs: EngineOptions.Needs = [.frames, .finished, .issues, .connections, .lateReports]
  /// What is kept of each connection, in bytes: its session and its name.
  static let costPerConnection = 128

  init(plans: [ProtocolPlan]) {
    self.plans = plans
    roles = RoleTable(plans: plans)
  }

  // MARK: Frames

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    if note.session != lastSession, note.session != .max {
      lastSession = note.session
      if plans[Int(connection.plan)].hasSession { sessions.name(note.session, frame.session) }
    }
    guard note.isHeartbeat(frame) else { return }
    let key = UInt64(connection.serial) << 1 | UInt64(direction.rawValue)
    guard let last = lastBeats[key] else {
      if lastBeats.count < Self.maximumCount { lastBeats[key] = frame.timestamp }
      return
    }
    lastBeats[key] = frame.timestamp
    let interval = Nanoseconds.microseconds(max(0, frame.timestamp.microseconds - last.microseconds))
    heartbeats.add(frame.timestamp, interval, connection.serial)
    series.change(frame.timestamp) { $0.heartbeat(after: interval) }
  }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    problems.met(issue, connection.serial)
    switch issue.details {
    case .gap:
      series.change(issue.timestamp) { $0.missing(issue.byteCount) }
      trouble(connection.serial, issue.timestamp)
    case .checksumMismatch, .resynchronised, .frameCut: trouble(connection.serial, issue.timestamp)
    default: break
    }
  }

  // MARK: Messages

  func named(_ session: UInt32, _ name: String) { sessions.name(session, name) }

  /// Counts a message whose fate is final.
  func finished(_ exchange: borrowing Exchange) {
    let exchange = copy exchange
    let role = roles[exchange.plan, exchange.kind]
    series.change(exchange.firstAt) { $0.count(exchange, role) }
    let key = ReportBucket.key(plan: exchange.plan, kind: exchange.kind)
    if typeNames[key] == nil { typeNames[key] = plans[Int(exchange.plan)].reportName(of: exchange.kind) }
    let serial = exchange.connection
    if role != .heartbeat, exchange.isAnswered, exchange.latency != nil, exchange.repeats > 0 { ambiguous += 1 }
    problems.resolved(exchange, role, serial)
    let isLost = exchange.fate == .unanswered || exchange.fate == .damaged
    if let message = ReportModel.WorstMessage(exchange, role) { note(message, on: serial) }
    if isLost || exchange.fate == .rejected || exchange.repeats > 0 { trouble(serial, exchange.firstAt) }
    if role == .heartbeat, isLost { heartbeats.miss(exchange.firstAt) }
    sessions.met(exchange.session)
    guard role == .message, isLost else { return }
    losses = (
      min(losses?.first ?? exchange.firstAt, exchange.firstAt), max(losses?.last ?? exchange.firstAt, exchange.firstAt)
    )
    sessions.lost(exchange.session, exchange.firstAt, serial)
    lostCount += 1
    let message = ReportModel.LostMessage(
      exchange, type: plans[Int(exchange.plan)].reportName(of: exchange.kind), session: nil)
    lost.append((message, exchange.session))
    if lost.count >= 2 * ReportModel.maximumLost { cutLost() }
  }

  private func note(_ message: ReportModel.WorstMessage, on connection: UInt32) {
    guard var known = worstOfConnections[connection] else {
      if worstOfConnections.count < Self.maximumCount { worstOfConnections[connection] = (message, 1) }
      return
    }
    if message.fate == known.message.fate {
      known.count += 1
    } else if message.fate > known.message.fate {
      known.count = 1
    }
    if message.isWorse(than: known.message) { known.message = message }
    worstOfConnections[connection] = known
  }

  /// The worst message of the connection on which most came to as bad an end; `nil` where all went well.
  var worst: ReportModel.WorstMessage? {
    let all = worstOfConnections.values
    guard let fate = all.map(\.message.fate).max() else { return nil }
    let worst = all.filter { $0.message.fate == fate }
    let most = worst.map(\.count).max()
    return worst.filter { $0.count == most }.map(\.message).min { $0.isWorse(than: $1) }
  }

  private func cutLost() {
    lost.sort { ($0.message.at, $0.message.serial) < ($1.message.at, $1.message.serial) }
    if lost.count > ReportModel.maximumLost { lost.removeLast(lost.count - ReportModel.maximumLost) }
  }

  /// The lost messages that were sent first, with the names of their sessions, and how many are left out.
  func lostMessages() -> (messages: [ReportModel.LostMessage], leftOut: UInt64) {
    cutLost()
    let messages = lost.map { message, session in
      var message = message
      message.session = sessions.name(of: session)
      return message
    }
    return (messages, lostCount - UInt64(messages.count))
  }

  private func trouble(_ serial: UInt32, _ at: Timestamp) {
    if let known = troubleAt[serial] {
      if at < known { troubleAt[serial] = at }
    } else if troubleAt.count < Self.maximumCount {
      troubleAt[serial] = at
    }
  }

  /// The names of types, with their profile's where several decoded something.
  func namesOfTypes() -> [UInt16: String] { ReportBucket.names(typeNames, plans) }

  // MARK: Connections

  func hello(_ hello: TLSHello, _ connection: ConnectionInfo) { self.hello.note(hello, connection) }

  func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    connectionCount += 1
    problems.ended(report)
    if let expected = report.heartbeats?.expected, expected > 0 { heartbeats.promise(expected) }
    sessions.ended(report)
    if report.figures != nil, report.reason == .reset {
      trouble(report.info.serial, report.closedAt ?? report.lastSeen)
    }
    if report.problemScore > 0 { troubledCount += 1 }
    let row = self.row(report)
    if let listed = row.listed { transport.count(listed, closedAt: report.closedAt) }
    rows.append((row, report.session))
    if rows.count > 4 * Self.maximumRows { cut() }
  }

  private func row(_ report: ConnectionReport) -> ConnectionRow {
    let plan = Int(report.info.plan)
    var row = ConnectionRow(
      report, profile: report.figures != nil && plan < plans.count ? plans[plan].name : nil, hello: hello.of(report))
    for way in 0...1 {
      let fates = report.rare.fates[way]
      row.messages += UInt64(fates.units)
      row.lost += UInt64(fates.unanswered) + UInt64(fates.damaged)
      row.unknown += UInt64(fates.unknown)
    }
    row.retries = UInt64(report.rare.retries)
    row.missed = report.heartbeats.map { UInt64($0.missed) }
    row.score = report.problemScore + (report.isFailure ? 1 : 0)
    return row
  }

  private func cut() {
    rows.sort { ($1.row.score, $0.row.serial) < ($0.row.score, $1.row.serial) }
    if rows.count > Self.maximumRows { rows.removeLast(rows.count - Self.maximumRows) }
  }

  /// The rows of connections, the worst first, with the names of their sessions.
  func connectionRows() -> [ConnectionRow] {
    cut()
    return rows.map { row, session in
      var row = row
      row.session = session.flatMap { sessions.name(of: $0) }
      return row
    }
  }
}

extension CloseReason {
  /// How a connection ended, in words.
  var words: String {
    switch self {
    case .open: "open"
    case .fin: "closed (FIN)"
    case .reset: "reset (RST)"
    case .refused: "refused"
    case .timeout: "no answer to SYN"
    case .reused: "ports reused"
    case .evicted: "forgotten"
    }
  }
}

extension ConnectionRow {
  /// A connection that is over, or was open when the capture ended; nothing of its messages is counted yet.
  init(_ report: ConnectionReport, profile: String? = nil, hello: TLSHello? = nil) {
    self.init(
      serial: report.info.serial, client: "\(report.info.client)", server: "\(report.info.server)", profile: profile,
      session: nil, state: report.reason.words, firstSeen: report.firstSeen,
      length: report.end.time(since: report.firstSeen).microseconds)
    gapBytes = report.gapBytes
    retransmissions = UInt64(report.retransmissions)
    listed = ListedConnection(report, hello: hello)
  }
}

extension ProtocolPlan {
  /// The name of the type `kind`, in a table of types.
  func reportName(of kind: UInt8) -> String {
    Int(kind) < typeNames.count ? typeNames[Int(kind)] : "types without a name"
  }
}
