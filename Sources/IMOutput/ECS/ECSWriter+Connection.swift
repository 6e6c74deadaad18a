import IMEngine
import IMMetrics
import IMWire

extension ECSWriter {
  /// The document of a connection: at its end, or a cumulative one while it lives, with what came since the last one in
  /// `delta`.
  func connection(
    _ report: ConnectionReport, _ record: ConnectionBook.Record, _ delta: ConnectionRecord.Totals, plan: UInt8,
    _ lines: inout JSONLines
  ) -> Bool {
    let info = report.info
    let profile = profile(plan)
    let hasEnded = report.isFinal && report.reason != .open
    let end = max(report.firstSeen, report.closedAt ?? report.lastSeen)
    begin(.connection, at: report.isFinal ? end : max(end, report.madeAt), &lines)

    event(.connection, types: hasEnded ? "[\"connection\",\"end\"]" : "[\"connection\",\"info\"]", &lines)
    lines.name("action", hasEnded ? "connection_end" as StaticString : "connection_report")
    switch report.reason {
    // Whoever is refused by the protocol, and then hangs up in good order, has not succeeded.
    case .fin where report.handshake != .refused: lines.literal("\"outcome\":\"success\"")
    case .fin, .reset, .refused, .timeout: lines.literal("\"outcome\":\"failure\"")
    case .open, .reused, .evicted: lines.literal("\"outcome\":\"unknown\"")
    }
    eventID(info.serial, report.isFinal ? "end" : "r", report.isFinal ? nil : record.pointee.reports, &lines)
    span(report.firstSeen, end, &lines)
    if hasEnded { lines.name("reason", report.reason.name) }
    lines.close()

    side("source", info.peer, report, 0, &lines)
    lines.close()
    side("destination", info.server, report, 1, &lines)
    lines.close()
    openClient(info, &lines)
    lines.number("bytes", report.wireBytes[0])
    lines.number("packets", report.packets[0])
    user(record, &lines)
    lines.close()
    side("server", info.server, report, 1, &lines)
    lines.close()
    lines.open("network")
    network(record, profile, &lines)
    lines.number("bytes", report.wireBytes[0] + report.wireBytes[1])
    lines.number("packets", UInt64(report.packets[0]) + UInt64(report.packets[1]))
    lines.close()
    lines.open("related")
    lines.key("ip")
    lines.writer.literal("[\"")
    lines.writer.address(info.client.address)
    if info.client.address != info.server.address {
      lines.writer.literal("\",\"")
      lines.writer.address(info.server.address)
    }
    if info.peer.address != info.client.address, info.peer.address != info.server.address {
      lines.writer.literal("\",\"")
      lines.writer.address(info.peer.address)
    }
    lines.writer.literal("\"]")
    lines.close()

    openOwn(plan, &lines)
    server(info.server, &lines)
    session(record.pointee.session, &lines)
    own(report, record, delta, profile, &lines)
    lines.close()
    sentence(report, record, profile, end, hasEnded: hasEnded, &lines)
    return lines.end()
  }

  private func side(
    _ key: StaticString, _ endpoint: Endpoint, _ report: ConnectionReport, _ way: Int, _ lines: inout JSONLines
  ) {
    open(key, endpoint, &lines)
    lines.number("bytes", report.wireBytes[way])
    lines.number("packets", report.packets[way])
  }

  private func own(
    _ report: ConnectionReport, _ record: ConnectionBook.Record, _ delta: ConnectionRecord.Totals, _ profile: Profile?,
    _ lines: inout JSONLines
  ) {
    lines.open("conn")
    lines.key("id")
    connectionID(report.info.serial, &lines)
    lines.name("state", Self.state(report))
    lines.flag("final", report.isFinal)
    lines.number("report", record.pointee.reports)
    lines.flag("midstream", !report.sawSyn)
    lines.name("close_reason", report.reason.name)
    carriers(report, &lines)
    webSocket(report.carrier?.webSocket, &lines)
    lines.open("gap")
    lines.number("count", report.gapCount)
    lines.number("bytes", report.gapBytes)
    lines.close()
    lines.open("tcp")
    lines.number("retransmits", report.retransmits)
    lines.number("out_of_order", report.outOfOrder)
    lines.number("capture_duplicates", report.copies)
    if let server = report.serverHandshake, let client = report.clientHandshake {
      lines.milliseconds("rtt_ms", server / 1_000 + client / 1_000)
    }
    segments("client_to_server", report, 0, &lines)
    segments("server_to_client", report, 1, &lines)
    lines.close()
    messages(record.pointee.messages, &lines)
    ratios(FateRatios(record.pointee.messages.both), connections: nil, &lines)
    roundTrips(record.pointee.roundTrips, &lines)
    if let beats = report.heartbeats { heartbeats(beats, record, &lines) }
    if let figures = report.figures {
      if let outcome = report.handshake {
        lines.open("handshake")
        switch outcome {
        case .answered, .acknowledged: lines.literal("\"outcome\":\"success\"")
        case .refused, .unanswered: lines.literal("\"outcome\":\"failure\"")
        case .pending: lines.literal("\"outcome\":\"unknown\"")
        }
        if let version = profile?.version { lines.members(version) }
        if figures.readyAt != .distantPast {
          let begun = report.establishedAt ?? figures.handshakeAt
          lines.milliseconds("duration_ms", max(0, figures.readyAt.microseconds - begun.microseconds))
        }
        lines.close()
      }
      if profile?.checksumName != nil {
        checksums(figures.checksums[0], figures.checksums[1], figures.checksums[2], figures.checksums[3], &lines)
      }
      if figures.longestIdle > 0 {
        lines.open("idle")
        lines.key("longest_survived_s")
        lines.writer.decimal(Double(figures.longestIdle) / 1_000_000, 3)
        lines.close()
      }
    }
    lines.open("delta")
    lines.signed("messages", Int64(bitPattern: delta.units))
    lines.signed("acked", Int64(bitPattern: delta.acked))
    // A late answer takes an unanswered message back that an earlier report has counted.
    lines.signed("unanswered", Int64(bitPattern: delta.unanswered))
    lines.signed("heartbeats_missed", Int64(bitPattern: delta.missed))
    lines.signed("bytes", Int64(bitPattern: delta.bytes))
    lines.close()
    lines.close()
  }

  /// What the protocol travels in beside TCP; nothing for TCP alone.
  private func carriers(_ report: ConnectionReport, _ lines: inout JSONLines) {
    guard !report.info.carriers.isEmpty else { return }
    lines.open("carrier")
    lines.key("name")
    lines.writer.names(report.info.carriers)
    if let destination = report.carrier?.destination {
      open("destination", destination, &lines)
      lines.close()
    }
    if !report.info.carriers.isDisjoint(with: .proxy) { lines.flag("tls", report.carrier?.usesTLS ?? false) }
    lines.close()
  }

  /// What its WebSocket frames were; nothing without any.
  private func webSocket(_ figures: WebSocketFigures?, _ lines: inout JSONLines) {
    guard let figures else { return }
    lines.open("websocket")
    let ways: [StaticString] = ["client_to_server", "server_to_client"]
    for (way, name) in ways.enumerated() {
      lines.open(name)
      lines.number("messages", figures.messages[way])
      lines.number("compressed", figures.compressed[way])
      for type in WebSocketFrameType.allCases {
        lines.number(type.name, figures.frames[way][Int(type.rawValue)])
      }
      lines.number("pings_answered", figures.answered[way])
      lines.close()
    }
    let count = figures.answered[0] + figures.answered[1]
    if count > 0 {
      lines.open("ping_rtt")
      lines.number("count", count)
      lines.milliseconds("min_ms", figures.roundTripMinimum)
      lines.milliseconds("mean_ms", Double(figures.roundTripSum) / Double(count))
      lines.milliseconds("max_ms", figures.roundTripMaximum)
      lines.close()
    }
    lines.number("not_inflated_bytes", figures.notInflated)
    if figures.isClosed, figures.closeStatus > 0 { lines.number("close_status", figures.closeStatus) }
    lines.close()
  }

  /// What one direction's segments were; nothing where none was captured.
  private func segments(
    _ key: StaticString, _ report: ConnectionReport, _ way: Int, _ lines: inout JSONLines
  ) {
    guard report.packets[way] > 0 else { return }
    lines.open(key)
    let figures = report.segments[way]
    SegmentFields.forEach(figures, sawBothSides: report.sawBothSides) { lines.number($0, $1) }
    let trips = figures.roundTrips
    if let least = trips.minimum, let mean = trips.mean, let most = trips.maximum {
      lines.open("ack_rtt")
      lines.number("count", trips.count)
      lines.milliseconds("min_ms", least / 1_000)
      lines.milliseconds("mean_ms", mean / 1_000)
      lines.milliseconds("max_ms", most / 1_000)
      lines.close()
    }
    lines.close()
  }

  private static func state(_ report: ConnectionReport) -> StaticString {
    switch (report.phase, report.reason) {
    case (.closed, .reset), (.closed, .refused): "reset"
    case (.closed, .timeout): "timeout"
    case (.closed, .evicted): "evicted"
    case (.closed, _): "closed"
    case (.midstream, _): "midstream"
    case (.opening, _), (.accepted, _): "half_open"
    case (.established, _), (.closing, _): "established"
    }
  }

  private func roundTrips(_ histogram: RTTHistogram, _ lines: inout JSONLines) {
    guard histogram.count > 0 else { return }
    lines.open("rtt")
    lines.number("count", histogram.count)
    lines.milliseconds("min_ms", histogram.minimum)
    lines.milliseconds("mean_ms", histogram.mean)
    lines.milliseconds("max_ms", histogram.maximum)
    lines.milliseconds("p50_ms", histogram.percentile(50))
    lines.milliseconds("p95_ms", histogram.percentile(95))
    lines.milliseconds("p99_ms", histogram.percentile(99))
    lines.close()
  }

  private func heartbeats(_ beats: HeartbeatFigures, _ record: ConnectionBook.Record, _ lines: inout JSONLines) {
    lines.open("heartbeat")
    lines.number("sent", beats.sent)
    lines.number("answered", beats.answered)
    lines.number("missed", beats.missed)
    lines.number("unknown", beats.unknown)
    if beats.intervals > 0 { lines.milliseconds("interval_ms", Double(beats.intervalSum) / Double(beats.intervals)) }
    lines.milliseconds("jitter_ms", beats.jitter)
    if record.pointee.keepAlive > 0 {
      lines.milliseconds("expected_ms", Int64(clamping: record.pointee.keepAlive) &* 1_000_000)
    } else if beats.expected > 0 {
      lines.milliseconds("expected_ms", Int64(beats.expected) &* 1_000)
    }
    if beats.roundTrips > 0 { lines.milliseconds("rtt_ms", Double(beats.roundTripSum) / Double(beats.roundTrips)) }
    lines.close()
  }

  private func sentence(
    _ report: ConnectionReport, _ record: ConnectionBook.Record, _ profile: Profile?, _ end: Timestamp, hasEnded: Bool,
    _ lines: inout JSONLines
  ) {
    let counts = record.pointee.messages.both
    lines.key("message")
    lines.writer.byte(UInt8(ascii: "\""))
    lines.writer.endpoint(report.info.client)
    lines.writer.literal(" > ")
    lines.writer.endpoint(report.info.server)
    lines.writer.byte(UInt8(ascii: " "))
    lines.writer.text(profile?.name ?? "tcp")
    if hasEnded {
      lines.writer.literal(" closed by ")
      lines.writer.text(report.reason.name)
      lines.writer.literal(" after ")
    } else {
      lines.writer.literal(" open for ")
    }
    lines.writer.decimal(Double(end.microseconds - report.firstSeen.microseconds) / 1e6, 2)
    lines.writer.literal(" s: ")
    lines.writer.number(counts.units)
    lines.writer.literal(counts.units == 1 ? " message" : " messages")
    sentence(FateRatios(counts), &lines)
    lines.writer.byte(UInt8(ascii: "\""))
  }
}
