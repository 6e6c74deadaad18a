package import IMEngine
package import IMWire

/// A large message whose pieces are messages on the wire: how much of it is answered.
package struct TransferSummary {
  /// Separate ranges of answered bytes, at most: beyond, what is answered is not counted.
  private static let mostRanges = 4_096

  /// The first of its pieces.
  package let first: MessageRecord
  /// When the first copy of that was sent.
  package let begunAt: Timestamp
  /// Its bytes, those of its header lines included.
  package let total: Int
  /// To whom or to what topic it is; `nil` where no piece says so.
  package private(set) var destination: String?
  /// Its pieces, without copies.
  package private(set) var pieces: UInt64 = 0
  /// Of these, those that were lost or refused.
  package private(set) var lost: UInt64 = 0
  /// Copies of its pieces that were sent again before their answers.
  package private(set) var retries: UInt64 = 0
  /// The bytes whose pieces are answered.
  private var answered = ByteRanges()
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
      if answered.all.count < Self.mostRanges { answered.insert(part.bytes) }
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

  /// Bytes whose pieces are answered, each once.
  package var answeredBytes: Int { answered.total }
  /// Whether all of its bytes are answered.
  package var isWhole: Bool { answeredBytes == total }

  /// From its first copy to the last answer; `nil` without one.
  var answeredAfter: Nanoseconds? { lastAnswer?.time(since: begunAt) }

  /// What receipts say of it, and after how long.
  var receipts: [(name: StaticString, after: Nanoseconds)] {
    [deliveredAt.map { ("delivered", $0.time(since: begunAt)) }, readAt.map { ("read", $0.time(since: begunAt)) }]
      .compactMap { $0 }
  }
}
