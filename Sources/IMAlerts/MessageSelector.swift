package import IMEngine
package import IMWire

/// Says which messages the filters of rules choose, by the frames that carry them.
package protocol MessageSelector: AnyObject {
  /// The filters that take a frame: bit `n` for that of `AlertRules.filters` at `n`. Told of every frame, in order: one
  /// may tell what the next ones mean.
  func selection(
    of frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) -> UInt64
  /// A session has a name.
  func named(_ session: UInt32, _ name: String)
  /// A session is forgotten.
  func forgotten(_ session: UInt32)
  /// Nothing more comes of a connection.
  func ended(_ connection: UInt32)
}

/// The messages that filters of rules chose, until nothing more can come of them.
struct SelectedMessages: ~Copyable {
  /// The filters that chose a message, by `Exchange.id`.
  private var bits: [UInt32: UInt64] = [:]
  /// Those whose fate was decided, oldest first. An answer may still come late.
  private var settled = RingQueue<UInt32>()
  /// The last message whose first frame was told.
  private var last: UInt32?

  /// Whether the first frame of a message was not told yet: numbers are given in the order of first frames.
  func isAhead(_ exchange: UInt32) -> Bool {
    guard let last else { return true }
    return exchange.isAfter(last)
  }

  /// Takes note of a message whose first frame is there. At most `limit` are kept; false where there is no room.
  mutating func insert(_ exchange: UInt32, _ filters: UInt64, limit: Int) -> Bool {
    if isAhead(exchange) { last = exchange }
    guard filters != 0 else { return true }
    while bits.count >= limit, let oldest = settled.popFirst() { bits[oldest] = nil }
    guard bits.count < limit else { return false }
    bits[exchange] = filters
    return true
  }

  /// The fate of a message was decided: it is forgotten first.
  mutating func settle(_ exchange: UInt32) {
    guard bits[exchange] != nil else { return }
    settled.append(exchange)
  }

  /// The filters that chose a message.
  subscript(exchange: UInt32) -> UInt64 { bits[exchange] ?? 0 }
}
