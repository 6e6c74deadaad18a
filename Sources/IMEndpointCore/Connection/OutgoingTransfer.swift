import IMWire

/// A large message on its way out: it goes in pieces, between which others pass.
///
/// A piece is an ordinary frame with a number of its own, so it is acknowledged, and known when it comes twice, like any
/// other; after a lost connection those go out again that have no answer. The last one closes the transfer: it is
/// acknowledged when all are there and the message is accepted, and receipts name the message by its number.
struct OutgoingTransfer: Sendable {
  var message: QueuedMessage
  /// What the message's body consists of.
  var source: BodySource
  /// Its name: no other transfer of the device has it, also none of another session or process.
  var name: UInt64
  /// Whether the name is the message's for good, so that another process goes on with it.
  var isNamed = false
  /// How many bytes may go out: fewer than the message has while it still arrives from its sender.
  var available = Int.max
  /// All before this offset has gone out, or is at the other end.
  var offset = 0
  /// What the other end had when it was asked.
  var had = ByteRanges()
  /// What has its answer, in bytes.
  var acknowledged = 0
  /// The number of its last piece, once that has gone out.
  var last: SequenceNumber?
  /// Whether the other end is to be asked what it has; the piece that asks, and how often that was done.
  var isAsking = false
  var asked: SequenceNumber?
  var asks = 0

  /// Longer bodies go in pieces.
  static var least: Int { 32 << 10 }
  /// The longest body: a value in it has a length of four bytes. What a server takes is `ServerConfiguration.largestBody`.
  static var most: Int { Int(UInt32.max) }
  /// A peer that has not answered so many questions has nothing.
  static var mostAsks: Int { 4 }
  /// Bytes of a piece that asks.
  static var asking: Int { 4_096 }

  var isDone: Bool { offset >= source.count }
  /// Whether bytes may go out that have not.
  var canGo: Bool { offset < available }
  /// Whether something of it has gone out.
  var hasBegun: Bool { offset > 0 || asks > 0 }

  init(_ message: QueuedMessage, _ source: BodySource? = nil, name: UInt64, asks: Bool = false) {
    self.message = message
    self.source = source ?? BodySource(message.body)
    // Kept once.
    self.message.body = []
    self.name = name
    isAsking = asks
  }

  /// The body of the next piece; `nil` when its bytes cannot be read.
  mutating func next(_ most: Int) -> [UInt8]? {
    // What asks is never the end.
    if offset + Self.asking >= source.count { isAsking = false }
    let (start, end) = had.gap(from: offset)
    let limit = isAsking ? min(most, Self.asking) : most
    let range = start..<max(start, min(start + limit, end ?? source.count, source.count, available))
    var body: [UInt8] = []
    body.reserveCapacity(range.count + 64)
    TLV.append(
      .transfer,
      TLV.bigEndian(UInt64(source.count)) + [message.compression, message.category.rawValue], to: &body)
    TLV.append(.piece, TLV.bigEndian(name) + TLV.bigEndian(UInt64(start)), to: &body)
    if isAsking {
      TLV.append(.transferHave, [], to: &body)
      asks += 1
    }
    TLV.append(head: .pieceBytes, count: range.count, to: &body)
    guard source.read(range, into: &body) else { return nil }
    offset = had.gap(from: range.upperBound).start
    return body
  }

  /// The other end has said what it has. Its end goes out in any case: that closes the transfer.
  mutating func has(_ ranges: [Range<Int>]) {
    guard isAsking else { return }
    isAsking = false
    let end = max(0, source.count - 1)
    for range in ranges where range.lowerBound >= 0 && range.lowerBound < range.upperBound {
      had.insert(min(range.lowerBound, end)..<min(range.upperBound, end))
    }
    acknowledged = max(acknowledged, had.total)
    // What asked is among it.
    offset = had.gap(from: 0).start
    last = nil
  }

  /// The other end has forgotten its session: it is asked what it has, or all goes out anew.
  mutating func restart(name: UInt64?) {
    self.name = name ?? self.name
    had = ByteRanges()
    (offset, acknowledged, last, asked, asks) = (0, 0, nil, nil, 0)
    isAsking = name == nil
  }
}
