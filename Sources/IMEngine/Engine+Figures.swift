import IMWire

extension Engine {
  /// Tells the fates that wait to be told in a batch, for a sink whose counts are asked for now.
  package mutating func tellSettlements() { tracker.tellSettlements() }

  /// Where everything captured went so far.
  package var totals: Ledger {
    var ledger = ledger
    ledger.evicted[.exchange] = tracker.evicted
    ledger.evicted[.session] = tracker.sessions.evicted
    ledger.evicted[.datagram] = stage.parser.fragments.evicted
    ledger.packets = stage.count
    ledger.packetBytes = stage.byteCount
    ledger.cutPackets = stage.cut
    ledger.clockBackwards = stage.backwards
    ledger.lastAt = ledger.firstAt == nil ? nil : moment
    return ledger
  }

  /// What reassembly has counted so far.
  package var reassembly: ReassemblyCounters { reassembler.counters }

  /// The totals of a plan's type; `kind` 64 is all unknown types.
  package func totals(plan: Int, kind: Int) -> KindTotals {
    tracker.total(UInt8(plan), UInt8(kind)).pointee
  }

  /// Sessions that came back on a new connection after their last one had ended.
  package var reconnects: UInt64 { tracker.reconnects }
  /// Answers after the first, of exchanges that were answered before.
  package var dupAcks: UInt64 { tracker.dupAcks }

  /// What the protocol calls a session: the client's own name, or `nil` when a number names it.
  package func sessionName(_ session: UInt32) -> String? { tracker.sessions.names[session] }

  /// The number by which the wire names a session.
  package func sessionKey(_ session: UInt32) -> UInt64 { tracker.sessions.pointer(session).pointee.key }

  /// Whether a part of the session was joined by addresses only.
  package func sessionIsUncertain(_ session: UInt32) -> Bool {
    tracker.sessions.pointer(session).pointee.isUncertain
  }

  /// The server whose figures have the index `endpoint` in `ConnectionFigures`.
  package func endpoints() -> [EndpointKey] {
    endpointIndex.sorted { $0.value < $1.value }.map(\.key)
  }

  /// What TLS connections said of themselves, by serial number.
  package var tls: [UInt32: TLSHello] { tlsHellos }

  /// The ports with the most undecoded bytes, busiest first.
  package func busiestUndecodedPorts(_ count: Int) -> [(port: UInt16, bytes: UInt64)] {
    Array(
      undecodedPorts.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(count).map { ($0.key, $0.value) })
  }

  /// Bytes held beyond holes, in all directions.
  package var heldBytes: Int { reassembler.heldBytes }
  /// Bytes that all tables and streams hold; see `EngineOptions.memory`.
  package var memoryBytes: Int { budget.total }
  /// Connections remembered.
  package var connectionCount: Int { reassembler.flows.pool.used }
  /// Datagrams whose fragments never came together.
  package var expiredDatagrams: Int { stage.parser.fragments.expired }

  /// What the sequence numbers of a plan's senders were, by direction and category: those in which not all were in order.
  package func sequenceTotals(plan: Int) -> [SequenceTotals] { tracker.sessions.sequenceTotals(plan, at: now) }

  /// What became of the handshake of a connection; `nil` where none was seen to begin.
  func handshakeOutcome(_ figures: ConnectionFigures, _ flow: Flow) -> HandshakeOutcome? {
    let state = figures.handshake
    guard state.contains(.requested), flow.profile.isPlan else { return nil }
    let plan = planPointers[Int(flow.profile.rawValue)]
    if state.contains(.answered) { return .answered }
    // Where a protocol knows no other answer, the acknowledgment is the answer.
    if state.contains(.acknowledged) { return plan.pointee.handshakeAnswer == .max ? .answered : .acknowledged }
    if state.contains(.refused) { return .refused }
    let isOver =
      flow.phase == .closed || now.nanoseconds(since: figures.handshakeAt) > plan.pointee.handshakeLimit
    return isOver ? .unanswered : .pending
  }
}
