import IMWire

/// One client as the protocol names it, across all its connections. Its counters stand in the first cache line.
struct Session {
  /// The last numbers, by direction and category (0 to 3).
  var last: InlineArray<8, UInt32> = [0, 0, 0, 0, 0, 0, 0, 0]
  /// Which of `last` hold a number: one bit for each direction and category.
  var known: UInt8 = 0
  var plan: UInt8
  /// Whether a part of it was joined by addresses only.
  var isUncertain = false
  /// Connections it has had.
  var connections: UInt16 = 1
  /// How many numbers of this session are waited for by answers.
  var orphans: UInt16 = 0
  /// The flow that it was last seen on, and that flow's serial number: the place may have been given to another.
  var flow: UInt32
  var flowSerial: UInt32
  /// The previous session of the same name, `.max` at the chain's end.
  var older: UInt32
  /// One bit for each such number, by its lowest five.
  var orphanMarks: UInt32 = 0
  /// What the wire calls it: the session number, or a hash of the client's name.
  var key: UInt64
  /// When that flow was over, as far as it was forgotten; else the flow itself tells.
  var closedAt = Timestamp.distantFuture
  /// Where it was: a hash of client address and server endpoint.
  var place: UInt64
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
    orphans -= 1
    if orphans == 0 { orphanMarks = 0 }
  }
}

/// Sessions by what the wire calls them, and the gaps in their counters.
struct SessionTable: ~Copyable {
  private(set) var pool = Pool<Session>()
  private var newest: [UInt64: UInt32] = [:]
  /// Names of sessions that have one.
  private(set) var names: [UInt32: String] = [:]
  private var openGaps: [UInt64: [ClosedRange<UInt32>]] = [:]

  /// At most this many counters with open gaps are kept; and so many gaps of one counter.
  private static var maximumCounters: Int { 65_536 }
  private static var maximumGaps: Int { 64 }

  func pointer(_ index: UInt32) -> UnsafeMutablePointer<Session> { pool.pointer(index) }

  /// The newest session called `key` of `plan`, or `nil`.
  func newest(_ key: UInt64, _ plan: UInt8) -> UInt32? { newest[key ^ UInt64(plan) << 56] }

  /// Adds a session called `key`.
  mutating func add(_ key: UInt64, _ plan: UInt8, flow: UInt32, serial: UInt32, place: UInt64) -> UInt32 {
    let older = newest(key, plan) ?? .max
    let index = pool.allocate(Session(plan: plan, flow: flow, flowSerial: serial, older: older, key: key, place: place))
    newest[key ^ UInt64(plan) << 56] = index
    return index
  }

  /// Calls the session at `index`, which stands alone under its key, `key` from now on.
  mutating func rename(_ index: UInt32, _ key: UInt64) {
    let session = pool.pointer(index)
    newest[session.pointee.key ^ UInt64(session.pointee.plan) << 56] = nil
    session.pointee.older = newest(key, session.pointee.plan) ?? .max
    session.pointee.key = key
    newest[key ^ UInt64(session.pointee.plan) << 56] = index
  }

  /// Gives the session at `index` the name that the client itself uses.
  mutating func name(_ index: UInt32, _ text: String) {
    if names.count < 1 << 20 { names[index] = text }
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

  private static func slot(_ direction: Direction, _ category: Int) -> Int {
    Int(direction.rawValue) * 4 + (category & 3)
  }

  /// Takes note of `sequence`. `plan` tells which bits count and where the counter wraps.
  @inline(__always)
  mutating func advance(
    _ index: UInt32, _ direction: Direction, _ sequence: UInt64, _ plan: UnsafePointer<Plan>
  ) -> Order {
    let bits = UInt64(plan.pointee.counterBits)
    let counter = UInt32(truncatingIfNeeded: sequence & ((1 << bits) - 1))
    let slot = Self.slot(direction, Int(truncatingIfNeeded: sequence >> bits))
    let session = pool.pointer(index)
    let bit = UInt8(1 << slot)
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
      return .inOrder
    }
    return outOfOrder(index, slot, last, expected, counter, wrap)
  }

  @inline(never)
  private mutating func outOfOrder(
    _ index: UInt32, _ slot: Int, _ last: UInt32, _ expected: UInt32, _ counter: UInt32, _ wrap: UInt64
  ) -> Order {
    let key = UInt64(index) << 3 | UInt64(slot)
    // How far ahead it is on a circle of `wrap` numbers; the far half is behind.
    let ahead = (UInt64(counter) + wrap - UInt64(expected)) % wrap
    if ahead < wrap / 2 {
      pool.pointer(index).pointee.last[slot] = counter
      if expected < counter, openGaps.count < Self.maximumCounters || openGaps[key] != nil {
        var gaps = openGaps[key] ?? []
        if gaps.count == Self.maximumGaps { gaps.removeFirst() }
        gaps.append(expected...(counter - 1))
        openGaps[key] = gaps
      }
      return .gap(Int(ahead))
    }
    guard var gaps = openGaps[key], let i = gaps.firstIndex(where: { $0.contains(counter) }) else { return .late }
    let gap = gaps.remove(at: i)
    if gap.upperBound > counter { gaps.insert((counter + 1)...gap.upperBound, at: i) }
    if gap.lowerBound < counter { gaps.insert(gap.lowerBound...(counter - 1), at: i) }
    openGaps[key] = gaps.isEmpty ? nil : gaps
    return .reordered
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
    let bits = UInt64(plan.pointee.counterBits)
    let counter = sequence & ((1 << bits) - 1)
    let slot = Self.slot(direction, Int(truncatingIfNeeded: sequence >> bits))
    let session = pool.pointer(index)
    guard session.pointee.known & UInt8(1 << slot) != 0 else { return .unknown }
    let wrap = plan.pointee.counterWrap
    let ahead = (counter + wrap - UInt64(session.pointee.last[slot])) % wrap
    if ahead == 1 % wrap { return .next }
    if ahead == 0 || ahead >= wrap - 64 { return .behind }
    return ahead <= 1_024 ? .near : .far
  }
}
