/// How much a `StreamCollector` may remember.
///
/// Everything is taken from one amount of memory: a stream, a piece, which is a chunk of a stream that was captured
/// without a hole, its content, a segment that waits for its acknowledgment. What exceeds a limit is counted, never
/// silently dropped.
package struct StreamOptions: Sendable {
  /// Bytes over all. Further streams are counted in `StreamCollector.packetsLeftOut`; further bytes keep their place in the
  /// ranges and lose their content, which `CollectedDirection.bytesNotKept` counts; payload that would need another piece
  /// is counted in `CollectedDirection.payloadLeftOut`; further segments have no round trip.
  package var memory = 256 << 20
  /// Streams.
  package var streamLimit = Int.max
  /// Bytes of content over all streams.
  package var contentLimit = Int.max
  /// Bytes of content of one direction.
  package var directionLimit = Int.max
  /// Pieces over all streams.
  package var pieceLimit = Int.max
  /// Whether the caller wants the streams' bytes. Without, they are kept only to compare what is sent again with them, in a
  /// quarter of the memory: further ones are missing nowhere.
  package var wantsContent = true
  /// Whether `CollectedDirection.starts` tells where segments with data begin.
  package var keepsStarts = false
  /// Whether IP and TCP checksums are verified: a segment whose checksum is wrong belongs to no stream, as its receiver
  /// ignored it, where its sender's others are right.
  package var verifiesChecksums = true
  /// Keeps senders from choosing addresses that collide in the table of streams.
  package var seed: UInt64 = 0x1234_5678_9abc_def0

  /// The defaults.
  package init() {}
}

/// What is left of the limits.
struct StreamBudget {
  private var memory: Int
  private var content: Int
  private var pieces: Int
  /// What a piece costs beside its content, and a segment that waits.
  private static var pieceCost: Int { 128 }
  private static var waitingCost: Int { 64 }
  private static var startCost: Int { 32 }
  private let keepsStarts: Bool
  /// What content leaves for all else: without a place for its chunks a stream would have gaps that the capture has not.
  private let reserve: Int
  /// `StreamOptions.directionLimit`.
  let directionLimit: Int

  init(_ options: StreamOptions) {
    memory = options.memory
    content = options.contentLimit
    reserve = options.wantsContent ? options.memory / 8 : options.memory / 4 * 3
    pieces = options.pieceLimit
    keepsStarts = options.keepsStarts
    directionLimit = options.directionLimit
  }

  private mutating func take(_ count: Int) -> Bool {
    guard memory >= count else { return false }
    memory -= count
    return true
  }

  /// Takes one stream, or nothing.
  mutating func takeStream() -> Bool { take(StreamState.cost) }

  /// Takes one piece, or nothing.
  mutating func takePiece() -> Bool {
    guard pieces > 0, take(Self.pieceCost) else { return false }
    pieces -= 1
    return true
  }

  /// Takes room for the start of a segment, or nothing.
  mutating func takeStart() -> Bool { keepsStarts && take(Self.startCost) }

  /// Takes room for a segment that waits for its acknowledgment, or nothing.
  mutating func takeWaiting() -> Bool { take(Self.waitingCost) }

  /// Gives back the room of `count` segments.
  mutating func recycle(waiting count: Int) { memory += count * Self.waitingCost }

  /// Takes `count` bytes of content, for which memory grows by `growth`, or nothing.
  mutating func takeContent(_ count: Int, growth: Int) -> Bool {
    guard content >= count, memory - growth >= reserve, take(growth) else { return false }
    content -= count
    return true
  }
}
