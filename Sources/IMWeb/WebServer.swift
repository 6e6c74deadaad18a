import CSandbox
import Glibc
package import IMDescriptors
package import IMOutput
package import IMSystem

/// Serves the metrics of a run, and its page, over HTTP/1.1, on a thread of its own.
///
/// The capture never waits for it: a request leaves a mark, the capture writes the text between two batches when it sees
/// the mark, and hands it over (`WebMailbox`). One text a second and resource is written at most, however many ask; all
/// get the same. Connections are few, short and small (`WebDispatcher`), and the thread has a lower priority than the capture's.
package final class WebServer {
  /// The socket; the system call filter leaves it the right to accept.
  package let descriptor: Int32
  /// Where it is: an address with a slash at its end.
  package let url: String
  /// What it has.
  package let offers: WebOffers
  private let address: String
  private let mailbox: WebMailbox
  private var thread: WorkerThread?

  /// Binds to `address`, such as `127.0.0.1:9464`, which `option` gave. On an address of the
  /// loopback it may be called by `hosts`, too.
  package init(address text: String, option: String, hasPage: Bool, hosts: [String] = []) throws(UsageError) {
    guard let address = ListenAddress(text) else {
      throw UsageError(
        message:
          "\(option) \(text): expected an address and a port in numbers, such as 127.0.0.1:\(hasPage ? 8080 : 9464)")
    }
    do throws(WebMailbox.Failure) { mailbox = try WebMailbox() } catch {
      throw UsageError(message: "\(option) \(text): \(systemText(error.errno))")
    }
    descriptor = address.bind()
    guard descriptor >= 0 else {
      throw UsageError(message: "\(option) \(text): \(systemText(-descriptor))")
    }
    self.address = text
    offers = WebOffers(
      hasPage: hasPage, isLocal: address.isLocal, hosts: Set(hosts.map { [UInt8]($0.lowercased().utf8) }))
    let host = address.address.contains(":") ? "[\(address.address)]" : address.address
    url = "http://\(host):\(ListenAddress.port(of: descriptor))/"
  }

  deinit {
    end()
    if descriptor >= 0 { close(descriptor) }
  }

  /// Starts the thread.
  package func begin() throws(CaptureError) {
    guard listen(descriptor, 32) == 0 else { throw error("listen", errno) }
    // A client that has gone is an error of write(2).
    let handed = Handed(WebResponder(descriptor, mailbox, offers))
    thread = try WorkerThread("imdump-web", isBehind: true, for: address, "serve") {
      handed.responder.run()
    }
  }

  /// A responder on its way to its thread.
  private final class Handed {
    var responder: WebResponder
    init(_ responder: consuming WebResponder) { self.responder = responder }
  }

  private func error(_ attempt: String, _ number: Int32) -> CaptureError {
    CaptureError(.ioError, address, "serve: \(attempt): \(systemText(number))", errno: number)
  }

  /// Those of `resources` that somebody waits for.
  package func takeRequests(_ resources: [WebResource]) -> [WebResource] { mailbox.takeRequests(resources) }

  /// Hands metrics over to those who wait for them.
  package func publish(_ text: borrowing MetricText, _ dialect: MetricText.Dialect) {
    mailbox.put(text.out.withBytes { HTTPResponse(.ok, dialect.contentType, $0) }, WebResource(dialect))
  }

  /// Hands a page over to those who wait for it.
  package func publish(page: [UInt8]) { mailbox.put(HTTPResponse(page: page), .page) }

  /// Ends the thread; who still waits gets no answer.
  package func end() {
    guard let thread else { return }
    mailbox.end()
    thread.join()
    self.thread = nil
  }
}
