import Dispatch
import Glibc
import IMCapture

/// Ends a run cleanly on SIGINT and SIGTERM; a second signal ends the process at once. SIGUSR1 asks for the counts.
final class Stopping {
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
        if stop.isStopped { _exit(number == SIGINT ? 130 : 143) }
        stop.stop()
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

  /// Takes the requests for counts since the last call.
  func takeRequests() -> Int { asked.take() }
}
