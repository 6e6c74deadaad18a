import Glibc
package import Synchronization

/// Tells sources to end.  One switch may serve several sources.
///
/// It holds the moment of the first stop, so that a live capture can tell the packets before it from those after it.
package final class ShutdownSignal: Sendable {
  /// Nanoseconds since the epoch on the system's clock; 0 while nobody has asked.
  @usableFromInline let moment = Atomic<Int64>(0)

  /// The switch that the signals of this process press.
  package static let ofProcess = ShutdownSignal()

  /// A switch nobody has pressed.
  package init() {}

  /// Asks for the end.  Safe in a signal handler; a second call changes nothing.
  package func stop() {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let nanoseconds = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
    _ = moment.compareExchange(expected: 0, desired: max(nanoseconds, 1), ordering: .sequentiallyConsistent)
  }

  /// Whether the end was asked for.
  @inlinable package var isStopped: Bool { moment.load(ordering: .relaxed) != 0 }

  /// When the end was asked for, in nanoseconds since the epoch; nil while nobody has.
  package var stoppedAt: Int64? {
    let value = moment.load(ordering: .sequentiallyConsistent)
    return value == 0 ? nil : value
  }
}
