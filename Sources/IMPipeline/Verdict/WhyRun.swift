import Glibc
import IMDescriptors
import IMEngine
package import IMMetrics
package import IMReport
import IMOutput
package import IMRun
package import IMSystem
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

  let result = RunVerdict(run, driver, reading, options)
  var out = ByteWriter()
  if options.isJSON {
    result.writeJSON(to: &out)
  } else {
    result.write(width: output.terminalWidth, withLadder: true, to: &out)
  }
  output.drain(&out)
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    logError(error.description)
    return .ioError
  }
  let total = result.model.figures.total
  return conclude(
    options.conditions, of: ComparedMetric.all(total, total),
    isDecoded: driver.engine.totals.decodedConnections > 0, status)
}

/// The verdict on a run that has ended, and what goes with it.
struct RunVerdict {
  /// What it is made of.
  let model: ReportModel
  private let run: Run
  private let options: WhyOptions
  private let verdict: Verdict
  private let commands: [String]

  /// The verdict on what `reading` has received of `driver`.
  init(_ run: Run, _ driver: Driver, _ reading: ReportReading, _ options: WhyOptions) {
    (self.run, self.options) = (run, options)
    var model = reading.model(run, driver, reading.metrics(run, driver), driver.errors)
    if let interface = run.input.interface {
      model.live = ReportModel.Live(interface: interface, windowSeconds: 0)
      let ledger = model.summary.ledger
      if let first = ledger.firstAt, let last = ledger.lastAt { model.live?.covered = (first, last, first) }
    }
    model.zone = .local
    model.thresholds = options.thresholds
    self.model = model
    verdict = Verdict(model)
    commands = NextCommands(run, model).commands(verdict, driver)
  }

  /// Appends it as an object of JSON.
  func writeJSON(to out: inout ByteWriter) { VerdictJSON().write(verdict, model, next: commands, to: &out) }

  /// Appends it as text, for a terminal of `width` columns; with `withLadder`, a file is read once more for the worst message.
  func write(width: Int?, withLadder: Bool, to out: inout ByteWriter) {
    VerdictText(width: width ?? 80, isASCII: !localeIsUTF8(), isColored: options.isColored)
      .write(verdict, model, ladder: withLadder ? worstLadder : nil, next: commands, to: &out)
  }

  /// The ladder of the worst message; `nil` where all went well, and where the input can be read only once.
  private var worstLadder: Ladder? {
    guard let worst = model.worst, run.isReadTwice, !run.stopping.stop.isStopped else { return nil }
    var plan = LadderPlan()
    plan.from = worst.at
    (plan.limit, plan.lead) = (256, 2)
    let sink = LadderSink(plans: run.plans, wanted: [worst.connection: plan])
    let again = run.again(over: run.input)
    // The same tables as before, so that messages and connections have the same numbers. What is wrong with the input was said.
    _ = again.lead(again.driver(again.engine(LadderSink.needs, cost: ReportReading.cost, sink: sink)))
    return sink.collectors[worst.connection]?.ladder
  }
}
