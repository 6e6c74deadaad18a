import IMWire

/// What is told of a connection.
extension Connections {
  mutating func report(_ flow: UnsafeMutablePointer<Flow>, isFinal: Bool) {
    if isFinal {
      flow.pointee.reported = true
      if !flow.pointee.sawSyn { ledger.pointee.midstreamConnections += 1 }
      streams.tellSkipped(flow)
    }
    guard needs.contains(.connections) else { return }
    let f = flow.pointee
    let client = Int(f.client)
    var figures = f.figures == .max ? nil : tracker.figures.pointer(f.figures).pointee
    // A plan without a frame was a guess.
    if figures?.lastFrameAt == .distantPast { figures = nil }
    figures?.resolveSilence(flow)
    var beats = figures.flatMap { $0.heartbeats == .max ? nil : tracker.heartbeats.pointer($0.heartbeats).pointee }
    // The last silence ends here.
    beats?.countSilence(until: f.closedAt == .distantFuture ? clock.now : f.closedAt)
    // A protocol without heartbeats may have a carrier that has some; who promised some and had no need of them has none. A
    // connection without a protocol has none either.
    let pings = figures == nil ? .max : streams.carrier(of: flow)?.pointee.beats ?? .max
    let arePings = (beats?.sent ?? 0) == 0 && pings != .max
    if arePings {
      beats = tracker.heartbeats.pointer(pings).pointee
    } else if beats?.sent == 0, beats?.absent == 0 {
      beats = nil
    }
    var rare = RareFigures()
    if let figures { rare = tracker.rareFigures(of: figures) }
    let journal = journals.existing(flow)?.pointee ?? FlowJournal()
    let ways = [f.halves[client], f.halves[1 - client]]
    var info = streams.connectionInfo(flow)
    var serverPlan = info.endpoint == .max ? nil : info.plan
    if isFinal, f.closeReason == .refused || f.closeReason == .timeout, ways[0].offset == 0, ways[1].offset == 0 {
      info.endpoint = streams.servers.index(ofFailed: info.server, streams.protocols.plans)
      let keys = streams.servers.keys
      serverPlan = info.endpoint < UInt32(clamping: keys.count) ? keys[Int(info.endpoint)].plan : nil
    }
    sink.connection(
      ConnectionReport(
        info: info, madeAt: clock.now, phase: f.phase, reason: f.closeReason, isFinal: isFinal,
        clientIsCertain: f.clientIsCertain,
        sawSyn: f.sawSyn, firstSeen: f.firstSeen,
        lastSeen: f.lastSeen, closedAt: f.closedAt == .distantFuture ? nil : f.closedAt,
        establishedAt: f.establishedAt, serverHandshake: f.serverHandshake < .zero ? nil : f.serverHandshake,
        clientHandshake: f.clientHandshake < .zero ? nil : f.clientHandshake,
        packets: [ways[0].packets, ways[1].packets], wireBytes: [ways[0].wireBytes, ways[1].wireBytes],
        streamBytes: [ways[0].offset, ways[1].offset],
        firstSequences: [ways[0].firstSequence, ways[1].firstSequence],
        segments: [
          reassembler.figures(FlowSide(flow, client)), reassembler.figures(FlowSide(flow, 1 - client)),
        ],
        gapCount: journal.gapCount, gapBytes: journal.gapBytes, conflicts: journal.conflicts, synCount: f.synCount,
        figures: figures, rare: rare,
        handshake: figures.flatMap { handshakeOutcome($0, f) }, heartbeats: beats,
        session: f.session == .max ? nil : f.session, heartbeatsArePings: arePings,
        carrier: streams.carrier(of: flow).map { CarrierReport($0.pointee) }, serverPlan: serverPlan))
  }

  /// What became of the handshake of a connection; `nil` where none was seen to begin.
  private func handshakeOutcome(_ figures: ConnectionFigures, _ flow: Flow) -> HandshakeOutcome? {
    let state = figures.handshake
    guard state.contains(.requested), flow.profile.isPlan else { return nil }
    let plan = streams.protocols[flow.profile]
    if state.contains(.answered) { return .answered }
    // Where a protocol knows no other answer, the acknowledgment is the answer.
    if state.contains(.acknowledged) { return plan.pointee.handshakeAnswer == .max ? .answered : .acknowledged }
    if state.contains(.refused) { return .refused }
    let isOver =
      flow.phase == .closed || clock.now.time(since: figures.handshakeAt) > plan.pointee.handshakeLimit
    return isOver ? .unanswered : .pending
  }
}
