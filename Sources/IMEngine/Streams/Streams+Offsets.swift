import IMWire

/// Places on the wire of what directions hold: what a carrier holds is a stream of its own, with offsets of its own.
extension Streams {
  /// What is kept of a flow's carriers; `nil` where it has none.
  @inline(__always)
  func carrier(of flow: Ref<Flow>) -> Ref<CarrierRecord>? {
    flow.pointee.carrier == .max ? nil : tracker.carriers.pointer(flow.pointee.carrier)
  }

  /// The same, made when it is not there.
  mutating func carrierRecord(_ flow: Ref<Flow>) -> Ref<CarrierRecord> {
    if flow.pointee.carrier == .max {
      if tracker.carriers.room == 0 { budget.take(.connections, Tracker.carrierGrowth) }
      flow.pointee.carrier = tracker.carriers.allocate(CarrierRecord(), owner: flow.pointee.index)
      if tracker.isShortOfCarriers { clock.wakeNow() }
    }
    return tracker.carriers.pointer(flow.pointee.carrier)
  }

  /// The reader of a direction's WebSocket frames.
  @inline(__always)
  func reader(_ side: FlowSide) -> Ref<WebSocketReader>? {
    carrier(of: side.flow)?.pointee.readers[side.number]
  }

  /// The bytes on the wire that have made the first `count` bytes that a direction holds.
  @inline(__always)
  mutating func wireCount(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ count: Int
  ) -> Int {
    guard side.state.pointee.flags.contains(.carried) else { return count }
    return wireCount(side, from: partial.pointee.streamOffset, count)
  }

  /// How many bytes on the wire have made the `count` bytes from `inner` on of the stream that is carried.
  @inline(never)
  mutating func wireCount(_ side: FlowSide, from inner: UInt64, _ count: Int) -> Int {
    if let reader = reader(side) { return reader.pointee.offsets.wireCount(inner, count) }
    if let tls = tls(of: side.flow) { return tls.pointee.ways[side.number].offsets.wireCount(inner, count) }
    return count
  }

  /// The reader of a connection's TLS records; `nil` where it has none.
  mutating func tls(of flow: Ref<Flow>) -> Ref<TLSReader>? { carrier(of: flow)?.pointee.tls }

  /// The offset on the wire of the byte at `offset` of the stream of WebSocket frames.
  mutating func place(_ side: FlowSide, _ offset: UInt64) -> UInt64 {
    guard let tls = tls(of: side.flow) else { return offset }
    return tls.pointee.ways[side.number].offsets.wire(offset)
  }

  /// Where that stream ends.
  mutating func end(of side: FlowSide) -> UInt64 {
    guard let tls = tls(of: side.flow) else { return side.state.pointee.offset }
    return tls.pointee.ways[side.number].offsets.end
  }

  /// The place on the wire of the byte at `offset` of what a direction holds.
  mutating func wireOffset(_ side: FlowSide, _ offset: UInt64) -> UInt64 {
    guard side.state.pointee.flags.contains(.carried) else { return offset }
    guard let reader = reader(side) else { return place(side, offset) }
    return reader.pointee.offsets.wire(offset)
  }

  /// Takes back what the frame in hand was counted for beyond what it was on the wire; it is still held.
  @inline(never)
  mutating func countOnWire(
    _ side: FlowSide, _ partial: Ref<PartialFrame>
  ) {
    let excess = UInt64(bitPattern: Int64(frame.pointee.count - wireCount(side, partial, frame.pointee.count)))
    if frame.pointee.checksumStatus == .bad {
      ledger.pointee.damagedBytes &-= excess
    } else {
      ledger.pointee.decodedBytes &-= excess
    }
  }
  /// Takes note of where the bytes begin that are passed over in search of a frame of the protocol.
  mutating func noteSkipped(
    _ side: FlowSide, _ partial: Ref<PartialFrame>
  ) {
    let place = wireOffset(side, partial.pointee.streamOffset)
    if let reader = reader(side) {
      reader.pointee.innerSkippedFrom = place
    } else {
      tls(of: side.flow)?.pointee.ways[side.number].skippedFrom = place
    }
  }

  /// A carried direction has found the protocol's next frame after a gap, at `offset` of what it holds.
  mutating func noteFound(_ side: FlowSide, _ offset: UInt64) {
    guard !isInGapRegion, let late = carrier(of: side.flow)?.pointee.late[side.number] else { return }
    late.pointee.close(at: reader(side)?.pointee.offsets.wireFloor(offset) ?? wireOffset(side, offset))
  }

  /// That place.
  mutating func skippedFrom(_ side: FlowSide) -> UInt64 {
    reader(side)?.pointee.innerSkippedFrom ?? tls(of: side.flow)?.pointee.ways[side.number].skippedFrom ?? 0
  }

  /// Tells of bytes that were passed over in search of a frame which never came.
  mutating func tellSkipped(_ flow: Ref<Flow>) {
    guard flow.pointee.anomalyRecord != .max else { return }
    for side in flow.sides {
      let note = anomalyRecords.note(side)
      let total = note.pointee.skipped
      guard total > 0 else { continue }
      note.pointee.skipped = 0
      raise(
        Issue(
          .resynchronised, timestamp: clock.moment, direction: side.direction,
          streamOffset: side.state.pointee.flags.contains(.carried)
            ? skippedFrom(side) : side.state.pointee.offset &- total,
          byteCount: total), flow)
    }
  }
}
