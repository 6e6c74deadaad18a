import Glibc
package import IMDescriptors
import Synchronization

/// What the signals of this process have asked for. A process has one set of them, so this is global; the handlers touch
/// nothing but atomics.
private enum Signals {
  static var stop: ShutdownSignal { ShutdownSignal.ofProcess }
  static let reports = Atomic<Int>(0)
  static let hangups = Atomic<Int>(0)
  /// Whether SIGHUP ends the run, because there is nothing to open again.
  static let hangupEnds = Atomic<Bool>(true)

  /// Nanoseconds within which a second signal is the first one come twice: timeout(1) signals its command and then its
  /// whole group.
  static var sameSignal: Int64 { 200_000_000 }
}

/// Ends a run cleanly on SIGINT and SIGTERM; a second signal ends the process at once. SIGUSR1 asks for the counts. SIGHUP
/// asks that output files be opened again, and where there are none it ends the run as SIGTERM does.
///
/// They are noticed by handlers and not by a thread of their own, so that what the one thread gives up, the process does.
package struct SignalHandlers {
  /// Ends the sources.
  package var stop: ShutdownSignal { Signals.stop }
  /// Whether somebody wanted that a lost terminal ends nothing: nohup(1).
  private let ignoresHangup: Bool
  /// Whether there was a terminal to lose.
  private let hadTerminal: Bool

  /// One that hears no signal: for a run inside of a process that has its own handlers.
  package static var ignoresSignals: SignalHandlers { SignalHandlers(ignoresHangup: true, hadTerminal: false) }

  private init(ignoresHangup: Bool, hadTerminal: Bool) {
    self.ignoresHangup = ignoresHangup
    self.hadTerminal = hadTerminal
  }

  /// Handles the signals of this process from this point.
  package init() {
    // Made now: making them is nothing for a handler to do.
    _ = Signals.stop
    _ = Signals.reports.load(ordering: .relaxed) + Signals.hangups.load(ordering: .relaxed)
    _ = Signals.hangupEnds.load(ordering: .relaxed)
    // A reader that is gone and a file that may grow no more are errors of write(2), which are told.
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    for number in [SIGINT, SIGTERM] {
      Self.handle(number) { number in
        guard let first = Signals.stop.stoppedAt else { return Signals.stop.stop() }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let apart = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec) &- first
        if abs(apart) > Signals.sameSignal { _exit(number == SIGINT ? 130 : 143) }
      }
    }
    Self.handle(SIGUSR1) { _ in Signals.reports.add(1, ordering: .relaxed) }
    var before = sigaction()
    ignoresHangup = sigaction(SIGHUP, nil, &before) == 0 && unsafeBitCast(before.__sigaction_handler, to: Int.self) == 1
    hadTerminal = Self.hasTerminal
    if ignoresHangup { Signals.hangupEnds.store(false, ordering: .relaxed) }
    Self.handle(SIGHUP) { _ in
      if Signals.hangupEnds.load(ordering: .relaxed) { return Signals.stop.stop() }
      Signals.hangups.add(1, ordering: .relaxed)
    }
  }

  private static func handle(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    // Calls that were interrupted go on; poll(2) does not, so a waiting capture looks at once.
    action.sa_flags = SA_RESTART
    sigaction(number, &action, nil)
  }

  /// Takes the requests for counts since the last call.
  package func takeRequests() -> Int { Signals.reports.exchange(0, ordering: .relaxed) }

  /// From now on SIGHUP is for files that can be opened again.
  package func hangupReopens() { Signals.hangupEnds.store(false, ordering: .relaxed) }

  /// Whether SIGHUP has come since the last call, to have files opened again. Where it came because the terminal is gone,
  /// it ends the run, but under nohup(1).
  package func takeHangup() -> Bool {
    guard Signals.hangups.load(ordering: .relaxed) > 0 else { return false }
    Signals.hangups.store(0, ordering: .relaxed)
    if hadTerminal, !ignoresHangup, !Self.hasTerminal {
      stop.stop()
      return false
    }
    return true
  }

  /// Whether the process has a controlling terminal. The kernel takes it away before it sends SIGHUP.
  private static var hasTerminal: Bool {
    let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }
}
