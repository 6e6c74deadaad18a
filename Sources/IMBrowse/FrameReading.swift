import IMBrowser
import IMDescriptors
import IMEngine
import IMProfile
import IMRun
import IMStore
import IMSystem

/// A thread that finds the bytes of messages: a store holds none.
///
/// Where the frame stands in its capture in one piece, they are read there. Else the capture is decoded again up to the message: its
/// connection alone, and where that does not find it, as through a tunnel, all of it.
final class FrameReading {
  let mailbox = RequestMailbox()
  private var thread: WorkerThread?

  /// Starts a thread for the messages of the store at `path`. `input` is read as when the store was made; its files are replaced by
  /// those of a request.
  init(
    _ path: String, _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions, _ answers: AnswerMailbox
  ) throws(CaptureError) {
    let mailbox = mailbox
    thread = try WorkerThread("imdump-frames", for: "capture", "read frames") {
      let search = FrameSearch(input, plans, decode) { mailbox.isStale }
      var reader: StoreReader?
      while let request = mailbox.take() {
        guard case .frame(let wanted) = request else { continue }
        do throws(StoreError) {
          let open: StoreReader
          if let reader { open = reader } else { open = try StoreReader(path) }
          reader = open
          let place = try open.place(ofMessage: wanted.message)
          switch search.find(wanted, place) {
          case .found(let frame): answers.put(.frame(wanted, frame))
          case .failed(let reason): answers.put(.failure(request, reason))
          // Somebody wants another one already.
          case .given: continue
          }
        } catch {
          answers.put(.failure(request, error.description))
        }
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
