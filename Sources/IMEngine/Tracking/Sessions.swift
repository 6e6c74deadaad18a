package import IMWire

/// One client as the protocol names it, across all its connections: two cache lines, counters, and where its exchanges are. What
/// frames do not ask for stands in its `SessionRoot`.
struct Session {
  /// The last numbers, by direction and category (0 to 3).
  var last: InlineArray<8, UInt32> = [0, 0, 0, 0, 0, 0, 0, 0]
  /// Which of `last` hold a number: one bit for each direction and category.
  var known: UInt8 = 0
  /// One bit for each counter of which no exchange has a number above `last`: a number above it is new, and needs no search.
  var ordered: UInt8 = .max
  var plan: UInt8
  /// How many sessions have had its place, modulo 256: the upper byte of its identity.
  var generation: UInt8 = 0
  /// Whether `window` says where its exchanges are, which takes a protocol that counts; else the index of all does.
  var hasWindow: Bool
  /// Whether a part of it was joined by addresses only.
  var isUncertain = false
  /// How often many other exchanges stood before the one that was looked for; see `Tracker.indexCrowded`.
  var longWalks: UInt8 = 0
  /// Whether both sides closed its last connection, if that was forgotten; otherwise the flow itself shows it.
  var endedCleanly = false
  /// Connections it has had.
  var connections: UInt16 = 1
  /// How many numbers of this session are waited for by answers.
  var orphans: UInt32 = 0
  /// One bit for each number that answers wait for, by its lowest five.
  var orphanMarks: UInt32 = 0
  /// The flow that it was last seen on, and that flow's serial number: the place may have been given to another.
  var flow: UInt32
  var flowSerial: UInt32
  /// The previous session of the same name, `.max` at the chain's end.
  var older: UInt32
  /// Where its exchanges are, at byte 64.
  var window = ExchangeWindow()
}

extension Ref<Session> {
  /// Where the exchanges of a number begin; `nil` where the index of all says it.
  @inline(__always)
  func exchanges(_ id: UInt32, _ direction: Direction, _ sequence: UInt64) -> UnsafeMutablePointer<UInt32>? {
    guard pointee.hasWindow, sequence >> 32 == 0, pointee.generation == UInt8(truncatingIfNeeded: id &>> 24) else {
      return nil
    }
    return (bytes + 64).assumingMemoryBound(to: UInt32.self)
      + ExchangeWindow.place(direction, sequence)
  }
}

/// Numbers that a counter left out and that may still come.
struct OpenGap {
  var numbers: ClosedRange<UInt32>
  /// When the number behind them came.
  var at: Timestamp
}

/// What the numbers of one direction and category were, over the run.
package struct SequenceTotals: Sendable, Equatable {
  /// The direction, and the category: the bits above the counter.
  package var direction: Direction, category: UInt32
  /// Numbers that were left out, and those of them that came later after all.
  package var leftOut: UInt64 = 0, reordered: UInt64 = 0
  /// Numbers from the past for which no gap was open.
  package var late: UInt64 = 0
  /// Of those left out, the ones that may still come: the gap is younger than 60 s and 1,000 numbers.
  package var open: UInt64 = 0
  /// Left out, and not to come any more.
  package var missing: UInt64 { leftOut - min(leftOut, reordered + open) }
}

extension Session {
  /// Whether an answer may wait for the message `sequence`.
  @inline(__always)
  func mayHaveOrphans(_ sequence: UInt64) -> Bool { orphanMarks &>> UInt32(truncatingIfNeeded: sequence & 31) & 1 == 1 }

  /// Takes note that answers wait for one more number.
  mutating func expects(_ sequence: UInt64) {
    orphans += 1
    orphanMarks |= 1 &<< UInt32(truncatingIfNeeded: sequence & 31)
  }

  /// Takes note that they wait for one less.
  mutating func expectsOneLess() {
    // Another session may have had the place in between: then there is none to take back.
    orphans -= orphans > 0 ? 1 : 0
    if orphans == 0 { orphanMarks = 0 }
  }
}

/// Sessions by what the wire calls them, and the gaps in their counters.
///
/// A session's identity has its place in the lower 24 bits and the place's generation above: when there is no memory for
/// more, the one that came first is forgotten, and its identity never means another.
struct SessionTable: ~Copyable {
  private var pool = Pool<Session>()
  /// At the same places.
  private var roots = Pool<SessionRoot>()
  private let budget: MemoryBudget
  /// The next place to be given to another session, when there is no memory for more.
  private var hand: UInt32 = 0
  /// Whether a session was named or forgotten that the sink has not been told of, or the tracker runs short of figures.
  var hasNews = false
  /// Sessions forgotten, and the identities of those that the sink has not been told of.
  private(set) var evicted: UInt64 = 0
  var forgotten: [UInt32] = []
  /// Where the exchanges are of the session that was forgotten for the one that was added last.
  var displaced: ExchangeWindow?
  private var newest: SessionNames
  /// Names of sessions that have one.
  private(set) var names: [UInt32: String] = [:]
  private var openGaps: [UInt64: [OpenGap]] = [:]

  /// Places of sessions: 24 bits.
  private static var maximumCount: Int { 1 << 24 - 1 }
  /// Bytes of a session, with its root and its entry in the table of all; and what a name costs here and in a sink, beside its
  /// text.
  private static var nameCost: Int { 128 }
  private static var cost: Int {
    Pool<Session>.costPerElement + Pool<SessionRoot>.costPerElement + SessionNames.costPerSession
  }
  /// At most this many counters with open gaps are kept, fewer where there is little memory; and so many of one counter.
  private let maximumCounters: Int
  private static var maximumGaps: Int { 64 }

  /// What the numbers of each plan, direction and category were.
  private var order: [SequenceTotals] = []
  /// The counters of categories that have no place in a session.
  private var others = OtherCounters()

  /// `seed` keeps senders from choosing names that collide.
  init(planCount: Int, seed: UInt64, budget: MemoryBudget) {
    self.budget = budget
    newest = SessionNames(seed: seed)
    for _ in 0..<planCount {
      for direction in [Direction.clientToServer, .serverToClient] {
        for category in 0..<UInt32(4) { order.append(SequenceTotals(direction: direction, category: category)) }
      }
    }
    maximumCounters = min(65_536, budget.limit / 4_096)
  }

  /// The session `id`, or the one that has its place now: see `isKnown`.
  @inline(__always)
  func pointer(_ id: UInt32) -> Ref<Session> { pool.pointer(id & 0xff_ffff) }

  /// The root of the session `id`, or of the one that has its place now.
  func root(_ id: UInt32) -> Ref<SessionRoot> { roots.pointer(id & 0xff_ffff) }

  /// What the wire calls the session `id`: the session number, or a hash of the client's name.
  func key(_ id: UInt32) -> UInt64 { SessionRoot.name(root(id).pointee.name, pointer(id).pointee.plan) }

  /// Whether the session `id` is still remembered.
  @inline(__always)
  func isKnown(_ id: UInt32) -> Bool { pointer(id).pointee.generation == UInt8(truncatingIfNeeded: id &>> 24) }

  /// The newest session called `key` of `plan`, or `nil`.
  func newest(_ key: UInt64, _ plan: UInt8) -> UInt32? {
    // The names of a session that is forgotten go with it, so the place's generation is the session's.
    newest.find(SessionRoot.name(key, plan), roots).map { UInt32(pool.pointer($0).pointee.generation) << 24 | $0 }
  }

  /// Adds a session called `key`; `counts` says that its numbers are counters.
  mutating func add(
    _ key: UInt64, _ plan: UInt8, flow: UInt32, serial: UInt32, place: UInt64, counts: Bool, _ flows: FlowPlaces
  ) -> UInt32 {
    let older = newest(key, plan) ?? .max
    var session = Session(plan: plan, hasWindow: counts, flow: flow, flowSerial: serial, older: older)
    let root = SessionRoot(
      name: SessionRoot.name(key, plan), place: place, askedAt: flows.pointer(flow).pointee.lastSeen)
    if pool.count == 0 {
      // The first places are needed even where others have taken all there is.
      budget.take(.sessions, Pool<Session>.growth * Self.cost)
    } else if pool.room == 0,
      pool.count + Pool<Session>.growth > Self.maximumCount
        || !budget.takeIfAdmitted(.sessions, Pool<Session>.growth * Self.cost)
    {
      return replaceOldest(&session, root, flows)
    }
    let index = pool.allocate(session)
    _ = roots.allocate(root)
    newest.set(root.name, index, roots)
    return index
  }

  /// Gives a new session the place of the one that has had its own for longest and is not in use.
  private mutating func replaceOldest(_ session: inout Session, _ root: SessionRoot, _ flows: FlowPlaces) -> UInt32 {
    var place = hand
    for _ in 0..<64 {
      place = hand
      hand = Int(hand) + 1 < pool.count ? hand + 1 : 0
      if !isInUse(place, flows) { break }
    }
    let old = pool.pointer(place)
    let id = UInt32(old.pointee.generation) << 24 | place
    let name = roots.pointer(place).pointee.name
    if newest.find(name, roots) == place { newest.remove(name, roots) }
    if let text = names.removeValue(forKey: id) { budget.take(.sessions, -text.utf8.count - Self.nameCost) }
    for slot in 0..<UInt64(8) where !openGaps.isEmpty { openGaps[UInt64(place) << 3 | slot] = nil }
    evicted += 1
    forgotten.append(id)
    hasNews = true
    if old.pointee.hasWindow { displaced = old.pointee.window }
    session.generation = old.pointee.generation &+ 1
    // The last generation of the last place is what stands for no session.
    if session.older == id { session.older = .max }
    old.pointee = session
    let new = UInt32(session.generation) << 24 | place
    roots.pointer(place).pointee = root
    newest.set(root.name, place, roots)
    return new
  }

  /// Whether a connection is on the session at `place`, and has been heard of since this was asked last.
  private func isInUse(_ place: UInt32, _ flows: FlowPlaces) -> Bool {
    let session = pool.pointer(place)
    let flow = flows.pointer(session.pointee.flow)
    guard flow.pointee.serial == session.pointee.flowSerial,
      flow.pointee.session == UInt32(session.pointee.generation) << 24 | place,
      flow.pointee.lastSeen > roots.pointer(place).pointee.askedAt
    else { return false }
    roots.pointer(place).pointee.askedAt = flow.pointee.lastSeen
    return true
  }

  /// Forgets how far a session has counted: it begins anew on another connection.
  mutating func beginCounters(_ index: UInt32) {
    pointer(index).pointee.known = 0
    pointer(index).pointee.ordered = 0
    for slot in 0..<UInt64(8) where !openGaps.isEmpty { openGaps[UInt64(index & 0xff_ffff) << 3 | slot] = nil }
    others.forget(index)
  }

  /// Calls the session at `index`, which stands alone under its key, `key` from now on.
  mutating func rename(_ index: UInt32, _ key: UInt64) {
    let session = pointer(index)
    let root = root(index)
    newest.remove(root.pointee.name, roots)
    session.pointee.older = newest(key, session.pointee.plan) ?? .max
    root.pointee.name = SessionRoot.name(key, session.pointee.plan)
    newest.set(root.pointee.name, index & 0xff_ffff, roots)
  }

  /// Gives the session at `index` the name that the client itself uses.
  mutating func name(_ index: UInt32, _ text: String) {
    if let old = names[index] { budget.take(.sessions, -old.utf8.count - Self.nameCost) }
    // Without room for it, the session has no name.
    if budget.takeIfAdmitted(.sessions, text.utf8.count + Self.nameCost) {
      names[index] = text
    } else {
      names[index] = nil
    }
  }

  // MARK: Counters

  /// What a number says about those before it.
  enum Order {
    /// The first, or the one expected.
    case inOrder
    /// So many numbers were left out.
    case gap(Int)
    /// One that was missing came after all.
    case reordered
    /// A number from before, which no gap was waiting for.
    case late
  }

  /// Takes note of `sequence`. `plan` tells which bits count and where the counter wraps.
  @inline(__always)
  mutating func advance(
    _ index: UInt32, _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>, at now: Timestamp
  ) -> Order {
    let (slot, counter) = Self.counter(direction, sequence, plan)
    let session = pointer(index)
    guard session.pointee.generation == UInt8(truncatingIfNeeded: index &>> 24) else { return .inOrder }
    if Self.isOther(sequence, plan) { return advanceOther(index, direction, sequence, plan, at: now) }
    let bit = UInt8(1 &<< UInt8(truncatingIfNeeded: slot))
    if session.pointee.known & bit == 0 {
      session.pointee.known |= bit
      session.pointee.last[slot] = counter
      return .inOrder
    }
    let last = session.pointee.last[slot]
    let wrap = plan.pointee.counterWrap
    let expected = UInt64(last) + 1 >= wrap ? 0 : last + 1
    if counter == expected {
      session.pointee.last[slot] = counter
      if counter == 0 { session.pointee.ordered &= ~bit }
      return .inOrder
    }
    if direction == .serverToClient, plan.pointee.serverSharesCounter {
      session.pointee.last[slot] = counter
      if counter < last { session.pointee.ordered &= ~bit }
      return .inOrder
    }
    return outOfOrder(
      index, slot: slot, last: last, expected: expected, counter: counter, wrap: wrap, at: now)
  }

  /// Whether no exchange has a number of which a session's counter has not come so far yet; false where only a search tells.
  @inline(__always)
  func isNew(_ index: UInt32, _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>) -> Bool {
    let session = pointer(index)
    let (slot, counter) = Self.counter(direction, sequence, plan)
    let bit = UInt8(1 &<< UInt8(truncatingIfNeeded: slot))
    return session.pointee.ordered & bit != 0 && !Self.isOther(sequence, plan)
      && (session.pointee.known & bit == 0 || counter > session.pointee.last[slot])
  }

  /// Takes note of an exchange whose number does not count: those above the last number may not be new any more. The session
  /// is remembered.
  mutating func skip(_ index: UInt32, _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>) {
    if Self.isOther(sequence, plan) { return }
    pointer(index).pointee.ordered &= ~UInt8(1 << Self.counter(direction, sequence, plan).slot)
  }

  /// Whether the category of a number has no place in a session.
  @inline(__always)
  private static func isOther(_ sequence: UInt64, _ plan: UnsafePointer<Plan>) -> Bool {
    sequence &>> UInt64(plan.pointee.counterBits) > 3
  }

  /// Takes note of a number whose category has no place in a session.
  @inline(never)
  private mutating func advanceOther(
    _ index: UInt32, _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>, at now: Timestamp
  ) -> Order {
    let bits = UInt64(plan.pointee.counterBits)
    let key = OtherCounters.Key(
      owner: index, direction: direction, category: UInt32(truncatingIfNeeded: sequence >> bits))
    let isShared = direction == .serverToClient && plan.pointee.serverSharesCounter
    return others.advance(
      key, UInt32(truncatingIfNeeded: sequence & (1 << bits - 1)), wrap: plan.pointee.counterWrap,
      plan: UInt32(pointer(index).pointee.plan), isShared: isShared, limit: maximumCounters, at: now)
  }

  /// The place of a number's counter, and the part of the number that counts.
  @inline(__always)
  private static func counter(
    _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>
  ) -> (slot: Int, counter: UInt32) {
    let bits = UInt64(plan.pointee.counterBits)
    return (
      Int(direction.rawValue) &* 4 &+ Int(truncatingIfNeeded: sequence &>> bits & 3),
      UInt32(truncatingIfNeeded: sequence & (1 &<< bits &- 1))
    )
  }

  /// Takes note of `counter` where `expected`, the number behind `last`, should have come.
  @inline(never)
  private mutating func outOfOrder(
    _ index: UInt32, slot: Int, last: UInt32, expected: UInt32, counter: UInt32, wrap: UInt64, at now: Timestamp
  ) -> Order {
    let key = UInt64(index & 0xff_ffff) << 3 | UInt64(slot)
    let totals = Int(pointer(index).pointee.plan) * 8 + slot
    // How far ahead it is on a circle of `wrap` numbers; the far half is behind.
    let ahead = (UInt64(counter) + wrap - UInt64(expected)) % wrap
    // Either way round the circle, there may be exchanges above the last number from here on.
    if (ahead < wrap / 2) == (counter < last) { pointer(index).pointee.ordered &= ~UInt8(1 << slot) }
    if ahead < wrap / 2 {
      pointer(index).pointee.last[slot] = counter
      if expected < counter, openGaps.count < maximumCounters || openGaps[key] != nil {
        // Where it stands, so that nothing is copied.
        Self.note(OpenGap(numbers: expected...(counter - 1), at: now), in: &openGaps[key, default: []])
      }
      order[totals].leftOut += ahead
      return .gap(Int(ahead))
    }
    guard var gaps = openGaps[key], Self.close(counter, in: &gaps) else {
      order[totals].late += 1
      return .late
    }
    openGaps[key] = gaps.isEmpty ? nil : gaps
    order[totals].reordered += 1
    return .reordered
  }

  static func note(_ gap: OpenGap, in gaps: inout [OpenGap]) {
    if gaps.count == maximumGaps { gaps.removeFirst() }
    gaps.append(gap)
  }

  /// Takes `counter` out of the gap of `gaps` that it is in; false where it is in none.
  static func close(_ counter: UInt32, in gaps: inout [OpenGap]) -> Bool {
    guard let i = gaps.firstIndex(where: { $0.numbers.contains(counter) }) else { return false }
    let gap = gaps.remove(at: i)
    let numbers = gap.numbers
    if numbers.upperBound > counter {
      gaps.insert(OpenGap(numbers: (counter + 1)...numbers.upperBound, at: gap.at), at: i)
    }
    if numbers.lowerBound < counter {
      gaps.insert(OpenGap(numbers: numbers.lowerBound...(counter - 1), at: gap.at), at: i)
    }
    return true
  }

  /// A gap in a counter is open for so long, and for so many numbers behind it.
  static var gapPatience: Nanoseconds { .seconds(60) }
  static var gapReach: UInt32 { 1_000 }

  /// What the numbers of a plan's senders were at `now`, for each direction and category in which not all were in order.
  func sequenceTotals(_ plan: Int, at now: Timestamp) -> [SequenceTotals] {
    var totals = Array(order[plan * 8..<plan * 8 + 8])
    for (key, gaps) in openGaps {
      let session = pool.pointer(UInt32(truncatingIfNeeded: key >> 3))
      guard Int(session.pointee.plan) == plan else { continue }
      let slot = Int(key & 7)
      for gap in gaps
      where now.time(since: gap.at) < Self.gapPatience
        && session.pointee.last[slot] &- gap.numbers.upperBound <= Self.gapReach
      {
        totals[slot].open += UInt64(gap.numbers.count)
      }
    }
    return totals.filter { $0.leftOut + $0.late > 0 }
      + others.totals(plan, at: now) { Int(pool.pointer($0 & 0xff_ffff).pointee.plan) }
  }

  /// How a number stands to a session's counter.
  enum Continuity {
    /// The counter has no number yet.
    case unknown
    /// The very next.
    case next
    /// A little further.
    case near
    /// The last, or one of those before it.
    case behind
    /// Anything else.
    case far
  }

  /// How `sequence` goes on where the session's counter stands.
  func continuity(
    _ index: UInt32, _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>
  ) -> Continuity {
    let (slot, counter) = Self.counter(direction, sequence, plan)
    let session = pointer(index)
    let wrap = plan.pointee.counterWrap
    var last = session.pointee.last[slot]
    if Self.isOther(sequence, plan) {
      guard
        let other = others.last(
          index, direction, UInt32(truncatingIfNeeded: sequence >> UInt64(plan.pointee.counterBits)))
      else { return .unknown }
      last = other
    } else if session.pointee.known & UInt8(1 << slot) == 0 {
      return .unknown
    }
    let ahead = (UInt64(counter) + wrap - UInt64(last)) % wrap
    if ahead == 1 % wrap { return .next }
    if ahead == 0 || ahead >= wrap - 64 { return .behind }
    return ahead <= 1_024 ? .near : .far
  }
}
