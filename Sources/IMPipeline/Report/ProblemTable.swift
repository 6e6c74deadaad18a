import IMEngine
import IMMetrics
import IMReport
import IMWire

/// What was not as it should be, by kind: how often, when first, and where.
struct ProblemTable {
  /// A kind of problem.
  private struct Key: Hashable {
    var kind: String
    var subject: String
    var cause = ""
  }

  /// What is known of one.
  private struct Occurrences {
    var count: UInt64 = 0
    var first = Timestamp.distantFuture
    var serials: [UInt32] = []

    mutating func add(_ at: Timestamp, _ serial: UInt32) {
      count += 1
      first = min(first, at)
      if serials.count < 64, !serials.contains(serial) { serials.append(serial) }
    }

    mutating func add(_ other: Occurrences) {
      count += other.count
      first = min(first, other.first)
      serials += other.serials.filter { !serials.contains($0) }.prefix(max(0, 64 - serials.count))
    }
  }

  private var fates: [Key: (severity: Problem.Severity, occurrences: Occurrences)] = [:]
  private var issues: [IssueKind: Occurrences] = [:]
  private var gaps: [GapReason: Occurrences] = [:]

  /// Counts an issue that the engine finds in the packets.
  mutating func met(_ issue: Issue, _ serial: UInt32) {
    issues[issue.kind, default: Occurrences()].add(issue.timestamp, serial)
    if case .gap(let reason) = issue.details { gaps[reason, default: Occurrences()].add(issue.timestamp, serial) }
  }

  private mutating func add(_ key: Key, _ severity: Problem.Severity, _ at: Timestamp, _ serial: UInt32) {
    fates[key, default: (severity, Occurrences())].occurrences.add(at, serial)
  }

  /// Counts a message whose fate is final.
  mutating func resolved(_ exchange: Exchange, _ role: FrameRole, _ serial: UInt32) {
    let subject = Self.subject(role)
    let key = Key(kind: exchange.fate.name, subject: subject, cause: exchange.cause?.name ?? "")
    switch exchange.fate {
    case .unanswered, .damaged: add(key, role == .message ? .error : .warning, exchange.firstAt, serial)
    case .rejected, .unknown: add(key, .warning, exchange.firstAt, serial)
    case .ackedAfterRetry: add(key, .note, exchange.firstAt, serial)
    case .pending: add(key, .note, exchange.firstAt, serial)
    case .acked, .unacknowledged: break
    }
    if exchange.flags.contains(.late) {
      add(Key(kind: "late_ack", subject: subject), .warning, exchange.firstAt, serial)
    }
  }

  /// Counts a message whose fate was decided, or decided anew: what it was before is no problem any more.
  mutating func decided(_ exchange: Exchange, _ role: FrameRole, _ serial: UInt32) {
    resolved(exchange, role, serial)
    guard exchange.isRevised else { return }
    let (before, cause) = (exchange.outcome.before, exchange.outcome.causeBefore)
    let key = Key(kind: before.name, subject: Self.subject(role), cause: cause?.name ?? "")
    guard let known = fates[key]?.occurrences.count else { return }
    fates[key]?.occurrences.count = known - 1
    if known == 1 { fates[key] = nil }
  }

  private static func subject(_ role: FrameRole) -> String {
    switch role {
    case .message: "message"
    case .heartbeat: "heartbeat"
    case .control, .receipt, .acknowledgment, .other: "control frame or receipt"
    }
  }

  /// Adds what another book has, which is of a later time.
  mutating func add(_ other: ProblemTable) {
    for (key, value) in other.fates {
      fates[key, default: (value.severity, Occurrences())].occurrences.add(value.occurrences)
    }
    for (kind, value) in other.issues { issues[kind, default: Occurrences()].add(value) }
    for (reason, value) in other.gaps { gaps[reason, default: Occurrences()].add(value) }
  }

  /// Counts what a connection's last report says.
  mutating func ended(_ report: ConnectionReport) {
    let serial = report.info.serial
    if report.isFailure {
      let kind = report.reason == .refused ? "refused" : "timeout"
      add(Key(kind: kind, subject: "connection attempt", cause: "network"), .error, report.firstSeen, serial)
    }
    if report.figures != nil, report.reason == .reset {
      add(Key(kind: "rst", subject: "connection"), .warning, report.closedAt ?? report.lastSeen, serial)
    }
    if report.figures != nil, report.rare.isReconnect {
      add(Key(kind: "reconnect", subject: "session"), .note, report.firstSeen, serial)
    }
  }

  /// The problems, the severest first and of these the most frequent. Counts of issues are those of `summary`.
  func problems(_ summary: Summary) -> [Problem] {
    var all = fates.map { key, value in
      Problem(
        severity: value.severity, kind: key.kind, subject: key.subject, cause: key.cause,
        count: value.occurrences.count,
        first: value.occurrences.first, serials: value.occurrences.serials)
    }
    for kind in IssueKind.allCases {
      // Fates tell these, and gaps are told by their reasons.
      guard kind != .unanswered, kind != .lateAck, kind != .heartbeatMissed, kind != .gap else { continue }
      let count = summary.ledger.issues[Int(kind.rawValue)]
      guard count > 0 else { continue }
      let seen = issues[kind]
      all.append(
        Problem(
          severity: kind.isWarning ? .warning : .note, kind: kind.name, subject: kind.subject, count: count,
          first: seen?.first, serials: seen?.serials ?? []))
    }
    for reason in GapReason.allCases {
      let count = summary.reassembly.gaps[Int(reason.rawValue)]
      guard count > 0 else { continue }
      let seen = gaps[reason]
      all.append(
        Problem(
          severity: .warning, kind: "gap", subject: "stream", cause: reason.name, count: count, first: seen?.first,
          serials: seen?.serials ?? []))
    }
    let again = summary.reassembly.retransmissions
    if again > 0 {
      all.append(
        Problem(severity: .note, kind: "retransmission", subject: "TCP segment", cause: "network", count: again))
    }
    for eviction in Eviction.allCases where summary.ledger.evicted[eviction] > 0 {
      all.append(
        Problem(
          severity: .warning, kind: "forgotten", subject: eviction.text, cause: eviction.option,
          count: summary.ledger.evicted[eviction]))
    }
    return all.sorted {
      ($0.severity.rawValue, $1.count, $0.kind, $0.subject, $0.cause) < (
        $1.severity.rawValue, $0.count, $1.kind, $1.subject, $1.cause
      )
    }
  }
}

extension IssueKind {
  /// What it happens to.
  fileprivate var subject: String {
    switch self {
    case .resynchronised, .gap, .inconsistentRetransmission, .notInflated: "stream"
    case .ignoredReset, .outOfWindow: "TCP segment"
    case .proxyHeader, .webSocketFrame, .webSocketMask: "carrier"
    case .orphanAck, .lateAck, .unanswered, .heartbeatMissed: "answer"
    case .checksumMismatch, .frameCut, .unsupportedVersion, .incompleteTag, .incompleteLength, .incompleteValue,
      .tlvLimit,
      .nestedTooDeep, .duplicateTag, .compressLabelOnly, .inflateLimit, .malformedBody, .unknownType, .timestampWindow:
      "frame"
    }
  }

  /// Whether something was lost by it, or may have been.
  fileprivate var isWarning: Bool {
    switch self {
    case .checksumMismatch, .resynchronised, .frameCut, .inconsistentRetransmission, .unsupportedVersion, .notInflated,
      .proxyHeader, .webSocketFrame, .webSocketMask, .malformedBody, .incompleteTag, .incompleteLength,
      .incompleteValue:
      true
    default: false
    }
  }
}
