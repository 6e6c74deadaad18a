import Glibc
import IMDescriptors
import IMStore
import IMSystem
import Synchronization

/// A thread that notices what another process writes to a store: SQLite keeps a number of its changes, which is looked at ten times a
/// second.
final class StoreWatching: Sendable {
  /// Microseconds between looks, and looks without a change behind which nobody is said to write any more: ten seconds.
  private static let pause: UInt32 = 100_000, patience = 100

  private let isEnded: Flag
  private let thread: Held

  /// Something that threads share.
  private final class Flag: Sendable { let isUp = Atomic<Bool>(false) }
  private final class Held: @unchecked Sendable {
    // SAFETY: set once, before anybody else knows of it.
    var thread: WorkerThread?
  }

  /// Starts to watch the store at `path`; changes are commits of `loading`.
  init(_ path: String, _ loading: StoreLoading) throws(CaptureError) {
    let isEnded = Flag()
    self.isEnded = isEnded
    thread = Held()
    loading.change { $0.isOver = true }
    thread.thread = try WorkerThread("imdump-watch", isBehind: true, for: path, "watch the store") {
      guard let reader = try? StoreReader(path), var number = try? reader.changeNumber() else { return }
      var looks = 0
      while !isEnded.isUp.load(ordering: .relaxed) {
        usleep(Self.pause)
        // A writer that is in the way is asked again.
        guard let now = try? reader.changeNumber() else { continue }
        looks += 1
        if now != number {
          number = now
          looks = 0
          // A writer that has come to its end says so.
          let isWhole = (try? reader.isWhole()) ?? false
          loading.change { state in
            state.commits += 1
            (state.isLive, state.isOver) = (!isWhole, isWhole)
          }
        } else if looks == Self.patience {
          loading.change { state in
            guard state.isLive else { return }
            state.commits += 1
            (state.isLive, state.isOver) = (false, true)
          }
        }
      }
    }
  }

  /// Ends the thread, and waits until it has ended.
  func end() {
    isEnded.isUp.store(true, ordering: .relaxed)
    thread.thread?.join()
    thread.thread = nil
  }
}
