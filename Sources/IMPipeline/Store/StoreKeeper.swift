import IMCapture
import IMEngine
import IMOutput
import IMStore

/// What is asked of a store that a run writes.
package struct StoreChoices: Sendable {
  /// The file.
  package var path = ""
  /// Whether what users write is kept, to be searched.
  package var keepsPayload = false
  /// Called by the thread that writes when the store is there, and after each batch.
  var written: (@Sendable () -> Void)?

  /// No file yet.
  package init() {}
}

/// The messages of a run in a store: `imdump index`.
final class StoreKeeper: Companion {
  private let run: Run
  private let choices: StoreChoices
  private let queue = StoreQueue()
  private var file: StoreFile?
  private var thread: StoreThread?
  private var batch = StoreBatch()
  private var size = BatchSize()
  private var sink: MessageSink?
  /// Captures that were opened.
  private var captureCount = 0
  private var messageCount: UInt64 = 0
  /// Whether an error of the store has ended the run, which tells it.
  private var isTold = false

  init?(_ place: RunPlace) throws(UsageError) {
    guard let choices = place.choices.store else { return nil }
    run = place.run
    self.choices = choices
  }

  var needs: EngineOptions.Needs { MessageSink.needs(isLive: false) }
  var cost: (connection: Int, exchange: Int, server: Int) { (0, MessageStore.costPerMessage, 0) }

  func ears(before other: (any EngineSink)?) -> (any EngineSink)? {
    let sink = MessageSink(
      plans: run.plans, selection: MessageSelection(MessageChoice(), Run.MessageFilter()),
      search: SearchFields(run.plans, includesPayload: choices.keepsPayload),
      take: { [unowned self] record, exchange in
        messageCount += 1
        batch.add(record, exchange)
        handOn()
      })
    sink.hear = { [unowned self] issue, connection in
      batch.add(issue, connection)
      handOn()
    }
    self.sink = sink
    return other.map { PairSink(sink, $0) } ?? sink
  }

  /// The file is made when there is something to read, so a name that is mistyped costs no store that is there.
  func opened(_ source: any PacketSource) throws(CaptureError) {
    captureCount += 1
    sink?.capture = UInt16(clamping: captureCount - 1)
    if file == nil { file = try StoreFile(choices.path) }
  }

  func confine(_ rights: inout Rights) {
    guard let file else { return }
    rights.folders.append(file.folder)
    rights.keepsDatabase = true
  }

  func confined() throws(CaptureError) {
    guard let file else { return }
    let options = StoreOptions(
      captures: run.input.files, writer: "imdump \(imdumpVersion)", sessionLimit: min(65_536, run.decode.memory >> 12))
    let writer: StoreWriter
    do throws(StoreError) { writer = try StoreWriter(file.place, called: file.path, run.plans, options) } catch {
      throw CaptureError(error)
    }
    choices.written?()
    thread = try StoreThread(writer, queue, path: choices.path, written: choices.written)
  }

  func afterBatch(_ driver: Driver) throws(CaptureError) {
    guard let error = queue.error else { return }
    isTold = true
    throw CaptureError(error)
  }

  private func handOn() {
    guard batch.count >= size.next else { return }
    queue.put(batch)
    batch = StoreBatch()
    size.grow()
  }

  func finish(_ driver: Driver) {
    sink?.end()
    if batch.count > 0 { queue.put(batch) }
    batch = StoreBatch()
  }

  func conclude(_ status: ExitStatus) -> ExitStatus {
    guard let thread else { return status }
    do throws(StoreError) {
      try thread.join(isWhole: status == .success)
    } catch {
      if !isTold { complain(error.description) }
      return max(status, .ioError)
    }
    if !run.report.isQuiet { complain("\(choices.path): \(count(messageCount, "message"))") }
    return status
  }
}

extension CaptureError {
  /// A store that cannot be written is output that cannot be.
  fileprivate init(_ error: StoreError) {
    let code = error.code == 0 ? "" : " (SQLite \(error.code))"
    self.init(.ioError, error.path, "\(error.attempt): \(error.text)\(code)")
  }
}
