package import IMTLS
package import IMWire

/// Everything that happens per packet: parsing, reassembly, decoding and tracking, on packet time.
///
/// A street of stages. Each owns its state, takes what the one before it has made, and hands on what it makes:
///
/// | stage | folder | takes | makes |
/// |---|---|---|---|
/// | `PacketStage` | Packets | a batch of packets | segments: parsed, verified, a flat array |
/// | `Connections` | Connections | a segment | flows, openings and ends; chunks of streams in order, and gaps |
/// | `Carriers` | Carriers | a chunk, or a gap | the same without what the protocol travels in |
/// | `Streams` | Streams | the same | frames: chosen plan, cut, opened; the next one behind a gap |
/// | `Tracker` | Tracking | a frame | exchanges, sessions, and figures of connections |
///
/// These are available to all of them: `Bytes`, `Decoding` (plans and their readers), `Figures` (counters), `Flows` (the record of a connection), and
/// `Report` (the input of the sink).
///
/// Synchronous and without side effects but for the sink's calls. The same packets give the same calls, however they are
/// cut into batches.
package struct Engine: ~Copyable {
  private var packets: PacketStage
  private var connections: Connections
  private let shared: SharedState
  /// Link types that were met and are not read; the first 16.
  package private(set) var unknownLinkTypes: Set<UInt16> = []
  /// The moment that had come before the line was quiet; `nil` while packets come.
  private var lastMoment: Timestamp?

  /// The secrets that TLS is read with, and how many there were when connections that wait for some were looked at last.
  private let secrets: TLSContext?
  private var generation: UInt32 = 0

  /// An engine that tells `sink`, and reads TLS with the secrets of `keys`, which may grow meanwhile.
  package init(options: EngineOptions, sink: any EngineSink, keys: KeyTable? = nil) {
    secrets = keys.map { TLSContext(keys: $0) }
    shared = SharedState(memory: options.memory)
    let reassembler = Reassembler(options: options.reassembly, shared: shared, seed: options.seed)
    packets = PacketStage(verifiesChecksums: options.verifiesChecksums, hasher: reassembler.flows.hasher)
    packets.parser.fragments.budget = shared.budget
    packets.parser.fragments.maximumDatagrams = options.datagramLimit
    packets.parser.fragments.patience = Nanoseconds(options.datagramPatience)
    let tracker = Tracker(options: options, budget: shared.budget, sink: sink, flows: reassembler.flows.places)
    let streams = Streams(options: options, sink: sink, shared: shared, tracker: tracker)
    let carriers = Carriers(options: options, shared: shared, streams: streams, secrets: secrets)
    connections = Connections(
      options: options, sink: sink, shared: shared, reassembler: reassembler, carriers: carriers,
      segment: UnsafeMutableRawPointer(packets.packets).assumingMemoryBound(to: Segment.self))
  }

  // MARK: Packets

  /// Does what time alone brings about up to `time`, when the line has been quiet until then: whoever calls knows a clock that packets
  /// are dated by, and that none of before is still to come. The last moment of the totals stays that of the packets.
  package mutating func idle(until time: Timestamp) {
    readWaiting()
    guard packets.count > 0, time > shared.clock.lastPacketAt, time >= shared.clock.wake else { return }
    lastMoment = lastMoment ?? shared.clock.moment
    connections.wake(at: time)
    connections.tracker.tellSettlements()
  }

  /// Reads the connections that wait for secrets, when there are new ones.
  private mutating func readWaiting() {
    guard let secrets, generation != secrets.keys.generation else { return }
    generation = secrets.keys.generation
    connections.readWaiting()
  }

  /// Says that packets come whose times are unknown: from here on no round trip is measured.
  package mutating func lacksTimes() {
    shared.clock.isTimeless = true
    connections.tracker.isTimeless = true
  }

  /// Takes a batch of packets. See `PacketRecord` for what the batch must promise.
  package mutating func process(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    if records.count > 0 { lastMoment = nil }
    readWaiting()
    let view = Bytes(bytes)
    var first = 0
    while first < records.count {
      let count = packets.read(view, records, from: first)
      let parsed = UnsafePointer(packets.packets)
      connections.beginLookahead(view, parsed, count: count)
      var place = 0
      while place < count {
        connections.lookAhead(view, parsed, from: place, count: count)
        let end = min(place &+ Lookahead.group, count)
        while place < end {
          packet(view, records, at: first &+ place, packets.packets + place, connections.lookahead.guesses + place)
          place &+= 1
        }
      }
      first &+= count
    }
  }

  /// One packet, whose turn has come.
  @inline(__always)
  private mutating func packet(
    _ bytes: borrowing Bytes, _ records: Span<PacketRecord>, at place: Int,
    _ packet: UnsafeMutablePointer<ParsedPacket>, _ guess: UnsafeMutablePointer<FlowGuess>
  ) {
    let segment = UnsafeMutableRawPointer(packet).assumingMemoryBound(to: Segment.self)
    let time = segment.pointee.timestamp
    if time >= shared.clock.wake { connections.wake(at: time) }
    shared.clock.lastPacketAt = time
    connections.segment = segment
    if let flow = guess.pointee.flow, guess.pointee.generation == connections.reassembler.flows.generation,
      flow.pointee.key.isSame(v4: segment.pointee.key)
        || (segment.pointee.key.isIPv6 && flow.pointee.key == segment.pointee.key)
    {
      connections.accept(bytes, guess.pointee.index, flow)
    } else if packet.pointee.isPlain {
      connections.accept(bytes, packet.pointee.hash)
    } else {
      parse(bytes, records[unchecked: place], segment)
    }
  }

  /// A packet that is no plain one.
  @inline(never)
  private mutating func parse(
    _ bytes: borrowing Bytes, _ record: PacketRecord, _ segment: UnsafeMutablePointer<Segment>
  ) {
    switch packets.parser.parse(bytes, record, into: &segment.pointee) {
    case .segment:
      connections.accept(bytes, connections.reassembler.flows.hasher.hash(segment.pointee.key))
    case .reassembledSegment:
      let datagram = packets.parser.fragments.datagram
      connections.accept(
        Bytes(datagram.span.bytes), connections.reassembler.flows.hasher.hash(segment.pointee.key))
    case .skipped(let reason):
      shared.ledger.pointee.skipped[Int(reason.rawValue)] &+= 1
      packets.parser.noteSkipped(reason)
      if reason == .linkType, unknownLinkTypes.count < 16 { unknownLinkTypes.insert(record.linkType) }
    }
  }

  /// Ends the capture: everything held is released, every exchange gets its fate, every connection is reported. It ended with the
  /// last packet, or at `time`, if that is later: a capture filter may have taken the packets after it.
  package mutating func finish(at time: Timestamp? = nil) {
    // The clock goes in ticks; what the last packets brought about is due as well.
    if packets.count > 0 {
      let last = shared.clock.lastPacketAt
      if let time, time > last { lastMoment = lastMoment ?? shared.clock.moment }
      connections.advance(to: max(last, time ?? last))
    }
    connections.finish()
  }

  /// Reports to the sink on every connection that is not over. It looks at all connections: for a screen, not for each batch.
  package mutating func reportOpen() { connections.reportOpen() }

  /// Puts `fresh` in the place of the plan at `index`, while the capture goes on.
  ///
  /// Connections that are open go on with the new plan where it has the same header: what is in hand of their bytes was cut
  /// by the same rules, their numbers stand at the same place, and they live for hours, so the correction is for them as
  /// much as for those to come. With another header each keeps the plan that it began with until it is over: its ends agreed
  /// on that layout. Which indices types have must not change: `fresh` was made for that. Cold, and as expensive as a look
  /// at every connection.
  package mutating func reload(_ index: Int, _ fresh: ProtocolPlan) -> ReloadOutcome {
    connections.reload(index, fresh)
  }
}

// MARK: - Metrics

extension Engine {
  private var tracker: Tracker {
    @inline(__always) _read { yield connections.carriers.streams.tracker }
  }

  /// Where everything captured went so far.
  package var totals: Ledger {
    var ledger = shared.ledger.pointee
    ledger.evicted[.exchange] = tracker.evicted
    ledger.evicted[.session] = tracker.sessions.evicted
    ledger.evicted[.datagram] = packets.parser.fragments.evicted
    ledger.evicted[.server] = connections.streams.servers.refused
    ledger.packets = packets.count
    ledger.packetBytes = packets.byteCount
    ledger.cutPackets = packets.cut
    ledger.clockBackwards = packets.backwards
    ledger.lastAt = ledger.firstAt == nil ? nil : lastMoment ?? shared.clock.moment
    return ledger
  }

  /// What reassembly has counted so far.
  package var reassembly: ReassemblyCounters { connections.reassembler.counters }

  /// The totals of a plan's type; `kind` 64 is all unknown types.
  package func totals(plan: Int, kind: Int) -> KindTotals { tracker.total(UInt8(plan), UInt8(kind)).pointee }

  /// Sessions that came back on a new connection after their last one had ended.
  package var reconnects: UInt64 { tracker.reconnects }
  /// Answers after the first, of exchanges that were answered before.
  package var dupAcks: UInt64 { tracker.dupAcks }

  /// What the protocol calls a session: the client's own name, or `nil` when a number names it.
  package func sessionName(_ session: UInt32) -> String? { tracker.sessions.names[session] }

  /// The number by which the wire names a session.
  package func sessionKey(_ session: UInt32) -> UInt64 { tracker.sessions.key(session) }

  /// Whether a part of the session was joined by addresses only.
  package func sessionIsUncertain(_ session: UInt32) -> Bool {
    tracker.sessions.pointer(session).pointee.isUncertain
  }

  /// Connections that are others translated, the first ones; `Ledger.translatedConnections` counts all.
  package var translated: [TranslatedConnection] { connections.twins.found }

  /// The servers, by the index that `ConnectionMetrics.endpoint` has.
  package func endpoints() -> [EndpointKey] { connections.streams.servers.keys }

  /// What TLS connections said of themselves, by serial number; the first 64 that were read.
  /// Why TLS connections could not be decrypted, where there are secrets at all.
  package var tlsReasons: [TLSReason] { connections.streams.tlsReasons.all }
  /// The hellos of TLS connections that are not decrypted, by serial number; at most 64.
  package var tls: [UInt32: TLSHello] { connections.streams.firstHellos }

  /// The ports with the most undecoded bytes, busiest first, with what they look like; `nil` where that may be a protocol.
  package func busiestUndecodedPorts(_ count: Int) -> [(port: UInt16, bytes: UInt64, look: UndecodedLook?)] {
    connections.streams.undecoded.busiest(count)
  }

  /// Packets that are no TCP, by what they are.
  package func unread(_ kind: UnreadKind) -> UInt64 { packets.parser.unread.count(kind) }

  /// The ports with the most packets of UDP that is not read, busiest first; of each packet the lower one counts.
  package func busiestDatagramPorts(_ count: Int) -> [(port: UInt16, packets: UInt64)] {
    packets.parser.unread.busiestPorts(count)
  }

  /// The IP protocols with the most packets of `UnreadKind.otherIP`, busiest first.
  package func busiestOtherProtocols(_ count: Int) -> [(ipProtocol: UInt8, packets: UInt64)] {
    packets.parser.unread.busiestProtocols(count)
  }

  /// Bytes held beyond holes, in all directions.
  package var heldBytes: Int { connections.reassembler.heldBytes }
  /// Bytes that all tables and streams hold; see `EngineOptions.memory`.
  package var memoryBytes: Int { shared.budget.total }
  /// Connections remembered.
  package var connectionCount: Int { connections.reassembler.flows.pool.used }
  /// Datagrams whose fragments never came together.
  package var expiredDatagrams: Int { packets.parser.fragments.expired }

  /// What the sequence numbers of a plan's senders were, by direction and category: those in which not all were in order.
  package func sequenceTotals(plan: Int) -> [SequenceTotals] {
    tracker.sessions.sequenceTotals(plan, at: shared.clock.now)
  }

  /// Tells the fates that wait to be told in a batch, for a sink whose counts are asked for now.
  package mutating func tellSettlements() {
    connections.streams.trackRecords()
    connections.tracker.tellSettlements()
  }
}
