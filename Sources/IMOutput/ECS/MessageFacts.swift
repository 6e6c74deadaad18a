import IMEngine

/// What a message's document needs of the frame of its first copy, kept until the message's fate is known.
///
/// Lengths and tags, never content.
struct MessageFacts {
  /// At most so many TLVs are named; `tlv_count` tells of all.
  static let maximumTLVs = 64

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
  /// The first of them, which are all there are as a rule, and the others.
  private var first = InlineArray<4, TLVRef>(repeating: TLVRef())
  private var others: [TLVRef] = []

  /// The facts of no message.
  init() {}

  init(_ frame: borrowing Frame, _ references: Span<TLVRef>) {
    byteCount = UInt32(clamping: frame.count)
    headerCount = UInt32(clamping: frame.headerCount)
    streamOffset = frame.streamOffset
    checksum = frame.checksumStatus
    tlvCount = UInt32(clamping: frame.tlvCount)
    tlvDepth = UInt32(clamping: frame.tlvDepth)
    session = frame.session
    named = min(references.count, Self.maximumTLVs)
    for i in 0..<min(named, first.count) { first[i] = references[i] }
    if named > first.count { others = (first.count..<named).map { references[$0] } }
  }

  /// The TLV at `place`, below `named`.
  func tlv(_ place: Int) -> TLVRef { place < first.count ? first[place] : others[place - first.count] }
}

/// The facts of messages whose fate is open, by `Exchange.id`. Bounded: without room a document has fewer fields.
///
/// Ids count up, so the newest stand in a ring. One that is still open when its place is needed moves to a table.
struct MessageFactsStore {
  private struct Place {
    /// The exchange, `nil` where the place is free.
    var exchange: UInt32?
    var facts = MessageFacts()
  }

  /// Places of the ring, at most; so many messages are kept beside it.
  private static let maximumCount = 32_768
  private var ring = [Place](repeating: Place(), count: 1_024)
  private var stale: [UInt32: MessageFacts] = [:]

  private func place(_ exchange: UInt32) -> Int { Int(exchange) & (ring.count - 1) }

  /// Keeps the facts of `exchange`.
  mutating func keep(_ exchange: UInt32, _ frame: borrowing Frame, _ references: Span<TLVRef>) {
    while ring[place(exchange)].exchange != nil, ring.count < Self.maximumCount { grow() }
    let place = place(exchange)
    if let open = ring[place].exchange, stale.count < Self.maximumCount { stale[open] = ring[place].facts }
    ring[place].exchange = exchange
    ring[place].facts = MessageFacts(frame, references)
  }

  /// Counts a retry of `exchange`.
  mutating func retried(_ exchange: UInt32) {
    let place = place(exchange)
    if ring[place].exchange == exchange {
      ring[place].facts.retries &+= 1
    } else {
      stale[exchange]?.retries &+= 1
    }
  }

  /// Gives the facts of `exchange` and forgets them.
  mutating func take(_ exchange: UInt32) -> MessageFacts? {
    let place = place(exchange)
    guard ring[place].exchange == exchange else { return stale.isEmpty ? nil : stale.removeValue(forKey: exchange) }
    ring[place].exchange = nil
    return ring[place].facts
  }

  private mutating func grow() {
    let old = ring
    ring = [Place](repeating: Place(), count: old.count * 2)
    for entry in old {
      if let exchange = entry.exchange { ring[place(exchange)] = entry }
    }
  }
}
