import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// The findings of a verdict, each from the metrics that every other output reads.
struct VerdictFindings {
  private let model: ReportModel
  /// The findings, in the order in which they matter.
  private(set) var all: [Verdict.Finding] = []

  init(_ model: ReportModel) {
    self.model = model
    lost()
    unknown()
    rejected()
    retried()
    control()
    heartbeats()
    connections()
    unread()
    roundTrips()
  }

  private mutating func add(
    _ topic: Verdict.Finding.Topic, _ level: Verdict.Level?, _ sentences: [String], count: UInt64? = nil,
    of total: UInt64? = nil, causes: [(name: String, count: UInt64)] = []
  ) {
    all.append(.init(topic, level, sentences, count: count, of: total, causes: causes))
  }

  private func exceeds(_ name: VerdictThresholds.Name, _ count: UInt64, of all: UInt64) -> Verdict.Level {
    model.thresholds.isExceeded(name, count, of: all) ? .warning : .good
  }

  // MARK: Messages

  private mutating func lost() {
    let both = model.messages
    guard both.lost > 0 else { return }
    var sentences: [String] = []
    for way in [Direction.clientToServer, .serverToClient] {
      let fates = model.figures.messages[way]
      let (sender, peer) = way == .clientToServer ? ("client", "server") : ("server", "client")
      func say(_ count: UInt32, _ words: String) {
        if count > 0 { sentences.append("\(grouped(UInt64(count))) from the \(sender): \(words)") }
      }
      say(
        fates.unansweredByPeer,
        "the \(peer)'s TCP received \(Self.it(fates.unansweredByPeer)), no answer was sent (peer)")
      say(fates.unansweredByNetwork, "never acknowledged by the \(peer)'s TCP (network)")
      let unexplained = fates.unanswered &- fates.unansweredByPeer &- fates.unansweredByNetwork
      say(
        unexplained, "no answer; the capture does not show whether \(unexplained == 1 ? "it" : "they") arrived")
      say(fates.damaged, "every copy arrived damaged (checksum)")
    }
    if let when = when() { sentences.append(when) }
    if let who = who() { sentences.append(who) }
    let unexplained = both.unanswered &- both.unansweredByPeer &- both.unansweredByNetwork
    let causes = [
      (Cause.peer.name, both.unansweredByPeer), (Cause.network.name, both.unansweredByNetwork),
      (Cause.checksum.name, both.damaged),
      ("unexplained", unexplained),
    ]
    add(
      .lost, .bad, sentences, count: both.lost, of: both.known,
      causes: causes.filter { $0.1 > 0 }.map { (name: $0.0, count: UInt64($0.1)) })
  }

  private static func it(_ count: UInt32) -> String { count == 1 ? "it" : "them" }

  private func when() -> String? {
    guard let losses = model.losses else { return nil }
    let first = Words.moment(losses.first, near: model.captured?.first, model.zone)
    if losses.first.seconds == losses.last.seconds { return "sent at \(first)" }
    return "first sent at \(first), last at \(Words.moment(losses.last, near: model.captured?.first, model.zone))"
  }

  private func who() -> String? {
    guard model.affectedCount > 0 else { return nil }
    let named = model.affected.prefix(3)
    let others = model.affectedCount - UInt64(named.count)
    let list = Words.list(
      named.map { "\($0.name) (\(grouped($0.lost)))" } + (others > 0 ? ["\(grouped(others)) more"] : []))
    let all = model.hasMoreSessions ? "more than \(grouped(model.sessionCount))" : grouped(model.sessionCount)
    return "\(model.hasMoreAffected ? "more than " : "")\(grouped(model.affectedCount)) of \(all) "
      + "session\(model.sessionCount == 1 ? "" : "s") affected: \(list)"
  }

  private mutating func unknown() {
    let both = model.messages
    if both.unknown > 0 {
      let (unknown, byLimit) = (UInt64(both.unknown), UInt64(both.unknownByLimit))
      var sentences: [String] = []
      if unknown > byLimit {
        sentences.append(
          "\(count(unknown - byLimit, "message")) whose answer may be in bytes missing from the capture")
      }
      if byLimit > 0 {
        sentences.append("\(count(byLimit, "message")) dropped at the memory limit before an answer came")
      }
      add(.unknown, .warning, sentences, count: unknown, of: UInt64(both.units))
    }
    if both.pending > 0 {
      add(
        .pending, nil, ["\(count(UInt64(both.pending), "message")) still pending when the capture ended"],
        count: UInt64(both.pending), of: UInt64(both.units))
    }
  }

  private mutating func rejected() {
    let both = model.messages
    let rejected = UInt64(both.rejected)
    guard rejected > 0 else { return }
    let rows = RejectionRow.rows(
      model.figures.total.rejections, model.summary.plans, model.statuses, role: .message)
    let statuses = rows.isEmpty ? [] : [Self.list(rows, all: rejected)]
    add(
      .rejected, exceeds(.rejections, rejected, of: both.known),
      ["\(count(rejected, "message")) (\(percent(rejected, both.known)))"] + statuses, count: rejected, of: both.known)
  }

  private mutating func retried() {
    let both = model.messages
    let retried = UInt64(both.ackedAfterRetry)
    guard retried > 0 else { return }
    add(
      .retried, exceeds(.retries, retried, of: both.known),
      ["\(count(retried, "message")) answered only after a retry (\(percent(retried, both.known)))"], count: retried,
      of: both.known)
  }

  /// Control frames, receipts and other frames that were rejected or not answered. Rejected logins are a matter of connections.
  private mutating func control() {
    let logins = model.figures.total.handshakes
    guard let all = byRole else {
      let noun = Verdict.Finding.Noun(one: "control frame or receipt", many: "control frames or receipts")
      let both = model.figures.total.control.both
      return exchanges(.control, noun, both, nil, less: (rejected: logins.refused, unanswered: logins.unanswered))
    }
    for (role, fates) in all {
      let none: (rejected: UInt64, unanswered: UInt64) = (0, 0)
      switch role {
      case .control:
        exchanges(
          .control, .init(one: "control frame", many: "control frames"), fates, role,
          less: (rejected: logins.refused, unanswered: logins.unanswered))
      case .receipt: exchanges(.receipts, .init(one: "receipt", many: "receipts"), fates, role, less: none)
      case .acknowledgment:
        exchanges(.acknowledgments, .init(one: "acknowledgment", many: "acknowledgments"), fates, role, less: none)
      case .other: exchanges(.others, .init(one: "other frame", many: "other frames"), fates, role, less: none)
      case .message, .heartbeat: break
      }
    }
  }

  /// What became of exchanges that are neither messages nor heartbeats, by their role; `nil` where only their sum is known: the totals
  /// of types are those of the whole run, and a page may cover the last part of it.
  private var byRole: [(role: FrameRole, fates: FateCounts)]? {
    guard model.live == nil else { return nil }
    let roles = RoleTable(plans: model.summary.plans)
    var all: [(role: FrameRole, fates: FateCounts)] = [FrameRole.control, .receipt, .acknowledgment, .other].map {
      (role: $0, fates: FateCounts())
    }
    for (plan, kinds) in model.summary.kinds.enumerated() {
      for (kind, totals) in kinds.enumerated() {
        let role = roles[UInt8(clamping: plan), UInt8(clamping: kind)]
        guard let i = all.firstIndex(where: { $0.role == role }) else { continue }
        for way in 0...1 { all[i].fates.add(totals.fates[way]) }
      }
    }
    return all
  }

  /// Adds what became of exchanges of this role, without the logins among them.
  private mutating func exchanges(
    _ topic: Verdict.Finding.Topic, _ noun: Verdict.Finding.Noun, _ fates: FateCounts, _ role: FrameRole?,
    less logins: (rejected: UInt64, unanswered: UInt64)
  ) {
    let rejected = UInt64(fates.rejected) - min(UInt64(fates.rejected), logins.rejected)
    let unanswered = fates.lost - min(fates.lost, logins.unanswered)
    guard rejected > 0 || unanswered > 0 else { return }
    var sentences: [String] = []
    if rejected > 0 {
      // Rejected logins are among the rows, and not to be told from the others.
      let rows =
        role == nil || logins.rejected > 0
        ? [] : RejectionRow.rows(model.figures.total.rejections, model.summary.plans, model.statuses, role: role)
      sentences.append(
        "\(noun.text(rejected)) rejected" + (rows.isEmpty ? "" : ": \(Self.list(rows, all: rejected))"))
    }
    if unanswered > 0 { sentences.append("\(noun.text(unanswered)) without an answer") }
    all.append(
      .init(
        topic, .warning, sentences, count: rejected + unanswered, of: fates.known, noun: noun,
        causes: [(name: "rejected", count: rejected), (name: "unanswered", count: unanswered)].filter { $0.count > 0 }))
  }

  /// Types and statuses of rejections, the two most frequent by name; without the count of one that is of `all`.
  private static func list(_ rows: [RejectionRow], all: UInt64) -> String {
    let named = rows.prefix(2).map { row in
      let status = [row.name, row.status.map { row.name == nil ? "status \($0)" : "(\($0))" }].compactMap { $0 }
        .joined(separator: " ")
      let text = row.type + (status.isEmpty ? "" : " with \(status)")
      return row.count == all ? text : "\(text) \(grouped(row.count))"
    }
    return Words.list(named + (rows.count > named.count ? ["others"] : []))
  }

  // MARK: Heartbeats and connections

  private mutating func heartbeats() {
    let beats = model.figures.heartbeats
    let silence = SilenceText.verdict(model.figures.total)
    let known = beats.answered + beats.missed
    guard beats.missed > 0 || silence != nil else { return }
    var sentences: [String] = []
    if beats.missed > 0 {
      let interval = beats.spacing.percentile(50).map { "; sent every \(Words.length($0))" } ?? ""
      sentences.append("\(grouped(beats.missed)) of \(count(known, "heartbeat")) missed\(interval)")
    }
    if let silence { sentences.append("silence: \(silence)") }
    // A silence that was fatal is a reason to look at the interval, whatever the heartbeats' answers.
    let level = silence == nil ? exceeds(.heartbeats, beats.missed, of: known) : .warning
    add(.heartbeats, level, sentences, count: beats.missed, of: known)
  }

  private mutating func connections() {
    let counts = model.figures.connections
    let failed = counts.refused + counts.timedOut
    let logins = model.figures.total.handshakes.refused
    // A client that closes its connection and returns later does so on purpose.
    let closed = min(counts.reconnects, counts.reconnectsAfterClose)
    let afterClose =
      closed == 0
      ? "" : closed == counts.reconnects ? " after a clean close" : " (\(grouped(closed)) after a clean close)"
    let parts = [
      counts.refused > 0 ? "\(grouped(counts.refused)) refused" : nil,
      counts.timedOut > 0 ? "\(grouped(counts.timedOut)) timed out" : nil,
      counts.reset > 0 ? "\(grouped(counts.reset)) reset" : nil,
      logins > 0 ? "\(count(logins, "login")) rejected" : nil,
      counts.reconnects > 0 ? count(counts.reconnects, "reconnect") + afterClose : nil,
    ].compactMap { $0 }
    guard !parts.isEmpty else { return }
    let isNotable =
      logins > 0 || exceeds(.connections, failed, of: counts.succeeded + failed) == .warning
      || exceeds(.reconnects, counts.reconnects - closed, of: counts.opened) == .warning
    // Resets and few reconnects are reported, and are neither good nor bad.
    add(
      .connections, isNotable ? .warning : nil,
      ["\(grouped(model.summary.ledger.connections)) seen: \(parts.joined(separator: ", "))"], count: failed,
      of: counts.succeeded + failed,
      causes: [
        (name: "refused", count: counts.refused), (name: "timeout", count: counts.timedOut),
        (name: "reset", count: counts.reset),
        (name: "reconnect", count: counts.reconnects), (name: "reconnect_after_close", count: closed),
        (name: "login_rejected", count: logins),
      ].filter { $0.count > 0 })
  }

  // MARK: What was not read

  private mutating func unread() {
    var sentences = model.errors.map { "not all was read: \($0)" }
    if let interruption = model.summary.capture.interruption { sentences.append(interruption.text) }
    let unseen = model.declared.unseen
    // What is missing may have held messages that no count has.
    let isNotable = !sentences.isEmpty || !unseen.isEmpty || model.unread.contains { $0.isNotable }
    if !unseen.isEmpty { sentences.append("missing: \(Words.list(unseen))") }
    sentences += model.unread.map(\.text)
    guard !sentences.isEmpty else { return }
    add(.unread, isNotable ? .warning : nil, sentences)
  }

  private mutating func roundTrips() {
    let sentences = [Direction.clientToServer, .serverToClient].compactMap { way -> String? in
      let times = model.figures.total.roundTripsByDirection[Int(way.rawValue)]
      guard let p50 = times.percentile(50), let p95 = times.percentile(95), let p99 = times.percentile(99) else {
        return nil
      }
      return
        "\(way == .clientToServer ? "client to server" : "server to client"): p50 \(Words.length(p50)), p95 \(Words.length(p95)), p99 \(Words.length(p99))"
    }
    guard !sentences.isEmpty else { return }
    let retried = UInt64(model.messages.ackedAfterRetry)
    let answered = UInt64(model.messages.acked) + retried + UInt64(model.messages.rejected)
    let others = answered == 0 ? ["of control frames and receipts: no message was answered"] : []
    let leftOut =
      retried > 0
      ? ["excludes \(count(retried, "message")) answered after a retry (ambiguous)"]
      : []
    all.append(.init(.roundTrips, nil, sentences + others + leftOut, footnotes: leftOut.count))
  }
}
