import IMBrowser
import IMDescriptors
import IMSystem

/// A thread that lays out rows before they are seen, so that whoever paints copies cells. It reads nothing.
final class RowReading {
  let mailbox = RequestMailbox()
  private var thread: WorkerThread?

  /// Starts a thread, which runs behind others.
  init(_ answers: AnswerMailbox) throws(CaptureError) {
    let mailbox = mailbox
    thread = try WorkerThread("imdump-rows", isBehind: true, for: "terminal", "lay out rows") {
      while let request = mailbox.take() {
        guard case .rows(let rows) = request else { continue }
        rows.layOut(isStale: { mailbox.isStale }) { answers.put(.rows($0)) }
      }
    }
  }

  /// Ends the thread, and waits until it has ended.
  func end() {
    mailbox.end()
    thread?.join()
    thread = nil
  }
}
