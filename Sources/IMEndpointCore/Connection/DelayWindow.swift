/// How much that is not urgent may be under way on a connection: as much as the path carries without a queue.
///
/// What waits in a queue on the way cannot be overtaken, so nothing is put there that something urgent, or a text beside a
/// film, would have to wait for. A queue shows in the round trips: while one is near the shortest ever, the window grows
/// by what was acknowledged; while the shortest of the last three is long, it shrinks by as much (as LEDBAT does, RFC 6817).
/// Of three, because with a queue all are long, while loss leaves some of them short.
///
/// A round trip shows a queue only when it is over, so a window that follows it alone swings: it grows while the queue
/// builds up unseen, and shrinks until the path is idle. The rate at which answers come bounds both: where a queue is short,
/// the window grows to what that rate carries in the shortest round trip and the time of one piece, and where one is long it
/// shrinks to that. While the path has room the rate rises with the window, and the bound with it; when it has none, the bound
/// stays. Where nothing waits the window grows whatever the rate, which loss lowers.
struct DelayWindow: Sendable {
  /// Bytes that may be under way.
  private(set) var limit = DelayWindow.least
  /// Bytes that are: of messages, and of pieces of large ones.
  private var messages = 0
  private var pieces = 0
  private var shortest = Int64.max
  private var last: (Int64, Int64) = (.max, .max)
  /// What was acknowledged since a moment, and whether the path was busy at each answer, with a full window or a queue: else
  /// the rate is the app's and not the path's.
  private var measured = 0
  private var measuredSince: Instant?
  private var wasAlwaysBusy = true
  /// Whether the path's rate did not rise in the last period.
  private var isSteady = false
  /// What the rate carries in the shortest round trip and the time of a piece, in bytes.
  private var bound = DelayWindow.least
  /// Bytes of the next piece of a transfer: what the path carries in 120 ms.
  private(set) var pieceCount = DelayWindow.firstPiece

  /// Nothing waits, a queue is short, a queue is long; nanoseconds.
  private static var noQueue: Int64 { 25_000_000 }
  private static var shortQueue: Int64 { 75_000_000 }
  private static var longQueue: Int64 { 150_000_000 }
  /// What a piece takes to leave; nanoseconds.
  private static var pieceTime: Int64 { 120_000_000 }
  /// How long a rate is measured, and how long while it still rises; nanoseconds.
  private static var steadyPeriod: Int64 { 1_000_000_000 }
  private static var risingPeriod: Int64 { 250_000_000 }
  private static var least: Int { 8_192 }
  private static var most: Int { 4 << 20 }
  private static var firstPiece: Int { 4_096 }
  private static var pieces: ClosedRange<Int> { 2_048...65_536 }
  /// Bytes under way beside one piece, its frame's header and a few texts, that do not keep the second one back.
  private static var besidePiece: Int { 512 }

  /// Whether another message may go. Pieces of large ones do not hold messages up.
  @inline(__always)
  var takesMessages: Bool { messages < limit }

  /// Whether another piece of a large message may go: two, at least, keep the path busy, a text beside the first or not.
  var takesPieces: Bool { messages + pieces <= max(limit - pieceCount, pieceCount + Self.besidePiece) }

  @inline(__always)
  mutating func sent(_ count: Int, isPiece: Bool = false) {
    if isPiece { pieces += count } else { messages += count }
  }

  /// What was under way has its answer, after `roundTrip` nanoseconds if that is known.
  mutating func acknowledged(_ count: Int, isPiece: Bool = false, after roundTrip: Int64?, at now: Instant) {
    let wasFull = (messages + pieces) * 2 >= limit
    released(count, isPiece: isPiece)
    guard let roundTrip else { return measure(count, isBusy: wasFull, at: now) }
    shortest = min(shortest, roundTrip)
    let recent = min(roundTrip, last.0, last.1)
    last = (roundTrip, last.0)
    // A piece takes its own time to leave: that is no queue. DirectionState of it is allowed for, since messages wait for the rest.
    let own = isPiece ? Self.pieceTime / 2 : 0
    let isLong = recent - shortest > Self.longQueue + own
    measure(count, isBusy: wasFull || isLong, at: now)
    if isLong {
      if limit > bound { limit = max(bound, limit - count) }
    } else if wasFull, roundTrip - shortest < Self.noQueue {
      limit = min(Self.most, limit + count)
    } else if wasFull, roundTrip - shortest < Self.shortQueue + own, limit < bound {
      limit = min(bound, limit + count)
    }
  }

  /// What was under way is not waited for any more.
  @inline(__always)
  mutating func released(_ count: Int, isPiece: Bool = false) {
    if isPiece { pieces = max(0, pieces - count) } else { messages = max(0, messages - count) }
  }

  /// Measures the rate of answers, and what follows from it: the bound of the window and the bytes of a piece.
  private mutating func measure(_ count: Int, isBusy: Bool, at now: Instant) {
    guard let since = measuredSince else {
      measuredSince = now
      return
    }
    measured += count
    wasAlwaysBusy = wasAlwaysBusy && isBusy
    let elapsed = now.nanoseconds(since: since)
    guard elapsed >= (isSteady ? Self.steadyPeriod : Self.risingPeriod), shortest < .max else { return }
    let rate = Double(measured) / Double(elapsed)
    let carried = rate * (Double(shortest) + Double(max(Self.pieceTime, shortest)))
    let newBound = max(Self.least, Int(min(carried, Double(Self.most))))
    let newPiece = Int(min(rate * Double(Self.pieceTime), Double(Self.pieces.upperBound)))
    isSteady = wasAlwaysBusy && newBound <= bound / 4 * 5
    if wasAlwaysBusy || newBound > bound { bound = newBound }
    if wasAlwaysBusy || newPiece > pieceCount {
      // Answers come in lumps: what looks slower may only have come a little later.
      pieceCount = min(max(newPiece, pieceCount / 4 * 3, Self.pieces.lowerBound), Self.pieces.upperBound)
    }
    measured = 0
    measuredSince = now
    wasAlwaysBusy = true
  }
}
