import IMBrowser
import IMDescriptors
import IMEngine
import IMRun
import IMSystem
import IMWire

/// The threads that work for the browser. Five read: lists that are read whole, pages, which do not wait for lists, counts by type, previews, and
/// captures, which are decoded again for bytes. One writes files, and one lays out rows.
final class BrowseReaders {
  private let lists: StoreReading
  private let pages: StoreReading
  private let types: StoreReading
  private let previews: StoreReading
  private let frames: FrameReading
  private let files: FileSaving
  /// Looks names up; `nil` where none were asked for.
  private let names: NameReading?
  private let rows: RowReading

  /// Starts the threads over the store at `path`. Captures are decoded with `plans` as the options say;
  /// `sources` say where names come from.
  init(
    _ path: String, _ input: InputOptions, _ plans: (frames: [ProtocolPlan], files: [ProtocolPlan]),
    _ decode: DecodeOptions,
    _ answers: AnswerMailbox, names sources: NameSources? = nil
  ) throws(CaptureError) {
    lists = try StoreReading(path, .lists, zone: .local, answers)
    pages = try StoreReading(path, .pages, zone: .local, answers)
    types = try StoreReading(path, .types, zone: .local, answers)
    previews = try StoreReading(path, .previews, zone: .local, answers)
    frames = try FrameReading(path, input, plans.frames, decode, answers)
    names = if let sources { try NameReading(sources, path, answers) } else { nil }
    files = try FileSaving(path, input, plans.files, decode, answers)
    rows = try RowReading(answers)
  }

  /// Hands on a request.
  func put(_ request: BrowserRequest) {
    switch request {
    case .sessions, .connections, .problems, .timeline: lists.mailbox.put(request)
    case .types: types.mailbox.put(request)
    case .preview: previews.mailbox.put(request)
    case .page, .problem, .news, .details, .ladder, .moment: pages.mailbox.put(request)
    case .frame: frames.mailbox.put(request)
    case .save: files.mailbox.put(request)
    case .names: names?.mailbox.put(request)
    case .rows: rows.mailbox.put(request)
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
