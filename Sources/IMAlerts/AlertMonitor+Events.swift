package import IMEngine
import IMMetrics
package import IMWire

/// What the engine tells, as samples of the rules' windows.
extension AlertMonitor {
  private static let maximumEarly = 8
  /// Sessions whose names are known, at most; messages of others have no group.
  private static let maximumSessions = 1 << 16
  /// Connections kept after their last report.
  private static let maximumFinished = 8_192

  /// Takes note of a frame: whose connection it is, what its checksum says, that a message or a heartbeat was sent.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    tick(frame.timestamp)
    guard Int(connection.plan) < plans.count else { return }
    let choice =
      selector?.selection(of: frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
      ?? FilterChoice()
    let known = self.known(connection, at: frame.timestamp)
    if interests.groupsSessions, plans[Int(connection.plan)].hasSession, note.session != .max {
      know(session: note.session, number: UInt64(frame.session))
    }
    let origin = SampleOrigin(frame, note)
    if let (at, previous) = reconnected.removeValue(forKey: connection.serial) {
      for index in interests.reconnects {
        count(index, known, at: at, isAffected: true)
        // Without the one before it is no reconnect.
        if let before = connections[previous], let series = series(index, of: known, at: at) {
          contribute(series, before, at: at)
        }
      }
    }
    if !interests.checksums.isEmpty, [.be, .le, .bad].contains(frame.checksumStatus) {
      for index in interests.checksums where takes(index, choice.filters) {
        count(index, known, origin, at: frame.timestamp, isAffected: frame.checksumStatus == .bad)
      }
    }
    let change = beatChange
    beatChange = nil
    if let change, note.isHeartbeat(frame) {
      for index in interests.jitter {
        measure(index, known, .connection, Double(change.microseconds) / 1_000, at: frame.timestamp)
      }
    }
    guard note.copy == 1 else { return }
    if selector != nil, !selected.insert(note.exchange, choice, limit: limits.exchanges) { figures.refused &+= 1 }
    switch frame.kind.pointee.role {
    case .message:
      for index in interests.messages where takes(index, choice.filters) {
        count(index, known, origin, at: frame.timestamp)
      }
      if frame.kind.pointee.flags.contains(.expectsAck) {
        wait(note.exchange, known, origin, choice.filters, since: frame.timestamp)
      }
    case .acknowledgment, .heartbeat, .control, .receipt, .other: break
    }
    guard let place = early.firstIndex(where: { $0.id == note.exchange }) else { return }
    resolve(early.remove(at: place))
  }

  /// Whether a rule counts a message that `chosen` filters took.
  @inline(__always)
  private func takes(_ index: Int, _ chosen: UInt64) -> Bool {
    let bit = watches[index].rule.filterBit
    return bit == 0 || chosen & bit != 0
  }

  /// Keeps what the engine measured of a heartbeat: its frame is told next.
  package func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) { beatChange = change }

  /// Counts an exchange whose fate was decided, at the moment at which it was.
  package func resolved(_ exchange: borrowing Exchange) {
    let id = exchange.id
    let isAhead = selector != nil && selected.isAhead(id)
    guard connections[exchange.connection] != nil, !isAhead else {
      if early.count >= Self.maximumEarly { early.removeFirst() }
      early.append(copy exchange)
      return
    }
    resolve(copy exchange)
  }

  /// A connection is a further one of a session whose last one was over.
  package func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {
    guard !interests.reconnects.isEmpty else { return }
    if reconnected.count >= 1_024 { reconnected.removeAll() }
    reconnected[connection] = (time, previous)
  }

  /// Takes note of bytes that the capture lost.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    tick(issue.timestamp)
    if issue.details == .gap(.captureLoss) { drop(1, at: issue.timestamp) }
  }

  /// A session has a name, which filters and groups may ask for.
  package func named(_ session: UInt32, _ name: String) {
    selector?.named(session, name)
    guard sessions.count < Self.maximumSessions || sessions[session] != nil else { return }
    sessions[session] = AlertGroup(session: name)
  }

  /// A session is forgotten.
  package func forgotten(_ session: UInt32) {
    selector?.forgotten(session)
    sessions[session] = nil
  }

  /// Takes note of the number that a session has on the wire.
  private func know(session: UInt32, number: UInt64) {
    if case .session? = sessions[session] { return }
    guard sessions.count < Self.maximumSessions else { return }
    sessions[session] = .session("\(number)", isNumber: true)
  }

  /// Takes note of a SYN.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) { tick(at) }

  /// Counts a connection that failed, and takes note that one is over.
  package func connection(_ report: ConnectionReport) {
    guard report.isFinal || report.reason != .open else {
      if let known = connections[report.info.serial] {
        if !interests.reports.isEmpty { tick(report.madeAt) }
        told(report, known, at: report.madeAt)
      }
      return
    }
    let at = report.closedAt ?? report.lastSeen
    // The report comes seconds after the end; the clock has gone on.
    if report.reason != .open { tick(at) }
    if report.isFinal, report.isFailure, let endpoint = servers.index(of: report) {
      var info = report.info
      info.plan = report.serverPlan ?? info.plan
      let failed = MonitoredConnection(info)
      failed.endpoint = endpoint
      if hasUnbound { bind(failed) }
      for index in interests.attempts { count(index, failed, at: at, isAffected: true) }
      for index in interests.failures { count(index, failed, at: at, isAffected: true) }
      if report.reason == .refused { for index in interests.refused { count(index, failed, at: at, isAffected: true) } }
      told(report, failed, at: at)
    } else if let known = connections[report.info.serial] {
      // What comes behind its end is counted when it is told.
      told(report, known, at: known.isOver ? max(at, clock) : at)
    }
    guard report.reason != .open, let known = connections[report.info.serial], !known.isOver else { return }
    known.isOver = true
    for index in watches.indices where watches[index].rule.scope == .connection {
      let plain = [nil, Direction.clientToServer, .serverToClient].map {
        AlertSeries.Key(subject: report.info.serial, direction: $0)
      }
      for key in watches[index].rule.grouping == nil ? plain : watches[index].groups[report.info.serial] ?? [] {
        guard let series = watches[index].series[key] else { continue }
        series.isOver = true
        activate(index, series)
      }
    }
    selector?.ended(report.info.serial)
    finished.append(report.info.serial)
    if finished.count > Self.maximumFinished {
      for serial in finished.prefix(Self.maximumFinished / 2) { forget(serial) }
      finished.removeFirst(Self.maximumFinished / 2)
    }
  }

  // MARK: Parts

  /// Counts what came since the connection's last report.
  private func told(_ report: ConnectionReport, _ known: MonitoredConnection, at time: Timestamp) {
    let told = ReportCounts(report)
    // Kept though no rule asks: one that is read later counts from here.
    defer { known.told = told }
    guard !interests.reports.isEmpty else { return }
    let new = told.since(known.told).asGrowth
    for (index, figure) in interests.reports {
      guard case .count(let count)? = figure.value(new), count > 0 else { continue }
      guard let series = series(index, of: known, at: time) else { continue }
      touch(index, series)
      series.window[time].add(count, affected: SlidingWindow.Affected(connection: known.info, at: time))
      contribute(series, known, at: time)
    }
  }

  private func forget(_ serial: UInt32) {
    connections[serial] = nil
    if lastConnection?.info.serial == serial { lastConnection = nil }
  }

  func known(_ info: ConnectionInfo, at time: Timestamp) -> MonitoredConnection {
    if let last = lastConnection, last.info.serial == info.serial, last.info.plan == info.plan { return last }
    if let known = connections[info.serial], known.info.plan == info.plan {
      lastConnection = known
      return known
    }
    if connections.count >= limits.connections {
      for serial in connections.keys.sorted().prefix(limits.connections / 2) { forget(serial) }
    }
    let new = MonitoredConnection(info)
    new.endpoint = servers.index(of: info)
    connections[info.serial] = new
    lastConnection = new
    if hasUnbound { bind(new) }
    // Its first frame proves that it was opened.
    if info.sawOpening { for index in interests.attempts { count(index, new, at: time) } }
    return new
  }

  /// Counts an exchange at its connection, which is known.
  func resolve(_ exchange: Exchange) {
    guard let known = connections[exchange.connection] else { return }
    let role = roles[exchange.plan, exchange.kind]
    let isLate = exchange.flags.contains(.late)
    let at = decidedAt(exchange)
    let fate: Fate = exchange.fate == .pending && countsPendingAsUnknown ? .unknown : exchange.fate
    if fate != .pending { horizon = max(horizon, at) }
    if role == .heartbeat {
      beat(exchange, known, at: at)
      return
    }
    let origin = SampleOrigin(exchange)
    let choice = selected[exchange.id]
    var chosen = choice.filters, chosenLate = choice.filters
    if let selector, choice.filters != 0, exchange.fate != .pending {
      chosenLate = selector.decided(exchange, choice, status: statuses[exchange.status])
      // A late answer changes nothing of what was chosen when the message was given up.
      chosen = choice.decided ?? chosenLate
      if choice.decided == nil { selected.resolve(exchange.id, chosen) }
    }
    if exchange.fate == .rejected, !interests.rejections.isEmpty { refused(exchange, chosen, known, at: at) }
    if isLate, role == .message {
      for index in interests.lateAnswers where takes(index, chosenLate) {
        count(index, known, origin, at: at, isAffected: true)
      }
    }
    if !isLate, role == .message, fate != .pending {
      for index in interests.decidedMessages where takes(index, chosen) { count(index, known, origin, at: at) }
    }
    if !interests.open.isEmpty, role == .message, open.remove(exchange.id) != nil, exchange.fate != .pending {
      let waited = max(0, Double(at.nanoseconds(since: exchange.firstAt)) / 1e6)
      for index in interests.open where takes(index, chosen) { measure(index, known, origin, waited, at: at) }
    }
    for index in interests.resolved where takes(index, chosen) {
      guard case .fates(let part) = watches[index].rule.metric.samples else {
        roundTripped(index, known, exchange, at: at)
        continue
      }
      guard role == .message, fate != .pending, fate != .unacknowledged else { continue }
      let isAffected = counts(exchange, as: fate, against: watches[index].rule)
      let wasUnknown = isLate && exchange.outcome.before == .unknown
      if part == .unknown, isLate, !wasUnknown { continue }
      if part != .unknown, fate == .unknown {
        if watches[index].rule.metric.isDoubtful { extraEvidence(index, known, origin, at: at) }
      } else if part != .unknown, wasUnknown {
        learn(index, known, origin, at: at)
        count(index, known, origin, at: at, isAffected: isAffected)
      } else if isLate {
        amend(index, known, origin, isAffected: isAffected, part, at: at)
      } else {
        count(index, known, origin, at: at, isAffected: isAffected)
      }
    }
  }

  /// When the fate was decided: with the answer, or when the time for one had run out.
  ///
  /// That depends on nothing else in the capture. A connection that is closed ends the waiting earlier, but when the engine
  /// tells of it depends on what else there is: the time would have run out all the same.
  private func decidedAt(_ exchange: Exchange) -> Timestamp {
    if exchange.isAnswered { return max(exchange.firstAt, exchange.ackedAt) }
    let patience = plans[Int(exchange.plan)].kind(at: Int(exchange.kind))?.timeout ?? .seconds(6)
    return exchange.lastAt.advanced(by: patience)
  }

  private func counts(_ exchange: Exchange, as fate: Fate, against rule: AlertRule) -> Bool {
    switch rule.metric.samples {
    case .fates(.retry): fate == .ackedAfterRetry
    case .fates(.loss): fate == .unanswered || fate == .damaged
    case .fates(.rejected): fate == .rejected && isChosen(exchange, rule)
    case .fates(.unknown): fate == .unknown
    default: fate != .acked && fate != .ackedAfterRetry
    }
  }

  /// Whether a refused exchange has one of the statuses that the rule is about.
  private func isChosen(_ exchange: Exchange, _ rule: AlertRule) -> Bool {
    guard !rule.statuses.isEmpty else { return true }
    return statuses[exchange.status].map { rule.statuses.contains($0.number) } ?? false
  }

  /// Takes note of a message of which nobody knows what became.
  private func extraEvidence(_ index: Int, _ known: MonitoredConnection, _ origin: SampleOrigin, at time: Timestamp) {
    guard let series = series(index, of: known, nil, origin, at: time) else { return }
    touch(index, series)
    series.window[time].unknown &+= 1
    contribute(series, known, at: time)
  }

  /// It is known after all.
  private func learn(_ index: Int, _ known: MonitoredConnection, _ origin: SampleOrigin, at time: Timestamp) {
    guard let series = series(index, of: known, nil, origin, at: time) else { return }
    series.window.learn()
  }

  /// Takes note of a status.
  package func met(_ status: StatusCode, place: UInt16) { statuses.met(status, place: place) }

  /// Counts a handshake of the protocol that was refused.
  private func refused(_ exchange: Exchange, _ chosen: UInt64, _ known: MonitoredConnection, at time: Timestamp) {
    let kind = plans[Int(exchange.plan)].kind(at: Int(exchange.kind))
    guard kind?.flags.contains(.handshake) == true else { return }
    for index in interests.rejections where takes(index, chosen) && isChosen(exchange, watches[index].rule) {
      count(index, known, SampleOrigin(exchange), at: time, isAffected: true)
    }
  }

  /// An answer came after all: the message was counted before.
  private func amend(
    _ index: Int, _ known: MonitoredConnection, _ origin: SampleOrigin, isAffected: Bool, _ part: RuleSamples.FatePart,
    at time: Timestamp
  ) {
    guard let series = series(index, of: known, nil, origin, at: time) else { return }
    touch(index, series)
    if part == .retry {
      if isAffected { series.window[time].affected &+= 1 }
    } else if !isAffected {
      _ = series.window.forgive()
    }
  }

  private func beat(_ exchange: Exchange, _ known: MonitoredConnection, at time: Timestamp) {
    switch exchange.fate {
    case .acked, .ackedAfterRetry, .rejected: known.missedInARow = 0
    case .unanswered, .damaged: known.missedInARow += 1
    case .pending, .unacknowledged, .unknown: return
    }
    for index in interests.beats {
      measure(index, known, .connection, Double(known.missedInARow), at: time, isAffected: known.missedInARow > 0)
    }
  }

  func wait(
    _ exchange: UInt32, _ known: MonitoredConnection, _ origin: SampleOrigin = .connection, _ chosen: UInt64 = 0,
    since time: Timestamp
  ) {
    guard !interests.open.isEmpty, open.count < limits.exchanges else { return }
    open.insert(exchange)
    for index in interests.open where takes(index, chosen) {
      guard let series = series(index, of: known, nil, origin, at: time) else { continue }
      activate(index, series)
      guard series.open.count < AlertSeries.maximumOpen else { continue }
      series.open.append((exchange, time, known.info))
      contribute(series, known, at: time)
    }
  }

  // MARK: Samples

  func count(
    _ index: Int, _ known: MonitoredConnection, _ origin: SampleOrigin = .connection, at time: Timestamp,
    isAffected: Bool = false
  ) {
    guard let series = series(index, of: known, nil, origin, at: time) else { return }
    touch(index, series)
    series.window[time].add(
      affected: isAffected ? SlidingWindow.Affected(connection: known.info, at: time) : nil)
    contribute(series, known, at: time)
  }

  /// A measured value; without `isAffected` it counts against its connection when it is beyond the threshold.
  private func measure(
    _ index: Int, _ known: MonitoredConnection, _ origin: SampleOrigin, _ value: Double,
    at time: Timestamp, isAffected: Bool? = nil
  ) {
    guard let series = series(index, of: known, nil, origin, at: time) else { return }
    touch(index, series)
    let rule = watches[index].rule
    let counts = isAffected ?? rule.comparison.holds(value, rule.threshold)
    series.window[time].add(
      value, affected: counts ? SlidingWindow.Affected(connection: known.info, at: time) : nil)
    contribute(series, known, at: time)
  }

  /// Takes the round trip of an exchange, if it has one, in the series of its direction.
  private func roundTripped(_ index: Int, _ known: MonitoredConnection, _ exchange: Exchange, at time: Timestamp) {
    let rule = watches[index].rule
    guard let roundTrip = exchange.roundTrip, rule.direction.map({ $0 == exchange.direction }) ?? true,
      let series = series(index, of: known, exchange.direction, SampleOrigin(exchange), at: time)
    else { return }
    touch(index, series)
    let counts = rule.comparison.holds(Double(roundTrip.microseconds) / 1_000, rule.threshold)
    series.window[time].add(
      affected: counts ? SlidingWindow.Affected(connection: known.info, at: time) : nil)
    series.window[time].roundTrips.record(roundTrip)
    contribute(series, known, at: time)
  }

  private func contribute(_ series: AlertSeries, _ known: MonitoredConnection, at time: Timestamp) {
    guard collectsEvidence else { return }
    if series.contributors[known.info.serial] == nil, series.contributors.count >= AlertSeries.maximumContributors {
      return
    }
    series.contributors[known.info.serial] = (known.info, max(time, clock))
  }
}
