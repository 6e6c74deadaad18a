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
    _ exchange: Exchange, _ facts: MessageFacts?, _ record: ConnectionRecord, keepsTexts: Bool,
    _ lines: inout JSONLines
  ) -> Bool {
    let profile = profile(exchange.plan)
    let isLate = exchange.flags.contains(.late)
    let isNumbered = exchange.sequence < Self.ownNumbers
    let isLean = options.isLean
    let number = profile?.hasSession == true ? facts?.session : nil
    let texts = texts(record, exchange.direction, exchange.plan, session: number, keeps: keepsTexts)
    lines.begin()
    lines.instant("@timestamp", exchange.firstAt)
    lines.members(isLean ? leanMessageHead : messageHead)
    lines.members(fates[Int(exchange.fate.rawValue)][isLate ? 1 : 0])
    lines.key("id")
    identity(exchange, texts, isLate: isLate, &lines)
    if isNumbered { lines.number("sequence", exchange.sequence) }
    if exchange.latency == nil {
      lines.instant("start", exchange.firstAt)
    } else {
      span(exchange.firstAt, exchange.ackedAt, &lines)
    }
    lines.close()
    if !isLean {
      lines.members(texts.source)
      if let facts { lines.number("bytes", facts.byteCount) }
      lines.writer.raw(texts.middle)
    } else {
      lines.members(texts.middle)
    }
    identity(exchange, texts, isLate: false, &lines)
    body(exchange, facts, profile, isNumbered: isNumbered, isLate: isLate, &lines)
    lines.close()
    lines.close()
    if !isLean { sentence(exchange, profile, texts, isNumbered: isNumbered, &lines) }
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
  private func identity(_ exchange: Exchange, _ texts: MessageTexts, isLate: Bool, _ lines: inout JSONLines) {
    lines.writer.byte(UInt8(ascii: "\""))
    lines.writer.raw(texts.id)
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
    _ exchange: Exchange, _ profile: Profile?, _ texts: MessageTexts, isNumbered: Bool, _ lines: inout JSONLines
  ) {
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
    lines.writer.raw(texts.way)
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
