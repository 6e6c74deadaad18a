import IMEngine
import IMMetrics
package import IMOutput

/// Counts messages by session: `imdump messages --by session`.
package func runSessions(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isJSON: Bool, time: TimeStyle,
  choice: MessageChoice, filter: String?
) throws(UsageError) -> ExitStatus {
  // An eighth is for the figures of the sessions.
  var decode = decode
  decode.memory -= decode.memory / 8
  let run = try Run(input: input, decode: decode, report: report)
  let output = Output.standard()
  let sink = SessionSink(
    plans: run.plans, limit: min(100_000, decode.memory >> 12),
    selection: MessageSelection(choice: choice, filter: try run.filter(filter)))
  let driver = run.driver(
    run.engine(
      [.frames, .finished, .issues], exchangeCapacity: 1 << 18, cost: (0, MessageStore.costPerMessage, 0), sink: sink))
  let progress = Progress(isWanted: report.showsProgress && !report.isQuiet, input: input)
  let errors = driver.run(
    Driver.Hooks(
      afterBatch: { driver in
        progress.update(driver)
        run.noteEvictions(driver)
        run.answerRequests(driver)
      }))
  progress.end()
  var out = ByteWriter()
  SessionWriter(plans: run.plans, isJSON: isJSON, time: time, width: output.terminalWidth).write(sink.book, to: &out) {
    output.drain(&$0)
  }
  output.drain(&out)
  if let others = sink.book.others, !report.isQuiet {
    complain(
      "more than \(count(UInt64(sink.book.sessions.count), "session")); "
        + "\(count(others.messages, "message")) of the rest are counted as others")
  }
  return run.conclude(driver, errors, output)
}
