import IMWire

/// One conversation that the capture shows twice: before a NAT and after it.
extension Connections {
  /// Looks for the connection that a client's SYN has opened before it was translated; whether there seems to be one.
  mutating func seemsTranslated(_ side: FlowSide, _ clock: UInt32?, _ bytes: borrowing Bytes) -> Bool {
    guard let hops = segment.pointee.hopLimit(bytes) else { return false }
    return twins.note(segment, clock: clock ?? 0, hops: hops, (side.index, side.flow.pointee.serial))
  }

  /// Decides, when the server has answered, whether a connection is another one translated: both its first numbers are the other
  /// one's. From then on its packets are captured twice, and it is counted no more.
  mutating func decideTwin(_ side: FlowSide) {
    guard let pair = twins.pair(side.peer.tail.pointee.initial, of: side.index) else { return }
    let (first, second) = (reassembler.flows.pointer(pair.first.flow), reassembler.flows.pointer(pair.second.flow))
    guard first.pointee.serial == pair.first.serial, second.pointee.serial == pair.second.serial,
      second.pointee.phase == .accepted, first.pointee.phase != .closed
    else { return }
    let server = (1 - Int(first.pointee.client), 1 - Int(second.pointee.client))
    guard first.state(server.0).pointee.flags.contains(.syn), second.state(server.1).pointee.flags.contains(.syn),
      first.tail(server.0).pointee.initial == second.tail(server.1).pointee.initial
    else { return }
    for side in 0...1 {
      second.state(side).pointee.flags.insert(.twin)
      reassembler.counters.copies += UInt64(second.state(side).pointee.packets)
    }
    ledger.pointee.connections -= 1
    ledger.pointee.connectionAttempts -= 1
    ledger.pointee.translatedConnections += 1
    twins.add(
      TranslatedConnection(
        serial: pair.first.serial, client: second.pointee.key.endpoint(Int(second.pointee.client)),
        server: second.pointee.key.endpoint(server.1)))
  }

  /// Counts a packet of a connection that is another one translated; false where it opens a new one.
  mutating func takeTwin(_ side: FlowSide) -> Bool {
    let flags = segment.pointee.flags
    if flags.contains(.syn), !flags.contains(.ack), segment.pointee.sequence != side.tail.pointee.initial {
      return false
    }
    reassembler.counters.copies += 1
    reassembler.counters.payloadBytes += UInt64(segment.pointee.payloadCount)
    reassembler.counters.repeatedBytes += UInt64(segment.pointee.payloadCount)
    if flags.contains(.fin) { side.state.pointee.flags.insert(.fin) }
    let isOver =
      flags.contains(.rst)
      || side.state.pointee.flags.contains(.fin) && side.peer.state.pointee.flags.contains(.fin)
    // Its place is given back like that of any connection; until then it takes what comes after the end.
    if isOver, !side.state.pointee.flags.contains(.finished) {
      for side in side.both { side.state.pointee.flags.insert(.finished) }
      ending.add(
        flow: side.index, serial: side.flow.pointee.serial,
        due: segment.pointee.timestamp.advanced(by: Self.endingDelay))
      clock.wake(by: ending.nextDue)
    }
    return true
  }
}

extension Ref<Flow> {
  /// Whether the connection is another one translated.
  var isTwin: Bool { state(0).pointee.flags.contains(.twin) }

  /// Whether its SYN seems to be that of another connection, translated; the answer tells.
  var mayBeTwin: Bool {
    get { state(1).pointee.flags.contains(.twin) && !isTwin }
    nonmutating set {
      if newValue { state(1).pointee.flags.insert(.twin) } else { state(1).pointee.flags.remove(.twin) }
    }
  }
}
