import IMStore
import IMSystem

/// Batches on their way to the queue of a store's writer: one is filled, and handed on when it is large or old enough.
///
/// Files wait for the disk. A live capture does not: rows that the writer has not taken wait in the batch, and behind a limit they are
/// dropped and counted.
final class StoreFeed {
  /// Live, seconds after which a batch is handed on whatever it has, and rows that may wait.
  private static let patience = 0.1, maximumWaiting = 50_000

  private let queue: StoreQueue
  private let isLive: Bool
  @exclusivity(unchecked) private var size: BatchSize
  private var handedOnAt = MonotonicClock.seconds()
  /// The batch that is filled.
  @exclusivity(unchecked) var batch = StoreBatch()
  /// Messages for which the disk was too slow.
  private(set) var dropped: UInt64 = 0
  /// Called before a batch is handed on without waiting.
  var willOffer: () -> Void = {}

  /// Batches of `size` for `queue`.
  init(_ queue: StoreQueue, isLive: Bool, _ size: BatchSize) {
    self.queue = queue
    self.isLive = isLive
    self.size = size
  }

  /// Hands the batch on where it is large enough.
  @inline(__always)
  func handOn() {
    if batch.count >= size.next { handOnNow() }
  }

  @inline(never)
  private func handOnNow() {
    // Where there was no room, it is asked for again every so many rows, not for each.
    if isLive {
      if batch.count % size.next == 0 { offer(MonotonicClock.seconds()) }
      return
    }
    queue.put(batch)
    size.grow()
    batch = queue.emptyBatch()
  }

  /// Live, hands the batch on where it is old enough.
  func offerInTime() {
    guard !batch.isEmpty else { return }
    let now = MonotonicClock.seconds()
    if now - handedOnAt >= Self.patience { offer(now) }
  }

  /// Hands the batch on without waiting.
  private func offer(_ now: Double) {
    willOffer()
    if queue.offer(batch) {
      handedOnAt = now
      size.grow()
      batch = StoreBatch()
    } else if batch.count >= Self.maximumWaiting {
      dropped += UInt64(batch.messageCount)
      batch.drop()
    }
  }

  /// Hands on what there is; nothing follows.
  func end() {
    if !batch.isEmpty { queue.put(batch) }
    batch = StoreBatch()
  }
}
