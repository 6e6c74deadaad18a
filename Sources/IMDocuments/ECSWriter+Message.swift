import IMEngine
import IMMetrics
import IMOutput
import IMOwners
import IMWire

extension ECSWriter {
  /// Numbers of our own begin here: the wire has none for the exchange.
  static let ownNumbers: UInt64 = 1 << 40

  /// The most bytes of a message's document, without the texts that its profile, its connection and its TLVs have and what is
  /// written as a JSON string.
  private static var room: Int { 2_048 }

  /// The document of one message whose fate was decided. `position` is the position of its first transmission, and `facts` are those of that
  /// transmission's frame, if they were kept.
  ///
  /// An answer after the message was given up changes its fate: that is a second document, with the same `imdump.msg.id`
  /// and `late`. A lean one leaves out what repeats other fields and what describes the wire.
  func message(
    _ exchange: Exchange, at position: StreamPosition, _ status: StatusCode?, _ facts: UnsafePointer<MessageFacts>?,
    _ record: ConnectionRegistry.Record, keepsTexts: Bool, _ lines: inout JSONLines
  ) -> Bool {
    let form = form(exchange.plan)
    let isLate = exchange.flags.rawValue & Exchange.Flags.late.rawValue != 0
    let isNumbered = exchange.sequence < Self.ownNumbers
    let isLean = isLean
    let logged = facts?.pointee.logged
    let way = Int(exchange.direction.rawValue & 1)
    let fate = Int(exchange.fate.rawValue)
    let latency = exchange.latency?.microseconds
    let texts = texts(record, keeps: keepsTexts)
    let head = messageHeads[fate &* 2 &+ (isLate ? 1 : 0)]
    let room = Self.room &+ head.bytes.count &+ form.pointee.room &+ 4 &* texts.count
    lines.begin()
    var pen = lines.writer.pen(room: room)
    pen.literal("\"@timestamp\":\"")
    var first: UnsafeRawPointer? = UnsafeRawPointer(pen.to)
    lines.writer.instant(exchange.firstAt, pen.to)
    pen.to += 27
    pen.piece(head)
    identity(position, texts, way, &pen)
    if isLate { pen.literal("-late") }
    pen.byte(UInt8(ascii: "\""))
    if isNumbered {
      pen.literal(",\"sequence\":")
      pen.number(exchange.sequence)
    }
    if fate == Fate.rejected.rawValue, let status {
      lines.writer.take(pen)
      reason(status, &lines)
      pen = lines.writer.pen(room: room)
      // Its memory may be another one now.
      first = nil
    }
    pen.literal(",\"start\":\"")
    if let first {
      pen.padded(first, 27)
    } else {
      lines.writer.instant(exchange.firstAt, pen.to)
      pen.to += 27
    }
    if latency != nil {
      // Times of a hostile capture lie up to 585 years apart.
      let end = max(exchange.firstAt, exchange.ackedAt)
      let (duration, isTooLong) =
        (end.microseconds - exchange.firstAt.microseconds).multipliedReportingOverflow(by: 1_000)
      pen.literal("\",\"end\":\"")
      lines.writer.instant(end, pen.to)
      pen.to += 27
      pen.literal("\",\"duration\":")
      pen.to = Digits.signed(isTooLong ? .max : duration, pen.to)
      pen.byte(UInt8(ascii: "}"))
    } else {
      pen.literal("\"}")
    }
    if !isLean {
      pen.literal(",\"source\":{")
      pen.part(texts[way == 0 ? .peer : .server])
      if let facts {
        pen.literal(",\"bytes\":")
        pen.number(UInt64(facts.pointee.byteCount))
      }
      if let logged { add(logged[.source], room, &pen, &lines) }
      pen.literal("},\"destination\":{")
      pen.part(texts[way == 0 ? .server : .peer])
      if let logged { add(logged[.destination], room, &pen, &lines) }
      pen.byte(UInt8(ascii: "}"))
    }
    pen.literal(",\"client\":{")
    let client = texts[.client]
    pen.part(client.count > 0 ? client : texts[.peer])
    if let logged {
      add(logged[.client], room, &pen, &lines)
    }
    let (network, place) = (texts[.geo], logged?[.geo] ?? "")
    if network.count > 0 || !place.isEmpty {
      pen.literal(",\"geo\":{")
      pen.part(network)
      lines.writer.take(pen)
      if network.count > 0, !place.isEmpty { lines.writer.literal(",") }
      lines.writer.text(place)
      pen = lines.writer.pen(room: room)
      pen.byte(UInt8(ascii: "}"))
    }
    pen.byte(UInt8(ascii: "}"))
    pen.part(texts[.owner])
    pen.literal(",\"server\":{")
    pen.part(texts[.server])
    pen.piece(form.pointee.networks[record.pointee.info.peer.address.isIPv6 ? 1 : 0])
    pen.part(texts[.community])
    // As the server's network sees it.
    pen.piece(form.pointee.owns[way])
    pen.part(texts[.serverKey])
    pen.literal("\"}")
    if let number = form.pointee.hasSession && facts != nil ? facts?.pointee.session : record.pointee.sessionNumber {
      pen.literal(",\"app_session\":{\"id\":\"")
      pen.number(number)
      pen.literal("\"}")
    } else {
      pen.part(texts[.session])
    }
    pen.literal(",\"conn\":{\"id\":\"")
    pen.part(texts[.connection])
    pen.literal("\"},\"msg\":{\"id\":\"")
    identity(position, texts, way, &pen)
    pen.byte(UInt8(ascii: "\""))
    pen.piece(form.pointee.type(exchange.kind))
    if let facts, !form.pointee.knows(exchange.kind) {
      pen.literal(",\"type_id\":")
      pen.number(min(facts.pointee.type, UInt64(Int64.max)))
    }
    if isNumbered {
      pen.literal(",\"sequence\":")
      pen.number(exchange.sequence)
    }
    pen.piece(fateMembers[way &* 8 &+ fate])
    if fate != Fate.acked.rawValue, let cause = exchange.cause { pen.piece(causeMembers[Int(cause.rawValue)]) }
    if let status {
      lines.writer.take(pen)
      tell(status, &lines)
      pen = lines.writer.pen(room: room)
    }
    if isLate { pen.literal(",\"late\":true") }
    pen.literal(",\"copies\":")
    let copies = UInt64(exchange.copies)
    pen.number(copies)
    if let facts {
      pen.literal(",\"retries\":")
      pen.number(UInt64(facts.pointee.retries))
    } else if copies == 1 {
      pen.literal(",\"retries\":0")
    }
    pen.literal(",\"duplicates\":")
    pen.number(UInt64(exchange.duplicates))
    if let roundTrip = exchange.roundTrip?.microseconds {
      pen.literal(",\"rtt_ms\":")
      pen.thousandths(roundTrip)
    }
    pen.literal(",\"body_bytes\":")
    pen.number(UInt64(exchange.bodyCount))
    // A message that was taken because of its outcome represents itself alone.
    if !options.messageLog.takes(exchange) { pen.piece(sampled) }
    pen.piece(form.pointee.version)
    if let facts {
      pen.literal(",\"bytes\":")
      pen.number(UInt64(facts.pointee.byteCount))
      pen.literal(",\"tlv_count\":")
      pen.number(UInt64(facts.pointee.tlvCount))
      pen.piece(form.pointee.checksums[Int(facts.pointee.checksum.rawValue)])
      if !isLean {
        pen.literal(",\"header_bytes\":")
        pen.number(UInt64(facts.pointee.headerCount))
        pen.literal(",\"tlv_depth\":")
        pen.number(UInt64(facts.pointee.tlvDepth))
        pen.literal(",\"stream_offset\":")
        pen.number(min(facts.pointee.streamOffset, UInt64(Int64.max)))
        if facts.pointee.named > 0 {
          lines.writer.take(pen)
          if let entry = paths(facts, digits: form.pointee.tagDigits) {
            pen = lines.writer.pen(room: room &+ TLVPaths.room)
            TLVPaths.write(entry, facts, &pen)
          } else {
            tlv(facts, digits: form.pointee.tagDigits, &lines.writer)
            pen = lines.writer.pen(room: room)
          }
        }
      }
    }
    pen.byte(UInt8(ascii: "}"))
    if let logged { add(logged[.own], room, &pen, &lines) }
    pen.byte(UInt8(ascii: "}"))
    if let logged { add(logged[.document], room, &pen, &lines) }
    if !isLean {
      pen.literal(",\"message\":\"")
      sentence(exchange, form, texts, way, &pen)
      pen.byte(UInt8(ascii: "\""))
    }
    lines.writer.take(pen)
    return lines.end()
  }

  /// What became of a message, in words: `data seq 7 10.0.0.5:52344 > 203.0.113.9:8080 acked 84.211 ms after 1 copy`. Takes room
  /// for `texts`, the form's longest name and 128 bytes.
  @inline(__always)
  func sentence(
    _ exchange: Exchange, _ form: UnsafePointer<MessageForm>, _ texts: MessageTexts, _ way: Int,
    _ pen: inout UncheckedWriter
  ) {
    pen.piece(form.pointee.name(exchange.kind))
    if exchange.sequence < Self.ownNumbers {
      pen.literal(" seq ")
      pen.number(exchange.sequence)
    }
    pen.byte(UInt8(ascii: " "))
    pen.part(texts[way == 0 ? .clientKey : .serverKey])
    pen.literal(" > ")
    pen.part(texts[way == 0 ? .serverKey : .clientKey])
    pen.piece(fateNames[Int(exchange.fate.rawValue)])
    if let latency = exchange.latency?.microseconds {
      pen.byte(UInt8(ascii: " "))
      pen.thousandths(latency)
      pen.literal(" ms")
    }
    pen.literal(" after ")
    pen.number(UInt64(exchange.copies))
    if exchange.copies == 1 { pen.literal(" copy") } else { pen.literal(" copies") }
  }

  /// The ID of a message, `UID-0-1234`: it has the position in the stream, since sequence numbers are reused on the wire, and message numbers differ
  /// between runs.
  @inline(__always)
  func identity(_ position: StreamPosition, _ texts: MessageTexts, _ way: Int, _ pen: inout UncheckedWriter) {
    pen.part(texts[way == 0 ? .fromClient : .fromServer])
    pen.number(position.offset)
    guard position.ordinal > 0 else { return }
    pen.byte(UInt8(ascii: "."))
    pen.number(UInt64(position.ordinal))
  }

  /// Adds members to the object that is being written; nothing where there are none.
  @inline(never)
  private func add(_ members: String, _ room: Int, _ pen: inout UncheckedWriter, _ lines: inout JSONLines) {
    guard !members.isEmpty else { return }
    lines.writer.take(pen)
    lines.writer.literal(",")
    lines.writer.text(members)
    pen = lines.writer.pen(room: room)
  }

  /// `imdump.msg.status` and its name.
  private func tell(_ status: StatusCode, _ lines: inout JSONLines) {
    lines.writer.literal(",\"status\":")
    lines.writer.number(min(status.number, UInt64(Int64.max)))
    lines.resume()
    if let name = name(of: status) { lines.text("status_name", name) }
  }

  /// `event.reason`: the status by number and name.
  private func reason(_ status: StatusCode, _ lines: inout JSONLines) {
    lines.resume()
    lines.text("reason", name(of: status).map { "\(status.number) \($0)" } ?? "\(status.number)")
  }

  /// The profile's name of a status; `nil` where it has none.
  func name(of status: StatusCode) -> String? {
    Int(status.plan) < plans.count ? plans[Int(status.plan)].name(of: status) : nil
  }

  /// The network that a client comes from, where there is a table of them that knows it.
  func network(of record: ConnectionRegistry.Record) -> Networks.Network? {
    guard let networks = options.networks else { return nil }
    let index = record.pointee.network ?? networks.index(of: record.pointee.info.client.address)
    record.pointee.network = index
    return networks[index]
  }

  /// `service.name`, `container.id`, `orchestrator.resource.id` and `user.id`: whose the connection's end of this host is.
  func owner(_ owner: SocketOwner, _ lines: inout JSONLines) {
    if let unit = owner.unit {
      lines.open("service")
      lines.text("name", unit)
      lines.close()
    }
    if let container = owner.container {
      lines.open("container")
      lines.text("id", container)
      lines.close()
    }
    if let pod = owner.pod {
      lines.open("orchestrator")
      lines.open("resource")
      lines.text("id", pod)
      lines.close()
      lines.close()
    }
    lines.open("user")
    lines.text("id", "\(owner.user)")
    lines.close()
  }

  /// What is known of a client beside its address: its name, when it named itself, and the network that it comes from,
  /// whose name is left out where `hasPlace` is false.
  func user(_ record: ConnectionRegistry.Record, hasPlace: Bool = true, _ lines: inout JSONLines) {
    network(network(of: record), hasPlace: hasPlace, &lines)
    guard let name = record.pointee.userName else { return }
    lines.open("user")
    lines.text(record.pointee.nameIsHash ? "hash" : "id", name)
    lines.close()
  }

  /// `client.as` and `client.geo`.
  func network(_ network: Networks.Network?, hasPlace: Bool = true, _ lines: inout JSONLines) {
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
    guard hasPlace, !network.name.isEmpty else { return }
    lines.open("geo")
    lines.text("name", network.name)
    lines.close()
  }
}
