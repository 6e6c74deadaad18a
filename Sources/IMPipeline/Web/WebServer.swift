import CSandbox
import Glibc
import IMCapture
import IMOutput
import IMSystem

/// Serves the metrics of a run, and its page, over HTTP/1.1, on a thread of its own.
///
/// The capture never waits for it: a request leaves a mark, the capture writes the text between two batches when it sees
/// the mark, and hands it over (`WebMailbox`). One text a second and resource is written at most, however many ask; all
/// get the same. Connections are few, short and small (`WebDispatcher`), and the thread has a lower priority than the capture's.
final class WebServer {
  /// The socket; the system call filter leaves it the right to accept.
  let descriptor: Int32
  /// Where it is: an address with a slash at its end.
  let url: String
  /// What it has.
  let offers: WebOffers
  private let address: String
  private let mailbox: WebMailbox
  private var thread: WorkerThread?

  /// Binds to `address`, such as `127.0.0.1:9464`, which `option` gave. On an address of the
  /// loopback it may be called by `hosts`, too.
  init(address text: String, option: String, hasPage: Bool, hosts: [String] = []) throws(UsageError) {
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
  func begin() throws(CaptureError) {
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
  func takeRequests(_ resources: [WebResource]) -> [WebResource] { mailbox.takeRequests(resources) }

  /// Hands metrics over to those who wait for them.
  func publish(_ text: borrowing MetricText, _ dialect: MetricText.Dialect) {
    mailbox.put(text.out.withBytes { HTTPResponse(.ok, dialect.contentType, $0) }, WebResource(dialect))
  }

  /// Hands a page over to those who wait for it.
  func publish(page: [UInt8]) { mailbox.put(HTTPResponse(page: page), .page) }

  /// Ends the thread; who still waits gets no answer.
  func end() {
    guard let thread else { return }
    mailbox.end()
    thread.join()
    self.thread = nil
  }
}

/// The server of a run as what accompanies it: first of all, so that those who have texts for it find it there.
final class WebListener: RunFeature {
  private let server: WebServer
  private let isQuiet: Bool

  init?(_ place: RunContext) throws(UsageError) {
    guard let server = place.server else { return nil }
    self.server = server
    isQuiet = place.run.report.isQuiet
  }

  func confine(_ privileges: inout Privileges) { privileges.listener = server.descriptor }

  /// Begins to serve.
  func confined() throws(CaptureError) {
    try server.begin()
    guard !isQuiet else { return }
    if server.offers.hasPage { logError("serving the page at \(server.url)") }
    logError("serving metrics at \(server.url)metrics")
  }

  /// Ends before texts can no longer be made.
  func finish(_ driver: Driver) { server.end() }
}
