import Glibc
import Synchronization

private let interrupts = Atomic<Int>(0)

/// Whether SIGINT or SIGTERM has come.
var isInterrupted: Bool { interrupts.load(ordering: .relaxed) > 0 }

/// Has SIGINT and SIGTERM end what runs in order, a second one at once, and a reader that is gone be an error of writing.
func handleSignals() {
  signal(SIGPIPE, SIG_IGN)
  for number in [SIGINT, SIGTERM] {
    signal(number) { _ in
      if interrupts.wrappingAdd(1, ordering: .relaxed).oldValue > 0 { _exit(130) }
    }
  }
}
