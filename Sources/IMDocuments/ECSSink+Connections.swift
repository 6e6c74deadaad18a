package import IMEngine
import IMMetrics
package import IMWire

extension ECSSink {
  /// Takes note of a SYN.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) {
    tick(at)
  }

  /// Writes the document of a connection that ended, or of one that lives when the report is not final.
  ///
  /// Connections that nothing decodes get none, but for those that failed on their way to a server that is known.
  package func connection(_ report: ConnectionReport) {
    tick(report.isFinal ? report.closedAt ?? report.lastSeen : report.madeAt)
    let record = connections.record(report.info)
    record.pointee.inform(report.info)
    if report.isFinal { connections.finish(record) }
    let endpoint = record.pointee.endpoint ?? servers.index(of: report)
    guard let endpoint else {
      // What a carrier did wrong may be why nothing was decoded.
      if report.isFinal {
        tellEarly(record) { [.proxyHeader, .webSocketFrame, .notInflated, .webSocketMask].contains($0) }
      }
      return
    }
    let told = ReportCounts(report)
    let news = record.pointee.history.take(report, told, isDecoded: record.pointee.endpoint != nil)
    periods.at(endpoint).pointee.reported(report, news)
    // It is over, but its figures are not final yet: its document waits for its last report.
    if !report.isFinal, report.reason != .open { return }
    if !report.isFinal {
      guard isWorthADocument(record, news) else {
        return releaseOrphans(record, before: report.lastSeen.advanced(by: -Self.orphanPatience))
      }
      record.pointee.isActive = false
    }
    let last = record.pointee.last
    record.pointee.last = ConnectionSnapshot.Totals(report, MessageTally(report).both)
    record.pointee.reports += 1
    releaseOrphans(
      record, before: report.isFinal ? .distantFuture : report.lastSeen.advanced(by: -Self.orphanPatience))
    if report.isFinal {
      // Where no frame came, what cut and hid frames is told all the same; a gap is no protocol's.
      tellEarly(record) { $0 != .gap }
    }
    record.pointee.roundTrips.gather()
    // One that failed has no plan of its own, but it went to a server that has.
    let plan = report.serverPlan ?? report.info.plan
    if log(
      .connection,
      { $0.connection(report, record, told, since: last, plan: plan, decidedAt: $1) })
    {
      return
    }
    write(.connection) { writer, lines in writer.connection(report, record, told, since: last, plan: plan, &lines) }
  }

  /// Whether a connection that lives gets a document of the last 60 s. The next one counts what came since the last that was written.
  private func isWorthADocument(_ record: ConnectionRegistry.Record, _ news: ReportHistory.News) -> Bool {
    switch options.connectionIntervals {
    case .all: return true
    case .off: return false
    case .active:
      let counts: [ReportCount] = [
        .retransmissions, .retries, .deliberateCopies, .duplicates, .lost, .gaps, .wrongChecksum,
      ]
      return record.pointee.isActive || news.pings.missed > 0 || counts.contains { news.counts[$0] > 0 }
    }
  }

  /// Writes the document of an issue on a decoded connection, unless there were enough of its name.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    tick(issue.timestamp)
    // While nothing is known of the protocol, or no frame of it has come, the document waits.
    guard Int(connection.plan) < hasSession.count || connection.plan == .max else { return }
    let record = connections.record(connection)
    guard record.pointee.endpoint != nil else {
      if record.pointee.early.count < Self.maximumEarly { record.pointee.early.append(issue) }
      return
    }
    take(issue, record)
  }

  private func take(_ issue: Issue, _ record: ConnectionRegistry.Record) {
    if issue.details == .gap(.captureLoss), let endpoint = record.pointee.endpoint {
      periods.at(endpoint).pointee.missed()
    }
    guard issue.kind == .orphanAck, orphanCount < Self.maximumOrphans else { return tell(issue, record) }
    releaseOrphans(record, before: issue.timestamp.advanced(by: -Self.orphanPatience))
    if record.pointee.orphans.count == Self.maximumOrphansOfOne { releaseOrphans(record, Self.maximumOrphansOfOne / 4) }
    record.pointee.orphans.append(issue)
    orphanCount += 1
    orphaned.insert(record.pointee.info.serial)
  }

  /// Writes the documents of what was found before any frame, and of what the limit kept back.
  private func tellEarly(_ record: ConnectionRegistry.Record, _ isTold: (IssueKind) -> Bool) {
    for issue in record.pointee.early where isTold(issue.kind) { tell(issue, record) }
    record.pointee.early = []
    drainWeird(record)
  }

  // MARK: Parts

  /// An answer without a message may have overtaken it, when the message waits behind a hole: it gets no document for as
  /// long as the engine keeps it, 10 s, which it looks at every 100 ms.
  ///
  /// Only what arrives tells that they have passed: in a long silence a hole is given up with the next packet, and the gap
  /// is told with that packet's time, in front of the messages that it held back.
  static let orphanPatience: Int64 = 10_200_000_000
  /// Of all connections as many as the engine keeps; of one connection, where the oldest are told when more come.
  private static let maximumOrphans = 65_536, maximumOrphansOfOne = 1_024
  private static let maximumEarly = 64

  /// Writes the document of an exchange that was answered late or not at all, unless there were enough of them. `offset` is the offset of its first
  /// transmission in its stream.
  func tellTrouble(_ exchange: Exchange, _ role: FrameRole, _ offset: UInt64, _ record: ConnectionRegistry.Record) {
    guard let issue = Issue(trouble: exchange, role, at: offset) else { return }
    tell(issue, record)
  }

  private func tell(_ issue: Issue, _ record: ConnectionRegistry.Record) {
    guard let admission = record.pointee.weird.admit(issue, limit: options.weirdLimit) else { return }
    write(issue, admission, record)
  }

  private func write(_ issue: Issue, _ admission: WeirdLimiter.Admission, _ record: ConnectionRegistry.Record) {
    if log(.weird, { $0.weird(issue, admission, record, decidedAt: $1) }) { return }
    write(.weird) { writer, lines in writer.weird(issue, admission, record, &lines) }
  }

  func releaseOrphans(_ record: ConnectionRegistry.Record, before time: Timestamp) {
    guard !record.pointee.orphans.isEmpty else { return }
    let kept = record.pointee.orphans.firstIndex { $0.timestamp >= time }
    releaseOrphans(record, kept ?? record.pointee.orphans.count)
  }

  /// Tells the first `count` answers that wait for their messages.
  private func releaseOrphans(_ record: ConnectionRegistry.Record, _ count: Int) {
    guard count > 0 else { return }
    for i in 0..<count { tell(record.pointee.orphans[i], record) }
    forgetOrphans(0..<count, record)
  }

  /// Takes answers out of those that wait for their messages.
  func forgetOrphans(_ range: Range<Int>, _ record: ConnectionRegistry.Record) {
    record.pointee.orphans.removeSubrange(range)
    orphanCount -= range.count
    if record.pointee.orphans.isEmpty { orphaned.remove(record.pointee.info.serial) }
  }

  /// Gives a connection its endpoint with its first frame, which proves that it was opened.
  func attach(_ record: ConnectionRegistry.Record) {
    guard let endpoint = servers.index(of: record.pointee.info) else { return }
    record.pointee.endpoint = endpoint
    periods.at(endpoint).pointee.began(record.pointee.info, isOpen: !record.pointee.isFinal)
    let early = record.pointee.early
    record.pointee.early = []
    for issue in early { take(issue, record) }
  }

  /// What the limit kept back is told with the last issue of each name.
  private func drainWeird(_ record: ConnectionRegistry.Record) {
    var rest: [(Issue, WeirdLimiter.Admission)] = []
    record.pointee.weird.drain { rest.append(($0, $1)) }
    for (issue, admission) in rest { write(issue, admission, record) }
  }
}
