import IMEngine

/// What a message's document needs of the frame of its first copy, kept until the message's fate is known.
///
/// Lengths and tags, never content.
struct MessageFacts {
  /// At most so many TLVs are named; `tlv_count` tells of all.
  static let maximumTLVs = 64

  var byteCount: UInt32
  var headerCount: UInt32
  var streamOffset: UInt64
  var checksum: ChecksumStatus
  var tlvCount: UInt32
  var tlvDepth: UInt32
  /// The number of the session, where frames carry one.
  var session: UInt64
  /// Copies that the sender made on purpose.
  var retries: UInt16 = 0
  var tlvs: [TLVRef]

  init(_ frame: borrowing Frame, _ references: Span<TLVRef>) {
    byteCount = UInt32(clamping: frame.count)
    headerCount = UInt32(clamping: frame.headerCount)
    streamOffset = frame.streamOffset
    checksum = frame.checksumStatus
    tlvCount = UInt32(clamping: frame.tlvCount)
    tlvDepth = UInt32(clamping: frame.tlvDepth)
    session = frame.session
    tlvs = []
    let kept = min(references.count, Self.maximumTLVs)
    if kept > 0 {
      tlvs.reserveCapacity(kept)
      for i in 0..<kept { tlvs.append(references[i]) }
    }
  }
}

/// The facts of messages whose fate is open, by `Exchange.id`. Bounded: without room a document has fewer fields.
struct MessageFactsStore {
  /// At most so many messages, some 20 MB with the usual handful of TLVs.
  static let maximumCount = 65_536
  private var facts: [UInt32: MessageFacts] = [:]

  /// Keeps the facts of `exchange`.
  mutating func keep(_ exchange: UInt32, _ new: MessageFacts) {
    if facts.count < Self.maximumCount { facts[exchange] = new }
  }

  /// Counts a retry of `exchange`.
  mutating func retried(_ exchange: UInt32) {
    facts[exchange]?.retries &+= 1
  }

  /// Gives the facts of `exchange` and forgets them.
  mutating func take(_ exchange: UInt32) -> MessageFacts? { facts.removeValue(forKey: exchange) }
}
