import IMEngine
import IMMetrics
import IMOutput
import IMOwners
import IMTLS
import IMWire

extension ECSWriter {
  /// The document of a connection: at its end, or a cumulative one while it lives, with what came since the last one in
  /// `delta`.
  func connection(
    _ report: ConnectionReport, _ record: ConnectionRegistry.Record, _ told: ReportCounts,
    since last: ConnectionSnapshot.Totals, plan: UInt8, _ lines: inout JSONLines
  ) -> Bool {
    let info = report.info
    let profile = profile(plan)
    let hasEnded = report.isFinal && report.reason != .open
    let end = report.end
    begin(.connection, at: report.isFinal ? end : max(end, report.madeAt), &lines)

    event(.connection, types: hasEnded ? "[\"connection\",\"end\"]" : "[\"connection\",\"info\"]", &lines)
    lines.name("action", hasEnded ? "connection_end" as StaticString : "connection_report")
    switch report.reason {
    // Whoever is refused by the protocol, and then hangs up in good order, has not succeeded.
    case .fin where report.handshake != .refused: lines.literal("\"outcome\":\"success\"")
    case .fin, .reset, .refused, .timeout: lines.literal("\"outcome\":\"failure\"")
    case .open, .reused, .evicted: lines.literal("\"outcome\":\"unknown\"")
    }
    eventID(&lines) { eventID(report, record, &$0) }
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
    if let owner = options.owners?.owner(of: info.serial, client: info.peer, server: info.server) {
      self.owner(owner, &lines)
    }
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

    tls(report, &lines)
    openOwn(plan, &lines)
    server(info.server, &lines)
    session(record.pointee.session, &lines)
    own(report, record, told, last, profile, &lines)
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
    _ report: ConnectionReport, _ record: ConnectionRegistry.Record, _ told: ReportCounts,
    _ last: ConnectionSnapshot.Totals, _ profile: Profile?, _ lines: inout JSONLines
  ) {
    lines.open("conn")
    connectionIDs(report.info.serial, record.pointee.uid(), &lines)
    lines.name("state", Self.state(report))
    lines.flag("final", report.isFinal)
    lines.number("report", record.pointee.reports)
    lines.flag("midstream", !report.sawSyn)
    lines.name("close_reason", report.reason.name)
    carriers(report, &lines)
    ownTLS(report, &lines)
    webSocket(report.carrier?.webSocket, &lines)
    MetricTrees.write(snapshot(report, record, told, last, profile), &lines) { member, lines in
      if member == "heartbeat" { handshake(report, profile, &lines) }
    }
    lines.close()
  }

  /// The figures of a connection's report.
  func snapshot(
    _ report: ConnectionReport, _ record: ConnectionRegistry.Record, _ told: ReportCounts,
    _ last: ConnectionSnapshot.Totals, _ profile: Profile?
  ) -> ConnectionSnapshot {
    ConnectionSnapshot(
      report: report, counts: told, messages: MessageTally(report), roundTrips: record.pointee.roundTrips,
      keepAlive: record.pointee.keepAlive, now: ConnectionSnapshot.Totals(report, MessageTally(report).both),
      last: last, hasChecksums: profile?.checksumName != nil)
  }

  /// What became of the protocol's own handshake; nothing where none was seen to begin.
  private func handshake(_ report: ConnectionReport, _ profile: Profile?, _ lines: inout JSONLines) {
    guard let figures = report.figures, let outcome = report.handshake else { return }
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

  /// What ECS has names for of TLS whose handshake was read; nothing without any. Offers of the client are no choices.
  private func tls(_ report: ConnectionReport, _ lines: inout JSONLines) {
    guard let carrier = report.carrier, let facts = carrier.tls else { return }
    lines.open("tls")
    if carrier.isDecrypted || facts.isVersionChosen, let version = facts.versionName {
      lines.text("version", String(version.drop { $0 != " " }.dropFirst()))
    }
    lines.name("version_protocol", facts.version == 0x0300 ? "ssl" as StaticString : "tls")
    lines.text("cipher", facts.suiteName)
    lines.text("next_protocol", facts.chosenProtocol)
    // Decrypted data have come through.
    if carrier.isDecrypted { lines.flag("established", true) }
    if let isResumed = facts.isResumed { lines.flag("resumed", isResumed) }
    if facts.serverName != nil || facts.ja3Text != nil {
      lines.open("client")
      lines.text("server_name", facts.serverName)
      lines.text("ja3", facts.ja3Text)
      lines.close()
    }
    lines.close()
  }

  /// What it has none for.
  private func ownTLS(_ report: ConnectionReport, _ lines: inout JSONLines) {
    guard let carrier = report.carrier, let facts = carrier.tls else { return }
    lines.open("tls")
    lines.text("ja4", facts.ja4Text)
    lines.text("client_random", facts.randomText)
    if carrier.isDecrypted { lines.name("key_by", facts.isFoundByTrial ? "trial" as StaticString : "random") }
    if let time = facts.handshakeTime { lines.milliseconds("handshake_ms", time.microseconds) }
    if carrier.unread.total > 0 {
      lines.open("unread_bytes")
      for reason in TLSUnread.allCases where carrier.unread[reason] > 0 {
        lines.number(reason.name, carrier.unread[reason])
      }
      lines.close()
    }
    if carrier.isDecrypted {
      lines.open("alerts")
      lines.number("client_to_server", UInt64(carrier.alerts[0]))
      lines.number("server_to_client", UInt64(carrier.alerts[1]))
      lines.close()
    }
    lines.close()
  }

  /// What its WebSocket frames were; nothing without any.
  private func webSocket(_ figures: WebSocketMetrics?, _ lines: inout JSONLines) {
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
      lines.milliseconds("min_ms", figures.roundTripMinimum.microseconds)
      lines.milliseconds("mean_ms", Double(figures.roundTripSum) / Double(count))
      lines.milliseconds("max_ms", figures.roundTripMaximum.microseconds)
      lines.close()
    }
    lines.number("not_inflated_bytes", figures.notInflated)
    if figures.isClosed, figures.closeStatus > 0 { lines.number("close_status", figures.closeStatus) }
    lines.close()
  }

  /// The name of the state that a report tells.
  static func state(_ report: ConnectionReport) -> StaticString {
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

  /// The document's `message`.
  func sentence(
    _ report: ConnectionReport, _ record: ConnectionRegistry.Record, _ profile: Profile?, _ end: Timestamp,
    hasEnded: Bool,
    _ lines: inout JSONLines
  ) {
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
    sentence(MessageTally(report), &lines)
    lines.writer.byte(UInt8(ascii: "\""))
  }
}
