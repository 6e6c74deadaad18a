import IMWire

/// PROXY headers in front of a connection's first frame.
extension Carriers {
  /// Reads what carriers have put in front of a side's first frame: a PROXY header, or HTTP that asks for WebSocket. True when
  /// the bytes were taken or wait for more. Most streams begin otherwise, and their first byte tells.
  @inline(__always)
  mutating func readsCarrier(
    _ side: FlowSide, _ rest: Ref<StreamRest>,
    isEnd: Bool
  ) -> Bool {
    let first = rest.pointee.memoryStart.load(fromByteOffset: rest.pointee.start, as: UInt8.self)
    if first == 0x0d || first == 0x50, rest.pointee.streamOffset == 0,
      readProxyHeader(side, rest, isEnd: isEnd)
    {
      return true
    }
    let next = rest.pointee.memoryStart.load(fromByteOffset: rest.pointee.start, as: UInt8.self)
    // The first letters of methods and of answers are from C to T.
    return (next &- 0x43 <= 0x11 || side.flow.pointee.carrier != .max) && readHTTP(side, rest, isEnd: isEnd)
  }

  /// Reads the PROXY header in front of the first frame of side `side`, whose first bytes `rest` holds. True when the
  /// bytes have to wait for more.
  @inline(never)
  mutating func readProxyHeader(
    _ side: FlowSide, _ rest: Ref<StreamRest>, isEnd: Bool
  ) -> Bool {
    let flow = side.flow
    guard side.number == Int(flow.pointee.client) || !flow.pointee.clientIsCertain else { return false }
    let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
    let half = side.half
    switch ProxyHeader.read(bytes, rest.pointee.start, rest.pointee.end) {
    case .none: return false
    case .needMore where !isEnd: return half.pointee.flags.contains(.fromStart)
    case .needMore:
      // Too little of one is nothing that could be told from another protocol.
      guard rest.pointee.count >= 6 else { return false }
      refuseProxyHeader(side, rest, rest.pointee.count)
    case .damaged(let count): refuseProxyHeader(side, rest, count)
    case .header(let header, let count): take(header, count, side, rest)
    }
    return rest.pointee.count == 0
  }

  private mutating func take(
    _ header: ProxyHeader, _ count: Int, _ side: FlowSide,
    _ rest: Ref<StreamRest>
  ) {
    let flow = side.flow
    if !flow.pointee.clientIsCertain { flow.pointee.client = UInt8(truncatingIfNeeded: side.number) }
    let record = carrierRecord(flow)
    record.pointee.carriers.insert(header.version == 1 ? .proxy1 : .proxy2)
    record.pointee.client = header.source
    record.pointee.destination = header.destination
    record.pointee.usesTLS = header.usesTLS
    record.pointee.begin[side.number] = rest.pointee.streamOffset &+ UInt64(count)
    let event = CarrierEvent(
      timestamp: rest.pointee.mark(at: rest.pointee.start + count - 1).timestamp,
      direction: side.direction, streamOffset: rest.pointee.streamOffset, byteCount: UInt64(count),
      what: .proxy(
        version: header.version, isLocal: header.isLocal, source: header.source, destination: header.destination))
    if streams.needs.contains(.undecoded) {
      let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
      streams.tell(
        .proxyHeader(version: header.version), side, at: rest.pointee.streamOffset, bytes, from: rest.pointee.start,
        count: count)
    }
    ledger.pointee.carrierBytes += UInt64(count)
    ledger.pointee.strayBytes += UInt64(count)
    ledger.pointee.proxiedConnections += 1
    rest.pointee.consume(count)
    rest.pointee.needed = 0
    streams.describe(flow)
    if streams.needs.contains(.issues) { streams.sink.carrier(event, streams.info) }
  }

  /// A header that cannot be believed: what is known to be of it is passed over, and the first frame is looked for.
  private mutating func refuseProxyHeader(
    _ side: FlowSide, _ rest: Ref<StreamRest>, _ count: Int
  ) {
    streams.raise(
      Issue(
        .proxyHeader, timestamp: rest.pointee.mark(at: rest.pointee.start).timestamp,
        direction: side.direction, streamOffset: rest.pointee.streamOffset, byteCount: UInt64(count)),
      side.flow)
    if streams.needs.contains(.undecoded) {
      let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
      streams.tell(
        .proxyHeader(version: 0), side, at: rest.pointee.streamOffset, bytes, from: rest.pointee.start, count: count)
    }
    ledger.pointee.strayBytes += UInt64(count)
    side.half.pointee.flags.remove(.fromStart)
    rest.pointee.consume(count)
    rest.pointee.needed = 0
  }

  // MARK: Records

  /// What is kept of a flow's carriers, made when it is not there.
  mutating func carrierRecord(_ flow: Ref<Flow>) -> Ref<CarrierRecord> { streams.carrierRecord(flow) }
}
