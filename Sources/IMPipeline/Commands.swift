import IMCapture
import IMEngine
import IMFilter
import IMMetrics
package import IMOutput
import IMWire

/// Prints frames from a file or an interface: `imdump -r`, `imdump -i`.
package func runCapture(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, format: OutputFormat, style: TextStyle,
  filter: String?, choices: RunChoices = RunChoices()
) throws(UsageError) -> ExitStatus {
  try printFrames(
    Run(input: input, decode: decode, report: report), Output.standard(), format: format, style: style, filter: filter,
    choices: choices)
}

/// The same of a run that has begun.
func printFrames(
  _ run: Run, _ output: Output, format: OutputFormat, style: TextStyle, filter: String? = nil,
  choices: RunChoices = RunChoices()
) throws(UsageError) -> ExitStatus {
  let desk = AlertDesk()
  let companions = try run.companions(choices, output, desk: desk)
  let (filter, names) = try run.frameFilter(filter)
  let sink = FrameSink(
    plans: run.plans, format: format, style: style, filter: filter, names: names, output: output)
  // A capture file on standard output leaves no room there for lines.
  let isFree = run.input.writePath != "-"
  let prints = choices.printsLines && isFree
  if isFree { desk.hear { sink.write($0, style) } }
  let driver = run.driver(
    run.engine(prints ? [.frames, .issues] : [], sink: prints ? sink : nil, companions: companions), companions)
  let isLive = run.input.interface != nil
  let errors = run.lead(
    driver, hidesProgress: output.isTerminal, isOver: { output.error != nil },
    afterBatch: { if isLive || output.isTerminal { sink.flush() } })
  sink.flush()
  return run.conclude(driver, errors, output)
}

/// Prints messages with their fates: `imdump messages`.
package func runMessages(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isJSON: Bool, style: TextStyle,
  choice: MessageChoice, filter: String?
) throws(UsageError) -> ExitStatus {
  try printMessages(
    Run(input: input, decode: decode, report: report), Output.standard(), isJSON: isJSON, style: style, choice: choice,
    filter: filter)
}

/// The same of a run that has begun.
func printMessages(
  _ run: Run, _ output: Output, isJSON: Bool, style: TextStyle, choice: MessageChoice, filter: String? = nil
) throws(UsageError) -> ExitStatus {
  let printer = MessagePrinter(isJSON: isJSON, style: style, output: output)
  let driver = try run.messages(choice, filter) { printer.write($0, $1) }
  let errors = run.lead(driver, isOver: { output.error != nil })
  printer.flush()
  return run.conclude(driver, errors, output)
}

/// Counts: `imdump stats`.
package func runStats(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isJSON: Bool
) throws(UsageError) -> ExitStatus {
  printStats(try Run(input: input, decode: decode, report: report), Output.standard(), isJSON: isJSON)
}

/// The same of a run that has begun.
func printStats(_ run: Run, _ output: Output, isJSON: Bool) -> ExitStatus {
  let sink = StatsSink(plans: run.plans)
  let driver = run.driver(
    run.engine([.connections, .settlements, .lateReports], cost: (0, 0, EndpointMetrics.cost), sink: sink))
  let errors = run.lead(driver, isOver: { output.error != nil })
  var out = ByteWriter()
  let figures = RunFigures(
    run: RunSnapshot(
      summary: run.summary(driver), total: sink.total, reconnects: driver.engine.reconnects,
      repeatedAnswers: driver.engine.dupAcks),
    endpoints: zip(driver.engine.endpoints(), sink.endpoints).map { ($0, $1) },
    others: sink.endpoints.count > driver.engine.endpoints().count ? sink.endpoints.last : nil, worst: sink.worst,
    statuses: sink.statuses)
  if isJSON {
    StatsJSONWriter().write(figures, to: &out)
  } else {
    // Figures may be read without what is said beside them.
    if let interruption = figures.run.summary.capture.interruption { out.text("\(interruption.text)\n\n") }
    StatsTextWriter(width: output.terminalWidth).write(figures, to: &out)
  }
  output.drain(&out)
  return run.conclude(driver, errors, output)
}

/// The interface that packets are captured on when none was named; `nil` where none is up.
package func defaultInterface() -> String? {
  guard let devices = try? captureDevices() else { return nil }
  return devices.first { $0.isUp && $0.isRunning && !$0.isLoopback && $0.name != "any" }?.name
}

/// Lists the interfaces: `imdump -D`.
package func listDevices() -> ExitStatus {
  var out = ByteWriter()
  do throws(CaptureError) {
    for (i, device) in try captureDevices().enumerated() {
      out.number(UInt64(i + 1))
      out.literal(".")
      out.text(device.name)
      if let text = device.text { out.text(" (\(text))") }
      let facts = [
        device.isUp ? "up" : "down", device.isRunning ? "running" : nil, device.isLoopback ? "loopback" : nil,
      ]
      out.text(" [" + facts.compactMap { $0 }.joined(separator: ", ") + "]")
      for address in device.addresses { out.text(" \(address)") }
      out.literal("\n")
    }
  } catch {
    complain(error.description)
    return ExitStatus(error)
  }
  return printText(out.text)
}
