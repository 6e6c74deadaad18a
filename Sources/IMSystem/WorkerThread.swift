import CSandbox
import Glibc
package import IMDescriptors

/// A thread beside the one that reads packets. It inherits the confinement of the thread that starts it.
///
/// Signals go to the reader, which they wake up; only faults are delivered here.
package final class WorkerThread {
  private let handle: pthread_t

  /// Starts `work` on a thread with the name `name`, of 15 bytes at most; with `isBehind`, at a lower priority than its process.
  /// Errors name `subject` and `attempt`.
  package init(
    _ name: String, isBehind: Bool = false, for subject: String, _ attempt: String, _ work: @escaping () -> Void
  ) throws(CaptureError) {
    let handed = Unmanaged.passRetained(Work(name: name, isBehind: isBehind, work: work))
    var signals = sigset_t(), before = sigset_t()
    sigfillset(&signals)
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] { sigdelset(&signals, number) }
    pthread_sigmask(SIG_SETMASK, &signals, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var made = pthread_t()
    let number = pthread_create(
      &made, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, handed.toOpaque())
    guard number == 0 else {
      handed.release()
      throw CaptureError(.ioError, subject, "\(attempt): start a thread: \(systemText(number))", errno: number)
    }
    handle = made
  }

  /// Waits until the work is done. Call it once.
  package func join() { pthread_join(handle, nil) }

  private final class Work {
    let name: String
    let isBehind: Bool
    let work: () -> Void

    init(name: String, isBehind: Bool, work: @escaping () -> Void) {
      (self.name, self.isBehind, self.work) = (name, isBehind, work)
    }

    func run() {
      if isBehind { imdump_serve_behind(name) } else { imdump_name_thread(name) }
      work()
    }
  }
}
