import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMWire

/// A connection of a live capture on which something was decoded, as its page shows it.
struct TrackedConnection {
  /// Who talks.
  var info: ConnectionInfo
  /// When it was seen first, and when its last frame came or it was over.
  let firstSeen: Timestamp
  var lastSeen: Timestamp
  /// The tracker's session; `nil` where none is known.
  var session: UInt32?
  /// What its row counts, since it is known.
  private(set) var messages: UInt64 = 0, lost: UInt64 = 0, unknown: UInt64 = 0, retries: UInt64 = 0
  private(set) var missed: UInt64?
  private(set) var gapBytes: UInt64 = 0
  /// Its `problemScore`.
  private(set) var score: UInt64 = 0
  /// Its frames.
  var trail = LadderTrail()
  /// When the last heartbeat of each direction came.
  var lastBeats: InlineArray<2, Timestamp> = [.distantPast, .distantPast]
  /// Microseconds between the end of its session's connection before and its beginning; `nil` where it is no reconnect.
  var reconnectTime: Int64?
  /// What was told when it was over; `nil` while it is not.
  private(set) var end: ConnectionReport?
  /// Its TLS handshake; `nil` where it is not known.
  private var hello: TLSHello?

  init(_ info: ConnectionInfo, firstSeen: Timestamp) {
    self.info = info
    self.firstSeen = firstSeen
    lastSeen = firstSeen
  }

  /// Counts a message whose fate was decided, or decided anew.
  mutating func resolved(_ exchange: Exchange, _ role: FrameRole) {
    trail.resolved(exchange)
    let isLost = exchange.fate == .unanswered || exchange.fate == .damaged
    if exchange.isRevised {
      let before = exchange.outcome.before
      let wasLost = before == .unanswered || before == .damaged
      switch role {
      case .heartbeat: if wasLost { missed = (missed ?? 0) - min(missed ?? 0, 1) }
      case .message:
        if wasLost { lost -= min(lost, 1) }
        if before == .unknown { unknown -= min(unknown, 1) }
      case .control, .receipt, .acknowledgment, .other: break
      }
      if wasLost { score -= min(score, role == .heartbeat ? 2 : 4) }
      return
    }
    guard role != .heartbeat else {
      missed = (missed ?? 0) + (isLost ? 1 : 0)
      if isLost { trouble(2, exchange.firstAt) }
      return
    }
    if role == .message {
      if exchange.fate != .unacknowledged { messages += 1 }
      if isLost { lost += 1 }
      if exchange.fate == .unknown { unknown += 1 }
      retries += UInt64(exchange.repeats)
    }
    if exchange.repeats > 0 { trouble(UInt64(exchange.repeats), exchange.firstAt) }
    if isLost || exchange.fate == .rejected { trouble(4, exchange.firstAt) }
  }

  /// Counts an issue.
  mutating func met(_ issue: Issue) {
    if let words = LadderCollector.words(of: issue) { trail.note(words, at: issue.timestamp) }
    switch issue.details {
    case .gap:
      gapBytes += issue.byteCount
      trouble(1, issue.timestamp)
    case .checksumMismatch, .resynchronised, .frameCut: trouble(1, issue.timestamp)
    default: break
    }
  }

  /// It is over. A report that comes later knows more.
  mutating func ended(_ report: ConnectionReport, _ hello: TLSHello?) {
    let isFirst = end == nil
    end = report
    self.hello = hello ?? self.hello
    info = report.info
    session = report.session ?? session
    lastSeen = max(lastSeen, report.end)
    if let time = report.rare.reconnectTime { reconnectTime = time.microseconds }
    if isFirst, report.reason == .reset { trouble(1, report.closedAt ?? report.lastSeen) }
  }

  private mutating func trouble(_ points: UInt64, _ at: Timestamp) {
    score += points
    trail.trouble(at)
  }

  /// What the table shows of it.
  func row(_ profile: String?, session: String?) -> ConnectionRow {
    var row = ConnectionRow(
      serial: info.serial, client: "\(info.client)", server: "\(info.server)", profile: profile, session: session,
      state: (end?.reason ?? .open).words, firstSeen: end?.firstSeen ?? firstSeen,
      length: max(0, lastSeen.nanoseconds(since: end?.firstSeen ?? firstSeen) / 1_000))
    (row.messages, row.lost, row.unknown, row.retries, row.missed) = (messages, lost, unknown, retries, missed)
    row.gapBytes = gapBytes
    row.retransmissions = end.map { UInt64($0.retransmissions) }
    row.score = score
    row.listed = end.map { ListedConnection($0, hello: hello) }
    return row
  }

  /// Its ladder.
  func ladder(_ profile: String, session: String?) -> Ladder {
    var ladder = Ladder(
      serial: info.serial, client: "\(info.client)", server: "\(info.server)", profile: profile, session: session,
      firstSeen: end?.firstSeen ?? firstSeen)
    ladder.rows = trail.rows
    (ladder.leftOutBefore, ladder.leftOutBehind) = (trail.before, trail.behind)
    if let end { ladder.close(with: end) }
    return ladder
  }

  /// Its bar in the lane of its session.
  var bar: Lane.Bar {
    Lane.Bar(
      serial: info.serial, from: end?.firstSeen ?? firstSeen, to: max(firstSeen, lastSeen),
      state: (end?.reason ?? .open).words, isBroken: end?.reason == .reset, isFailed: false,
      reconnectTime: reconnectTime)
  }
}
