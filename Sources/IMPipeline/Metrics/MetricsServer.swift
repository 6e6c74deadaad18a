import CSandbox
import Glibc
import IMCapture
import IMOutput

/// Serves the metrics of a run over HTTP/1.1, on a thread of its own.
///
/// The capture never waits for it: a request leaves a mark, the capture writes the text between two batches when it sees
/// the mark, and hands it over (`MetricsMailbox`). One text a second and dialect is written at most, however many ask; all
/// get the same. Connections are few, short and small (`MetricsDesk`), and the thread has a lower priority than the capture's.
final class MetricsServer {
  /// The socket; the system call filter leaves it the right to accept.
  let descriptor: Int32
  /// Where the metrics are.
  let url: String
  private let address: String
  private let mailbox: MetricsMailbox
  private var thread: WorkerThread?

  /// Binds to `address`, such as `127.0.0.1:9464`.
  init(address text: String) throws(UsageError) {
    guard let address = ListenAddress(text) else {
      throw UsageError(
        message: "--metrics-listen \(text): give an address and a port in numbers, such as 127.0.0.1:9464")
    }
    do throws(MetricsMailbox.Failure) { mailbox = try MetricsMailbox() } catch {
      throw UsageError(message: "--metrics-listen \(text): \(systemText(error.errno))")
    }
    descriptor = address.bind()
    guard descriptor >= 0 else {
      throw UsageError(message: "--metrics-listen \(text): \(systemText(-descriptor))")
    }
    self.address = text
    let host = address.address.contains(":") ? "[\(address.address)]" : address.address
    url = "http://\(host):\(ListenAddress.port(of: descriptor))/metrics"
  }

  deinit {
    end()
    if descriptor >= 0 { close(descriptor) }
  }

  /// Starts the thread.
  func begin() throws(CaptureError) {
    guard listen(descriptor, 32) == 0 else { throw error("listen", errno) }
    // A client that has gone is an error of write(2).
    let handed = Handed(MetricsResponder(descriptor, mailbox))
    thread = try WorkerThread("imdump-metrics", isBehind: true, for: address, "serve metrics") {
      handed.responder.run()
    }
  }

  /// A responder on its way to its thread.
  private final class Handed {
    var responder: MetricsResponder
    init(_ responder: consuming MetricsResponder) { self.responder = responder }
  }

  private func error(_ attempt: String, _ number: Int32) -> CaptureError {
    CaptureError(.ioError, address, "serve metrics: \(attempt): \(systemText(number))", errno: number)
  }

  /// The dialects that somebody waits for.
  func takeRequests() -> [MetricText.Dialect] { mailbox.takeRequests() }

  /// Hands a text over to those who wait for it.
  func publish(_ text: borrowing MetricText, _ dialect: MetricText.Dialect) {
    mailbox.put(text.out.withBytes { HTTPResponse(.ok, dialect.contentType, $0) }, dialect)
  }

  /// Ends the thread; who still waits gets no answer.
  func end() {
    guard let thread else { return }
    mailbox.end()
    thread.join()
    self.thread = nil
  }
}
