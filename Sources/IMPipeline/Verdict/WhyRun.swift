import Glibc
import IMCapture
import IMEngine
package import IMMetrics
package import IMReport
import IMOutput
import IMWire

/// What `imdump why` is asked for.
package struct WhyOptions: Sendable {
  /// Whether the verdict is an object of JSON instead of text.
  package var isJSON = false
  /// Whether text gets colors.
  package var isColored = false
  /// What makes the verdict amber.
  package var thresholds = VerdictThresholds()
  /// What ends the command with status 2.
  package var conditions: [FailCondition] = []

  /// Text, without conditions.
  package init() {}
}

/// Says what was lost, retried and rejected in a capture, and why: `imdump why`. A file is read a second time for the ladder of the
/// worst message.
package func runWhy(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, options: WhyOptions
) throws(UsageError) -> ExitStatus {
  if let condition = options.conditions.first(where: \.isOfChange) {
    throw UsageError(message: "--fail-on \(condition.text) is about a change: compare two captures with imdump diff")
  }
  let run = try Run(input: input, decode: decode, report: report)
  let output = Output.standard()
  let reading = ReportReading(plans: run.plans)
  let driver = run.driver(run.engine(ReportReading.needs, cost: ReportReading.cost, sink: reading.receiver))
  let errors = run.lead(driver)
  let status = run.conclude(driver, errors, output, summary: false)
  guard !run.hasReadNothing(driver, errors) else { return status }

  let figures = reading.metrics(run, driver)
  let model = run.verdictModel(reading, driver, figures, errors, options.thresholds)
  let verdict = Verdict(model)
  let commands = NextCommands(run, model).commands(verdict, driver)
  var out = ByteWriter()
  if options.isJSON {
    VerdictJSON().write(verdict, model, next: commands, to: &out)
  } else {
    let ladder = run.isReadTwice && !run.stopping.stop.isStopped ? run.worstLadder(model) : nil
    VerdictText(width: output.terminalWidth ?? 80, isASCII: !localeIsUTF8(), isColored: options.isColored)
      .write(verdict, model, ladder: ladder, next: commands, to: &out)
  }
  output.drain(&out)
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    complain(error.description)
    return .ioError
  }
  let compared = ComparedFigure.all(figures.total, figures.total)
  let failed = options.conditions.filter { condition in
    compared.contains { $0.name == condition.name && condition.holds($0) }
  }
  for condition in failed { complain("--fail-on \(condition.text) holds") }
  return failed.isEmpty || status != .success ? status : .fired
}

extension Run {
  /// What a verdict on this run is made of.
  func verdictModel(
    _ reading: ReportReading, _ driver: Driver, _ figures: RunFigures, _ errors: [CaptureError],
    _ thresholds: VerdictThresholds
  ) -> ReportModel {
    var model = reading.model(self, driver, figures, errors)
    if let interface = input.interface { model.live = ReportModel.Live(interface: interface, windowSeconds: 0) }
    if let ledger = Optional(figures.run.summary.ledger), let first = ledger.firstAt, let last = ledger.lastAt {
      model.live?.covered = (first, last, first)
    }
    model.zone = .local
    model.thresholds = thresholds
    return model
  }

  /// Reads the capture once more for the ladder of the worst message; `nil` where all went well.
  func worstLadder(_ model: ReportModel) -> Ladder? {
    guard let worst = model.worst else { return nil }
    var plan = LadderPlan()
    plan.from = worst.at
    (plan.limit, plan.lead) = (256, 2)
    let sink = LadderSink(plans: plans, wanted: [worst.connection: plan])
    let again = again(over: input)
    // The same tables as before, so that messages and connections have the same numbers. What is wrong with the input was said.
    _ = again.lead(again.driver(again.engine(LadderSink.needs, cost: ReportReading.cost, sink: sink)))
    return sink.collectors[worst.connection]?.ladder
  }
}
