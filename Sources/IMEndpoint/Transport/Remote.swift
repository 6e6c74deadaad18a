import Glibc
import Synchronization

/// The way from other threads into a loop: work handed over here runs on the loop's thread, in its next turn.
public final class Remote: Sendable {
  private let descriptor: Int32
  private let waiting = Mutex<[@Sendable () -> Void]>([])

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Has `work` run on the loop's thread.
  public func perform(_ work: @escaping @Sendable () -> Void) {
    let wasEmpty = waiting.withLock { list in
      list.append(work)
      return list.count == 1
    }
    if wasEmpty { wake() }
  }

  /// Ends the loop's wait. Safe in a signal handler.
  public func wake() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// The work that was handed over, in order.
  func taken() -> [@Sendable () -> Void] {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
    return waiting.withLock { list in
      defer { list = [] }
      return list
    }
  }
}
