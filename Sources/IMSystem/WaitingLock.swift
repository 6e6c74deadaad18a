import Glibc

/// A lock on which threads can wait until somebody has changed what it guards.
package final class WaitingLock: @unchecked Sendable {
  // SAFETY: both are made for use by several threads, and stay where they are.

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  /// A lock that nobody holds.
  package init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    pthread_cond_destroy(changed)
    mutex.deallocate()
    changed.deallocate()
  }

  /// Calls `body`, which nobody else does meanwhile.
  package func locked<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Within `locked`: lets others in until `tell` is called.
  package func wait() { pthread_cond_wait(changed, mutex) }

  /// Within `locked`: wakes all who wait.
  package func tell() { pthread_cond_broadcast(changed) }
}
