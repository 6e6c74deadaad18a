import IMEngine
import IMMetrics
import IMWire

/// The figures of a run as tables: `imdump stats`.
package struct StatsTextWriter {
  let width: Int?

  /// A writer for a terminal of `width` columns; `nil` is no terminal.
  package init(width: Int? = nil) { self.width = width }

  /// Appends the tables.
  package func write(_ figures: RunFigures, to out: inout ByteWriter) {
    for (i, plan) in figures.summary.plans.enumerated() { types(plan, figures.summary.kinds[i], to: &out) }
    guard figures.total.counts[.frames] > 0 else {
      guard figures.summary.ledger.connections > 0 else { return }
      connections(figures, to: &out)
      tcp(figures.total, to: &out)
      return problems(figures, to: &out)
    }
    endpoints(figures, to: &out)
    heartbeats(figures, to: &out)
    causes(figures.total, to: &out)
    refusals(figures, to: &out)
    connections(figures, to: &out)
    handshakes(figures.total, to: &out)
    reads(figures.total, to: &out)
    traffic(figures.run.traffic, to: &out)
    tcp(figures.total, to: &out)
    sequences(figures.summary, to: &out)
    problems(figures, to: &out)
    worst(figures, to: &out)
  }

  /// Appends what is known of a run that goes on: what reports of connections tell comes when these end.
  package func write(live figures: RunFigures, to out: inout ByteWriter) {
    for (i, plan) in figures.summary.plans.enumerated() { types(plan, figures.summary.kinds[i], to: &out) }
    if !figures.endpoints.isEmpty { endpoints(figures, to: &out) }
    causes(figures.total, to: &out)
    refusals(figures, to: &out)
    reads(figures.total, to: &out)
    sequences(figures.summary, to: &out)
    problems(figures, to: &out)
  }

  /// Appends what is known of messages that a filter has chosen: what became of them, and when.
  package func write(chosen figures: RunFigures, to out: inout ByteWriter) {
    guard !figures.endpoints.isEmpty else { return }
    endpoints(figures, to: &out)
    causes(figures.total, to: &out)
    refusals(figures, to: &out)
  }

  private func types(_ plan: ProtocolPlan, _ kinds: [KindTotals], to out: inout ByteWriter) {
    guard kinds.contains(where: { $0.frames[0] + $0.frames[1] > 0 }) else { return }
    var table = TextTable([
      plan.name, "c2s", "s2c", "units", "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "unknown",
      "pending",
    ])
    for (k, kind) in kinds.enumerated() where kind.frames[0] + kind.frames[1] > 0 {
      var fates = kind.fates[0]
      fates.add(kind.fates[1])
      let isUnit = fates.units > 0
      let counts = [
        fates.units, fates.acked, fates.ackedAfterRetry, fates.rejected, fates.unanswered, fates.damaged,
        fates.unknown, fates.pending,
      ]
      table.add(
        [k < plan.typeNames.count ? plan.typeNames[k] : "other", grouped(kind.frames[0]), grouped(kind.frames[1])]
          + counts.map { isUnit ? grouped(UInt64($0)) : "" })
    }
    table.write(to: &out, width: width)
    out.literal("\n")
  }

  private func endpoints(_ figures: RunFigures, to out: inout ByteWriter) {
    var table = TextTable([
      "server", "messages", "success", "loss", "round trips", "min", "p50", "p90", "p95", "p99", "p99.9", "max ms",
    ])
    func row(_ name: String, _ metrics: EndpointMetrics) {
      let ratios = metrics.ratios
      let times =
        [metrics.roundTrips.minimum] + Catalogue.percentiles.map { metrics.roundTrips.percentile($0.percent) }
        + [metrics.roundTrips.maximum]
      table.add(
        [
          name, grouped(UInt64(metrics.messages.both.units)), share(ratios.success), share(ratios.loss),
          grouped(metrics.roundTrips.count),
        ] + times.map { $0.map(milliseconds) ?? "-" })
    }
    for (key, metrics) in figures.endpoints.prefix(50) {
      row("\(key.endpoint) \(figures.summary.plans[Int(key.plan)].name)", metrics)
    }
    if let others = figures.others { row("other servers", others) }
    if figures.endpoints.count != 1 { row("all", figures.total) }
    table.write(to: &out, width: width)
    if figures.endpoints.count > 50 { out.text("  and \(figures.endpoints.count - 50) more servers\n") }
    out.literal("\n")
  }

  private func heartbeats(_ figures: RunFigures, to out: inout ByteWriter) {
    let beats = figures.total.heartbeats
    guard beats.sent > 0 else { return }
    var parts = FigureWords.parts(.heartbeats, Catalogue.servers, ServerSnapshot(figures.total))
    if beats.intervals > 0 {
      parts.append("every \(seconds(Double(beats.intervalSum) / Double(beats.intervals))) on average")
    }
    if let p50 = beats.spacing.percentile(50), let p95 = beats.spacing.percentile(95) {
      parts.append("p50 \(seconds(Double(p50))), p95 \(seconds(Double(p95)))")
    }
    if let jitter = beats.jitter { parts.append("jitter \(seconds(jitter))") }
    if let silence = figures.total.longestSilenceSurvived {
      parts.append("longest silence survived \(seconds(Double(silence)))")
    }
    if let silence = figures.total.shortestSilenceBeforeReset {
      parts.append("shortest silence before a reset \(seconds(Double(silence)))")
    }
    out.text(wrapped("heartbeats: " + parts.joined(separator: ", "), width) + "\n")
  }

  /// Messages that did not succeed, by why: `not successful, by cause: network 3 (...), peer 1 (...)`.
  private func causes(_ total: EndpointMetrics, to out: inout ByteWriter) {
    let parts = FigureWords.parts(.causes, Catalogue.fates, total.messages)
    guard !parts.isEmpty else { return }
    out.text(wrapped("not successful, by cause: " + parts.joined(separator: ", "), width) + "\n")
  }

  /// What was refused: `refused: connect 5 not_authorized 3, submit_sm 88 ESME_RTHROTTLED 2`.
  private func refusals(_ figures: RunFigures, to out: inout ByteWriter) {
    let counts = figures.total.refusals
    let rows = RefusalRow.rows(counts, figures.summary.plans, figures.statuses)
    guard !rows.isEmpty else { return }
    var parts = rows.map { row in
      let status = row.status.map { " with \($0)" } ?? ""
      return "\(row.type)\(status)\(row.name.map { " " + $0 } ?? ""): \(grouped(row.count))"
    }
    if counts.others > 0 { parts.append("others: \(grouped(counts.others))") }
    out.text(wrapped("refused: " + parts.joined(separator: ", "), width) + "\n")
  }

  private func connections(_ figures: RunFigures, to out: inout ByteWriter) {
    let ledger = figures.summary.ledger
    var parts = ["connections: \(grouped(ledger.connections))", "\(grouped(ledger.decodedConnections)) decoded"]
    if ledger.connectionAttempts > 0 {
      // The same share as everywhere: of the attempts whose end is known.
      let known = ledger.connectionSuccesses + ledger.connectionsRefused + ledger.connectionsTimedOut
      let share = known == 0 ? "" : " (\(percent(ledger.connectionSuccesses, known)))"
      parts.append(
        "\(grouped(ledger.connectionSuccesses)) of \(count(ledger.connectionAttempts, "attempt")) succeeded" + share)
      if ledger.connectionAttempts > known {
        parts.append("\(grouped(ledger.connectionAttempts - known)) not decided")
      }
    }
    if ledger.connectionsRefused > 0 { parts.append("\(grouped(ledger.connectionsRefused)) refused") }
    if ledger.connectionsTimedOut > 0 { parts.append("\(grouped(ledger.connectionsTimedOut)) timed out") }
    if ledger.midstreamConnections > 0 {
      parts.append("\(grouped(ledger.midstreamConnections)) begun before the capture")
    }
    if figures.run.reconnects > 0 { parts.append("\(count(figures.run.reconnects, "reconnect"))") }
    parts += FigureWords.parts(.connections, Catalogue.reports, figures.total.counts)
    out.text(wrapped(parts.joined(separator: ", "), width) + "\n")
  }

  /// The protocol's own handshakes: `handshakes: 5 asked for, 3 answered, 2 only acknowledged, ...`.
  private func handshakes(_ total: EndpointMetrics, to out: inout ByteWriter) {
    let counts = total.handshakes
    guard counts.requested > 0 else { return }
    var parts = FigureWords.parts(.handshakes, Catalogue.servers, ServerSnapshot(total))
    parts.append("ready \(share(counts.readiness))")
    if let times = counts.times {
      let text = [times.minimum, times.mean, times.maximum].map(milliseconds).joined(separator: "/")
      parts.append("after \(text) ms min/mean/max")
    }
    out.text(wrapped("handshakes: " + parts.joined(separator: ", "), width) + "\n")
  }

  /// Messages that were read: `read, by receipts: client to server 24 after 2000.1/2010/2020 ms p50/p95/max`.
  private func reads(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    var parts: [String] = []
    for (way, name) in ["client to server", "server to client"].enumerated() {
      let reads = metrics.reads[way]
      guard let p50 = reads.percentile(50), let p95 = reads.percentile(95), let maximum = reads.maximum else {
        continue
      }
      let times = [p50, p95, maximum].map(milliseconds).joined(separator: "/")
      parts.append("\(name) \(grouped(reads.count)) after \(times) ms p50/p95/max")
    }
    guard !parts.isEmpty else { return }
    out.text(wrapped("read, by receipts: " + parts.joined(separator: ", "), width) + "\n")
  }

  private func traffic(_ traffic: Traffic, to out: inout ByteWriter) {
    var parts = ["traffic: \(count(traffic.frames, "frame")), \(count(traffic.bodyBytes, "byte")) of bodies"]
    if let duration = traffic.duration, let frames = traffic.rate(traffic.frames),
      let bytes = traffic.rate(traffic.frameBytes)
    {
      parts.append("in \(seconds(Double(duration))): \(decimal(frames)) frames/s, \(decimal(bytes)) bytes/s")
    }
    if let overhead = traffic.overhead { parts.append("\(share(overhead)) headers") }
    if let loss = traffic.transmissionLoss {
      parts.append("\(share(loss)) of the transmissions of messages unanswered")
    }
    out.text(wrapped(parts.joined(separator: ", "), width) + "\n")
  }

  /// One line for each direction and category whose numbers were not all in order.
  private func sequences(_ summary: Summary, to out: inout ByteWriter) {
    for (plan, all) in zip(summary.plans, summary.sequences) {
      for totals in all {
        let way = totals.direction == .clientToServer ? "client to server" : "server to client"
        let parts = FigureWords.parts(.sequences, Catalogue.sequences, totals)
        let name = "numbers of \(plan.name), \(way), category \(totals.category): "
        out.text(wrapped(name + parts.joined(separator: ", "), width) + "\n")
      }
    }
  }

  private func problems(_ figures: RunFigures, to out: inout ByteWriter) {
    let missing = figures.summary.reassembly.gapBytes
    let bytes = count(missing[0] + missing[1] + missing[2], "byte")
    let parts =
      FigureWords.parts(.issues, Catalogue.run, figures.run) { $0 == IssueKind.gap.name ? bytes : nil }
      + FigureWords.parts(.problems, Catalogue.reports, figures.total.counts)
      + FigureWords.parts(.problems, Catalogue.run, figures.run)
    out.text(wrapped("problems: " + (parts.isEmpty ? "none" : parts.joined(separator: ", ")), width) + "\n")
  }

  private func worst(_ figures: RunFigures, to out: inout ByteWriter) {
    guard !figures.worst.entries.isEmpty else { return }
    out.literal("\n")
    var table = TextTable([
      "worst connections", "client", "server", "messages", "rejected", "unanswered", "damaged", "control failed",
      "retries", "gaps", "lost bytes", "hb missed", "end",
    ])
    for entry in figures.worst.entries {
      let rare = entry.report.rare
      var fates = rare.fates[0]
      fates.add(rare.fates[1])
      let info = entry.report.info
      let counts: [UInt64] = [
        UInt64(fates.units), UInt64(fates.rejected), UInt64(fates.unanswered), UInt64(fates.damaged),
        UInt64(rare.failedControls), UInt64(rare.retries), UInt64(entry.report.gapCount), entry.report.gapBytes,
        UInt64(entry.report.heartbeats?.missed ?? 0),
      ]
      table.add(
        ["#\(info.serial)", "\(info.client)", "\(info.server)"] + counts.map(grouped) + [entry.report.reason.name])
    }
    table.write(to: &out, width: width)
  }

  private func share(_ ratio: Double?) -> String {
    guard let ratio else { return "-" }
    return percent(ratio)
  }

  private func milliseconds(_ microseconds: Int64) -> String {
    var text = ByteWriter(capacity: 32)
    text.milliseconds(microseconds)
    return text.text
  }

  private func decimal(_ value: Double) -> String {
    var text = ByteWriter(capacity: 32)
    text.decimal(value, 1)
    return text.text
  }

  private func seconds(_ microseconds: Double) -> String {
    var text = ByteWriter(capacity: 32)
    text.decimal(microseconds / 1_000_000, 3)
    return text.text + " s"
  }
}
