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
    _ exchange: Exchange, _ facts: UnsafePointer<MessageFacts>?, _ record: ConnectionRecord, keepsTexts: Bool,
    _ lines: inout JSONLines
  ) -> Bool {
    let profile = profile(exchange.plan)
    let isLate = exchange.flags.contains(.late)
    let isNumbered = exchange.sequence < Self.ownNumbers
    let isLean = options.isLean
    let number = profile?.hasSession == true ? facts?.pointee.session : nil
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
      if let facts { lines.number("bytes", facts.pointee.byteCount) }
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

  /// What is known of a client beside its address: its name, when it named itself, and the network that it comes from.
  func user(_ record: ConnectionRecord, _ lines: inout JSONLines) {
    if let networks = options.networks {
      let index = record.network ?? networks.index(of: record.info.client.address)
      record.network = index
      network(networks[index], &lines)
    }
    guard let name = record.userName else { return }
    lines.open("user")
    lines.text(record.nameIsHash ? "hash" : "id", name)
    lines.close()
  }

  /// `client.as` and `client.geo`.
  func network(_ network: Networks.Network?, _ lines: inout JSONLines) {
    guard let network else { return }
    if network.number != nil || !network.organisation.isEmpty {
      lines.open("as")
      if let number = network.number { lines.number("number", number) }
      if !network.organisation.isEmpty {
        lines.open("organization")
        lines.text("name", network.organisation)
        lines.close()
      }
      lines.close()
    }
    guard !network.name.isEmpty else { return }
    lines.open("geo")
    lines.text("name", network.name)
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
    _ exchange: Exchange, _ facts: UnsafePointer<MessageFacts>?, _ profile: Profile?, isNumbered: Bool, isLate: Bool,
    _ lines: inout JSONLines
  ) {
    let kind = Int(exchange.kind)
    // The id stands in front, so every member has a comma.
    if let profile, kind < profile.typeMembers.count { lines.members(profile.typeMembers[kind]) }
    if isNumbered {
      lines.writer.literal(",\"sequence\":")
      lines.writer.number(exchange.sequence)
    }
    if exchange.direction == .clientToServer {
      lines.writer.literal(",\"direction\":\"client_to_server\"")
    } else {
      lines.writer.literal(",\"direction\":\"server_to_client\"")
    }
    lines.members(fateMembers[Int(exchange.fate.rawValue)])
    if isLate { lines.writer.literal(",\"late\":true") }
    lines.writer.literal(",\"copies\":")
    lines.writer.number(exchange.copies)
    if let facts {
      lines.writer.literal(",\"retries\":")
      lines.writer.number(facts.pointee.retries)
    } else if exchange.copies == 1 {
      lines.writer.literal(",\"retries\":0")
    }
    lines.writer.literal(",\"duplicates\":")
    lines.writer.number(exchange.duplicates)
    if let roundTrip = exchange.roundTrip {
      lines.writer.literal(",\"rtt_ms\":")
      lines.writer.thousandths(roundTrip)
    }
    lines.writer.literal(",\"body_bytes\":")
    lines.writer.number(exchange.bodyCount)
    if case .sample(let n) = options.messageLog { lines.decimal("sampled", 1 / Double(n)) }
    if let version = profile?.version { lines.members(version) }
    guard let facts else { return }
    lines.writer.literal(",\"bytes\":")
    lines.writer.number(facts.pointee.byteCount)
    lines.writer.literal(",\"tlv_count\":")
    lines.writer.number(facts.pointee.tlvCount)
    lines.writer.literal(",\"checksum\":{")
    if let algorithm = profile?.algorithm, !options.isLean {
      lines.writer.raw(algorithm.bytes)
      lines.writer.byte(UInt8(ascii: ","))
    }
    lines.writer.raw(checksumMembers[Int(facts.pointee.checksum.rawValue)].bytes)
    lines.writer.byte(UInt8(ascii: "}"))
    if options.isLean { return }
    lines.writer.literal(",\"header_bytes\":")
    lines.writer.number(facts.pointee.headerCount)
    lines.writer.literal(",\"tlv_depth\":")
    lines.writer.number(facts.pointee.tlvDepth)
    lines.writer.literal(",\"stream_offset\":")
    lines.writer.number(min(facts.pointee.streamOffset, UInt64(Int64.max)))
    if facts.pointee.named > 0 { tlv(facts, digits: profile?.tagDigits ?? 4, &lines) }
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
