import IMBrowser
import IMDescriptors
import IMSystem

/// A thread of the browser that answers the requests of a mailbox, one after another.
final class RequestThread {
  private let mailbox: RequestMailbox
  private var thread: WorkerThread?

  /// Starts `work`, which takes requests until there are no more, on a thread with the name `name`; with `isBehind`, at a lower priority
  /// than its process. Errors name `subject` and `attempt`.
  init(
    _ name: String, isBehind: Bool = false, for subject: String, _ attempt: String,
    _ work: @escaping (RequestMailbox) -> Void
  ) throws(CaptureError) {
    let mailbox = RequestMailbox()
    self.mailbox = mailbox
    thread = try WorkerThread(name, isBehind: isBehind, for: subject, attempt) { work(mailbox) }
  }

  /// Hands on a request, in place of an older one of its kind.
  func put(_ request: BrowserRequest) { mailbox.put(request) }

  /// Ends the thread, and waits until it has ended.
  func end() {
    mailbox.end()
    thread?.join()
    thread = nil
  }
}
