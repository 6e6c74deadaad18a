/// Frames that wait to be tracked. A batch of them is asked for in memory before the first is looked for.
///
/// Where the sink hears of each frame, or of what is wrong with it, none waits.
struct RecordQueue: ~Copyable {
  /// The most that wait: 8 KiB of them.
  private static var batch: Int { 128 }

  /// The records; the first `count` wait.
  let start: UnsafeMutablePointer<FrameRecord>
  var count = 0
  /// Whether records may wait.
  let isBatched: Bool

  init(isBatched: Bool) {
    self.isBatched = isBatched
    start = .allocate(capacity: Self.batch)
  }

  deinit { start.deallocate() }

  /// Whether what waits must be tracked before one more comes.
  @inline(__always)
  var isFull: Bool { count == Self.batch }
}
