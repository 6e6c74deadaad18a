/// Messages that come: in their sender's order, each once, and acknowledged when the application has taken them.
extension ClientCore {
  /// Conversations whose order is remembered.
  static var mostConversations: Int { 16_384 }

  /// A message has come for the first time on its hop.
  mutating func arrived(
    _ header: FrameHeader, _ body: RawSpan, _ place: Int, on link: Int, _ stored: StoredContent? = nil, at now: Instant
  ) {
    // What says where it comes from may be compressed.
    if header.compression == 1, header.encryption <= 1, let inflated = Deflate.inflated(body) {
      var header = header
      header.compression = 0
      order(header, inflated.span.bytes, place, on: link, stored, at: now)
    } else {
      order(header, body, place, on: link, stored, at: now)
    }
  }

  private mutating func order(
    _ header: FrameHeader, _ body: RawSpan, _ place: Int, on link: Int, _ stored: StoredContent?, at now: Instant
  ) {
    let origin = MessageOrigin(forwardedIn: body)
    guard let origin, MessageOrigin.counter(of: origin.number) > 0 else {
      deliver(header, body, place, connection(link), origin, stored)
      return
    }
    let number = MessageOrigin.counter(of: origin.number)
    let key = Self.conversation(origin, body)
    if arrivals[key] == nil { begin(key, number, body) }
    if let range = TLV.value(of: .withheld, in: body) { passOver(body, range, key) }
    switch arrivals[key]?.take(number) {
    case .told?:
      note(key, origin, place, header)
      deliver(header, body, place, connection(link), origin, stored)
      release(key)
    case .late?:
      note(key, origin, place, header)
      deliver(header, body, place, connection(link), origin, stored, isLate: true)
    case .held?:
      let bytes = body.withUnsafeBytes { [UInt8]($0) }
      let held = ArrivalOrder.Held(
        header: header, body: bytes, origin: origin, place: place, connection: connection(link), at: now,
        stored: stored)
      arrivals[key]?.hold(held, number)
      if arrivals[key]?.isOverfull ?? false { skip(key) }
      wake(by: now.advanced(by: configuration.orderTimeout))
      ordersAt = min(ordersAt ?? .distantFuture, now.advanced(by: configuration.orderTimeout))
    case .duplicate?, nil:
      metrics.duplicatesReceived += 1
      if let stored { bodies?.remove(stored.body) }
      // It need not come again.
      handed.append((place, header.sequence))
    }
  }

  /// The conversation of a message, and its number there; `nil` where it is outside the order.
  static func conversation(_ body: RawSpan) -> (key: IncomingConversation, number: UInt64)? {
    guard let origin = MessageOrigin(forwardedIn: body) else { return nil }
    let number = MessageOrigin.counter(of: origin.number)
    return number > 0 ? (conversation(origin, body), number) : nil
  }

  private static func conversation(_ origin: MessageOrigin, _ body: RawSpan) -> IncomingConversation {
    var group: String?
    if let range = TLV.value(of: .group, in: body) {
      group = body.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    return IncomingConversation(device: origin.device, group: group, lane: MessageOrigin.lane(of: origin.number))
  }

  /// A conversation of which nothing is known: it begins with this message, or with the first that had not reached the
  /// server when this one did.
  private mutating func begin(_ key: IncomingConversation, _ number: UInt64, _ body: RawSpan) {
    if arrivals.count >= Self.mostConversations, let old = arrivals.first(where: { !$0.value.isWaiting })?.key {
      arrivals[old] = nil
    }
    var first = number
    if let range = TLV.value(of: .missing, in: body), range.count == 8 { first = min(first, TLV.number(body, range)) }
    arrivals[key] = ArrivalOrder(first: first)
  }

  /// Numbers that the server has refused are not waited for, nor reported as missing.
  private mutating func passOver(_ body: RawSpan, _ range: Range<Int>, _ key: IncomingConversation) {
    for start in stride(from: range.lowerBound, to: range.upperBound - 7, by: 8) {
      arrivals[key]?.passOver(TLV.number(body, start..<start + 8))
    }
    arrivals[key]?.skipPassedOver()
    release(key)
  }

  private mutating func release(_ key: IncomingConversation) {
    while let message = arrivals[key]?.releaseNext() {
      note(key, message.origin, message.place, message.header)
      deliver(
        message.header, message.body.span.bytes, message.place, message.connection, message.origin,
        message.stored)
    }
  }

  /// Remembers where a message comes from until the application has it, for a store.
  private mutating func note(
    _ key: IncomingConversation, _ origin: MessageOrigin, _ place: Int, _ header: FrameHeader
  ) {
    if configuration.isKept { arrived[Self.name(place, header.sequence)] = (key, origin.number) }
  }

  private static func name(_ place: Int, _ sequence: SequenceNumber) -> UInt64 {
    UInt64(place) << 32 | UInt64(sequence.rawValue)
  }

  private mutating func skip(_ key: IncomingConversation) {
    guard let missing = arrivals[key]?.skip() else { return }
    tell(
      .gap(sessions.first?.id ?? SessionID(place: 0), key.device, first: missing.lowerBound, last: missing.upperBound))
    release(key)
  }

  /// Goes on without what has not come in time.
  mutating func checkOrder(at now: Instant) {
    guard let due = ordersAt, now >= due else { return wake(by: ordersAt) }
    ordersAt = nil
    for key in arrivals.keys {
      while let since = arrivals[key]?.waitingSince {
        let end = since.advanced(by: configuration.orderTimeout)
        guard now >= end else {
          ordersAt = min(ordersAt ?? .distantFuture, end)
          break
        }
        skip(key)
      }
    }
    wake(by: ordersAt)
  }

  private mutating func deliver(
    _ header: FrameHeader, _ body: RawSpan, _ place: Int, _ connection: ConnectionID, _ origin: MessageOrigin?,
    _ stored: StoredContent?, isLate: Bool = false
  ) {
    metrics.messagesReceived += 1
    metrics.payloadBytes += UInt64(body.byteCount + (stored?.byteCount ?? 0))
    var message = inbox.add(header, body, session: sessions[place].id, connection: connection)
    message.origin = origin
    message.isLate = isLate
    message.stored = stored
    tell(.message(message))
    if configuration.acknowledges == .onTake { untaken.append((place, header.sequence)) }
  }

  // MARK: what the application has

  /// The application has taken a message and needs it no more: its sender is told. For `Acknowledgment.manual`.
  public mutating func acknowledge(_ sequence: SequenceNumber, in session: SessionID, at now: Instant) {
    guard let place = place(of: session) else { return }
    clock = now
    handed.append((place, sequence))
  }

  /// Tells the server what the application has taken, in one frame for each session.
  mutating func confirm() {
    let all = handed
    handed.removeAll(keepingCapacity: all.count <= 4_096)
    if configuration.isKept {
      for (place, sequence) in all {
        guard let (key, number) = arrived.removeValue(forKey: Self.name(place, sequence)) else { continue }
        operations.append(.received(device: key.device, group: key.group, number: number))
      }
    }
    for place in sessions.indices where all.contains(where: { $0.place == place }) {
      switch sessions[place].handshake.phase {
      case .none, .asked:
        // Whether the server wants to know is not known yet.
        unconfirmed += all.filter { $0.place == place }
        continue
      case .agreed: break
      case .unanswered, .refused: continue
      }
      guard sessions[place].traffic.features.contains(.levels) else { continue }
      let numbers = all.filter { $0.place == place }.map(\.sequence)
      for start in stride(from: 0, to: numbers.count, by: 1_024) {
        var body: [UInt8] = []
        let part = numbers[start..<min(numbers.count, start + 1_024)]
        TLV.append(.delivered, part.flatMap { TLV.bigEndian($0.rawValue) }, to: &body)
        do { try sendReceipt(body, in: sessions[place].id, at: clock) } catch {
          unconfirmed += part.map { (place, $0) }
        }
      }
    }
  }
}
