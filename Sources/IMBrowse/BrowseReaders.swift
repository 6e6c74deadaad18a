import IMBrowser
import IMDescriptors
import IMEngine
import IMRun
import IMSystem
import IMWire

/// The threads that work for the browser. Five read: lists that are read whole, pages, which do not wait for lists, counts by type, previews, and
/// captures, which are decoded again for bytes. One writes files, and one lays out rows.
final class BrowseReaders {
  private let lists: RequestThread
  private let pages: RequestThread
  private let types: RequestThread
  private let previews: RequestThread
  private let frames: RequestThread
  private let files: RequestThread
  /// Looks names up; `nil` where none were asked for.
  private let names: RequestThread?
  private let rows: RequestThread

  /// Starts the threads over the store at `path`. Captures are decoded with `plans` as the options say;
  /// `sources` say where names come from.
  init(
    _ path: String, _ input: InputOptions, _ plans: (frames: [ProtocolPlan], files: [ProtocolPlan]),
    _ decode: DecodeOptions,
    _ answers: AnswerMailbox, names sources: NameSources? = nil
  ) throws(CaptureError) {
    lists = try .reading(path, .lists, zone: .local, answers)
    pages = try .reading(path, .pages, zone: .local, answers)
    types = try .reading(path, .types, zone: .local, answers)
    previews = try .reading(path, .previews, zone: .local, answers)
    frames = try .readingFrames(path, input, plans.frames, decode, answers)
    names = if let sources { try RequestThread.findingNames(sources, path, answers) } else { nil }
    files = try .savingFiles(path, input, plans.files, decode, answers)
    rows = try .layingOutRows(answers)
  }

  /// Hands on a request.
  func put(_ request: BrowserRequest) {
    switch request {
    case .sessions, .connections, .problems, .timeline: lists.put(request)
    case .types: types.put(request)
    case .preview: previews.put(request)
    case .page, .problem, .news, .details, .ladder, .moment: pages.put(request)
    case .frame: frames.put(request)
    case .save: files.put(request)
    case .names: names?.put(request)
    case .rows: rows.put(request)
    }
  }

  /// Ends the threads, and waits until they have ended.
  func end() {
    lists.end()
    pages.end()
    types.end()
    previews.end()
    frames.end()
    files.end()
    names?.end()
    rows.end()
  }
}
