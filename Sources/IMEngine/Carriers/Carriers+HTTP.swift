import IMWire

/// Exchanges of HTTP in front of what a connection is for: other requests before the upgrade, a refusal, a proxy's CONNECT.
///
/// Their heads and bodies are passed over, as bytes that are not read, so that the upgrade after them is found at its place.
extension Carriers {
  /// Reads the HTTP at the beginning of what an undecided side holds: messages that are passed over, and the upgrade. True when the bytes
  /// wait for more, or were taken.
  @inline(never)
  mutating func readHTTP(_ side: FlowSide, _ partial: Ref<PartialFrame>, isEnd: Bool) -> Bool {
    let flow = side.flow
    while partial.pointee.count > 0 {
      let begin = streams.carrier(of: flow)?.pointee.begin[side.number] ?? 0
      guard side.state.pointee.flags.contains(.fromStart), partial.pointee.streamOffset == begin else { return false }
      if readUpgrade(side, partial, isEnd: isEnd) { return true }
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      let (start, end) = (partial.pointee.start, partial.pointee.end)
      if streams.carrier(of: flow)?.pointee.http.isInChunks[side.number] != true {
        switch HTTPMessage.read(bytes, start, end) {
        case .none: return false
        case .needMore: return !isEnd
        case .message: if streams.isTextOfPlan(side, bytes, start, end) { return false }
        }
      }
      let record = carrierRecord(flow)
      guard let count = takeHTTP(side, record, bytes, start, end, at: begin) else { return false }
      guard count > 0 else { return !isEnd }
      streams.countUnread(flow, count)
      partial.pointee.consume(count)
      partial.pointee.needed = 0
      let body = min(partial.pointee.count, countOfBody(side, at: begin &+ UInt64(count)))
      if body > 0 {
        streams.countUnread(flow, body)
        partial.pointee.consume(body)
      }
    }
    return true
  }

  /// The head of a message at `position`, which is the direction's byte at `place`, or the size of a chunk of its body: how many bytes it
  /// has, 0 when more are needed, `nil` when it is something else. What belongs to its body is passed over from there on.
  mutating func takeHTTP(
    _ side: FlowSide, _ record: Ref<CarrierRecord>, _ bytes: borrowing Bytes, _ position: Int, _ end: Int,
    at place: UInt64
  ) -> Int? {
    let number = side.number
    if record.pointee.http.isInChunks[number] {
      guard let chunk = HTTPMessage.chunk(bytes, position, end) else { return nil }
      guard chunk.count > 0 else { return 0 }
      record.pointee.http.isInChunks[number] = !chunk.isLast
      record.pointee.begin[number] = place &+ UInt64(chunk.count) &+ chunk.body
      return chunk.count
    }
    switch HTTPMessage.read(bytes, position, end) {
    case .none: return nil
    case .needMore: return 0
    case .message(let message, let count):
      var hasBody = true
      if let status = message.status {
        hasBody = record.pointee.http.hasBody(answer: status)
      } else {
        record.pointee.http.ask(message.request)
      }
      record.pointee.http.isInChunks[number] = hasBody && message.isChunked
      // An answer without a length ends with the connection: what follows is looked at all the same.
      record.pointee.begin[number] =
        place &+ UInt64(count) &+ (hasBody && !message.isChunked ? message.length ?? 0 : 0)
      return count
    }
  }

  /// How many bytes of the body of an HTTP message are at `place` of a side's stream.
  mutating func countOfBody(_ side: FlowSide, at place: UInt64) -> Int {
    guard side.flow.pointee.carrier != .max else { return 0 }
    let begin = streams.tracker.carriers.pointer(side.flow.pointee.carrier).pointee.begin[side.number]
    return begin > place ? Int(clamping: begin &- place) : 0
  }

  /// Whether a client whose upgrade was not granted speaks HTTP again; its reader is in front of another request then.
  mutating func returnsToHTTP(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>, _ bytes: borrowing Bytes, _ position: Int, _ end: Int
  ) -> Bool {
    guard side.flow.pointee.carrier != .max, reader.pointee.held == nil || reader.pointee.state == .header,
      streams.tracker.carriers.pointer(side.flow.pointee.carrier).pointee.carriers.isDisjoint(with: .webSocket),
      HTTPMessage.read(bytes, position, end) != .none
    else { return false }
    reader.pointee.state = .upgrade
    return true
  }
}

extension Streams {
  /// Whether a plan whose frames are text takes the beginning of a stream for its own.
  mutating func isTextOfPlan(_ side: FlowSide, _ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Bool {
    for i in protocols.plans.indices where protocols.plans[i].pointer.pointee.framing.isDelimited {
      select(FlowProfile(rawValue: UInt8(i)))
      if standsDelimited(
        bytes, start, end, isFromStart: true, isHinted: isHinted(side.flow, i), isThorough: true)
      {
        return true
      }
    }
    return false
  }
}
