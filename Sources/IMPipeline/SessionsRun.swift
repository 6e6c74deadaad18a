import IMEngine
import IMMetrics
package import IMOutput

/// Counts units by session: `imdump messages --by session`.
package func runSessions(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isJSON: Bool, time: TimeStyle,
  choice: MessageChoice, filter: String?
) throws(UsageError) -> ExitStatus {
  // An eighth is for the figures of the sessions.
  var decode = decode
  decode.memory -= decode.memory / 8
  let run = try Run(input: input, decode: decode, report: report)
  let output = Output.standard()
  var book = SessionBook(limit: min(100_000, decode.memory >> 12))
  let (driver, sink) = try run.messages(choice, filter) { record, exchange in
    book.count(exchange, on: record.connection, name: record.session, nameIsNumber: record.sessionIsNumber)
  }
  let errors = run.lead(driver)
  sink.end()
  var out = ByteWriter()
  SessionWriter(plans: run.plans, isJSON: isJSON, time: time, zone: .local, width: output.terminalWidth).write(
    book, to: &out
  ) {
    output.drain(&$0)
  }
  output.drain(&out)
  if let others = book.others, !report.isQuiet {
    complain(
      "more than \(count(UInt64(book.sessions.count), "session")); "
        + "\(count(others.units, "unit")) of the rest are counted as others")
  }
  return run.conclude(driver, errors, output)
}
