package import IMWire

/// A server and the plan that decodes what it says.
package struct EndpointKey: Hashable, Sendable {
  /// The server's address and port.
  package var endpoint: Endpoint
  /// The plan's index in `EngineOptions.plans`.
  package var plan: UInt8
}

/// A second of the capture's clock, kept because a division for each frame costs more than a comparison.
struct Second {
  /// Its number since the epoch, and its first nanosecond.
  var number: Int64, start: Int64

  /// The second that `time` lies in.
  init(_ time: Timestamp) {
    number = time.seconds
    start = number &* 1_000_000_000
  }
}

/// Everything that happens per packet: parsing, reassembly, decoding and tracking, in one pass and on packet time.
///
/// Synchronous and without side effects but for the sink's calls. The same packets give the same calls, however they are
/// cut into batches.
package struct Engine: ~Copyable {
  var stage: PacketStage
  var reassembler: Reassembler
  var tracker: Tracker
  var walker: TLVWalker
  var inflater: Inflater
  /// Where frames stand whose escapes were taken out.
  var scratch = FrameScratch()
  var ledger = Ledger()
  /// What WebSocket frames carry, without its mask; what a compressed part of it says.
  var carried = RawBuffer(), inflated = RawBuffer()
  /// The segment and the frame in hand; on the heap, so that handing them on copies nothing.
  var segment: UnsafeMutablePointer<Segment>
  let frame: UnsafeMutablePointer<Frame>
  var note = FrameNote()
  let plans: [ProtocolPlan]
  /// What plans were before they were read again, by their place in `planPointers`, for connections that keep them.
  var retired: [Int: ProtocolPlan] = [:]
  /// The plans' pointers, by `FlowProfile.rawValue`; the last one used is kept, so that decoding does not wait for the flow's
  /// cache line.
  let planPointers: UnsafeMutablePointer<UnsafePointer<Plan>>
  var currentPlan: UnsafePointer<Plan>
  var currentPlanIndex: UInt8
  let ports: Set<UInt16>
  let needs: EngineOptions.Needs
  let sink: any EngineSink
  let budget: MemoryBudget
  /// What the sink keeps of connections, exchanges and servers.
  let sinkCost: (connection: Int, exchange: Int, server: Int)
  /// Whether a server had to share its figures: from then on all new ones do.
  var isFullOfEndpoints = false
  /// Where the search for quiet connections goes on.
  var hand: UInt32 = 0
  /// The next moment at which something other than a packet happens.
  @inline(__always)
  var wake: Timestamp {
    get { reassembler.wake }
    set { reassembler.wake = newValue }
  }
  var now = Timestamp.distantPast
  /// When the packet in hand came, or the last one.
  var lastPacketAt = Timestamp.distantPast
  /// The second of the last frame.
  var second = Second(Timestamp(nanoseconds: 0))
  var nextSerial: UInt32 = 1
  /// Flows that are over: to be reported, and later to be forgotten.
  var ending = ClosingQueue(), recycling = ClosingQueue()
  /// Decoded connections, to be reported on while they live; see `Needs.progress`.
  var living = ClosingQueue()
  /// What `info` says of its plan was made of this.
  var informedOf = FlowProfile.none
  /// The connection that the sink was told of last.
  var info = ConnectionInfo(
    serial: 0, client: Endpoint(address: IPAddress(v4: 0), port: 0),
    peer: Endpoint(address: IPAddress(v4: 0), port: 0), server: Endpoint(address: IPAddress(v4: 0), port: 0),
    plan: 0, endpoint: .max)
  /// Bits of proof that a search wants beyond the usual.
  var doubt = 0
  /// Link types that were met and are not read; the first 16.
  package private(set) var unknownLinkTypes: Set<UInt16> = []
  /// Connections whose client is not known yet, by serial number; and how many connections each port has.
  var awaitedRoles: [UInt32: AwaitedRoles] = [:]
  let portUse = PortUse()
  /// What came later than this waits when what was held is decoded.
  var decodeLimit = Timestamp.distantFuture
  /// What is known of TLS connections, by serial number; at most 4,096.
  var tlsHellos: [UInt32: TLSHello] = [:]
  /// The flows of the packets in `stage`, as far as their hashes tell.
  let guesses: UnsafeMutablePointer<FlowGuess>
  /// The exchanges that first frames of packets seem to belong to; those of the group that was last asked for stand in front
  /// of the end.
  let wantedExchanges: UnsafeMutablePointer<WantedExchange>
  var wantedExchangesEnd: UnsafeMutablePointer<WantedExchange>
  /// The servers that frames were decoded of, and those that failed connections were meant for, by (endpoint, plan), in the
  /// order of their first.
  var endpointIndex: [EndpointKey: UInt32] = [:]
  /// The same by endpoint, with the plan that came last; and how many of them only their port tells.
  var serverIndex: [Endpoint: UInt32] = [:], hintedServers = 0
  /// Connections whose SYN waits for an answer.
  var opening = ClosingQueue()
  /// Bytes of connections that nothing decodes, by the lower of their ports; at most 4,096.
  var undecodedPorts: [UInt16: UInt64] = [:]

  /// An engine that tells `sink`.
  package init(options: EngineOptions, sink: any EngineSink) {
    precondition(
      MemoryLayout<Flow>.offset(of: \.halves) == 64 && MemoryLayout<Half>.stride == 64
        && MemoryLayout<Flow>.offset(of: \.tails) == 192 && MemoryLayout<HalfTail>.stride == 32,
      "a flow's directions begin at its second cache line, and their tails behind them")
    precondition(MemoryLayout<Session>.offset(of: \.window) == 64, "a session's window is its second cache line")
    precondition(
      !options.plans.isEmpty && options.plans.count <= FlowProfile.planCount, "an engine decodes 1 to 64 protocols")
    budget = MemoryBudget(limit: options.memory)
    sinkCost = options.sinkCost
    reassembler = Reassembler(options: options.reassembly, budget: budget, seed: options.seed)
    stage = PacketStage(verifiesChecksums: options.verifiesChecksums, hasher: reassembler.flows.hasher)
    stage.parser.fragments.budget = budget
    stage.parser.fragments.maximumDatagrams = options.datagramLimit
    stage.parser.fragments.patience = options.datagramPatience
    walker = TLVWalker(maximumCount: min(65_536, max(1, options.tlvLimit)))
    inflater = Inflater(maximumCount: options.inflateLimit, maximumRatio: options.inflateRatio)
    plans = options.plans
    planPointers = .allocate(capacity: 4 * FlowProfile.planCount)
    planPointers.initialize(repeating: plans[0].pointer, count: 4 * FlowProfile.planCount)
    for (i, plan) in plans.enumerated() {
      planPointers[i] = plan.pointer
      if let variant = plan.variant { planPointers[Int(FlowProfile.variant(of: i).rawValue)] = variant.pointer }
    }
    currentPlan = planPointers[0]
    currentPlanIndex = 0
    guesses = .allocate(capacity: PacketStage.capacity)
    guesses.initialize(repeating: FlowGuess(), count: PacketStage.capacity)
    wantedExchanges = .allocate(capacity: Lookahead.group)
    wantedExchanges.initialize(repeating: WantedExchange(session: 0, sequence: 0), count: Lookahead.group)
    wantedExchangesEnd = wantedExchanges
    segment = UnsafeMutableRawPointer(stage.packets).assumingMemoryBound(to: Segment.self)
    frame = .allocate(capacity: 1)
    frame.initialize(to: Frame(kind: planPointers[0].pointee.unknownKind))
    frame.pointee.numbers = options.identities.numbers
    frame.pointee.trailerCount = Int(planPointers[0].pointee.framing.trailerCount)
    ports = Set(options.ports)
    needs = options.needs
    self.sink = sink
    tracker = Tracker(
      planCount: plans.count, capacity: options.exchangeCapacity, seed: options.seed, budget: budget,
      sinkCost: options.sinkCost.exchange, sink: sink, needs: needs,
      identities: options.identities)
    for plan in plans {
      for index in 0..<65 {
        let kind = plan.kind(at: index)
        tracker.planRoles.append(kind?.role ?? .other)
        tracker.planTimeouts.append(kind?.timeout ?? Tracker.leastTimeout)
      }
    }
  }

  deinit {
    planPointers.deallocate()
    guesses.deallocate()
    wantedExchanges.deallocate()
    frame.deallocate()
  }

  /// Takes a batch of packets. See `PacketRecord` for what the batch must promise.
  package mutating func process(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    let view = Bytes(bytes)
    var first = 0
    while first < records.count {
      let count = stage.read(view, records, from: first)
      beginLookahead(view, count: count)
      var place = 0
      while place < count {
        lookAhead(view, from: place, count: count)
        let end = min(place &+ Lookahead.group, count)
        while place < end {
          packet(view, records, first &+ place, stage.packets + place, guesses + place)
          place &+= 1
        }
      }
      first &+= count
    }
  }

  /// One packet, whose turn has come.
  @inline(__always)
  private mutating func packet(
    _ bytes: borrowing Bytes, _ records: Span<PacketRecord>, _ place: Int,
    _ packet: UnsafeMutablePointer<ParsedPacket>, _ guess: UnsafeMutablePointer<FlowGuess>
  ) {
    lastPacketAt = packet.pointee.segment.timestamp
    if lastPacketAt >= wake { advance(to: lastPacketAt) }
    segment = UnsafeMutableRawPointer(packet).assumingMemoryBound(to: Segment.self)
    if let flow = guess.pointee.flow, guess.pointee.generation == reassembler.flows.generation,
      flow.pointee.key.isSame(v4: segment.pointee.key)
        || (segment.pointee.key.isIPv6 && flow.pointee.key == segment.pointee.key)
    {
      accept(bytes, guess.pointee.index, flow)
    } else if packet.pointee.isPlain {
      accept(bytes, packet.pointee.hash)
    } else {
      parse(bytes, records[unchecked: place])
    }
  }

  /// A packet that is no plain one.
  @inline(never)
  private mutating func parse(_ bytes: borrowing Bytes, _ record: PacketRecord) {
    switch stage.parser.parse(bytes, record, into: &segment.pointee) {
    case .segment:
      accept(bytes, reassembler.flows.hasher.hash(segment.pointee.key))
    case .reassembledSegment:
      acceptDatagram()
    case .skipped(let reason):
      ledger.skipped[Int(reason.rawValue)] &+= 1
      if reason == .linkType, unknownLinkTypes.count < 16 { unknownLinkTypes.insert(record.linkType) }
    }
  }

  @inline(never)
  private mutating func acceptDatagram() {
    let datagram = stage.parser.fragments.datagram
    accept(Bytes(datagram.span.bytes), reassembler.flows.hasher.hash(segment.pointee.key))
  }

  /// One segment whose flow is still to be found, with the hash of its key.
  @inline(never)
  private mutating func accept(_ bytes: borrowing Bytes, _ hash: UInt64) {
    let index = reassembler.flows.find(segment.pointee.key, hash) ?? insertFlow()
    accept(bytes, index, reassembler.flows.pointer(index))
  }

  /// One segment: admit its payload, decode what is in order, take note of its acknowledgment.
  @inline(__always)
  private mutating func accept(_ bytes: borrowing Bytes, _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>) {
    ledger.segments &+= 1
    let half = flow.half(segment.pointee.side)
    if segment.pointee.checksum == .good {
      half.pointee.flags.insert(.goodChecksum)
    } else if !acceptsChecksum(half) {
      return
    }
    flow.pointee.lastSeen = segment.pointee.timestamp
    if flow.pointee.phase == .accepted || flow.pointee.phase == .opening { establish(flow) }
    half.pointee.packets &+= 1
    half.pointee.wireBytes &+= UInt64(segment.pointee.wireCount)
    if !segment.pointee.flags.isDisjoint(with: .control) {
      control(index, bytes)
      return
    }
    data(index, flow, half, bytes)
  }

  @inline(__always)
  mutating func data(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ half: UnsafeMutablePointer<Half>,
    _ bytes: borrowing Bytes
  ) {
    let isNews = segment.pointee.flags.contains(.ack) && reassembler.acknowledge(index, flow, segment)
    let peer = 1 &- segment.pointee.side
    if Int32(bitPattern: segment.pointee.acknowledgment &- flow.half(peer).pointee.next) > 0, isNews {
      tracker.noteAhead(flow, peer, segment.pointee.timestamp)
    }
    let lastWindow = half.pointee.window
    half.pointee.window = segment.pointee.window
    if segment.pointee.window == 0 { reassembler.countZeroWindow(flow, segment) }
    if segment.pointee.payloadCount == 0, segment.pointee.cutCount == 0 {
      if half.pointee.state == .fresh {
        half.pointee.next = segment.pointee.sequence
        half.pointee.flags.insert(.hinted)
      }
      reassembler.admitAck(flow, segment, isNews: isNews, lastWindow, bytes)
      return
    }
    reassembler.counters.payloadBytes &+= UInt64(truncatingIfNeeded: segment.pointee.payloadCount)
    let delivery = reassembler.admit(index, flow, segment, bytes)
    if reassembler.hasNews { takeNews(index, flow, bytes) }
    if delivery.count > 0 {
      consume(
        index, flow, segment.pointee.side, bytes, delivery.offset, delivery.count, segment.pointee.timestamp,
        segment.pointee.number)
    }
    if delivery.cut > 0 {
      let gap = reassembler.skip(flow, segment.pointee.side, delivery.cut, .snaplen)
      lose(index, flow, segment.pointee.side, gap)
    }
    if half.pointee.queue != nil { drain(index, flow, segment.pointee.side) }
  }

  /// Hands on everything of a direction that has become contiguous.
  @inline(never)
  mutating func drain(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    if budget.isOverHeld { wake = .distantPast }
    let half = flow.half(side)
    guard half.pointee.state == .open else {
      if reassembler.isOverLimit(half) { openHeld(index, flow, side) }
      return
    }
    release(index, flow, side, givingUpTo: nil, .captureLoss)
    while half.pointee.queue != nil, reassembler.isOverLimit(half), let start = half.pointee.queue?.pointee.firstStart {
      reassembler.counters.overLimit += 1
      release(index, flow, side, givingUpTo: start, .unseen)
    }
    reassembler.scheduleHole(index, flow, side, segment.pointee.timestamp)
    finishIfDone(index, flow, side)
  }

  /// Takes pieces from a direction's queue, giving up holes below `mark`.
  mutating func release(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, givingUpTo mark: UInt32?, _ reason: GapReason
  ) {
    while let piece = reassembler.nextPiece(flow, side, givingUpTo: mark, reason: reason) {
      switch piece {
      case .data(let entry, let skip):
        let span = RawSpan(
          _unsafeStart: UnsafeRawPointer(entry.bytes), byteCount: Int(entry.count) + RawBuffer.slack)
        consume(
          index, flow, side, Bytes(span), skip, Int(entry.count) - skip, entry.timestamp, entry.number)
        entry.bytes.deallocate()
        if entry.cut > 0 {
          let gap = reassembler.skip(flow, side, Int(entry.cut), .snaplen)
          lose(index, flow, side, gap)
        }
      case .gap(let gap):
        lose(index, flow, side, gap)
      }
    }
  }

  /// Begins a direction whose first data came without a SYN, at the lowest byte that came.
  mutating func openHeld(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int) {
    let half = flow.half(side)
    guard half.pointee.state == .held, let start = half.pointee.queue?.pointee.firstStart else { return }
    reassembler.open(half, at: start)
    release(index, flow, side, givingUpTo: nil, .captureLoss)
    reassembler.scheduleHole(index, flow, side, now)
  }

  /// A segment whose checksum is not right: offloaded and cut ones count; a wrong one only where no right one was seen.
  @inline(never)
  private mutating func acceptsChecksum(_ half: UnsafeMutablePointer<Half>) -> Bool {
    switch segment.pointee.checksum {
    case .good, .unknown: return true
    case .offloaded:
      ledger.offloaded += 1
      return true
    case .bad:
      if half.pointee.flags.contains(.goodChecksum) {
        ledger.segments &-= 1
        ledger.skipped[Int(SkipReason.tcpChecksum.rawValue)] += 1
        ledger.rejectedBytes += UInt64(segment.pointee.payloadCount)
        return false
      }
      ledger.unverified += 1
      return true
    }
  }

  private mutating func insertFlow() -> UInt32 {
    var flow = Flow(
      key: segment.pointee.key, serial: nextSerial, client: segment.pointee.sender,
      at: segment.pointee.timestamp)
    if segment.pointee.flags.contains(.ack), !segment.pointee.flags.contains(.syn) {
      // What it acknowledges from here on was sent while somebody looked.
      flow.halves[1 - segment.pointee.side].next = segment.pointee.acknowledgment
    }
    nextSerial &+= 1
    ledger.connections += 1
    portUse.add(flow.key.ports)
    makeRoomForFlow()
    return reassembler.flows.insert(flow)
  }
}
