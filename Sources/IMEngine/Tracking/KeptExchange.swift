import IMWire

/// What the tracker keeps of each exchange in every run. 48 bytes:
///
/// | at | |
/// |---|---|
/// | 0 | the low half of its number; its session; its flow; that flow's serial number, u32 each |
/// | 16 | its body's fingerprint, or the place of its `ExchangeRest`; link to an older exchange, u32 each |
/// | 24 | when the first copy came, i64 |
/// | 32 | the first copy's body in bytes, u32; `place`, 4 bytes; `detail`, u16 |
/// | 42 | flags, outcome, plan, type, marks, u8 each |
///
/// What few exchanges have, beside a number below 2³² and one copy and one answer, stands in an `ExchangeRest`. Two places mean
/// one thing until the first answer and another behind it: `place` and `detail`.
struct KeptExchange: BitwiseCopyable {
  /// Facts that are true or not, beside those that sinks are told of.
  struct Marks: OptionSet, BitwiseCopyable {
    let rawValue: UInt8
    /// An answer came.
    static let isAnswered = Marks(rawValue: 1)
    /// More than one copy came before the first answer.
    static let isRepeated = Marks(rawValue: 2)
    /// It has an `ExchangeRest`.
    static let hasRest = Marks(rawValue: 4)
    /// A connection's handshake was asked for by it: `ConnectionMetrics.handshakeExchange` may name it.
    static let isHandshake = Marks(rawValue: 8)
    /// A receipt said that it was delivered.
    static let isDelivered = Marks(rawValue: 16)
  }

  /// The low half of its number; of a message that asks for no answer, its number in the run.
  let number: UInt32
  /// The tracker's session.
  let session: UInt32
  /// The flow of the first copy.
  let flow: UInt32
  /// That flow's serial number; its place may have been given to another.
  let connection: UInt32
  /// Length and checksum of its body in one: equal bodies have equal fingerprints. With `Marks.hasRest`, the place of its rest.
  var fingerprint: UInt32
  /// Link to an older exchange with the same number, or in the same place of a window.
  var previous: UInt32 = 0
  /// When the first copy came.
  let firstAt: Timestamp
  /// The length in bytes of the first copy's body, as on the wire.
  let bodyCount: UInt32
  /// Until an answer comes, the low half of the stream offset behind the first copy; then the microseconds from the first
  /// copy to the first answer, below 0 where the capture has the answer first.
  private var place: UInt32
  /// The low half of the sender's clock in the last copy; behind an answer that has a status, the status's number in
  /// `StatusTable`, if `hasStatus`.
  private var detail: UInt16
  /// What is known of it.
  var flags: Exchange.Flags
  /// What it has come to; it counts only with `Flags.resolved`, and an answer that comes late changes it.
  var outcome = FateAndCause()
  /// The index of the plan that decodes it, in `EngineOptions.plans`.
  let plan: UInt8
  /// Its type, by `FrameKind.index`; `.max` for a type that the profile does not know.
  let kind: UInt8
  var marks: Marks = []

  /// An exchange whose first copy came at `firstAt`, with the lower half `number` of its number.
  @inline(__always)
  init(
    number: UInt32, session: UInt32, direction: Direction, firstAt: Timestamp, flow: UInt32, connection: UInt32,
    bodyCount: UInt32, end: UInt32, fingerprint: UInt32, clock: UInt16, flags: Exchange.Flags, plan: UInt8, kind: UInt8
  ) {
    self.number = number
    self.session = session
    self.firstAt = firstAt
    self.flow = flow
    self.connection = connection
    self.bodyCount = bodyCount
    self.fingerprint = fingerprint
    place = end
    detail = clock
    self.flags =
      direction == .serverToClient
      ? Exchange.Flags(rawValue: flags.rawValue | Exchange.Flags.fromServer.rawValue) : flags
    self.plan = plan
    self.kind = kind
  }

  /// The direction of its copies; answers go the other way.
  @inline(__always)
  var direction: Direction {
    flags.rawValue & Exchange.Flags.fromServer.rawValue == 0 ? .clientToServer : .serverToClient
  }
  /// Whether an answer came.
  @inline(__always)
  var isAnswered: Bool { marks.rawValue & Marks.isAnswered.rawValue != 0 }
  /// Whether a connection's handshake was asked for by it.
  @inline(__always)
  var isHandshake: Bool { marks.rawValue & Marks.isHandshake.rawValue != 0 }
  /// Whether a receipt said so of it.
  func has(_ level: MessageReceipt.Level) -> Bool {
    level == .read ? flags.contains(.read) : marks.contains(.isDelivered)
  }
  /// Takes note of a receipt.
  mutating func note(_ level: MessageReceipt.Level) {
    if level == .read { flags.insert(.read) } else { marks.insert(.isDelivered) }
  }
  /// Whether it has an `ExchangeRest`.
  @inline(__always)
  var hasRest: Bool { marks.rawValue & Marks.hasRest.rawValue != 0 }
  /// Whether a copy of it may have been on another connection: only one that was sent again has an entry in `Tracker.elsewhere`.
  @inline(__always)
  var mayHaveCopyElsewhere: Bool { hasRest }
  /// Whether more than one copy came before the first answer.
  @inline(__always)
  var isRepeated: Bool { marks.rawValue & Marks.isRepeated.rawValue != 0 }
  /// Whether the time of the answer is unknown.
  private var isTimeless: Bool { storedDelay == .min }
  /// What became of it.
  var fate: Fate { outcome.fate }
  /// Microseconds from the first copy to the first answer, negative where the capture has the answer first; of any value where
  /// none came.
  @inline(__always)
  private var storedDelay: Int32 { Int32(bitPattern: place) }
  /// The same; 0 where none came.
  var answerDelay: Int32 { isAnswered ? storedDelay : 0 }
  /// `answerDelay` where the time of the answer is unknown.
  static var unknownDelay: Int32 { .min }
  /// When the first answer came, to the microsecond; `distantPast` where none came.
  var ackedAt: Timestamp {
    guard isAnswered else { return .distantPast }
    return isTimeless ? firstAt : Timestamp(microseconds: firstAt.microseconds + Int64(answerDelay))
  }
  /// The round trip in microseconds, `.max` where there is none; see `Exchange.roundTrip`.
  @inline(__always)
  var roundTripDelay: UInt32 {
    marks.rawValue & (Marks.isAnswered.rawValue | Marks.isRepeated.rawValue) == Marks.isAnswered.rawValue
      && storedDelay >= 0 ? place : .max
  }
  /// The number in `StatusTable` of the answer's status; 0 without one.
  var status: UInt16 { outcome.hasStatus ? detail : 0 }
  /// The low half of the stream offset behind the first copy; it counts until the answer comes.
  var end: UInt32 { place }
  /// The low half of the sender's clock in the last copy; it counts until an answer with a status comes.
  var clock: UInt16 { detail }

  /// Takes note of the first answer; gives the time from the first copy to it, in whole microseconds, `nil` where the capture
  /// has the answer first. `status` is its number in `StatusTable`, 0 without one.
  @inline(__always)
  mutating func answered(at now: Timestamp, status: UInt16) -> Nanoseconds? {
    let delay = now.microseconds &- firstAt.microseconds
    let told =
      now >= firstAt
      ? Int32(truncatingIfNeeded: min(delay, Int64(Int32.max)))
      : Int32(truncatingIfNeeded: max(min(delay, -1), -Int64(Int32.max)))
    place = UInt32(bitPattern: told)
    marks.insert(.isAnswered)
    if status != 0 {
      detail = status
      outcome.hasStatus = true
    }
    return told >= 0 ? .microseconds(Int64(told)) : nil
  }

  /// Takes back when it was answered: the packets' times are not known.
  mutating func forgetDelay() { place = UInt32(bitPattern: Self.unknownDelay) }

  /// Takes note of a copy with the low half of its sender's clock, in the exchange's rest, too.
  mutating func copied(at now: Timestamp, clock: UInt16, _ rest: inout ExchangeRest) {
    rest.lastDelay = max(rest.lastDelay, UInt32(clamping: now.time(since: firstAt).microseconds))
    if !outcome.hasStatus { detail = clock }
  }
}

/// What few exchanges have: a number above 2³², more copies than one or more answers than one. 20 bytes.
struct ExchangeRest: BitwiseCopyable {
  /// See `KeptExchange.fingerprint`; in a rest that is not in use, the next of those.
  var fingerprint: UInt32 = 0
  /// The high half of the number.
  var numberHigh: UInt32 = 0
  /// Microseconds from the first copy to the last.
  var lastDelay: UInt32 = 0
  /// Copies after the first, up to the first answer; like the counts below, it stops.
  var repeats: UInt16 = 0
  /// Copies after the first answer.
  var duplicates: UInt16 = 0
  /// Answers after the first.
  var furtherAcks: UInt16 = 0
}

/// The rests of exchanges, by their places, with a list of those that are free.
struct ExchangeRests: ~Copyable {
  private static var none: UInt32 { .max }

  private var rests: UnsafeMutablePointer<ExchangeRest>
  private var capacity = 64
  /// Rests ever used, and the first one that is not in use now.
  private var used: UInt32 = 0
  private var free: UInt32 = Self.none
  private let budget: MemoryBudget

  init(budget: MemoryBudget) {
    self.budget = budget
    rests = .allocate(capacity: capacity)
  }

  deinit { rests.deallocate() }

  /// The rest at `place`; it stays there until another is added.
  @inline(__always)
  func pointer(_ place: UInt32) -> Ref<ExchangeRest> { Ref(rests + Int(place)) }

  /// Adds one; there are never more than exchanges.
  mutating func add(_ rest: ExchangeRest) -> UInt32 {
    let place: UInt32
    if free != Self.none {
      place = free
      free = rests[Int(place)].fingerprint
    } else {
      if Int(used) == capacity { grow() }
      place = used
      used += 1
    }
    (rests + Int(place)).initialize(to: rest)
    return place
  }

  /// Gives the place of one back.
  mutating func remove(_ place: UInt32) {
    rests[Int(place)].fingerprint = free
    free = place
  }

  @inline(never)
  private mutating func grow() {
    budget.take(.exchanges, capacity * MemoryLayout<ExchangeRest>.stride)
    let more = UnsafeMutablePointer<ExchangeRest>.allocate(capacity: capacity * 2)
    more.moveInitialize(from: rests, count: capacity)
    rests.deallocate()
    rests = more
    capacity *= 2
  }
}
