import IMStore
import IMSystem

/// Batches on their way to the thread that writes a store: few, so that whoever is faster waits for the other.
final class StoreQueue: @unchecked Sendable {
  // SAFETY: what is not constant is touched under `lock` only.

  /// Batches that wait, at most, while one is written and another is filled.
  private static let limit = 2

  private let lock = WaitingLock()
  private var batches: [StoreBatch] = []
  private var spare: [StoreBatch] = []
  private var isEnded = false
  private var whole: Bool?
  private var failure: StoreError?
  private var oldest: Int64?

  /// Hands a batch on; waits while there is no room. Behind a failure it is dropped.
  func put(_ batch: StoreBatch) {
    lock.locked {
      while batches.count >= Self.limit, failure == nil { lock.wait() }
      add(batch)
    }
  }

  /// Hands a batch on if there is room for it; false where there is none.
  func offer(_ batch: StoreBatch) -> Bool {
    lock.locked {
      guard batches.count < Self.limit || failure != nil else { return false }
      add(batch)
      return true
    }
  }

  private func add(_ batch: StoreBatch) {
    if failure == nil { batches.append(batch) }
    lock.tell()
  }

  /// Takes the next batch; waits for one. `nil` when there will be none.
  func take() -> StoreBatch? {
    lock.locked {
      while batches.isEmpty, !isEnded { lock.wait() }
      defer { lock.tell() }
      return batches.isEmpty ? nil : batches.removeFirst()
    }
  }

  /// Takes back a batch that was written and cleared, for its room.
  func recycle(_ batch: StoreBatch) {
    lock.locked { if spare.count < Self.limit { spare.append(batch) } }
  }

  /// An empty batch; with the room of one that was written, where there is one.
  func emptyBatch() -> StoreBatch { lock.locked { spare.popLast() } ?? StoreBatch() }

  /// No batch follows; `isWhole` says that captures were read to their end.
  func end(isWhole: Bool) {
    lock.locked {
      whole = isWhole
      isEnded = true
      lock.tell()
    }
  }

  /// Writing has failed: what waits is dropped, and what follows.
  func fail(_ error: StoreError) {
    lock.locked {
      failure = failure ?? error
      batches = []
      lock.tell()
    }
  }

  /// Whether captures were read to their end; `nil` while they are read.
  var isWhole: Bool? { lock.locked { whole } }

  /// Batches that wait.
  var count: Int { lock.locked { batches.count } }

  /// The capture of the oldest message in the store, once some were removed; in front of it nobody needs one.
  var oldestCapture: Int64? {
    get { lock.locked { oldest } }
    set { lock.locked { oldest = newValue } }
  }

  /// Why writing has failed; `nil` while it goes well.
  var error: StoreError? { lock.locked { failure } }
}
