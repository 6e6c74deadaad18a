import IMBrowser
import IMDescriptors
import IMSystem

extension RequestThread {
  /// A thread that lays out rows before they are shown, so that painting only copies cells. It reads nothing, and has a lower priority than
  /// others.
  static func layingOutRows(_ answers: AnswerMailbox) throws(CaptureError) -> RequestThread {
    try RequestThread("imdump-rows", isBehind: true, for: "terminal", "lay out rows") { mailbox in
      while let request = mailbox.take() {
        guard case .rows(let rows) = request else { continue }
        rows.layOut(isStale: { mailbox.isStale }) { answers.put(.rows($0)) }
      }
    }
  }
}
