import Glibc
import Synchronization

/// The signals of a program with a terminal. Handlers set a bit and write a byte; whoever waits for keys waits for it as well.
///
/// A process has one set of signals, so these are global.
package enum TerminalSignals {
  /// What signals have asked for.
  package struct Wishes: OptionSet, Sendable {
    /// One bit for each.
    package let rawValue: UInt32
    /// The wishes whose bits are set in `rawValue`.
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    /// To end: SIGINT.
    package static let interrupt = Wishes(rawValue: 1)
    /// To end: SIGTERM, SIGQUIT.
    package static let terminate = Wishes(rawValue: 2)
    /// To end, because the terminal is gone: SIGHUP.
    package static let hangUp = Wishes(rawValue: 4)
    /// To stop: SIGTSTP.
    package static let suspend = Wishes(rawValue: 8)
    /// To take the terminal again: SIGCONT.
    package static let resume = Wishes(rawValue: 16)
    /// To look how large the terminal is: SIGWINCH.
    package static let resize = Wishes(rawValue: 32)
  }

  private static let wishes = Atomic<UInt32>(0)
  /// The end of the pipe that handlers write to; -1 before `start`.
  private static let writingEnd = Atomic<Int32>(-1)

  /// Begins to listen, and gives the descriptor on which a byte comes with a signal and with `wake`. `nil` where no pipe can be made.
  package static func start() -> Int32? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    writingEnd.store(ends[1], ordering: .relaxed)
    // Made now: making it is nothing for a handler to do.
    _ = wishes.load(ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH] { listen(number) }
    // A terminal that is gone is an error of write(2), and nobody asks a screen for its counts.
    for number in [SIGPIPE, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
    return ends[0]
  }

  /// Listens to one of the signals.
  static func listen(_ number: Int32) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in
      let wish: Wishes =
        switch number {
        case SIGINT: .interrupt
        case SIGTERM, SIGQUIT: .terminate
        case SIGHUP: .hangUp
        case SIGTSTP: .suspend
        case SIGCONT: .resume
        default: .resize
        }
      _ = TerminalSignals.wishes.bitwiseOr(wish.rawValue, ordering: .relaxed)
      let before = errno
      TerminalSignals.wake()
      errno = before
    }
    action.sa_flags = SA_RESTART
    sigaction(number, &action, nil)
  }

  /// Wakes whoever waits at the descriptor. Of any thread.
  package static func wake() {
    var byte: UInt8 = 0
    _ = Glibc.write(writingEnd.load(ordering: .relaxed), &byte, 1)
  }

  /// What was asked for since the last call; empties the pipe that `descriptor` reads.
  package static func take(_ descriptor: Int32) -> Wishes {
    var bytes = [UInt8](repeating: 0, count: 256)
    while read(descriptor, &bytes, bytes.count) == bytes.count {}
    return Wishes(rawValue: wishes.exchange(0, ordering: .relaxed))
  }
}
