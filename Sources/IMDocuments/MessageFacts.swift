import CMachine
import IMEngine

/// What a message's document needs of the frame of its first copy, kept until the message's fate is known.
///
/// Lengths and tags, never content.
struct MessageFacts {
  /// At most so many TLVs are named; `tlv_count` tells of all.
  static let maximumTLVs = 64

  /// The number of the type on the wire.
  var type: UInt64 = 0
  var byteCount: UInt32 = 0
  var headerCount: UInt32 = 0
  var streamOffset: UInt64 = 0
  var checksum = ChecksumStatus.none
  var tlvCount: UInt32 = 0
  var tlvDepth: UInt32 = 0
  /// The number of the session, where frames carry one.
  var session: UInt64 = 0
  /// Copies that the sender made on purpose.
  var retries: UInt16 = 0
  /// TLVs that are named.
  private(set) var named = 0
  /// Named fields of the message that its document has.
  var logged: LoggedFields.Text?
  /// The first of them, which are all there are as a rule, and the others.
  private var first = InlineArray<4, TLVRef>(repeating: TLVRef())
  private var others: [TLVRef] = []

  /// The facts of no message.
  init() {}

  /// Takes the facts of another message.
  mutating func take(_ frame: borrowing Frame, _ references: Span<TLVRef>) {
    type = frame.type
    byteCount = UInt32(clamping: frame.count)
    headerCount = UInt32(clamping: frame.headerCount)
    streamOffset = frame.streamOffset
    checksum = frame.checksumStatus
    tlvCount = UInt32(clamping: frame.tlvCount)
    tlvDepth = UInt32(clamping: frame.tlvDepth)
    session = frame.session
    retries = 0
    logged = nil
    named = min(references.count, Self.maximumTLVs)
    for i in 0..<min(named, first.count) { first[i] = references[i] }
    if named > first.count {
      others = (first.count..<named).map { references[$0] }
    } else if !others.isEmpty {
      others = []
    }
  }

  /// The TLV at `place`, below `named`.
  func tlv(_ place: Int) -> TLVRef { place < first.count ? first[place] : others[place - first.count] }
}

/// The facts of messages whose fate is open, by `Exchange.id`. Bounded: without room a document has fewer fields.
///
/// Ids count up, so the newest stand in a ring. One that is still open when its place is needed moves to a table. They are
/// handed out in place, since a copy costs as much as what is made of it.
struct MessageFactsStore: ~Copyable {
  /// Places of the ring, at most; so many messages are kept beside it.
  private static let maximumCount = 32_768
  private var count = 1_024
  /// What stands at each place; the exchange's number, or more than 32 bits where the place is free.
  private var facts: UnsafeMutablePointer<MessageFacts>
  private var exchanges: UnsafeMutablePointer<UInt64>
  private var stale: [UInt32: MessageFacts] = [:]
  /// Those of a message that was found in the table, while they are looked at.
  private let found: UnsafeMutablePointer<MessageFacts>

  /// No message.
  init() {
    (facts, exchanges) = Self.ring(count)
    found = .allocate(capacity: 1)
    found.initialize(to: MessageFacts())
  }

  deinit {
    Self.free(facts, exchanges, count)
    found.deinitialize(count: 1)
    found.deallocate()
  }

  private func place(_ exchange: UInt32) -> Int { Int(exchange) & (count - 1) }

  /// Asks for what `take` will need.
  @inline(__always)
  func prefetch(_ exchange: UInt32) {
    let place = place(exchange)
    imdump_prefetch(exchanges + place)
    let facts = UnsafeRawPointer(facts + place)
    imdump_prefetch(facts)
    imdump_prefetch(facts + 64)
  }

  /// Keeps the facts of `exchange`.
  mutating func keep(
    _ exchange: UInt32, _ frame: borrowing Frame, _ references: Span<TLVRef>, _ logged: LoggedFields.Text?
  ) {
    while exchanges[place(exchange)] <= UInt32.max, count < Self.maximumCount { grow() }
    let place = place(exchange)
    if let open = UInt32(exactly: exchanges[place]), stale.count < Self.maximumCount { stale[open] = facts[place] }
    exchanges[place] = UInt64(exchange)
    facts[place].take(frame, references)
    if let logged { facts[place].logged = logged }
  }

  /// Counts a retry of `exchange`.
  mutating func retried(_ exchange: UInt32) {
    let place = place(exchange)
    if exchanges[place] == UInt64(exchange) {
      facts[place].retries &+= 1
    } else {
      stale[exchange]?.retries &+= 1
    }
  }

  /// Gives the facts of `exchange` and forgets them. They stand where they are until the next call.
  mutating func take(_ exchange: UInt32) -> UnsafePointer<MessageFacts>? {
    let place = place(exchange)
    if exchanges[place] == UInt64(exchange) {
      exchanges[place] = .max
      return UnsafePointer(facts + place)
    }
    guard !stale.isEmpty, let old = stale.removeValue(forKey: exchange) else { return nil }
    found.pointee = old
    return UnsafePointer(found)
  }

  /// Lets go of the named fields in facts that `take` has given.
  func forgetFields(_ kept: UnsafePointer<MessageFacts>) { UnsafeMutablePointer(mutating: kept).pointee.logged = nil }

  private mutating func grow() {
    let (oldFacts, oldExchanges, oldCount) = (facts, exchanges, count)
    count *= 2
    (facts, exchanges) = Self.ring(count)
    for i in 0..<oldCount {
      guard let exchange = UInt32(exactly: oldExchanges[i]) else { continue }
      facts[place(exchange)] = oldFacts[i]
      exchanges[place(exchange)] = UInt64(exchange)
    }
    Self.free(oldFacts, oldExchanges, oldCount)
  }

  private static func ring(_ count: Int) -> (UnsafeMutablePointer<MessageFacts>, UnsafeMutablePointer<UInt64>) {
    let facts = UnsafeMutablePointer<MessageFacts>.allocate(capacity: count)
    facts.initialize(repeating: MessageFacts(), count: count)
    let exchanges = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
    exchanges.initialize(repeating: .max, count: count)
    return (facts, exchanges)
  }

  private static func free(
    _ facts: UnsafeMutablePointer<MessageFacts>, _ exchanges: UnsafeMutablePointer<UInt64>, _ count: Int
  ) {
    facts.deinitialize(count: count)
    facts.deallocate()
    exchanges.deallocate()
  }
}
