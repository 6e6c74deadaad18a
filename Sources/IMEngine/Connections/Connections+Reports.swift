import IMTLS
import IMWire

/// What is told of a connection.
extension Connections {
  mutating func report(_ flow: Ref<Flow>, isFinal: Bool) {
    if isFinal {
      flow.pointee.reported = true
      if !flow.pointee.sawSyn { ledger.pointee.midstreamConnections += 1 }
      streams.tellSkipped(flow)
      if let record = streams.carrier(of: flow) { countTLS(record) }
    }
    guard needs.contains(.connections), !flow.isTwin else { return }
    let side = Int(flow.pointee.client)
    var figures = flow.pointee.figures == .max ? nil : tracker.figures.pointer(flow.pointee.figures).pointee
    // A plan without a frame was a guess.
    if figures?.lastFrameAt == .distantPast { figures = nil }
    let fatalSilence = figures.flatMap { self.fatalSilence($0, flow) }
    var beats = figures.flatMap { $0.heartbeats == .max ? nil : tracker.heartbeats.pointer($0.heartbeats).pointee }
    // The last silence ends here.
    beats?.countSilence(until: flow.pointee.closedAt == .distantFuture ? clock.now : flow.pointee.closedAt)
    // A protocol without heartbeats may have a carrier that has some; who promised some and had no need of them has none. A
    // connection without a protocol has none either.
    let pings = figures == nil ? .max : streams.carrier(of: flow)?.pointee.beats ?? .max
    let arePings = (beats?.sent ?? 0) == 0 && pings != .max
    if arePings {
      beats = tracker.heartbeats.pointer(pings).pointee
    } else if beats?.sent == 0, beats?.absent == 0 {
      beats = nil
    }
    var rare = RareMetrics()
    if let figures { rare = tracker.rareFigures(of: figures) }
    let anomalyRecord = anomalyRecords.existing(flow)?.pointee ?? AnomalyRecord()
    let (client, server) = (flow.state(side), flow.state(1 - side))
    var info = streams.connectionInfo(flow)
    var serverPlan = info.endpoint == .max ? nil : info.plan
    if isFinal, flow.pointee.closeReason == .refused || flow.pointee.closeReason == .timeout,
      client.pointee.offset == 0, server.pointee.offset == 0
    {
      info.endpoint = streams.servers.index(ofFailed: info.server, streams.protocols.plans)
      let keys = streams.servers.keys
      serverPlan = info.endpoint < UInt32(clamping: keys.count) ? keys[Int(info.endpoint)].plan : nil
    }
    if flow.pointee.profile == .tls, let hello = streams.hello(of: flow.pointee.serial, isLast: isFinal) {
      sink.hello(hello, info)
    }
    sink.connection(
      ConnectionReport(
        info: info, madeAt: clock.now, phase: flow.pointee.phase, reason: flow.pointee.closeReason,
        resetBy: flow.pointee.resetSide.map { flow.pointee.direction($0) }, isFinal: isFinal,
        clientIsCertain: flow.pointee.clientIsCertain,
        sawSyn: flow.pointee.sawSyn, firstSeen: flow.pointee.firstSeen, lastSeen: flow.pointee.lastSeen,
        closedAt: flow.pointee.closedAt == .distantFuture ? nil : flow.pointee.closedAt,
        establishedAt: flow.pointee.establishedAt,
        serverHandshake: flow.pointee.serverHandshake < .zero || clock.isTimeless ? nil : flow.pointee.serverHandshake,
        clientHandshake: flow.pointee.clientHandshake < .zero || clock.isTimeless ? nil : flow.pointee.clientHandshake,
        packets: [client.pointee.packets, server.pointee.packets],
        wireBytes: [client.pointee.wireBytes, server.pointee.wireBytes],
        streamBytes: [client.pointee.offset, server.pointee.offset],
        firstSequences: [client.pointee.firstSequence, server.pointee.firstSequence],
        segments: [
          reassembler.figures(FlowSide(flow, side)), reassembler.figures(FlowSide(flow, 1 - side)),
        ],
        gapCount: anomalyRecord.gapCount, gapBytes: anomalyRecord.gapBytes, conflicts: anomalyRecord.conflicts,
        synCount: flow.pointee.synCount,
        figures: figures, rare: rare,
        handshake: figures.flatMap { handshakeOutcome($0, flow) }, heartbeats: beats,
        session: flow.pointee.session == .max ? nil : flow.pointee.session, heartbeatsArePings: arePings,
        carrier: streams.carrier(of: flow).map { CarrierReport($0.pointee) },
        serverPlan: serverPlan, fatalSilence: fatalSilence))
  }

  /// Counts what the TLS of a connection told, of which data were decrypted.
  private mutating func countTLS(_ record: Ref<CarrierRecord>) {
    guard record.pointee.carriers.contains(.tls) else { return }
    let report = CarrierReport(record.pointee)
    ledger.pointee.tlsDecrypted += 1
    for way in 0...1 { ledger.pointee.tlsAlerts[way] += UInt64(report.alerts[way]) }
    guard let time = report.tls?.handshakeTime else { return }
    ledger.pointee.tlsHandshakes += 1
    let total = ledger.pointee.tlsHandshakeTime
    ledger.pointee.tlsHandshakeTime = total + time < total ? total : total + time
  }

  /// Reports on every connection that is not over, in the order of their places: what is known of them now.
  mutating func reportOpen() {
    for index in 0..<UInt32(truncatingIfNeeded: reassembler.flows.pool.count) {
      let flow = reassembler.flows.pointer(index)
      guard flow.pointee.serial != 0, flow.pointee.phase != .closed, !flow.pointee.reported else { continue }
      report(flow, isFinal: false)
    }
  }

  /// What became of the handshake of a connection; `nil` where none was seen to begin.
  private mutating func handshakeOutcome(
    _ figures: ConnectionMetrics, _ flow: Ref<Flow>
  ) -> HandshakeOutcome? {
    let state = figures.handshake
    guard state.contains(.requested), flow.pointee.profile.isPlan else { return nil }
    let plan = streams.protocols[flow.pointee.profile]
    if state.contains(.answered) { return .answered }
    // Where a protocol knows no other answer, the acknowledgment is the answer.
    if state.contains(.acknowledged) { return plan.pointee.handshakeAnswer == .max ? .answered : .acknowledged }
    if state.contains(.refused) { return .refused }
    let isOver =
      flow.pointee.phase == .closed || clock.now.time(since: figures.handshakeAt) > plan.pointee.handshakeLimit
    return isOver ? .unanswered : .pending
  }
}
