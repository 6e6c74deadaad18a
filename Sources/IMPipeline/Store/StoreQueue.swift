import Glibc
import IMStore

/// Batches on their way to the thread that writes a store: few, so that whoever is faster waits for the other.
final class StoreQueue: @unchecked Sendable {
  // SAFETY: what is not constant is touched under `mutex` only.

  /// Batches that wait, at most: one is written while others are filled.
  private static let limit = 4

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var batches: [StoreBatch] = []
  private var isEnded = false
  private var failure: StoreError?

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    pthread_cond_destroy(changed)
    mutex.deallocate()
    changed.deallocate()
  }

  private func locked<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Hands a batch on; waits while there is no room. Behind a failure it is dropped.
  func put(_ batch: StoreBatch) {
    locked {
      while batches.count >= Self.limit, failure == nil { pthread_cond_wait(changed, mutex) }
      add(batch)
    }
  }

  /// Hands a batch on if there is room for it; false where there is none.
  func offer(_ batch: StoreBatch) -> Bool {
    locked {
      guard batches.count < Self.limit || failure != nil else { return false }
      add(batch)
      return true
    }
  }

  private func add(_ batch: StoreBatch) {
    if failure == nil { batches.append(batch) }
    pthread_cond_broadcast(changed)
  }

  /// Takes the next batch; waits for one. `nil` when there will be none.
  func take() -> StoreBatch? {
    locked {
      while batches.isEmpty, !isEnded { pthread_cond_wait(changed, mutex) }
      defer { pthread_cond_broadcast(changed) }
      return batches.isEmpty ? nil : batches.removeFirst()
    }
  }

  /// No batch follows.
  func end() {
    locked {
      isEnded = true
      pthread_cond_broadcast(changed)
    }
  }

  /// Writing has failed: what waits is dropped, and what follows.
  func fail(_ error: StoreError) {
    locked {
      failure = failure ?? error
      batches = []
      pthread_cond_broadcast(changed)
    }
  }

  /// Why writing has failed; `nil` while it goes well.
  var error: StoreError? { locked { failure } }
}
