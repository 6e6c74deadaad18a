import IMEngine
import IMMetrics
import IMOTLP
import IMOutput
import IMWire

extension OTLPWriter {
  /// The log record of one message whose fate was decided at `decidedAt`.
  func message(
    _ exchange: Exchange, at position: StreamPosition, _ status: StatusCode?, _ facts: UnsafePointer<MessageFacts>?,
    _ record: ConnectionRegistry.Record, keepsTexts: Bool, decidedAt: Timestamp
  ) {
    let form = ecs.form(exchange.plan)
    let texts = ecs.texts(record, keeps: keepsTexts)
    let isLate = exchange.flags.contains(.late)
    let way = Int(exchange.direction.rawValue & 1)
    let fate = Int(exchange.fate.rawValue)
    lines.write(.logs) { out in
      out.literal("{\"timeUnixNano\":\"")
      out.nanoseconds(exchange.firstAt)
      out.literal("\",\"observedTimeUnixNano\":\"")
      out.nanoseconds(max(exchange.firstAt, decidedAt))
      out.raw(messageHeads[fate &* 2 &+ (isLate ? 1 : 0)].bytes)
      sentence(exchange, form, texts, &out)
      attributes(.message, &out) { out in
        identity(position, way, texts, &out)
        if isLate { out.literal("-late") }
      }
      common(exchange, facts, record, form, texts, &out)
      error(exchange, status, &out)
      type(exchange, facts, form, &out)
      out.raw(fateAttributes[way &* 8 &+ fate].bytes)
      if exchange.fate != .acked, let cause = exchange.cause { out.raw(causeAttributes[Int(cause.rawValue)].bytes) }
      if let status {
        out.attribute("imdump.msg.status", number: status.number)
        out.attribute("imdump.msg.status_name", text: ecs.name(of: status))
      }
      if isLate { out.attribute("imdump.msg.late", flag: true) }
      out.attribute("imdump.msg.copies", number: UInt64(exchange.copies))
      if let facts {
        out.attribute("imdump.msg.retries", number: UInt64(facts.pointee.retries))
      } else if exchange.copies == 1 {
        out.attribute("imdump.msg.retries", number: 0)
      }
      out.attribute("imdump.msg.duplicates", number: UInt64(exchange.duplicates))
      if let roundTrip = exchange.roundTrip?.microseconds {
        out.attribute("imdump.msg.rtt_ms", thousandths: roundTrip)
      }
      out.attribute("imdump.msg.body_bytes", number: UInt64(exchange.bodyCount))
      if let part = ecs.options.messageLog.sampledPart, !ecs.options.messageLog.takes(exchange) {
        out.attribute("imdump.msg.sampled", decimal: part)
      }
      if let facts { wire(facts, ecs.profile(exchange.plan), &out) }
      out.literal("],\"traceId\":\"")
      trace(position, way, texts, &out)
      out.literal("\",\"spanId\":\"")
      span(position, way, texts, isLate: isLate, &out)
      out.literal("\"}")
    }
  }

  /// What describes the first copy's frame on the wire.
  private func wire(_ facts: UnsafePointer<MessageFacts>, _ profile: ECSWriter.Profile?, _ out: inout ByteWriter) {
    out.attribute("imdump.msg.bytes", number: UInt64(facts.pointee.byteCount))
    if let name = profile?.checksumText { out.attribute("imdump.msg.checksum.algorithm") { $0.text(name) } }
    out.attribute("imdump.msg.checksum.status") { $0.text(facts.pointee.checksum.name) }
    out.attribute("imdump.msg.tlv_count", number: UInt64(facts.pointee.tlvCount))
    guard !ecs.isLean else { return }
    out.attribute("imdump.msg.header_bytes", number: UInt64(facts.pointee.headerCount))
    out.attribute("imdump.msg.tlv_depth", number: UInt64(facts.pointee.tlvDepth))
    out.attribute("imdump.msg.stream_offset", number: facts.pointee.streamOffset)
  }

  /// The span of an exchange whose fate was decided at `decidedAt`, from its first copy to its answer or until it was given up.
  ///
  /// An answer after that changes no span.
  func span(
    _ exchange: Exchange, at position: StreamPosition, _ status: StatusCode?, _ facts: UnsafePointer<MessageFacts>?,
    _ record: ConnectionRegistry.Record, keepsTexts: Bool, decidedAt: Timestamp
  ) {
    let form = ecs.form(exchange.plan)
    let texts = ecs.texts(record, keeps: keepsTexts)
    let way = Int(exchange.direction.rawValue & 1)
    let isAnswered = exchange.latency != nil
    lines.write(.traces) { out in
      out.literal("{\"traceId\":\"")
      trace(position, way, texts, &out)
      out.literal("\",\"spanId\":\"")
      span(position, way, texts, isLate: false, &out)
      out.literal("\",\"name\":\"")
      out.text(ecs.profile(exchange.plan)?.name.lowercased() ?? "tcp")
      out.byte(UInt8(ascii: " "))
      out.raw(form.pointee.name(exchange.kind).bytes)
      out.literal("\",\"kind\":3,\"startTimeUnixNano\":\"")
      out.nanoseconds(exchange.firstAt)
      out.literal("\",\"endTimeUnixNano\":\"")
      out.nanoseconds(max(exchange.firstAt, isAnswered ? exchange.ackedAt : max(decidedAt, exchange.lastAt)))
      out.literal("\",\"attributes\":[{\"key\":\"imdump.event.id\",\"value\":{\"stringValue\":\"")
      identity(position, way, texts, &out)
      out.literal("\"}}")
      common(exchange, facts, record, form, texts, &out)
      if way == 0 {
        out.attribute("network.io.direction", "receive")
      } else {
        out.attribute("network.io.direction", "transmit")
      }
      error(exchange, status, &out)
      type(exchange, facts, form, &out)
      out.raw(fateAttributes[way &* 8 &+ Int(exchange.fate.rawValue)].bytes)
      if exchange.fate != .acked, let cause = exchange.cause { out.raw(causeAttributes[Int(cause.rawValue)].bytes) }
      out.attribute("imdump.msg.copies", number: UInt64(exchange.copies))
      out.attribute("imdump.msg.body_bytes", number: UInt64(exchange.bodyCount))
      out.byte(UInt8(ascii: "]"))
      if exchange.copies > 1 {
        // Only of the last copy the time is kept.
        out.literal(",\"events\":[{\"timeUnixNano\":\"")
        out.nanoseconds(exchange.lastAt)
        out.literal("\",\"name\":\"imdump.retry\"}]")
      }
      if exchange.fate.isFailure {
        out.literal(",\"status\":{\"code\":2,\"message\":\"")
        out.text(exchange.fate.name)
        if let cause = exchange.cause {
          out.literal(" (")
          out.text(cause.name)
          out.byte(UInt8(ascii: ")"))
        }
        out.literal("\"}")
      }
      out.byte(UInt8(ascii: "}"))
    }
  }

  // MARK: Parts

  /// Who talks, and the session.
  @inline(__always)
  private func common(
    _ exchange: Exchange, _ facts: UnsafePointer<MessageFacts>?, _ record: ConnectionRegistry.Record,
    _ form: UnsafePointer<MessageForm>, _ texts: MessageTexts, _ out: inout ByteWriter
  ) {
    out.part(texts[.attributes])
    let number = form.pointee.hasSession && facts != nil ? facts?.pointee.session : record.pointee.sessionNumber
    if let number { out.attribute("session.id") { $0.number(number) } }
  }

  /// `error.type` of one that failed: the status of a refusal, else the cause, else the fate.
  private func error(_ exchange: Exchange, _ status: StatusCode?, _ out: inout ByteWriter) {
    guard exchange.fate.isFailure else { return }
    if exchange.fate == .rejected, let status {
      out.attribute("error.type", text: ecs.name(of: status).map { "\(status.number) \($0)" } ?? "\(status.number)")
    } else {
      out.attribute("error.type") { $0.text(exchange.cause?.name ?? exchange.fate.name) }
    }
  }

  /// The type's name, or its number where it has none, and the number of the message.
  private func type(
    _ exchange: Exchange, _ facts: UnsafePointer<MessageFacts>?, _ form: UnsafePointer<MessageForm>,
    _ out: inout ByteWriter
  ) {
    if form.pointee.knows(exchange.kind) {
      out.attribute("imdump.msg.type") { $0.raw(form.pointee.name(exchange.kind).bytes) }
    } else if let facts {
      out.attribute("imdump.msg.type_id", number: facts.pointee.type)
    }
    if exchange.sequence < ECSWriter.ownNumbers {
      out.attribute("imdump.msg.sequence", number: exchange.sequence)
    }
  }

  /// The message's id, as documents have it in `imdump.msg.id`.
  @inline(__always)
  private func identity(_ position: StreamPosition, _ way: Int, _ texts: MessageTexts, _ out: inout ByteWriter) {
    var pen = out.pen(room: texts.count &+ 64)
    ecs.identity(position, texts, way, &pen)
    out.take(pen)
  }

  /// 16 bytes of a hash of the message's id, in hexadecimal digits: the same wherever that is the same.
  private func trace(_ position: StreamPosition, _ way: Int, _ texts: MessageTexts, _ out: inout ByteWriter) {
    scratch.removeAll()
    scratch.literal("imdump trace")
    identity(position, way, texts, &scratch)
    hash(&out, words: 4)
  }

  /// 8 bytes of a hash of the event's id.
  private func span(
    _ position: StreamPosition, _ way: Int, _ texts: MessageTexts, isLate: Bool, _ out: inout ByteWriter
  ) {
    scratch.removeAll()
    scratch.literal("imdump span")
    identity(position, way, texts, &scratch)
    if isLate { scratch.literal("-late") }
    hash(&out, words: 2)
  }

  private func hash(_ out: inout ByteWriter, words: Int) {
    let digest = scratch.withBytes { SHA256.digest($0) }
    var any: UInt32 = 0
    for i in 0..<words {
      any |= digest[i]
      // An id of zeros alone is none.
      out.hex(UInt64(i == words - 1 && any == 0 ? 1 : digest[i]), width: 8)
    }
  }

  /// What became of a message, as documents say it.
  @inline(__always)
  private func sentence(
    _ exchange: Exchange, _ form: UnsafePointer<MessageForm>, _ texts: MessageTexts, _ out: inout ByteWriter
  ) {
    var pen = out.pen(room: texts.count &+ form.pointee.room &+ 128)
    ecs.sentence(exchange, form, texts, Int(exchange.direction.rawValue & 1), &pen)
    out.take(pen)
  }
}

extension ByteWriter {
  /// A part of a connection's texts.
  @inline(__always)
  fileprivate mutating func part(_ part: (start: UnsafeRawPointer, count: Int)) {
    raw(UnsafeRawBufferPointer(start: part.start, count: part.count))
  }
}
