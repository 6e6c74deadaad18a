import Glibc
import IMBrowser
import IMCapture
import IMEngine
import IMOutput
import IMProfile
import IMWire

/// A thread that decodes a capture again, up to a message whose bytes are wanted: a store holds none.
final class FrameReading {
  let desk = RequestDesk()
  private var thread: WorkerThread?

  /// Starts a thread. `input` is read as when the store was made; its files are replaced by those of a request.
  init(
    _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions, _ answers: AnswerDesk
  ) throws(CaptureError) {
    let desk = desk
    thread = try WorkerThread("imdump-frames", for: "capture", "read frames") {
      while let request = desk.take() {
        guard case .frame(let wanted) = request else { continue }
        // A store says which files: a pipe that somebody has put in their place, or the terminal, would be waited for.
        if let odd = wanted.files.first(where: { !isRegularFile($0) }) {
          answers.put(.failure(request, "\(odd): the capture is not there"))
          continue
        }
        var input = input
        input.files = wanted.files
        let finder = FrameFinder(wanted, plans)
        var report = ReportOptions()
        report.isQuiet = true
        report.showsProgress = false
        let run = Run(guest: input, plans: plans, decode: decode, report: report)
        let driver = run.driver(run.engine(.frames, sink: finder))
        let errors = run.lead(driver, isOver: { finder.found != nil || desk.isStale })
        // Somebody wants another one already.
        if finder.found == nil, desk.isStale { continue }
        if let found = finder.found {
          answers.put(.frame(wanted, found))
        } else {
          answers.put(
            .failure(
              request, errors.first?.description ?? "the message is not in \(wanted.files.last ?? "the capture")"))
        }
      }
    }
  }

  /// Ends the thread, and waits until it has ended.
  func end() {
    desk.end()
    thread?.join()
    thread = nil
  }
}

/// Whether a file can be read to its end, and is no pipe or terminal.
func isRegularFile(_ path: String) -> Bool {
  var info = stat()
  return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
}

/// Takes apart the one frame that is wanted.
private final class FrameFinder: EngineSink {
  private let wanted: FrameRequest
  private let plans: [ProtocolPlan]
  private(set) var found: FrameAnatomy?

  init(_ wanted: FrameRequest, _ plans: [ProtocolPlan]) {
    self.wanted = wanted
    self.plans = plans
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    guard found == nil, frame.number == wanted.packet, frame.streamOffset == wanted.streamOffset,
      direction == wanted.direction, Int(connection.plan) < plans.count
    else { return }
    found = FrameAnatomy(
      frame, connection, direction, plans[Int(connection.plan)], bytes: bytes, body: body, tlvs: tlvs)
  }
}
