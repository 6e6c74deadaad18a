import Glibc
@testable import IMCapture
@testable import IMEngine
@testable import IMOutput
@testable import IMPipeline
@testable import IMRun
@testable import IMProfile
@testable import IMStore
import IMWire

/// The messages of a capture, as `imdump index` has them, without a store.
enum Decoding {
  static func plans() throws -> [ProtocolPlan] { try loadProfiles(["tjp"]) }

  /// Hands each message to `take` when its fate is final.
  static func messages(
    of path: String, _ plans: [ProtocolPlan], _ take: @escaping (MessageRecord, Exchange) -> Void
  ) {
    var input = InputOptions()
    input.files = [path]
    var report = ReportOptions()
    report.isQuiet = true
    report.showsProgress = false
    let run = Run(embedded: input, plans: plans, decode: DecodeOptions(), report: report)
    let sink = MessageSink(
      plans: plans, selection: MessageSelection(MessageChoice(), Run.MessageFilter()),
      stored: StoredTexts(plans, includesPayload: true), take: take)
    let driver = run.driver(run.engine(MessageSink.needs(hearsDecided: false), exchangeCapacity: 1 << 18, sink: sink))
    for error in run.lead(driver) { warn("\(error)") }
    sink.end()
  }

  /// The messages in batches of `size`.
  static func batches(of path: String, _ plans: [ProtocolPlan], size: Int) -> [StoreBatch] {
    var batches: [StoreBatch] = []
    var batch = StoreBatch()
    messages(of: path, plans) { record, exchange in
      batch.add(record, exchange)
      if batch.count == size {
        batches.append(batch)
        batch = StoreBatch()
      }
    }
    return batch.count > 0 ? batches + [batch] : batches
  }

  /// A writer of a store at `path`, which is made anew.
  static func writer(_ path: String, _ plans: [ProtocolPlan], isLive: Bool = false) throws -> StoreWriter {
    for end in ["", "-wal", "-shm", "-journal"] { unlink(path + end) }
    var options = StoreOptions(captures: [StoreOptions.Capture(path: "traffic.pcap")], writer: "imdump-bench")
    options.isLive = isLive
    return try StoreWriter(path, plans, options)
  }
}
