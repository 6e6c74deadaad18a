import IMWire

/// Joins frames to exchanges: copies to messages, answers to what they answer, connections to sessions.
struct Tracker: ~Copyable {
  /// How long an exchange is remembered after its last frame.
  static var retention: Nanoseconds { .seconds(60) }
  /// The least time that any answer is given; younger exchanges are not looked at.
  static var leastTimeout: Nanoseconds { .seconds(6) }
  /// Answers that wait for their message to come out from behind a hole.
  static var maximumOrphans: Int { 4_096 }
  static var orphanPatience: Nanoseconds { .seconds(10) }

  struct OrphanKey: Hashable {
    var session: UInt32
    var direction: Direction
    var sequence: UInt64
  }

  /// What an answer says, whichever exchanges it belongs to.
  struct Answer: BitwiseCopyable {
    /// When it came.
    var at: Timestamp
    /// The types that it answers: one bit for each, by index.
    var types: UInt64
    /// Whether it says that what was asked will not be done.
    var refuses: Bool
    /// Its status, by its number in `statuses`; 0 without one.
    var status: UInt16
  }

  /// An answer that waits for its message.
  struct Orphan {
    var answer: Answer
    /// Whether it answers everything before its message, too.
    var isCumulative: Bool
    /// Its connection, and how far TCP had acknowledged there what the other side sent; `nil` when that is not known.
    var connection: UInt32
    var acknowledged: UInt32?
  }

  /// Where the flows are; whoever adds one says it anew.
  var flows: FlowPlaces
  var table: ExchangeTable
  var sessions: SessionTable
  let budget: MemoryBudget
  /// What the sink keeps of an exchange.
  let sinkCost: Int
  /// Open exchanges that were given up for want of room.
  var evicted: UInt64 = 0
  var figures = Pool<ConnectionMetrics>()
  var heartbeats = OwnedPool<HeartbeatMetrics>()
  var rareFigures = OwnedPool<RareMetrics>()
  /// Whether connections were forgotten that were not over.
  var hasEvictedConnections = false
  /// What is kept of connections in carriers, by `Flow.carrier`: a PROXY header names the client.
  var carriers = OwnedPool<CarrierRecord>()
  /// Totals by plan and type, `kinds` places a plan, the last for unknown types.
  let totals: UnsafeMutablePointer<KindTotals>
  let totalCount: Int
  var orphans: [OrphanKey: [Orphan]] = [:]
  /// The last numbers up to which everything was acknowledged, where messages are acknowledged one by one, too; by their upper halves.
  var floors: [OrphanKey: UInt64] = [:]
  /// Their keys in the order in which they came; some may be gone.
  var orphanOrder = RingQueue<(key: OrphanKey, at: Timestamp)>()
  /// Messages by other numbers than their own, and these numbers in the order in which they came; some may be gone.
  var aliases: [OrphanKey: Alias] = [:]
  var aliasOrder = RingQueue<(key: OrphanKey, at: Timestamp)>()
  /// How many more steps searches among exchanges without a number may take beyond the usual; each search adds a few.
  var searchCredit = Tracker.maximumSearchCredit
  static var maximumSearchCredit: Int { 1 << 20 }
  /// Sessions that have more under way than their window serves well; see `indexCrowded`.
  var crowded: [UInt32] = []
  /// Open exchanges that were moved to the front in this round of the table, and the position at which it is over.
  var moved = 0
  var roundEnd: UInt64 = 0
  /// Open exchanges that stand behind younger ones, because they were moved; some may be gone from there.
  var waiting = WaitingExchanges()
  /// Everything below this position is resolved or moved.
  var settleCursor: UInt64 = 1
  var nextID: UInt32 = 0
  /// Whether packets came whose times are unknown.
  var isTimeless = false
  var reconnects: UInt64 = 0
  var dupAcks: UInt64 = 0
  /// The session that the last frame named, and its name.
  var named: (session: UInt32, name: String)?
  /// Connections whose first frame has come since the engine last took note.
  var newlyDecoded: UInt64 = 0
  /// The statuses that answers gave.
  var statuses = StatusTable()
  /// The last copies of exchanges that were sent again on another connection, by their links in the table.
  var elsewhere: [UInt32: CopyElsewhere] = [:]
  /// Answers that the last frame found waiting for it, and its exchange.
  var adopted: (exchange: UInt32, times: [Timestamp])?
  /// The time for an answer by plan and type, in nanoseconds.
  var planTimeouts: [Nanoseconds] = []
  /// The role of each plan's types.
  var planRoles: [FrameRole] = []
  let sink: any ExchangeSink
  /// What stands for names that are not to be shown.
  let identities: IdentityHash
  /// Fates that are to be told in one batch.
  var resolutions = ResolutionBatch()
  private let wantsSettled: Bool, wantsSettlements: Bool
  let wantsFinished: Bool

  /// The stage for `options`; `flows` are where they are now.
  init(
    options: EngineOptions, budget: MemoryBudget, sink: any ExchangeSink, flows: FlowPlaces
  ) {
    self.flows = flows
    self.budget = budget
    self.sink = sink
    identities = options.identities
    sinkCost = options.sinkCost.exchange
    sessions = SessionTable(planCount: options.plans.count, seed: options.seed, budget: budget)
    table = ExchangeTable(
      maximumCount: options.exchangeCapacity, seed: options.seed, budget: budget,
      keepsIDs: !options.needs.isDisjoint(with: [.frames, .resolved, .finished]))
    budget.take(.exchanges, table.capacity * (table.costPerExchange + sinkCost))
    totalCount = options.plans.count * Self.kinds
    totals = .allocate(capacity: max(1, totalCount))
    totals.initialize(repeating: KindTotals(), count: totalCount)
    planRoles = Array(repeating: .other, count: totalCount)
    planTimeouts = Array(repeating: Self.leastTimeout, count: totalCount)
    wantsSettled = options.needs.contains(.resolved)
    wantsSettlements = options.needs.contains(.resolutions)
    wantsFinished = options.needs.contains(.finished)
    for (index, plan) in options.plans.enumerated() { noteKinds(of: plan, at: index) }
  }

  /// Types of a plan, unknown ones taken together as the last.
  static var kinds: Int { 65 }

  /// Takes note of what the types of the plan at `index` are for, and how long their answers may take.
  mutating func noteKinds(of plan: borrowing ProtocolPlan, at index: Int) {
    for type in 0..<Self.kinds {
      let kind = plan.kind(at: type)
      planRoles[index * Self.kinds + type] = kind?.role ?? .other
      planTimeouts[index * Self.kinds + type] = kind?.timeout ?? Self.leastTimeout
    }
  }

  deinit { totals.deallocate() }

  /// The totals of a plan's type.
  @inline(__always)
  func total(_ plan: UInt8, _ kind: UInt8) -> Ref<KindTotals> {
    Ref(totals + (Int(plan) &* Self.kinds &+ min(Self.kinds &- 1, Int(kind))))
  }

  // MARK: One frame

  /// Counts a frame for its connection and its type. Comes before `track`;
  /// `hasContract` is what the function of that name says.
  @inline(__always)
  mutating func count(
    _ frame: UnsafePointer<Frame>, _ side: FlowSide, _ plan: UnsafePointer<Plan>, hasContract: Bool
  ) {
    let kind = frame.pointee.kind
    let figure = figures.pointer(side.flow.pointee.figures)
    let way = Int(side.direction.rawValue)
    figure.pointee.frames[way] &+= 1
    figure.pointee.frameBytes[way] &+= UInt64(truncatingIfNeeded: frame.pointee.count)
    figure.pointee.checksums[Int(frame.pointee.checksumStatus.rawValue)] &+= 1
    let total = total(side.flow.pointee.profile.plan, kind.pointee.index)
    total.pointee.frames[way] &+= 1
    total.pointee.bodyBytes[way] &+= UInt64(truncatingIfNeeded: frame.pointee.bodyCount)
    if figure.pointee.lastFrameAt == .distantPast {
      newlyDecoded += 1
      sessions.hasNews = true
    }
    figure.pointee.lastFrameAt = frame.pointee.timestamp
    if hasContract { keepContract(frame, figure, side, plan) }
  }

  /// Whether a frame, or its connection, tells how long the client may be silent.
  @inline(__always)
  func hasContract(_ frame: UnsafePointer<Frame>, _ flow: Ref<Flow>) -> Bool {
    frame.pointee.keepAlive > 0 || figures.pointer(flow.pointee.figures).pointee.hasContract
  }

  /// Whether a frame says something of its session beyond its number, or names another one than its flow's last frame: then
  /// `resolveSession` comes before `track`.
  @inline(__always)
  func namesSession(_ frame: UnsafePointer<Frame>, _ flow: Ref<Flow>) -> Bool {
    let folded = UInt32(truncatingIfNeeded: frame.pointee.session ^ frame.pointee.session >> 32)
    return folded != flow.pointee.sessionKey || flow.pointee.session == .max
      || !frame.pointee.kind.pointee.flags.isDisjoint(with: [.opensSession, .assignsIdentity])
  }

  /// Joins a frame to what its sender and the other side meant as one.
  @inline(never)
  mutating func track(_ record: UnsafePointer<FrameRecord>, _ plan: UnsafePointer<Plan>, _ note: inout FrameNote) {
    if table.isFull { makeRoom(record.pointee.timestamp) }
    let flow = flows.pointer(record.pointee.flow)
    let kind = record.pointee.kind
    note = FrameNote()
    note.session = flow.pointee.session
    if kind.pointee.role == .acknowledgment {
      note.isAck = true
      if !record.pointee.facts.contains(.isBad) { acknowledge(record, flow, plan, &note) }
    } else if kind.pointee.flags.contains(.expectsAck), record.pointee.facts.contains(.hasNumber) {
      if kind.pointee.flags.contains(.echoed), !record.pointee.facts.contains(.isBad),
        answerEcho(record, flow, isScoped: plan.pointee.numberLife != .session, &note)
      {
        return
      }
      exchange(record, flow, plan, &note)
    } else if record.pointee.facts.contains(.isUncounted) {
      uncounted(record, flow, plan, &note)
    } else if kind.pointee.role == .message {
      oneWay(record, flow, &note)
    } else if kind.pointee.role == .heartbeat, !kind.pointee.flags.contains(.expectsAck) {
      // A sign of life, though it is never answered.
      oneWay(record, flow, &note)
      heartbeat(record.pointee.timestamp, figures.pointer(flow.pointee.figures), flow, plan)
    }
    if plan.pointee.sequenceCounts, note.copy <= 1, kind.pointee.flags.contains(.numbered),
      record.pointee.facts.isDisjoint(with: [.isBad, .repeatsNumber])
    {
      count(record, flow, plan)
    }
  }

  /// Takes note of the number that a sender's counter has come to.
  @inline(__always)
  private mutating func count(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>
  ) {
    switch sessions.advance(
      flow.pointee.session, record.pointee.direction, record.pointee.sequence, plan, at: record.pointee.timestamp)
    {
    case .inOrder: break
    case .gap(let n): rare(of: flow).pointee.sequenceGaps &+= UInt32(clamping: n)
    case .reordered: rare(of: flow).pointee.sequenceReordered &+= 1
    case .late: rare(of: flow).pointee.sequenceLate &+= 1
    }
  }

  /// Takes note of a heartbeat's first copy.
  @inline(never)
  mutating func heartbeat(
    _ now: Timestamp, _ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>
  ) {
    if plan.pointee.heartbeatInterval > .zero { fixContract(figure, flow, plan) }
    if let (interval, change) = beats(figure, flow).pointee.sent(at: now) {
      sink.heartbeat(after: interval, change: change, endpoint: figure.pointee.endpoint)
    }
  }

  // MARK: Settling

  /// Decides the fate of an exchange, whose type is for `role`, and tells.
  @inline(__always)
  mutating func resolve(
    _ exchange: Ref<KeptExchange>, _ role: FrameRole, _ fate: Fate, _ flow: Ref<Flow>
  ) {
    let figure = figures.pointer(flow.pointee.figures)
    let way = Int(exchange.pointee.direction.rawValue)
    let total = total(exchange.pointee.plan, exchange.pointee.kind)
    if exchange.pointee.flags.contains(.resolved) {
      settleLate(exchange, role, to: fate, figure, flow, total)
    } else {
      exchange.pointee.flags.insert(.resolved)
      figure.pointee.unsettled &-= 1
      exchange.pointee.outcome.decide(fate)
    }
    count(figure, flow, role, exchange.pointee.outcome, way)
    if fate == .acked {
      total.pointee.fates[way].acked &+= 1
    } else {
      total.pointee.fates[way].count(exchange.pointee.outcome)
    }
    tellSettled(exchange, figure.pointee.endpoint)
  }

  /// Takes back what was decided before an answer came late.
  @inline(never)
  private mutating func settleLate(
    _ exchange: Ref<KeptExchange>, _ role: FrameRole, to fate: Fate,
    _ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>, _ total: Ref<KindTotals>
  ) {
    let way = Int(exchange.pointee.direction.rawValue)
    count(figure, flow, role, exchange.pointee.outcome, way, by: -1)
    total.pointee.fates[way].count(exchange.pointee.outcome, -1)
    if role == .message { rare(figure, flow).pointee.fates[way].late &+= 1 }
    total.pointee.fates[way].late &+= 1
    exchange.pointee.flags.insert(.late)
    exchange.pointee.outcome.change(to: fate)
  }

  /// Tells of a fate at once, or keeps it for a batch.
  @inline(__always)
  mutating func tellSettled(_ exchange: Ref<KeptExchange>, _ endpoint: UInt32) {
    if wantsSettlements {
      resolutions.append(Resolution(exchange, endpoint: endpoint))
      if resolutions.isFull { tellSettlements() }
    }
    if wantsSettled { sink.resolved(table.told(exchange)) }
  }

  /// Tells of the fates that were kept.
  @inline(never)
  mutating func tellSettlements() {
    if resolutions.count > 0 { sink.resolved(resolutions.span) }
    resolutions.clear()
  }
}
