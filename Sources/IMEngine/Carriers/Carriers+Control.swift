import IMWire

/// Pings, pongs and close frames.
extension Carriers {
  /// Takes a control frame that is there to its end.
  mutating func takeControl(
    _ header: WebSocketHeader, _ side: FlowSide,
    _ reader: Ref<WebSocketReader>, _ bytes: borrowing Bytes, at position: Int, of source: CarriedBytes
  ) {
    countCarrier(header.frameCount)
    guard let record = streams.carrier(of: side.flow) else { return }
    count(header, side, record)
    carried.reserve(header.payloadCount)
    WebSocketHeader.unmask(
      bytes, position + header.count, header.payloadCount, key: header.key, phase: 0, to: carried.pointer)
    let payload = UnsafeRawBufferPointer(start: UnsafeRawPointer(carried.pointer), count: header.payloadCount)
    let at = source.held?.pointee.mark(at: position + header.frameCount - 1).timestamp ?? source.at
    let way = Int(side.direction.rawValue)
    switch header.opcode {
    case 9:
      beat(side, record, way, at, missed: reader.pointee.pingAt)
      reader.pointee.pingAt = at
      reader.pointee.pingHash = FNV1a.hash(payload)
    case 10: takePong(side, record, way: way, at: at, hash: FNV1a.hash(payload))
    default:
      guard !record.pointee.webSocket.isClosed else { return }
      let status = payload.count < 2 ? nil : UInt16(payload[0]) << 8 | UInt16(payload[1])
      record.pointee.webSocket.isClosed = true
      record.pointee.webSocket.closeStatus = status ?? 0
      tellCarrier(
        .webSocketClose(status: status), side, at: at,
        offset: streams.place(side, source.base &+ UInt64(position)),
        count: header.frameCount)
    }
  }

  /// A pong answers the last ping of the other side when it says the same.
  private mutating func takePong(
    _ side: FlowSide, _ record: Ref<CarrierRecord>, way: Int, at: Timestamp, hash: UInt64
  ) {
    guard let asker = record.pointee.readers[side.peer.number], let asked = asker.pointee.pingAt,
      asker.pointee.pingHash == hash
    else {
      record.pointee.webSocket.unasked[way] &+= 1
      return
    }
    asker.pointee.pingAt = nil
    let roundTrip = max(.zero, at.time(since: asked))
    record.pointee.webSocket.answered(1 - way, after: roundTrip)
    guard Int(record.pointee.beatingWay) == 1 - way, record.pointee.beats != .max else { return }
    let beats = streams.tracker.heartbeats.pointer(record.pointee.beats)
    beats.pointee.answered(after: roundTrip)
    tellPing(.answered, side, asked)
  }

  /// Takes note of a ping as a sign of life: those of the side that began. The last one is missed when the next one comes.
  private mutating func beat(
    _ side: FlowSide, _ record: Ref<CarrierRecord>, _ way: Int, _ at: Timestamp, missed: Timestamp?
  ) {
    if record.pointee.beatingWay == 255 { record.pointee.beatingWay = UInt8(way) }
    guard Int(record.pointee.beatingWay) == way else { return }
    if record.pointee.beats == .max { record.pointee.beats = streams.tracker.newBeats(of: side.flow) }
    let beats = streams.tracker.heartbeats.pointer(record.pointee.beats)
    if let missed {
      tellPing(.missed, side, missed)
      beats.pointee.missed &+= 1
      beats.pointee.missedInARow &+= 1
    }
    beats.pointee.sent(at: at)
    tellPing(.sent, side, at)
  }

  private func tellPing(_ step: PingStep, _ side: FlowSide, _ sentAt: Timestamp) {
    guard streams.needs.contains(.issues) else { return }
    streams.sink.ping(step, side.flow.pointee.serial, sentAt: sentAt)
  }
}
