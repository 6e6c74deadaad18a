import IMBrowser
import IMDescriptors
import IMEngine
import IMProfile
import IMRun
import IMStore
import IMSystem

extension RequestThread {
  /// A thread that finds the bytes of messages of the store at `path`, which holds none. `input` is read as when the store was made; its files
  /// are replaced by those of a request.
  ///
  /// Where the frame stands in its capture in one piece, they are read there. Else the capture is decoded again up to the message: its
  /// connection alone, and where that does not find it, as through a tunnel, all of it.
  static func readingFrames(
    _ path: String, _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions, _ answers: AnswerMailbox
  ) throws(CaptureError) -> RequestThread {
    try RequestThread("imdump-frames", for: "capture", "read frames") { mailbox in
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
}
