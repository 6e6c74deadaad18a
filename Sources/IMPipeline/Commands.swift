import IMCapture
import IMDescriptors
import IMEngine
import IMFilter
import IMMetrics
package import IMOutput
package import IMRun
package import IMSystem
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
  let dispatcher = AlertDispatcher()
  let companions = try run.companions(choices, output, dispatcher: dispatcher)
  // A capture file on standard output leaves no room there for lines.
  let isFree = run.input.writePath != "-"
  let prints = choices.printsLines && isFree
  let filter = try prints || choices.documents == nil ? run.frameFilter(filter) : Run.FrameFilter()
  let sink = FrameSink(
    plans: run.plans, format: format, style: style, filter: filter.filter, names: filter.names,
    outcomes: filter.outcomes, owners: run.owners, files: run.input.files,
    output: output)
  if isFree { dispatcher.hear { sink.write($0, style) } }
  let driver = run.driver(
    run.engine(prints ? [.frames, .issues] : [], sink: prints ? sink : nil, companions: companions), companions)
  let isLive = run.input.interface != nil
  let errors = run.lead(
    driver, hidesProgress: output.isTerminal, isOver: { output.error != nil },
    beforePackets: {
      if let outcomes = filter.outcomes { run.learn(MessageOutcomes.needs, outcomes, like: companions) }
    },
    afterBatch: { if isLive || output.isTerminal { sink.flush() } })
  sink.finish()
  return run.conclude(driver, errors, output, summary: choices.verdict == nil)
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
  let lines = MessageLines(run, output, style: isJSON ? nil : style)
  let json = MessageJSONWriter()
  let text = MessageTextWriter(style: style)
  let showsMore = !isJSON && (style.verbosity > 0 || style.showsText || style.showsHex)
  let (driver, sink) = try run.messages(choice, filter, showing: showsMore ? .lines(style) : nil) { record, exchange in
    lines.add(exchange.firstAt, exchange.id) { out in
      if isJSON { json.write(record, exchange, to: &out) } else { text.write(record, exchange, to: &out) }
    }
  }
  let errors = run.lead(
    driver, isOver: { output.error != nil },
    afterBatch: {
      if run.isLive { sink.tellDecided() }
      lines.endBatch()
    })
  sink.end()
  lines.end()
  let status = run.conclude(driver, errors, output)
  if !run.report.isQuiet { sink.findings?.tell() }
  return status
}

/// Counts: `imdump stats`; over time where `per` says how long a period is.
package func runStats(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isJSON: Bool, per: PeriodLength? = nil,
  filter: String? = nil
) throws(UsageError) -> ExitStatus {
  let run = try Run(input: input, decode: decode, report: report)
  if let filter {
    guard per == nil else { throw UsageError(message: "--per counts all messages; it cannot be combined with -Y") }
    return try printChosenStats(run, .standard(), filter, isJSON: isJSON)
  }
  if let per { return printPeriods(run, .standard(), per: per, isJSON: isJSON) }
  return printStats(run, .standard(), isJSON: isJSON)
}

/// The same of a run that has begun.
func printStats(_ run: Run, _ output: Output, isJSON: Bool) -> ExitStatus {
  let sink = StatsSink(plans: run.plans)
  let screen = run.isLive && !isJSON && output.isTerminal ? StatsScreen(output, title: liveTitle(run, "stats")) : nil
  let live = screen.map { _ in LiveMetrics(plans: run.plans) }
  let driver = run.driver(run.statsEngine(sink, beside: live, LiveMetrics.needs))
  let errors = run.lead(
    driver, isOver: { output.error != nil },
    afterBatch: {
      guard let screen, screen.isDue else { return }
      driver.tellSettlements()
      var out = ByteWriter()
      let summary = run.summary(driver)
      let figures = sink.figures(run, driver)
      StatsTextWriter(width: output.terminalWidth).write(live: figures, to: &out)
      let tables = out.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      // A second for packets that wait in the kernel's buffer.
      let now = Timestamp.wallClock.seconds - 1
      let head = live?.lines(at: now, figures.total, width: output.terminalWidth ?? 80) ?? []
      screen.paint(head + [""] + summary.lines.flatMap { wrappedLines($0, output.terminalWidth) } + [""] + tables)
    })
  screen?.end()
  guard !run.hasReadNothing(driver, errors) else { return run.conclude(driver, errors, output) }
  var out = ByteWriter()
  let figures = sink.figures(run, driver)
  if isJSON {
    StatsJSONWriter().write(figures, to: &out)
  } else {
    // The statistics may be read without the messages on standard error.
    if let interruption = figures.run.summary.capture.interruption { out.text("\(interruption.text)\n\n") }
    StatsTextWriter(width: output.terminalWidth).write(figures, to: &out)
  }
  output.drain(&out)
  return run.conclude(driver, errors, output)
}

/// Counts what became of the messages that a filter lets through: `imdump stats -Y`.
private func printChosenStats(
  _ run: Run, _ output: Output, _ filter: String, isJSON: Bool
) throws(UsageError) -> ExitStatus {
  let roles = RoleTable(plans: run.plans)
  var metrics: [EndpointMetrics] = []
  let (driver, sink) = try run.messages(MessageChoice(), filter, costPerServer: EndpointMetrics.cost) {
    record, exchange in
    let endpoint = record.connection.endpoint
    guard endpoint != .max else { return }
    EndpointMetrics.reserve(endpoint, in: &metrics)
    let (resolution, role) = (Resolution(exchange, endpoint: endpoint), roles[exchange.plan, exchange.kind])
    // Live, it was told when it was decided first, too.
    if resolution.flags.contains(.late), !run.isLive {
      metrics[Int(endpoint)].resolved(resolution.beforeLate, role: role)
    }
    metrics[Int(endpoint)].resolved(resolution, role: role)
  }
  let errors = run.lead(driver, isOver: { output.error != nil })
  sink.end()
  guard !run.hasReadNothing(driver, errors) else { return run.conclude(driver, errors, output) }
  var total = EndpointMetrics()
  for metrics in metrics { total.addExchanges(metrics) }
  let figures = run.figures(driver, total: total, servers: metrics, statuses: sink.statuses, omitsEmpty: true)
  var out = ByteWriter()
  if isJSON {
    StatsJSONWriter().write(chosen: figures, by: filter, to: &out)
  } else {
    StatsTextWriter(width: output.terminalWidth).write(chosen: figures, to: &out)
  }
  output.drain(&out)
  return run.conclude(driver, errors, output)
}

/// The title of the screen of a live command.
func liveTitle(_ run: Run, _ command: String) -> String {
  let filter = run.input.captureFilter.map { ", \(shown($0))" } ?? ""
  return "imdump \(command) on \(run.input.interface ?? "")\(filter)"
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
    logError(error.description)
    return ExitStatus(error)
  }
  return printText(out.text)
}
