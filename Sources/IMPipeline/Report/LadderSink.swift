import IMEngine
import IMOutput
import IMReport
import IMWire

/// Collects the frames of chosen connections.
final class LadderSink: EngineSink {
  static let needs: EngineOptions.Needs = [.frames, .finished, .issues, .connections, .lateReports]

  /// The ladders being made, by the connections' numbers.
  private(set) var collectors: [UInt32: LadderCollector]
  /// The connections, in the order in which their first frame came, where it is one that was not chosen; a few.
  private(set) var others: [ConnectionInfo] = []
  /// How many these are.
  private(set) var otherCount: UInt64 = 0
  private var lastOther: UInt32 = 0
  /// Whether the first connection with a frame is chosen.
  private var choosesFirst: Bool
  private let firstPlan: LadderPlan
  private let plans: [ProtocolPlan]
  private var names: [UInt32: String] = [:]

  /// Collects the connections of `wanted`; without any, that of the first frame.
  init(plans: [ProtocolPlan], wanted: [UInt32: LadderPlan], first: LadderPlan = LadderPlan()) {
    self.plans = plans
    collectors = wanted.mapValues { LadderCollector($0) }
    choosesFirst = wanted.isEmpty
    firstPlan = first
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let serial = connection.serial
    if choosesFirst {
      choosesFirst = false
      collectors[serial] = LadderCollector(firstPlan)
    }
    guard collectors[serial] != nil else {
      // Frames of one connection come in a row more often than not.
      if serial != lastOther, others.count < 8, !others.contains(where: { $0.serial == serial }) {
        others.append(connection)
      }
      lastOther = serial
      return
    }
    let plan = plans[Int(connection.plan)]
    collectors[serial]?.frame(frame, note, connection, direction, plan, session: names[note.session])
  }

  func finished(_ exchange: borrowing Exchange) {
    guard collectors[exchange.connection] != nil else { return }
    collectors[exchange.connection]?.finished(exchange)
  }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    guard collectors[connection.serial] != nil else { return }
    collectors[connection.serial]?.issue(issue)
  }

  func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    if collectors[report.info.serial] == nil {
      if report.figures != nil { otherCount += 1 }
      return
    }
    collectors[report.info.serial]?.ended(report, plans, name: report.session.flatMap { names[$0] })
  }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func forgotten(_ session: UInt32) { names[session] = nil }
}

/// Which frames of a connection a ladder has.
struct LadderPlan {
  /// The moment that matters: rows begin shortly before it; `nil` for the first frame.
  var from: Timestamp?
  /// Only what happened in this range; `nil` for all.
  var range: ExportRange?
  /// Only frames of these exchanges; `nil` for all.
  var exchanges: Set<UInt32>?
  /// At most so many rows; of these, so many in front of `from`.
  var limit = 1_000, lead = 12
}

/// The ladder of one connection as it grows.
struct LadderCollector {
  private(set) var ladder: Ladder?
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
  private var profile = ""

  init(_ plan: LadderPlan) { self.plan = plan }

  mutating func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan,
    session name: String?
  ) {
    if info == nil {
      info = connection
      profile = plan.name
    }
    if session == nil { session = plan.hasSession ? String(frame.session) : name }
    if let range = self.plan.range, !range.contains(frame.timestamp) { return }
    if let wanted = self.plan.exchanges, !wanted.contains(note.exchange) { return }
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
    var step = Ladder.Step(
      label: type + (number.map { " \($0)" } ?? ""), sequence: number,
      isFromClient: direction == .clientToServer, facts: facts, copy: note.isAck ? 0 : note.copy,
      latency: note.latency, roundTrip: note.roundTrip)
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
    guard plan.exchanges == nil else { return }
    let words: String
    switch issue.details {
    case .gap(let reason):
      let side = issue.direction == .clientToServer ? "client" : "server"
      words = "\(count(issue.byteCount, "byte")) of the \(side) missing (\(reason.name))"
    case .resynchronised: words = "\(count(issue.byteCount, "byte")) that are no frame"
    case .frameCut: words = "a frame was cut"
    case .unsupportedVersion: words = "a frame of an unsupported version"
    case .proxyHeader, .webSocketFrame, .notInflated: words = issue.kind.name
    default: return
    }
    append(Ladder.Row(at: issue.timestamp, event: .note(words, isTrouble: true)), isFrame: false)
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

  /// Takes what the connection's last report says.
  mutating func ended(_ report: ConnectionReport, _ plans: [ProtocolPlan], name: String?) {
    let info = self.info ?? report.info
    var ladder = Ladder(
      serial: info.serial, client: "\(info.client)", server: "\(info.server)",
      profile: Int(info.plan) < plans.count ? plans[Int(info.plan)].name : "not decoded", session: session ?? name,
      firstSeen: report.firstSeen)
    ladder.rows = rows
    (ladder.leftOutBefore, ladder.leftOutBehind) = (before, behind)
    if let beats = report.heartbeats, plan.exchanges == nil {
      if beats.expected > 0 {
        ladder.heartbeat = (Int64(beats.expected) * 1_000, true)
      } else if let median = beats.median {
        ladder.heartbeat = (median, false)
      }
    }
    func note(_ at: Timestamp, _ text: String, isTrouble: Bool) -> Ladder.Row? {
      if let range = plan.range, !range.contains(at) { return nil }
      return Ladder.Row(at: at, event: .note(text, isTrouble: isTrouble))
    }
    if before == 0, let row = opening(report, note) { ladder.rows.insert(row, at: 0) }
    if behind == 0, let closed = report.closedAt {
      let (words, isTrouble) = Self.ending(report.reason)
      if let words, let row = note(closed, words, isTrouble: isTrouble) { ladder.rows.append(row) }
    }
    self.ladder = ladder
  }

  private func opening(
    _ report: ConnectionReport, _ note: (Timestamp, String, Bool) -> Ladder.Row?
  ) -> Ladder.Row? {
    guard report.sawSyn else { return note(report.firstSeen, "the capture begins inside of the connection", false) }
    let tries = report.synCount > 1 ? " after \(report.synCount) SYNs" : ""
    guard let time = report.serverHandshake, report.establishedAt != nil else {
      return note(report.firstSeen, "SYN", false)
    }
    return note(report.firstSeen, "TCP connection opened in \(Words.length(time / 1_000))\(tries)", report.synCount > 1)
  }

  private static func ending(_ reason: CloseReason) -> (words: String?, isTrouble: Bool) {
    switch reason {
    case .open: (nil, false)
    case .fin: ("closed (FIN)", false)
    case .reset: ("reset (RST)", true)
    case .refused: ("refused (RST)", true)
    case .timeout: ("nothing answered the SYN", true)
    case .reused: ("the same ports began another connection", false)
    case .evicted: ("forgotten at the limit on memory", false)
    }
  }
}
