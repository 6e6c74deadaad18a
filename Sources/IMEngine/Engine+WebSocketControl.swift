import IMWire

/// Pings, pongs and close frames.
extension Engine {
  /// Takes a control frame that is there to its end.
  mutating func takeControl(
    _ header: WebSocketHeader, _ flow: UnsafeMutablePointer<Flow>, _ side: Int,
    _ reader: UnsafeMutablePointer<WebSocketReader>, _ bytes: borrowing Bytes, _ position: Int, _ source: CarriedBytes
  ) {
    countCarrier(header.frameCount)
    guard let record = carrier(of: flow) else { return }
    count(header, flow, side, record)
    carried.reserve(header.payloadCount)
    WebSocketHeader.unmask(
      bytes, position + header.count, header.payloadCount, key: header.key, phase: 0, to: carried.pointer)
    let payload = UnsafeRawBufferPointer(start: UnsafeRawPointer(carried.pointer), count: header.payloadCount)
    let at = source.held?.pointee.mark(at: position + header.frameCount - 1).timestamp ?? source.at
    let way = Int(flow.pointee.direction(side).rawValue)
    switch header.opcode {
    case 9:
      beat(flow, record, way, at, isMissed: reader.pointee.pingAt != nil)
      reader.pointee.pingAt = at
      reader.pointee.pingHash = Self.hash(payload)
    case 10: takePong(flow, side, record, way, at, Self.hash(payload))
    default:
      guard !record.pointee.webSocket.isClosed else { return }
      let status = payload.count < 2 ? nil : UInt16(payload[0]) << 8 | UInt16(payload[1])
      record.pointee.webSocket.isClosed = true
      record.pointee.webSocket.closeStatus = status ?? 0
      tellCarrier(
        flow, side, at, source.base &+ UInt64(position), header.frameCount, .webSocketClose(status: status))
    }
  }

  /// A pong answers the last ping of the other side when it says the same.
  private mutating func takePong(
    _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ record: UnsafeMutablePointer<CarrierRecord>, _ way: Int,
    _ at: Timestamp, _ hash: UInt64
  ) {
    guard let asker = record.pointee.readers[1 - side], let asked = asker.pointee.pingAt,
      asker.pointee.pingHash == hash
    else {
      record.pointee.webSocket.unasked[way] &+= 1
      return
    }
    asker.pointee.pingAt = nil
    record.pointee.webSocket.answered[1 - way] &+= 1
    let roundTrip = max(0, at.nanoseconds(since: asked) / 1_000)
    record.pointee.webSocket.roundTripSum &+= roundTrip
    record.pointee.webSocket.roundTripMinimum = min(record.pointee.webSocket.roundTripMinimum, roundTrip)
    record.pointee.webSocket.roundTripMaximum = max(record.pointee.webSocket.roundTripMaximum, roundTrip)
    let figures = flow.pointee.figures
    if Int(record.pointee.beats) == 1 - way, figures != .max {
      tracker.answeredHeartbeat(tracker.figures.pointer(figures), roundTrip)
    }
  }

  /// Pings are a connection's signs of life where its protocol has none of its own: those of the side that began.
  private mutating func beat(
    _ flow: UnsafeMutablePointer<Flow>, _ record: UnsafeMutablePointer<CarrierRecord>, _ way: Int, _ at: Timestamp,
    isMissed: Bool
  ) {
    guard flow.pointee.figures != .max else { return }
    let figure = tracker.figures.pointer(flow.pointee.figures)
    // A client may have promised heartbeats and sent none yet.
    let hasOwn = figure.pointee.heartbeats != .max && tracker.heartbeats.pointer(figure.pointee.heartbeats).pointee.sent > 0
    if record.pointee.beats == 255, !hasOwn { record.pointee.beats = UInt8(way) }
    guard Int(record.pointee.beats) == way else { return }
    if isMissed, figure.pointee.heartbeats != .max {
      let beats = tracker.heartbeats.pointer(figure.pointee.heartbeats)
      beats.pointee.missed &+= 1
      beats.pointee.missedInARow &+= 1
    }
    tracker.heartbeat(at, figure, currentPlan)
  }

  /// FNV-1a.
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
