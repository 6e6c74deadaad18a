import IMEngine
import IMMetrics
import IMWire

/// The figures of a run as tables: `imdump stats`.
package struct StatsTextWriter {
  let width: Int?

  /// A writer for a terminal of `width` columns; `nil` is no terminal.
  package init(width: Int? = nil) { self.width = width }

  /// Appends the tables.
  package func write(_ figures: RunMetrics, to out: inout ByteWriter) {
    for (i, plan) in figures.summary.plans.enumerated() { types(plan, figures.summary.kinds[i], to: &out) }
    guard figures.total.counts[.frames] > 0 else {
      guard figures.summary.ledger.connections > 0 else { return }
      connections(figures, to: &out)
      tcp(figures.total, to: &out)
      return problems(figures, to: &out)
    }
    endpoints(figures, to: &out)
    roundTrips(figures, to: &out)
    heartbeats(figures, to: &out)
    causes(figures.total, to: &out)
    rejections(figures, to: &out)
    connections(figures, to: &out)
    handshakes(figures.total, to: &out)
    receipts(figures.total, to: &out)
    traffic(figures.run, to: &out)
    tcp(figures.total, to: &out)
    sequences(figures.summary, to: &out)
    problems(figures, to: &out)
    worst(figures, to: &out)
  }

  /// Appends what is known of a run that goes on: what reports of connections tell comes when these end.
  package func write(live figures: RunMetrics, to out: inout ByteWriter) {
    for (i, plan) in figures.summary.plans.enumerated() {
      types(plan, figures.summary.kinds[i].map(\.withOpenAsPending), to: &out)
    }
    if !figures.endpoints.isEmpty { endpoints(figures, isLive: true, to: &out) }
    roundTrips(figures, to: &out)
    causes(figures.total, to: &out)
    rejections(figures, to: &out)
    receipts(figures.total, to: &out)
    sequences(figures.summary, to: &out)
    problems(figures, to: &out)
  }

  /// Appends what is known of messages that a filter has chosen: what became of them, and when.
  package func write(chosen figures: RunMetrics, to out: inout ByteWriter) {
    guard !figures.endpoints.isEmpty else { return }
    endpoints(figures, to: &out)
    roundTrips(figures, to: &out)
    causes(figures.total, to: &out)
    rejections(figures, to: &out)
  }

  private func types(_ plan: ProtocolPlan, _ kinds: [KindTotals], to out: inout ByteWriter) {
    guard kinds.contains(where: { $0.frames[0] + $0.frames[1] > 0 }) else { return }
    let columns = MetricColumns(.types, Catalogue.types)
    var table = TextTable([plan.name] + columns.titles)
    for (k, kind) in kinds.enumerated() where kind.frames[0] + kind.frames[1] > 0 {
      table.add([k < plan.typeNames.count ? plan.typeNames[k] : "other"] + columns.cells(kind))
    }
    table.write(to: &out, width: width)
    out.literal("\n")
  }

  private func endpoints(_ figures: RunMetrics, isLive: Bool = false, to out: inout ByteWriter) {
    let columns = MetricColumns(.servers, Catalogue.servers)
    // Servers count messages when their outcome is known.
    let titles = columns.titles.map { isLive && $0 == "messages" ? "decided" : $0 }
    var table = TextTable(["server"] + titles)
    let left = forEachServer(figures) { name, metrics in table.add([name] + columns.cells(ServerSnapshot(metrics))) }
    table.write(to: &out, width: width)
    if left > 0 { out.text("  and \(left) more servers\n") }
    out.literal("\n")
  }

  /// Round trips by server and direction: what a server answers and what its clients answer are two things.
  private func roundTrips(_ figures: RunMetrics, to out: inout ByteWriter) {
    guard figures.total.roundTripsByDirection[0].count + figures.total.roundTripsByDirection[1].count > 0 else {
      return
    }
    let columns = MetricColumns(.roundTrips, Catalogue.servers)
    var table = TextTable(["round trips", ""] + columns.titles)
    let left = forEachServer(figures) { name, metrics in
      let server = ServerSnapshot(metrics)
      for (way, direction) in ["c2s", "s2c"].enumerated() where metrics.roundTripsByDirection[way].count > 0 {
        table.add([name, direction] + columns.cells(server, way: way))
      }
    }
    table.write(to: &out, width: width)
    if left > 0 { out.text("  and \(left) more servers\n") }
    out.literal("\n")
  }

  /// Calls `body` with the first fifty servers, the others and the run, and gives how many are left out.
  private func forEachServer(_ figures: RunMetrics, _ body: (String, EndpointMetrics) -> Void) -> Int {
    for (key, metrics) in figures.endpoints.prefix(50) {
      body("\(key.endpoint) \(figures.summary.plans[Int(key.plan)].name)", metrics)
    }
    if let others = figures.others { body("other servers", others) }
    if figures.endpoints.count != 1 { body("all", figures.total) }
    return max(0, figures.endpoints.count - 50)
  }

  private func heartbeats(_ figures: RunMetrics, to out: inout ByteWriter) {
    let total = ServerSnapshot(figures.total)
    if Catalogue.count("heartbeats.sent", in: Catalogue.servers, of: total) > 0 {
      line("heartbeats: ", MetricSentences.parts(.heartbeats, Catalogue.servers, total), to: &out)
    }
    if let verdict = SilenceText.verdict(figures.total) { line("silence: ", [verdict], to: &out) }
  }

  /// Messages that did not succeed, by why: `not successful, by cause: network 3 (...), peer 1 (...)`.
  private func causes(_ total: EndpointMetrics, to out: inout ByteWriter) {
    line("not successful, by cause: ", MetricSentences.parts(.causes, Catalogue.fates, total.messages), to: &out)
  }

  /// Rejections by type and status: `rejected: connect with not_authorized (5): 3`.
  private func rejections(_ figures: RunMetrics, to out: inout ByteWriter) {
    let counts = figures.total.rejections
    let rows = RejectionRow.rows(counts, figures.summary.plans, figures.statuses)
    var parts = rows.map { row in
      let number = row.status.map { "\($0)" }
      let status = row.name.map { name in name + (number.map { " (\($0))" } ?? "") } ?? number
      return "\(row.type)\(status.map { " with \($0)" } ?? ""): \(grouped(row.count))"
    }
    if counts.others > 0 { parts.append("others: \(grouped(counts.others))") }
    line("rejected: ", parts, to: &out)
  }

  private func connections(_ figures: RunMetrics, to out: inout ByteWriter) {
    let parts =
      MetricSentences.parts(.connections, Catalogue.run, figures.run)
      + MetricSentences.parts(.connections, Catalogue.reports, figures.total.counts)
    line("connections: ", parts, to: &out)
  }

  /// The protocol's own handshakes: `handshakes: 5 requested, 3 answered, 2 acknowledged without an answer, ...`.
  private func handshakes(_ total: EndpointMetrics, to out: inout ByteWriter) {
    line("handshakes: ", MetricSentences.parts(.handshakes, Catalogue.servers, ServerSnapshot(total)), to: &out)
  }

  /// Messages that were delivered and read: `read, by receipts: client to server 24 after 2000.1/2010/2020 ms p50/p95/max`.
  private func receipts(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    let server = ServerSnapshot(metrics)
    for (name, place) in [("delivered", MetricPresentation.Place.deliveries), ("read", .reads)] {
      let parts = Self.ways.enumerated().compactMap { way, name in
        let parts = MetricSentences.parts(place, Catalogue.servers, server, way: way)
        return parts.isEmpty ? nil : "\(name) " + parts.joined(separator: " ")
      }
      line("\(name), by receipts: ", parts, to: &out)
    }
  }

  private func traffic(_ run: RunSnapshot, to out: inout ByteWriter) {
    line("traffic: ", MetricSentences.parts(.traffic, Catalogue.run, run), to: &out)
  }

  /// One line for each direction and category whose numbers were not all in order.
  private func sequences(_ summary: Summary, to out: inout ByteWriter) {
    for (plan, all) in zip(summary.plans, summary.sequences) {
      for totals in all {
        let way = Self.ways[Int(totals.direction.rawValue)]
        let parts = MetricSentences.parts(.sequences, Catalogue.sequences, totals)
        line("sequence gaps of \(plan.name), \(way), category \(totals.category): ", parts, to: &out)
      }
    }
  }

  private func problems(_ figures: RunMetrics, to out: inout ByteWriter) {
    let bytes = count(Catalogue.count("gaps.run.bytes", in: Catalogue.run, of: figures.run), "byte")
    let unanswered = unanswered(figures)
    let parts =
      MetricSentences.parts(
        .issues, Catalogue.run, figures.run,
        remark: { $0 == IssueKind.gap.name ? bytes : $0 == IssueKind.unanswered.name ? unanswered : nil })
      + MetricSentences.parts(.problems, Catalogue.reports, figures.total.counts)
      + MetricSentences.parts(.problems, Catalogue.run, figures.run)
    line("problems: ", parts.isEmpty ? ["none"] : parts, to: &out)
  }

  /// The kinds of unanswered frames: messages, as they are counted everywhere, and other frames that expect an answer, by role. `nil` if there are
  /// none.
  private func unanswered(_ figures: RunMetrics) -> String? {
    let summary = figures.summary
    var parts = [(UInt64(figures.total.messages.both.unanswered), "message")]
    for (role, word) in [(FrameRole.receipt, "receipt"), (.control, "control frame"), (.other, "other frame")] {
      var unanswered: UInt64 = 0
      for (plan, kinds) in zip(summary.plans, summary.kinds) {
        for (k, kind) in kinds.enumerated() where (k < plan.typeRoles.count ? plan.typeRoles[k] : .other) == role {
          for direction in 0...1 { unanswered &+= UInt64(kind.fates[direction].unanswered) }
        }
      }
      parts.append((unanswered, word))
    }
    let words = parts.filter { $0.0 > 0 }.map { count($0.0, $0.1) }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }

  private func worst(_ figures: RunMetrics, to out: inout ByteWriter) {
    guard !figures.worst.entries.isEmpty else { return }
    out.literal("\n")
    let columns = MetricColumns(.worst, Catalogue.connections)
    var table = TextTable(["worst connections", "client", "server"] + columns.titles + ["end"])
    for report in figures.worst.entries.map(\.report) {
      let info = report.info
      table.add(
        ["#\(info.serial)", "\(info.client)", "\(info.server)"] + columns.cells(ConnectionSnapshot(report))
          + [report.reason.name])
    }
    table.write(to: &out, width: width)
  }

  /// The names of directions.
  static let ways = ["client to server", "server to client"]

  /// Appends a line of parts, if there are any.
  func line(_ head: String, _ parts: [String], to out: inout ByteWriter) {
    if !parts.isEmpty { out.text(wrapped(head + parts.joined(separator: ", "), width) + "\n") }
  }
}
