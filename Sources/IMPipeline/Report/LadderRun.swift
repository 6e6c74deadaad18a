import Glibc
import IMDescriptors
import IMEngine
import IMOutput
package import IMReport
package import IMRun
package import IMSystem
import IMWire

/// What `imdump ladder` is asked for.
package struct LadderOptions: Sendable {
  /// The connection's number; `nil` where there is only one.
  package var connection: UInt32?
  /// The form.
  package var format = LadderFormat.text
  /// Only messages that match this filter.
  package var filter: String?
  /// Only what happened from then on, and up to then, as text.
  package var from: String?, to: String?
  /// At most so many rows.
  package var rowLimit: UInt32 = 1_000
  /// Whether lines hold ASCII only, whatever the locale says.
  package var isASCII = false

  /// Nothing chosen.
  package init() {}
}

/// Draws one connection, frame by frame: `imdump ladder`.
package func runLadder(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, options: LadderOptions
) throws(UsageError) -> ExitStatus {
  if options.filter != nil, let once = input.readOnce {
    throw UsageError(message: "-Y reads the capture twice; give a file, not \(once)")
  }
  let run = try Run(input: input, decode: decode, report: report)
  var plan = LadderPlan()
  plan.range = try readRange(
    run, from: options.from, to: options.to, of: options.connection.map { [$0] } ?? [])
  plan.limit = Int(max(1, min(options.rowLimit, 100_000)))
  let output = Output.standard()

  // A filter is about what became of messages, which is known when all was read.
  var reading = run
  var firstErrors: [CaptureError]?
  if let filter = options.filter {
    var chosen: Set<UInt32> = []
    let (driver, sink) = try run.messages(MessageChoice(), filter) { _, exchange in
      if chosen.count < LadderOptions.maximumChosen { chosen.insert(exchange.id) }
    }
    firstErrors = run.lead(driver)
    sink.end()
    plan.exchanges = chosen
    reading = run.again(over: run.input)
  }
  let wanted = options.connection.map { [$0: plan] } ?? [:]
  let sink = LadderSink(plans: run.plans, wanted: wanted, first: plan)
  // The same tables as for the filter, so that messages have the same numbers.
  let cost = options.filter == nil ? 0 : MessageStore.costPerMessage
  let driver = reading.driver(
    reading.engine(LadderSink.needs, exchangeCapacity: 1 << 18, cost: (0, cost, 0), sink: sink))
  let errors = reading.lead(driver)
  let status = run.conclude(driver, firstErrors ?? errors, output, summary: false)
  if status == .noInput || status == .noPermission { return status }

  if options.connection == nil, sink.otherCount > 0 {
    let known =
      (sink.collectors.values.compactMap { $0.ladder.map { ($0.serial, $0.title) } }
      + sink.others.map { ($0.serial, "#\($0.serial) \($0.client) to \($0.server)") })
      .sorted { $0.0 < $1.0 }.prefix(8).map(\.1)
    let more = Int(clamping: sink.otherCount) + 1 - known.count
    throw UsageError(
      message: "\(count(sink.otherCount + 1, "connection")): choose one with --conn",
      quote: known.map { "  " + $0 }
        + (more > 0 ? ["  and \(grouped(UInt64(more))) more; see imdump streams FILE"] : []))
  }
  guard let ladder = sink.collectors.values.first?.ladder else {
    if let serial = options.connection {
      logError("the capture has no connection #\(serial)")
    } else {
      run.hint(driver)
    }
    return max(status, .failure)
  }
  var out = ByteWriter()
  drawLadder(
    ladder, options.format, isASCII: options.isASCII || !localeIsUTF8(), width: output.terminalWidth, to: &out)
  output.drain(&out)
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    logError(error.description)
    return .ioError
  }
  if ladder.leftOutBehind > 0, !report.isQuiet {
    logError("\(count(ladder.leftOutBehind, "frame")) left out after the last row; see --rows, --from and --to")
  }
  return status
}

extension LadderOptions {
  /// At most so many messages that match the filter are drawn.
  fileprivate static var maximumChosen: Int { 1 << 20 }
}
