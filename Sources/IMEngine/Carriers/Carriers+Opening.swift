import IMWire

/// How a connection becomes one of WebSocket frames: by HTTP, or, where its beginning was not captured, by what is seen.
extension Carriers {
  /// Reads the request or the answer at the beginning of side `side`, if it asks for WebSocket. True when the bytes wait for
  /// more, or were taken.
  @inline(never)
  mutating func readUpgrade(
    _ side: FlowSide, _ partial: Ref<PartialFrame>,
    isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    guard side.state.pointee.flags.contains(.fromStart),
      partial.pointee.streamOffset == streams.carrier(of: flow)?.pointee.begin[side.number] ?? 0
    else { return false }
    switch HTTPUpgrade.read(bytes, partial.pointee.start, partial.pointee.end) {
    case .none: return false
    case .needMore: return !isEnd
    case .upgrade(let upgrade, _):
      if !flow.pointee.clientIsCertain {
        flow.pointee.client = UInt8(truncatingIfNeeded: upgrade.isAnswer ? side.peer.number : side.number)
      }
      guard upgrade.isAnswer == (side.number != Int(flow.pointee.client)) else { return false }
    }
    beginCarrying(flow, side.index)
    carryHeld(side, isEnd: isEnd)
    return true
  }

  /// Makes both directions carried ones. Where one has its beginning, HTTP stands there; else its frames are looked for.
  private mutating func beginCarrying(_ flow: Ref<Flow>, _ index: UInt32) {
    let record = carrierRecord(flow)
    streams.closeGapRegions(flow)
    for side in flow.sides {
      let state = side.state
      budget.take(.connections, WebSocketReader.cost)
      let begins =
        state.pointee.flags.contains(.fromStart)
        && state.pointee.partial?.pointee.streamOffset ?? streams.end(of: side) <= record.pointee.begin[side.number]
      let reader = Ref.make(
        WebSocketReader(isMasked: side.number == Int(flow.pointee.client), state: begins ? .upgrade : .lost))
      record.pointee.readers[side.number] = reader
      reader.pointee.held = state.pointee.partial
      state.pointee.partial = nil
      state.pointee.flags.remove(.lost)
      state.pointee.flags.insert(.carried)
    }
  }

  /// Takes the HTTP in front of a direction's first frame: how many bytes it has, 0 when more are needed, `nil` when it is
  /// something else.
  mutating func takeAnswer(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ bytes: borrowing Bytes, from position: Int, end: Int, of source: CarriedBytes
  ) -> Int? {
    let flow = side.flow
    guard let record = streams.carrier(of: flow) else { return nil }
    switch HTTPUpgrade.read(bytes, position, end) {
    case .none:
      // Another exchange comes first: a refusal, an early hint, or a request that asks for something else.
      guard record.pointee.carriers.isDisjoint(with: .webSocket),
        let count = takeHTTP(side, record, bytes, position, end, at: source.base &+ UInt64(position))
      else { return nil }
      countSkipped(flow, count)
      return count
    case .needMore: return 0
    case .upgrade(let upgrade, let count):
      guard upgrade.isAnswer == (side.number != Int(flow.pointee.client)) else { return nil }
      countCarrier(count)
      if streams.needs.contains(.undecoded) {
        streams.tell(.upgrade, side, at: source.base &+ UInt64(position), bytes, from: position, count: count)
      }
      reader.pointee.state = .header
      if let name = upgrade.subprotocol,
        let plan = streams.protocols.plans.firstIndex(where: { name == $0.name || name.hasPrefix($0.name + "v") })
      {
        record.pointee.hint = UInt8(plan)
      }
      guard upgrade.isAnswer else { return count }
      for side in side.both {
        guard let reader = record.pointee.readers[side.number] else { continue }
        reader.pointee.allowsCompression = upgrade.hasDeflate
        reader.pointee.isCompressionKnown = upgrade.hasDeflate
        reader.pointee.keepsWindow = upgrade.keepsWindow[side.number == Int(flow.pointee.client) ? 0 : 1]
      }
      foundWebSocket(record)
      if upgrade.hasDeflate { record.pointee.carriers.insert(.deflate) }
      tellCarrier(
        .webSocket(isCompressed: upgrade.hasDeflate, isMidstream: false), side,
        at: source.held?.pointee.mark(at: position + count - 1).timestamp ?? source.at,
        offset: streams.place(side, source.base &+ UInt64(position)), count: count)
      return count
    }
  }

  /// Tells what a carrier says in the `count` bytes at `offset` of a side's stream, and when.
  mutating func tellCarrier(
    _ what: CarrierEvent.What, _ side: FlowSide, at: Timestamp, offset: UInt64, count: Int
  ) {
    streams.describe(side.flow)
    guard streams.needs.contains(.issues) else { return }
    streams.sink.carrier(
      CarrierEvent(
        timestamp: at, direction: side.direction, streamOffset: offset, byteCount: UInt64(count),
        what: what), streams.info)
  }

  // MARK: Without a beginning

  /// Looks for WebSocket frames in what an undecided direction without its beginning holds: frames that follow one another
  /// and whose payload one of the plans reads. True when they were found; then both directions are carried.
  @inline(never)
  mutating func findWebSocket(
    _ side: FlowSide, _ partial: Ref<PartialFrame>,
    isThorough: Bool
  ) -> Bool {
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let end = partial.pointee.end
    if partial.pointee.deliveryCount <= 32 {
      for (position, _, _) in partial.pointee.deliveries(partial.pointee.count) {
        guard let plan = proven(bytes, position, end, side) else { continue }
        carryFromMidstream(side, position, plan)
        return true
      }
    }
    guard isThorough else { return false }
    for position in partial.pointee.start..<end where partial.pointee.search.credit > 0 {
      if case .header = WebSocketHeader.read(bytes, position, end, isMasked: nil, allowsCompression: false) {
        partial.pointee.search.credit -= 320
        if let plan = proven(bytes, position, end, side) {
          carryFromMidstream(side, position, plan)
          return true
        }
      }
    }
    return false
  }

  /// The plan whose frames are what WebSocket frames at `position` carry; `nil` where none stand there.
  private mutating func proven(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ side: FlowSide
  ) -> UInt8? {
    let flow = side.flow
    guard
      case .header(let first) = WebSocketHeader.read(bytes, position, end, isMasked: nil, allowsCompression: false),
      (1...2).contains(first.opcode), first.payloadCount > 0,
      !flow.pointee.clientIsCertain || (first.key != nil) == (side.number == Int(flow.pointee.client))
    else { return nil }
    guard var chain = Self.chain(bytes, position, end, isMasked: first.key != nil, allowsCompression: false),
      chain.frames >= 2 || chain.isExact || position + first.frameCount > end
    else { return nil }
    collect(bytes, position, end, &chain)
    defer { free(chain.content) }
    for i in streams.protocols.plans.indices {
      streams.select(FlowProfile(rawValue: UInt8(i)))
      let needed = Int(streams.currentPlan.pointee.chooseEvidence)
      let bits = innerEvidence(chain.content, needed: needed)
      // Each header but the first follows where it has to.
      if bits >= needed / 2, bits + 7 * chain.frames + (chain.isExact ? 8 : 0) >= needed + 7 { return UInt8(i) }
    }
    return nil
  }

  private mutating func carryFromMidstream(
    _ side: FlowSide, _ position: Int, _ plan: UInt8
  ) {
    let flow = side.flow
    guard let partial = side.state.pointee.partial else { return }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    if !flow.pointee.clientIsCertain {
      let isMasked = bytes.u8(position + 1) & 0x80 != 0
      flow.pointee.client = UInt8(truncatingIfNeeded: isMasked ? side.number : side.peer.number)
    }
    let skipped = position - partial.pointee.start
    ledger.pointee.unreadBytes += UInt64(skipped)
    partial.pointee.consume(skipped)
    let at = partial.pointee.mark(at: partial.pointee.start).timestamp
    let offset = streams.place(side, partial.pointee.streamOffset)
    beginCarrying(flow, side.index)
    guard let record = streams.carrier(of: flow) else { return }
    foundWebSocket(record)
    record.pointee.hint = plan
    record.pointee.readers[side.number]?.pointee.state = .header
    tellCarrier(.webSocket(isCompressed: false, isMidstream: true), side, at: at, offset: offset, count: 0)
    // What came first is read first.
    let other = side.peer
    let isFirst = record.pointee.readers[other.number]?.pointee.held.map {
      $0.pointee.count > 0 && $0.pointee.mark(at: $0.pointee.start).timestamp < at
    }
    for side in isFirst == true ? [other, side] : [side, other] { carryHeld(side, isEnd: false) }
  }
}
