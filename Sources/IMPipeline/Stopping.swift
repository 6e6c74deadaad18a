import Dispatch
import Glibc
import IMCapture
import IMEngine

/// Ends a run cleanly on SIGINT and SIGTERM; a second signal ends the process at once. SIGUSR1 asks for the counts.
final class Stopping {
  /// Nanoseconds within which a second signal is the first one come twice: timeout(1) signals its command and then its
  /// whole group.
  private static var sameSignal: Int64 { 200_000_000 }

  let stop = StopSwitch()
  private var sources: [any DispatchSourceSignal] = []
  /// How often the counts were asked for.
  private let asked = Counter()

  init() {
    signal(SIGPIPE, SIG_IGN)
    let queue = DispatchQueue(label: "imdump.signals")
    for number in [SIGINT, SIGTERM] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      let stop = stop
      source.setEventHandler {
        guard let first = stop.stoppedAt else { return stop.stop() }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let apart = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec) &- first
        if abs(apart) > Self.sameSignal { _exit(number == SIGINT ? 130 : 143) }
      }
      source.resume()
      sources.append(source)
    }
    signal(SIGUSR1, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: queue)
    let asked = asked
    source.setEventHandler { asked.increment() }
    source.resume()
    sources.append(source)
  }

  /// Whether a limit is hit for the first time, by its bit.
  private var told: UInt64 = 0

  /// Whether nothing was said of `eviction` yet; it will have been then.
  func isNews(_ eviction: Eviction) -> Bool {
    defer { told |= 1 << UInt64(eviction.rawValue) }
    return told >> UInt64(eviction.rawValue) & 1 == 0
  }

  /// Takes the requests for counts since the last call.
  func takeRequests() -> Int { asked.take() }
}
