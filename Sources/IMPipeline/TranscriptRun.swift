import IMEngine
package import IMOutput
package import IMRun
package import IMSystem
import IMWire

/// Which messages a transcript has.
package struct TranscriptOptions: Sendable {
  /// Whose messages, and of which time.
  package var scope = MessageScope()
  /// Messages to these topics or receivers, `+` and `#` as in MQTT; empty for all.
  package var topics: [String] = []
  /// Messages that this filter takes; `nil` for all.
  package var filter: String?

  /// All messages.
  package init() {}
}

/// Prints what was said, one line a message: `imdump transcript`.
package func runTranscript(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, style: TextStyle, options: TranscriptOptions
) throws(UsageError) -> ExitStatus {
  let run = try Run(input: input, decode: decode, report: report)
  let output = Output.standard()
  let writer = TranscriptWriter(style: style)
  let lines = MessageLines(run, output, style: style)
  let topics = options.topics.map { TopicPattern($0) }
  var transfers = TransferTable()
  func add(_ done: TransferTable.Done) {
    lines.add(done.progress.begunAt, done.exchange) { writer.write(done.progress, to: &$0) }
  }
  var choice = MessageChoice()
  choice.scope = options.scope
  let (driver, sink) = try run.messages(choice, options.filter, showing: .text) { record, exchange in
    guard record.role == .message else { return }
    let isWanted =
      topics.isEmpty || record.details?.destination.map { topic in topics.contains { $0.takes(topic) } } ?? false
    guard isWanted else { return }
    if let part = record.details?.part {
      for done in transfers.add(record, exchange, part) { add(done) }
      return
    }
    lines.add(exchange.firstAt, exchange.id) { writer.write(record, exchange, to: &$0) }
  }
  let errors = run.lead(
    driver, isOver: { output.error != nil },
    afterBatch: {
      if run.isLive { sink.tellDecided() }
      lines.endBatch()
    })
  sink.end()
  for done in transfers.end() { add(done) }
  lines.end()
  let status = run.conclude(driver, errors, output)
  if !report.isQuiet { sink.findings?.tell() }
  return status
}

/// A topic, or a pattern of topics as MQTT has them: `+` is one level, `#` all that follow.
struct TopicPattern {
  private let levels: [Substring]

  init(_ text: String) { levels = text.split(separator: "/", omittingEmptySubsequences: false) }

  /// Whether a topic is meant.
  func takes(_ topic: String) -> Bool {
    let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
    for (i, level) in levels.enumerated() {
      if level == "#" { return true }
      guard i < parts.count, level == "+" || level == parts[i] else { return false }
    }
    return levels.count == parts.count
  }
}
