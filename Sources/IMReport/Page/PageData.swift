import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// What a page shows, as JSON in the page: for scripts of whoever receives it. Times are milliseconds where a name says so; what is not
/// known is left out.
enum PageData {
  /// Appends the element, which no browser executes.
  static func write(_ model: ReportModel, _ page: inout Markup) {
    var out = ByteWriter(capacity: 1 << 16)
    JSONLines.line(to: &out) { members(model, &$0) }
    page.raw("<script type=\"application/json\" id=\"data\">")
    out.withBytes { page.json($0) }
    page.raw("</script>\n")
  }

  private static func members(_ model: ReportModel, _ lines: inout JSONLines) {
    lines.string("version", model.version)
    lines.openList("captures")
    for capture in model.captures { lines.item(Words.baseName(capture)) }
    lines.closeList()
    if let (first, last) = model.captured {
      lines.instant("from", first)
      lines.instant("to", last)
    }
    let verdict = Verdict(model)
    lines.open("verdict")
    lines.name("level", "\(verdict.level)")
    lines.string("headline", verdict.headline)
    lines.openList("sentences")
    for sentence in verdict.findings.flatMap(\.sentences) { lines.item(sentence) }
    lines.closeList()
    lines.close()
    figures(model, &lines)
    buckets(model, &lines)
    problems(model, &lines)
    connections(model, &lines)
  }

  /// The figures of the run as `stats --json` has them, but for the percentiles, which are chosen.
  private static func figures(_ model: ReportModel, _ lines: inout JSONLines) {
    lines.open("figures")
    MetricTrees.write(
      ServerSnapshot(model.figures.total), &lines, aside: { if $0 == "rtt_us" { roundTrips(model, &$1) } },
      isWanted: { $0 != "rtt_us" })
    lines.close()
  }

  private static func roundTrips(_ model: ReportModel, _ lines: inout JSONLines) {
    lines.open("rtt_us")
    for direction in [Direction.clientToServer, .serverToClient] {
      let trips = model.figures.roundTrips(direction)
      guard trips.count > 0 else { continue }
      lines.open(direction == .clientToServer ? "client_to_server" : "server_to_client")
      lines.exact("count", trips.count)
      trips.minimum.map { lines.signed("min", $0) }
      for percent in model.percentiles.all {
        if let value = trips.percentile(percent) {
          lines.exact(named: PagePercentiles.name(percent), UInt64(max(0, value)))
        }
      }
      trips.maximum.map { lines.signed("max", $0) }
      lines.close()
    }
    lines.close()
  }

  private static func buckets(_ model: ReportModel, _ lines: inout JSONLines) {
    lines.signed("step_s", model.series.width)
    lines.openList("steps")
    for (begin, bucket) in model.series.all {
      lines.openItem()
      lines.instant("begin", begin)
      lines.exact("messages", bucket.messages)
      lines.exact("lost", bucket.lost)
      lines.exact("retried", bucket.retried)
      lines.exact("rejected", bucket.rejected)
      lines.exact("unknown", bucket.unknown)
      lines.exact("heartbeats_missed", bucket.missed)
      lines.exact("missing_bytes", bucket.missingBytes)
      lines.open("rtt_us")
      for direction in [Direction.clientToServer, .serverToClient] where bucket.roundTrips[direction].count > 0 {
        lines.open(direction == .clientToServer ? "client_to_server" : "server_to_client")
        lines.exact("count", bucket.roundTrips[direction].count)
        for percent in model.percentiles.all {
          if let value = bucket.roundTrips[direction].percentile(percent) {
            lines.exact(named: PagePercentiles.name(percent), UInt64(max(0, value)))
          }
        }
        lines.close()
      }
      lines.close()
      lines.open("types")
      for (type, count) in bucket.types.sorted(by: { $0.key < $1.key }) {
        lines.exact(named: JSONLines.escaped(model.typeNames[type] ?? "type \(type & 255)"), count)
      }
      lines.close()
      lines.close()
    }
    lines.closeList()
  }

  private static func problems(_ model: ReportModel, _ lines: inout JSONLines) {
    lines.openList("problems")
    for problem in model.problems {
      lines.openItem()
      lines.name("severity", "\(problem.severity)")
      lines.string("kind", problem.kind)
      lines.string("of", problem.subject)
      if !problem.cause.isEmpty { lines.string("cause", problem.cause) }
      lines.exact("count", problem.count)
      if let first = problem.first { lines.instant("first", first) }
      lines.openList("connections")
      for serial in problem.serials { lines.item(Int64(serial)) }
      lines.closeList()
      lines.close()
    }
    lines.closeList()
  }

  private static func connections(_ model: ReportModel, _ lines: inout JSONLines) {
    lines.openList("connections")
    for row in model.connections {
      lines.openItem()
      lines.exact("connection", row.serial)
      lines.string("client", row.client)
      lines.string("server", row.server)
      if let session = row.session { lines.string("session", session) }
      if let profile = row.profile {
        lines.string("profile", profile)
        lines.exact("messages", row.messages)
        lines.exact("lost", row.lost)
        lines.exact("unknown", row.unknown)
        lines.exact("retries", row.retries)
      }
      if let missed = row.missed { lines.exact("heartbeats_missed", missed) }
      lines.exact("gap_bytes", row.gapBytes)
      if let retransmissions = row.retransmissions { lines.exact("retransmissions", retransmissions) }
      lines.instant("first_seen", row.firstSeen)
      lines.signed("length_us", row.length)
      lines.string("end", row.state)
      lines.close()
    }
    lines.closeList()
    lines.exact("connections_left_out", model.connectionsLeftOut)
  }
}
