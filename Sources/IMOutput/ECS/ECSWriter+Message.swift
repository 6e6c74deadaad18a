import IMEngine
import IMMetrics
import IMWire

extension ECSWriter {
  /// Numbers of our own begin here: the wire has none for the exchange.
  static let ownNumbers: UInt64 = 1 << 40

  /// The document of one message whose fate was decided. `facts` are those of its first copy's frame, if they were kept.
  ///
  /// An answer after the message was given up changes its fate: that is a second document, with the same `imdump.msg.id`
  /// and `late`. A lean one leaves out what repeats other fields and what describes the wire.
  func message(
    _ exchange: Exchange, _ facts: MessageFacts?, _ record: ConnectionRecord, _ lines: inout JSONLines
  ) -> Bool {
    let profile = profile(exchange.plan)
    let info = record.info
    let fromClient = exchange.direction == .clientToServer
    let isLate = exchange.flags.contains(.late)
    let isNumbered = exchange.sequence < Self.ownNumbers
    let isLean = options.isLean
    begin(.message, at: exchange.firstAt, isLean: isLean, &lines)

    event(.message, types: "[\"protocol\",\"info\"]", isLean: isLean, &lines)
    lines.members(fates[Int(exchange.fate.rawValue)][isLate ? 1 : 0])
    lines.key("id")
    identity(exchange, record.info.serial, isLate: isLate, &lines)
    if isNumbered { lines.number("sequence", exchange.sequence) }
    if exchange.latency == nil {
      lines.instant("start", exchange.firstAt)
    } else {
      span(exchange.firstAt, exchange.ackedAt, &lines)
    }
    lines.close()

    if !isLean {
      lines.open("source")
      lines.members(fromClient ? record.clientMembers : record.serverMembers)
      if let facts { lines.number("bytes", facts.byteCount) }
      lines.close()
      lines.open("destination")
      lines.members(fromClient ? record.serverMembers : record.clientMembers)
      lines.close()
    }
    lines.open("client")
    lines.members(record.clientMembers)
    user(record, &lines)
    lines.close()
    lines.open("server")
    lines.members(record.serverMembers)
    lines.close()
    lines.open("network")
    lines.members(record.network(protocol: profile?.protocolName))
    // As the server's network sees it.
    lines.literal(fromClient ? "\"direction\":\"inbound\"" : "\"direction\":\"outbound\"")
    lines.close()

    openOwn(exchange.plan, isLean: isLean, &lines)
    server(info.server, &lines)
    if let facts, let profile, profile.hasSession {
      session(.number(facts.session), &lines)
    } else {
      session(record.session, &lines)
    }
    lines.open("conn")
    lines.key("id")
    connectionID(info.serial, &lines)
    lines.close()
    lines.open("msg")
    lines.key("id")
    identity(exchange, record.info.serial, isLate: false, &lines)
    body(exchange, facts, profile, isNumbered: isNumbered, isLate: isLate, &lines)
    lines.close()
    lines.close()
    if !isLean { sentence(exchange, profile, info, isNumbered: isNumbered, &lines) }
    return lines.end()
  }

  /// `client.user`, when the client named itself.
  func user(_ record: ConnectionRecord, _ lines: inout JSONLines) {
    guard let name = record.userName else { return }
    lines.open("user")
    lines.text("id", name)
    lines.close()
  }

  /// The exchange's number in the run makes the id, since numbers on the wire are used again.
  private func identity(_ exchange: Exchange, _ connection: UInt32, isLate: Bool, _ lines: inout JSONLines) {
    lines.writer.byte(UInt8(ascii: "\""))
    lines.writer.raw(run.bytes)
    lines.writer.byte(UInt8(ascii: "-"))
    lines.writer.number(connection)
    lines.writer.literal(exchange.direction == .clientToServer ? "-c2s-" : "-s2c-")
    lines.writer.number(exchange.id)
    if isLate { lines.writer.literal("-late") }
    lines.writer.byte(UInt8(ascii: "\""))
  }

  private func body(
    _ exchange: Exchange, _ facts: MessageFacts?, _ profile: Profile?, isNumbered: Bool, isLate: Bool,
    _ lines: inout JSONLines
  ) {
    let kind = Int(exchange.kind)
    if let profile, kind < profile.typeMembers.count { lines.members(profile.typeMembers[kind]) }
    if isNumbered { lines.number("sequence", exchange.sequence) }
    lines.literal(
      exchange.direction == .clientToServer
        ? "\"direction\":\"client_to_server\"" : "\"direction\":\"server_to_client\"")
    // A message that asks for no answer has no fate.
    if exchange.fate != .unacknowledged { lines.name("fate", exchange.fate.name) }
    if isLate { lines.flag("late", true) }
    lines.number("copies", exchange.copies)
    if let facts {
      lines.number("retries", facts.retries)
    } else if exchange.copies == 1 {
      lines.number("retries", UInt16(0))
    }
    lines.number("duplicates", exchange.duplicates)
    lines.milliseconds("rtt_ms", exchange.roundTrip)
    lines.number("body_bytes", exchange.bodyCount)
    if case .sample(let n) = options.messageLog { lines.decimal("sampled", 1 / Double(n)) }
    if let version = profile?.version { lines.members(version) }
    guard let facts else { return }
    lines.number("bytes", facts.byteCount)
    lines.number("tlv_count", facts.tlvCount)
    lines.open("checksum")
    if let algorithm = profile?.algorithm, !options.isLean { lines.members(algorithm) }
    lines.name("status", facts.checksum.name)
    lines.close()
    if options.isLean { return }
    lines.number("header_bytes", facts.headerCount)
    lines.number("tlv_depth", facts.tlvDepth)
    lines.number("stream_offset", facts.streamOffset)
    if facts.named > 0 { tlv(facts, digits: profile?.tagDigits ?? 4, &lines) }
  }

  /// `data seq 7 10.0.0.5:52344 > 203.0.113.9:8080 acked 84.211 ms after 1 copy`.
  private func sentence(
    _ exchange: Exchange, _ profile: Profile?, _ info: ConnectionInfo, isNumbered: Bool, _ lines: inout JSONLines
  ) {
    let fromClient = exchange.direction == .clientToServer
    lines.key("message")
    lines.writer.byte(UInt8(ascii: "\""))
    if let profile, Int(exchange.kind) < profile.typeNames.count {
      lines.writer.raw(profile.typeNames[Int(exchange.kind)].bytes)
    } else {
      lines.writer.literal("message")
    }
    if isNumbered {
      lines.writer.literal(" seq ")
      lines.writer.number(exchange.sequence)
    }
    lines.writer.byte(UInt8(ascii: " "))
    lines.writer.endpoint(fromClient ? info.client : info.server)
    lines.writer.literal(" > ")
    lines.writer.endpoint(fromClient ? info.server : info.client)
    lines.writer.byte(UInt8(ascii: " "))
    lines.writer.text(exchange.fate.name)
    if let latency = exchange.latency {
      lines.writer.byte(UInt8(ascii: " "))
      lines.writer.thousandths(latency)
      lines.writer.literal(" ms")
    }
    lines.writer.literal(" after ")
    lines.writer.number(exchange.copies)
    lines.writer.literal(exchange.copies == 1 ? " copy\"" : " copies\"")
  }
}
