import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMSystem
import IMWire

extension PageSink {
  /// The connections with ladders, with a chart of their numbers among them, and those in the table; the lanes.
  private static let maximumLadders = WorstConnections.maximumCount

  /// What the page shows now. `summary` is what was counted since the beginning of the window, `whole` since that of the capture.
  func model(interface: String, filter: String?, summary: Summary, whole: Summary) -> ReportModel {
    let sum = self.whole
    var model = ReportModel(
      version: imdumpVersion, captures: [interface], filter: filter, figures: sum.figures, summary: summary,
      countedLines: whole.lines)
    var live = ReportModel.Live(interface: interface, windowSeconds: window.seconds)
    if let first = whole.ledger.firstAt, let last = whole.ledger.lastAt {
      live.covered = (max(begin, first), last, first)
    }
    model.live = live
    model.series = series
    model.transport = transport
    model.typeNames = namesOfTypes
    model.heartbeats = sum.beats
    model.ambiguous = sum.ambiguous
    model.problems = sum.problems.problems(summary)
    lost(sum, &model)
    connections(sum, &model)
    return model
  }

  /// Who is hurt, and since when.
  private func lost(_ sum: PageSlice, _ model: inout ReportModel) {
    var bySession: [UInt32: (lost: UInt64, first: Timestamp, serial: UInt32)] = [:]
    for loss in sum.losses {
      model.losses = (min(model.losses?.first ?? loss.at, loss.at), max(model.losses?.last ?? loss.at, loss.at))
      var entry = bySession[loss.session] ?? (0, loss.at, loss.serial)
      entry.lost += 1
      if loss.at < entry.first { (entry.first, entry.serial) = (loss.at, loss.serial) }
      bySession[loss.session] = entry
    }
    model.affected = bySession.sorted {
      ($1.value.lost, $0.value.first, $0.key) < ($0.value.lost, $1.value.first, $1.key)
    }.map {
      ReportModel.AffectedSession(
        name: name(of: $0.key) ?? "that of connection #\($0.value.serial)", lost: $0.value.lost)
    }
    model.affectedCount = UInt64(bySession.count)
    let first = sum.losses.sorted { ($0.at, $0.id) < ($1.at, $1.id) }.prefix(ReportModel.maximumLost)
    let types = namesOfTypes
    model.lost = first.map { loss in
      let key = ReportBucket.key(plan: loss.exchange.plan, kind: loss.exchange.kind)
      return ReportModel.LostMessage(
        loss.exchange, type: types[key] ?? "type \(loss.exchange.kind)", session: name(of: loss.session))
    }
    model.lostLeftOut = UInt64(sum.losses.count - first.count) + sum.furtherLosses
    model.hasMoreAffected = sum.furtherLosses > 0
    model.sessionCount = max(sessionCount, model.affectedCount)
    model.hasMoreSessions = hasMoreSessions
  }

  /// The table of connections, lanes and ladders.
  private func connections(_ sum: PageSlice, _ model: inout ReportModel) {
    let worst = connections.all.values.sorted {
      ($1.score, $0.info.serial) < ($0.score, $1.info.serial)
    }
    var rows = worst.map { $0.row(profile(of: $0.info), session: name(of: $0.session)) }
    for report in failures {
      var row = ConnectionRow(report)
      row.score = 1
      rows.append(row)
    }
    rows.sort { ($1.score, $0.serial) < ($0.score, $1.serial) }
    let kept = rows.prefix(ReportSink.maximumRows)
    model.connections = Array(kept)
    model.connectionsLeftOut = sum.forgotten + UInt64(rows.count - kept.count)
    let troubled = worst.filter { $0.score > 0 && $0.trail.troubleAt != nil }
    model.ladders = troubled.prefix(Self.maximumLadders).map {
      $0.ladder(profile(of: $0.info) ?? "not decoded", session: name(of: $0.session))
    }
    model.laddersLeftOut = UInt64(troubled.count - model.ladders.count)
    lanes(worst, &model)
  }

  private func lanes(_ worst: [TrackedConnection], _ model: inout ReportModel) {
    var bySession: [UInt32: (bars: [Lane.Bar], score: UInt64, reconnects: UInt64, addresses: Set<IPAddress>)] = [:]
    for connection in worst {
      guard let session = connection.session else { continue }
      var lane = bySession[session] ?? ([], 0, 0, [])
      lane.bars.append(connection.bar)
      lane.score += connection.score
      if connection.reconnectTime != nil { lane.reconnects += 1 }
      lane.addresses.insert(connection.info.client.address)
      bySession[session] = lane
    }
    let order = bySession.sorted {
      ($1.value.reconnects, $1.value.score, $0.key) < ($0.value.reconnects, $0.value.score, $1.key)
    }
    var shown = Array(order.prefix(LaneSink.maximumLanes))
    for report in failures {
      // Of several sessions behind one address nobody can tell whose attempt it was.
      let places = shown.indices.filter { shown[$0].value.addresses.contains(report.info.client.address) }
      if places.count == 1, let place = places.first { shown[place].value.bars.append(Lane.Bar(report)) }
    }
    model.lanes = shown.map { session, lane in
      let bars = lane.bars.sorted { ($0.from, $0.serial) < ($1.from, $1.serial) }
      return Lane(
        name: name(of: session) ?? bars.first.map { "#\($0.serial)" } ?? "–",
        bars: Array(bars.suffix(LaneSink.maximumBars)), leftOut: UInt64(max(0, bars.count - LaneSink.maximumBars)))
    }
    model.lanesLeftOut = UInt64(order.count - shown.count)
  }
}
