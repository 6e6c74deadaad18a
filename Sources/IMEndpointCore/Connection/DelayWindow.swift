/// How much that is not urgent may be under way on a connection: as much as the path carries without a queue.
///
/// What waits in a queue on the way cannot be overtaken, so nothing is put there that something urgent, or a text beside a
/// film, would have to wait for. A queue shows in the round trips: while one is near the shortest ever, the window grows
/// by what was acknowledged; while the shortest of the last three is long, it shrinks by as much (as LEDBAT does, RFC 6817).
/// Of three, because with a queue all are long, while loss leaves some of them short.
struct DelayWindow: Sendable {
  /// Bytes that may be under way.
  private(set) var limit = DelayWindow.least
  /// Bytes that are: of messages, and of pieces of large ones.
  private var messages = 0
  private var pieces = 0
  private var shortest = Int64.max
  private var last: (Int64, Int64) = (.max, .max)
  /// What was acknowledged since a moment: how long a piece of a transfer may be follows from it.
  private var measured = 0
  private var measuredSince: Moment?
  private var isMeasured = false
  /// Bytes of the next piece of a transfer: what the path carries in 120 ms.
  private(set) var pieceCount = DelayWindow.firstPiece

  /// A queue that is shorter lets the window grow, one that is longer lets it shrink; nanoseconds.
  private static var shortQueue: Int64 { 75_000_000 }
  private static var longQueue: Int64 { 150_000_000 }
  /// What a piece takes to leave; nanoseconds.
  private static var pieceTime: Int64 { 120_000_000 }
  private static var least: Int { 8_192 }
  private static var most: Int { 4 << 20 }
  private static var firstPiece: Int { 4_096 }
  private static var pieces: ClosedRange<Int> { 2_048...65_536 }

  /// Whether another message may go. Pieces of large ones do not hold messages up.
  @inline(__always)
  var takesMessages: Bool { messages < limit }

  /// Whether another piece of a large message may go: two, at least, keep the path busy.
  var takesPieces: Bool { messages + pieces + pieceCount <= max(limit, 2 * pieceCount) }

  @inline(__always)
  mutating func sent(_ count: Int, isPiece: Bool = false) {
    if isPiece { pieces += count } else { messages += count }
  }

  /// What was under way has its answer, after `roundTrip` nanoseconds if that is known.
  mutating func acknowledged(_ count: Int, isPiece: Bool = false, after roundTrip: Int64?, at now: Moment) {
    let wasFull = (messages + pieces) * 2 >= limit
    released(count, isPiece: isPiece)
    measure(count, at: now)
    guard let roundTrip else { return }
    shortest = min(shortest, roundTrip)
    let recent = min(roundTrip, last.0, last.1)
    last = (roundTrip, last.0)
    // A piece takes its own time to leave: that is no queue. Half of it is allowed for, since messages wait for the rest.
    let own = isPiece ? Self.pieceTime / 2 : 0
    if recent - shortest > Self.longQueue + own {
      limit = max(Self.least, limit - count)
    } else if roundTrip - shortest < Self.shortQueue + own, wasFull {
      limit = min(Self.most, limit + count)
    }
  }

  /// What was under way is not waited for any more.
  @inline(__always)
  mutating func released(_ count: Int, isPiece: Bool = false) {
    if isPiece { pieces = max(0, pieces - count) } else { messages = max(0, messages - count) }
  }

  private mutating func measure(_ count: Int, at now: Moment) {
    let since = measuredSince ?? now
    measuredSince = since
    measured += count
    let elapsed = now.nanoseconds(since: since)
    guard elapsed >= (isMeasured ? 1_000_000_000 : 250_000_000) else { return }
    isMeasured = true
    let inTime = Double(measured) * Double(Self.pieceTime) / Double(elapsed)
    let wanted = Int(min(inTime, Double(Self.pieces.upperBound)))
    // Answers come in lumps: what looks slower may only have come a little later.
    pieceCount = min(max(wanted, pieceCount / 4 * 3, Self.pieces.lowerBound), Self.pieces.upperBound)
    measured = 0
    measuredSince = now
  }
}
