import IMEngine
import IMOutput
import IMReport
import IMRun
import IMWire

/// Which frames of a connection a ladder has.
struct LadderPlan {
  /// The moment that matters: rows begin shortly before it; `nil` for the first frame.
  var from: Timestamp?
  /// Only what happened in this range; `nil` for all.
  var range: TimeRange?
  /// Only frames of these exchanges; `nil` for all.
  var exchanges: Set<UInt32>?
  /// At most so many rows; of these, so many in front of `from`.
  var limit = 1_000, lead = 12
}

/// The ladder of one connection as it grows.
struct LadderCollector {
  private let plan: LadderPlan
  private var rows: [Ladder.Row] = []
  /// Rows that were dropped from the beginning: places count from the first row that there was.
  private var dropped = 0
  /// By exchange, the place of its first copy, which lacks its fate, and when its last copy came.
  private var open: [UInt32: (place: Int, lastCopy: Timestamp)] = [:]
  private var before: UInt64 = 0, behind: UInt64 = 0
  /// The number and the session of the first frame.
  private var session: String?
  private var info: ConnectionInfo?
  /// The connection's last report, and the name of its session then.
  private var last: (report: ConnectionReport, profile: String, name: String?)?

  init(_ plan: LadderPlan) { self.plan = plan }

  mutating func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan,
    session name: String?
  ) {
    if info == nil { info = connection }
    if session == nil { session = plan.hasSession ? String(frame.session) : name }
    if let range = self.plan.range, !range.contains(frame.timestamp) { return }
    if let wanted = self.plan.exchanges, !wanted.contains(note.exchange) { return }
    var step = Self.step(frame, note, direction, plan)
    let place = dropped + rows.count
    if note.exchange != .max, !note.isAck {
      if note.copy > 1 {
        step.sinceCopy = open[note.exchange].map { frame.timestamp.nanoseconds(since: $0.lastCopy) / 1_000 }
        open[note.exchange]?.lastCopy = frame.timestamp
      } else if note.copy == 1 {
        open[note.exchange] = (place, frame.timestamp)
      }
    }
    append(Ladder.Row(at: frame.timestamp, event: .step(step)), isFrame: true)
  }

  /// A frame as a row, with what is known of it when it comes.
  static func step(_ frame: Frame, _ note: FrameNote, _ direction: Direction, _ plan: ProtocolPlan) -> Ladder.Step {
    let index = Int(frame.kind.pointee.index)
    let number = note.ackOf ?? (frame.flags.contains(.sequence) ? frame.sequence : nil)
    var facts: Ladder.Facts = []
    if note.isAck { facts.insert(.answer) }
    if note.isRetry { facts.insert(.retry) }
    if note.isDuplicate { facts.insert(.duplicate) }
    if note.isDupAck { facts.insert(.repeatedAnswer) }
    if note.isOrphan { facts.insert(.orphan) }
    if frame.checksumStatus == .bad { facts.insert(.damaged) }
    if frame.kind.pointee.role == .heartbeat { facts.insert(.heartbeat) }
    let type = index < plan.typeNames.count ? plan.typeNames[index] : "type_\(frame.type)"
    return Ladder.Step(
      label: type + (number.map { " \($0)" } ?? ""), sequence: number,
      isFromClient: direction == .clientToServer, facts: facts, copy: note.isAck ? 0 : note.copy,
      latency: note.latency, roundTrip: note.roundTrip, exchange: note.exchange == .max ? nil : note.exchange,
      packet: frame.number)
  }

  /// Answers that had come out before their message were found to be its own.
  mutating func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    guard let place = open[exchange]?.place, rows.indices.contains(place - dropped),
      case .step(let message) = rows[place - dropped].event
    else { return }
    let sentAt = rows[place - dropped].at
    var isFirst = true
    for time in times {
      let found = rows.lastIndex { row in
        guard row.at == time, case .step(let step) = row.event else { return false }
        return step.facts.contains(.orphan) && step.sequence == message.sequence
      }
      guard let found, case .step(var answer) = rows[found].event else { continue }
      answer.facts.remove(.orphan)
      if isFirst {
        answer.latency = .microseconds(time.microseconds - sentAt.microseconds)
        answer.roundTrip = answer.latency.flatMap { $0 >= .zero ? $0 : nil }
      } else {
        answer.facts.insert(.repeatedAnswer)
      }
      isFirst = false
      rows[found].event = .step(answer)
    }
  }

  mutating func finished(_ exchange: borrowing Exchange) {
    guard let (place, _) = open.removeValue(forKey: exchange.id) else { return }
    let index = place - dropped
    guard rows.indices.contains(index), case .step(var step) = rows[index].event else { return }
    step.fate = exchange.fate
    step.cause = exchange.cause
    if exchange.flags.contains(.late) { step.facts.insert(.late) }
    rows[index].event = .step(step)
  }

  mutating func issue(_ issue: Issue) {
    if let range = plan.range, !range.contains(issue.timestamp) { return }
    guard plan.exchanges == nil, let words = Self.words(of: issue) else { return }
    append(Ladder.Row(at: issue.timestamp, event: .note(words, isTrouble: true)), isFrame: false)
  }

  /// What a ladder says of an issue; `nil` where its frame says it already.
  static func words(of issue: Issue) -> String? {
    switch issue.details {
    case .gap(let reason):
      let side = issue.direction == .clientToServer ? "client" : "server"
      return "\(count(issue.byteCount, "byte")) of the \(side) missing (\(reason.name))"
    case .resynchronised: return "\(count(issue.byteCount, "byte")) that are not a frame"
    case .frameCut: return "a frame was cut"
    case .unsupportedVersion: return "a frame of an unsupported version"
    case .proxyHeader, .webSocketFrame, .notInflated, .webSocketMask: return issue.kind.name
    default: return nil
    }
  }

  /// Takes the row, where there is room for it.
  private mutating func append(_ row: Ladder.Row, isFrame: Bool) {
    if let from = plan.from, row.at < from {
      rows.append(row)
      if rows.count > plan.lead {
        if case .step = rows.removeFirst().event { before += 1 }
        dropped += 1
      }
      return
    }
    guard rows.count < plan.limit else {
      if isFrame { behind += 1 }
      return
    }
    rows.append(row)
  }

  /// Takes the connection's last report. Fates may be decided behind it.
  mutating func ended(_ report: ConnectionReport, _ plans: [ProtocolPlan], name: String?) {
    let plan = Int((info ?? report.info).plan)
    last = (report, plan < plans.count ? plans[plan].name : "not decoded", name)
  }

  /// The ladder; `nil` where the connection was not there. To be asked for at the end of the run.
  var ladder: Ladder? {
    guard let (report, profile, name) = last else { return nil }
    let info = self.info ?? report.info
    var ladder = Ladder(
      serial: info.serial, client: "\(info.client)", server: "\(info.server)", profile: profile,
      session: session ?? name,
      firstSeen: report.firstSeen)
    // Frames come out in the order of their streams: those behind a hole late.
    ladder.rows = rows.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    (ladder.leftOutBefore, ladder.leftOutBehind) = (before, behind)
    ladder.close(with: report, range: plan.range, tellsHeartbeats: plan.exchanges == nil)
    return ladder
  }
}

extension Ladder {
  /// Adds what the last report on its connection tells: how it began and ended, where nothing is left out there, and how often
  /// heartbeats are due.
  mutating func close(with report: ConnectionReport, range: TimeRange? = nil, tellsHeartbeats: Bool = true) {
    if let beats = report.heartbeats, tellsHeartbeats {
      if beats.expected > 0 {
        heartbeat = (Int64(beats.expected) * 1_000, true)
      } else if let median = beats.median {
        heartbeat = (median.microseconds, false)
      }
    }
    func note(_ at: Timestamp, _ text: String, isTrouble: Bool) -> Ladder.Row? {
      if let range, !range.contains(at) { return nil }
      return Ladder.Row(at: at, event: .note(text, isTrouble: isTrouble))
    }
    if leftOutBefore == 0, let row = Self.opening(report, note) { rows.insert(row, at: 0) }
    if leftOutBehind == 0, let closed = report.closedAt {
      let (words, isTrouble) = Self.ending(report.reason)
      if let words, let row = note(closed, words, isTrouble: isTrouble) { rows.append(row) }
    }
  }

  private static func opening(
    _ report: ConnectionReport, _ note: (Timestamp, String, Bool) -> Ladder.Row?
  ) -> Ladder.Row? {
    guard report.sawSyn else {
      return note(report.firstSeen, "the capture begins in the middle of the connection", false)
    }
    let tries = report.synCount > 1 ? " after \(report.synCount) SYNs" : ""
    guard let server = report.serverHandshake, report.establishedAt != nil else {
      return note(report.firstSeen, "SYN", false)
    }
    // Without the client's ACK there is the server's answer alone.
    let time = ConnectionReport.tcpHandshake(server: server, client: report.clientHandshake) ?? server
    let length = Words.length(time.microseconds)
    return note(report.firstSeen, "TCP connection opened in \(length)\(tries)", report.synCount > 1)
  }

  private static func ending(_ reason: CloseReason) -> (words: String?, isTrouble: Bool) {
    switch reason {
    case .open: (nil, false)
    case .fin: ("closed (FIN)", false)
    case .reset: ("reset (RST)", true)
    case .refused: ("refused (RST)", true)
    case .timeout: ("no answer to the SYN", true)
    case .reused: ("ports reused by another connection", false)
    case .evicted: ("dropped at the memory limit", false)
    }
  }
}
