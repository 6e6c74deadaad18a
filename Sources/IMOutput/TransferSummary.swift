package import IMEngine
package import IMWire

/// A large message whose pieces are messages on the wire: how much of it is answered.
package struct TransferSummary {
  /// Ranges of answered bytes that are told apart, at most: what would make more is not counted.
  private static let mostRanges = 4_096

  /// The first of its pieces.
  package let first: MessageRecord
  /// When the first copy of that was sent.
  package let begunAt: Timestamp
  /// Its bytes, those of its header lines included.
  package let total: UInt64
  /// To whom or to what topic it is; `nil` where no piece says so.
  package private(set) var destination: String?
  /// Its pieces, without copies.
  package private(set) var pieces: UInt64 = 0
  /// Of these, those that were lost or refused.
  package private(set) var lost: UInt64 = 0
  /// Copies of its pieces that were sent again before their answers.
  package private(set) var retries: UInt64 = 0
  /// Bytes whose pieces are answered, each once.
  package private(set) var answeredBytes: UInt64 = 0
  /// The answered bytes, in order and apart from each other.
  private var ranges: [Range<UInt64>] = []
  private var lastAnswer: Timestamp?
  private var deliveredAt: Timestamp?, readAt: Timestamp?

  /// A large message of which the first piece has been seen.
  package init(_ record: MessageRecord, _ exchange: Exchange, _ part: TransferPart) {
    first = record
    begunAt = exchange.firstAt
    total = part.total
  }

  /// Counts a piece whose fate is known.
  package mutating func add(_ record: MessageRecord, _ exchange: Exchange, _ part: TransferPart) {
    pieces &+= 1
    retries &+= UInt64(exchange.repeats)
    destination = destination ?? record.details?.destination
    switch exchange.fate {
    case .acked, .ackedAfterRetry:
      insert(part.bytes)
      if let latency = exchange.latency {
        let at = exchange.firstAt.advanced(by: latency)
        lastAnswer = max(lastAnswer ?? at, at)
      }
    case .unanswered, .damaged, .rejected: lost &+= 1
    case .pending, .unknown, .unacknowledged: break
    }
    // Receipts name the message by the number of its last piece.
    deliveredAt = record.deliveredAfter.map { exchange.firstAt.advanced(by: $0) } ?? deliveredAt
    readAt = record.readAfter.map { exchange.firstAt.advanced(by: $0) } ?? readAt
  }

  /// Whether all of its bytes are answered.
  package var isWhole: Bool { answeredBytes == total }

  /// From its first copy to the last answer; `nil` without one.
  var answeredAfter: Nanoseconds? { lastAnswer?.time(since: begunAt) }

  /// What receipts say of it, and after how long.
  var receipts: [(name: StaticString, after: Nanoseconds)] {
    [deliveredAt.map { ("delivered", $0.time(since: begunAt)) }, readAt.map { ("read", $0.time(since: begunAt)) }]
      .compactMap { $0 }
  }

  /// Adds bytes to the answered ones.
  private mutating func insert(_ bytes: Range<UInt64>) {
    guard !bytes.isEmpty else { return }
    // The first that ends where these begin, or behind.
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < bytes.lowerBound { low = middle + 1 } else { high = middle }
    }
    var (joined, end) = (bytes, low)
    while end < ranges.count, ranges[end].lowerBound <= joined.upperBound {
      let other = ranges[end]
      joined = min(joined.lowerBound, other.lowerBound)..<max(joined.upperBound, other.upperBound)
      answeredBytes -= other.upperBound - other.lowerBound
      end += 1
    }
    if end == low, ranges.count >= Self.mostRanges { return }
    ranges.replaceSubrange(low..<end, with: CollectionOfOne(joined))
    answeredBytes += joined.upperBound - joined.lowerBound
  }
}
