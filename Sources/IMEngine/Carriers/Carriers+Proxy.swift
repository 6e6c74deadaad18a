import IMWire

/// PROXY headers in front of a connection's first frame.
extension Carriers {
  /// Reads what carriers have put in front of a side's first frame: a PROXY header, or HTTP that asks for WebSocket. True when
  /// the bytes were taken or wait for more. Most streams begin otherwise, and their first byte tells.
  @inline(__always)
  mutating func readsCarrier(
    _ side: FlowSide, _ partial: Ref<PartialFrame>,
    isEnd: Bool
  ) -> Bool {
    let first = partial.pointee.memoryStart.load(fromByteOffset: partial.pointee.start, as: UInt8.self)
    if first == 0x0d || first == 0x50, partial.pointee.streamOffset == 0,
      readProxyHeader(side, partial, isEnd: isEnd)
    {
      return true
    }
    let next = partial.pointee.memoryStart.load(fromByteOffset: partial.pointee.start, as: UInt8.self)
    // The first letters of methods and of answers are from C to T.
    return (next &- 0x43 <= 0x11 || side.flow.pointee.carrier != .max) && readHTTP(side, partial, isEnd: isEnd)
  }

  /// Reads the PROXY header in front of the first frame of side `side`, whose first bytes `partial` holds. True when the
  /// bytes have to wait for more.
  @inline(never)
  mutating func readProxyHeader(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    guard side.number == Int(flow.pointee.client) || !flow.pointee.clientIsCertain else { return false }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let state = side.state
    switch ProxyHeader.read(bytes, partial.pointee.start, partial.pointee.end) {
    case .none: return false
    case .needMore where !isEnd: return state.pointee.flags.contains(.fromStart)
    case .needMore:
      // Too little of one is nothing that could be told from another protocol.
      guard partial.pointee.count >= 6 else { return false }
      refuseProxyHeader(side, partial, partial.pointee.count)
    case .damaged(let count): refuseProxyHeader(side, partial, count)
    case .header(let header, let count): take(header, count, side, partial)
    }
    return partial.pointee.count == 0
  }

  private mutating func take(
    _ header: ProxyHeader, _ count: Int, _ side: FlowSide,
    _ partial: Ref<PartialFrame>
  ) {
    let flow = side.flow
    if !flow.pointee.clientIsCertain { flow.pointee.client = UInt8(truncatingIfNeeded: side.number) }
    let record = carrierRecord(flow)
    record.pointee.carriers.insert(header.version == 1 ? .proxy1 : .proxy2)
    record.pointee.client = header.source
    record.pointee.destination = header.destination
    record.pointee.usesTLS = header.usesTLS
    record.pointee.begin[side.number] = partial.pointee.streamOffset &+ UInt64(count)
    let event = CarrierEvent(
      timestamp: partial.pointee.mark(at: partial.pointee.start + count - 1).timestamp,
      direction: side.direction, streamOffset: partial.pointee.streamOffset, byteCount: UInt64(count),
      what: .proxy(
        version: header.version, isLocal: header.isLocal, source: header.source, destination: header.destination))
    if streams.needs.contains(.undecoded) {
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      streams.tell(
        .proxyHeader(version: header.version), side, at: partial.pointee.streamOffset, bytes,
        from: partial.pointee.start,
        count: count)
    }
    ledger.pointee.carrierBytes += UInt64(count)
    ledger.pointee.strayBytes += UInt64(count)
    ledger.pointee.proxiedConnections += 1
    partial.pointee.consume(count)
    partial.pointee.needed = 0
    streams.describe(flow)
    if streams.needs.contains(.issues) { streams.sink.carrier(event, streams.info) }
  }

  /// A header that cannot be believed: what is known to be of it is passed over, and the first frame is looked for.
  private mutating func refuseProxyHeader(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ count: Int
  ) {
    streams.raise(
      Issue(
        .proxyHeader, timestamp: partial.pointee.mark(at: partial.pointee.start).timestamp,
        direction: side.direction, streamOffset: partial.pointee.streamOffset, byteCount: UInt64(count)),
      side.flow)
    if streams.needs.contains(.undecoded) {
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      streams.tell(
        .proxyHeader(version: 0), side, at: partial.pointee.streamOffset, bytes, from: partial.pointee.start,
        count: count)
    }
    ledger.pointee.strayBytes += UInt64(count)
    side.state.pointee.flags.remove(.fromStart)
    partial.pointee.consume(count)
    partial.pointee.needed = 0
  }

  // MARK: Records

  /// What is kept of a flow's carriers, made when it is not there.
  mutating func carrierRecord(_ flow: Ref<Flow>) -> Ref<CarrierRecord> { streams.carrierRecord(flow) }
}
