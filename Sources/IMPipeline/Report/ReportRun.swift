import Glibc
import IMDescriptors
import IMEngine
package import IMMetrics
import IMOutput
import IMProfile
import IMReport
package import IMRun
package import IMSystem
import IMWire

/// Writes a capture's report as a page of HTML to `path`, `-` for standard output: `imdump report`. Where there is an `old` capture, the
/// page has its figures beside the others.
///
/// The capture is read twice: for the figures, and for what happened on the worst connections.
package func runReport(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, path: String, old: String?, style: PageStyle,
  conditions: [FailCondition]
) throws(UsageError) -> ExitStatus {
  var all = input
  all.files += old.map { [$0] } ?? []
  if let once = all.readOnce {
    throw UsageError(message: "the capture is read twice; give a file, not \(once)")
  }
  if old == nil, let condition = conditions.first(where: \.isOfChange) {
    throw UsageError(
      message: "--fail-on \(condition.text) is about a change: give the old capture with --compare")
  }
  let run = try Run(input: input, decode: decode, report: report)
  return try ReportRun(run, path, old: old, style: style, conditions: conditions).perform()
}

/// One report.
private struct ReportRun {
  private let run: Run
  private let path: String
  /// The capture to compare with.
  private let old: String?
  private let style: PageStyle
  /// What ends it with status 2.
  private let conditions: [FailCondition]
  /// The hashes of the profiles' texts, by name, read while files can be opened.
  private let hashes: [String: String]

  init(_ run: Run, _ path: String, old: String?, style: PageStyle, conditions: [FailCondition]) {
    self.run = run
    self.old = old
    self.style = style
    self.conditions = conditions
    self.path = path
    hashes = run.profileHashes
  }

  func perform() throws(UsageError) -> ExitStatus {
    if let old { InputFile.expect([old]) }
    if let old, access(old, R_OK) != 0 {
      logError("\(old): \(systemText(errno))")
      return .noInput
    }
    let file: ReportFile?
    do throws(CaptureError) {
      file = try ReportFile(path, inputs: run.input.files, others: old.map { [$0] } ?? [])
    } catch {
      logError(error.description)
      return .ioError
    }
    let output = Output.standard()
    let reading = ReportReading(plans: run.plans, comparesConnections: old != nil)
    // The engine of the first reading, and its tables, are gone when the second one begins.
    let first = read(reading, output)
    var (model, status) = (first.model, first.status)
    guard let file else { return status }

    if let old {
      let (figures, connections, ending) = measure(old, output, &model)
      let groups = connections.flatMap { old in reading.compared.map { (old.all, $0.all) } }
      model.comparison = (old, ComparedMetric.all(figures.total, first.total, groups))
      status = max(status, ending)
    }
    readAgain(first.worst, reading.sink, &model)
    if run.stopping.stop.isStopped {
      // The second reading is not whole: what it brought would look like all.
      (model.ladders, model.lanes, model.isCut) = ([], [], true)
    }
    style.apply(to: &model)
    let page = Page().html(model)
    do throws(CaptureError) { try file.write(page) } catch {
      logError(error.description)
      return max(status, ExitStatus(error))
    }
    if !run.report.isQuiet, path != "-" {
      logError("\(path): \(count(UInt64(page.count), "byte"))")
      logError(Verdict(model).headline)
    }
    // Without an old capture there are values, and no changes.
    let figures = model.comparison?.figures ?? ComparedMetric.all(first.total, first.total)
    return conclude(
      conditions, of: figures, isDecoded: model.summary.ledger.decodedConnections > 0, status)
  }

  /// Reads the capture for its figures. Gives what they show, the worst connections, and how reading ended.
  private func read(_ reading: ReportReading, _ output: Output) -> (
    model: ReportModel, total: EndpointMetrics, worst: [UInt32], status: ExitStatus
  ) {
    let bytes = PacketBytes()
    let driver = run.driver(engine(run, ReportReading.needs, reading.receiver), [bytes])
    let errors = run.lead(driver)
    let status = run.conclude(driver, errors, output, summary: false)
    let figures = reading.metrics(run, driver)
    var model = reading.model(run, driver, figures, errors)
    model.profiles = run.reportProfiles(figures.run.summary, hashes)
    model.transport.add(bytes.takeSeries())
    return (model, figures.run.total, figures.worst.entries.map(\.report.info.serial), status)
  }

  /// What the old capture came to, and how reading it ended.
  private func measure(
    _ path: String, _ output: Output, _ model: inout ReportModel
  ) -> (figures: RunMetrics, connections: ComparedConnections?, status: ExitStatus) {
    var input = run.input
    input.files = [path]
    let other = run.again(over: input)
    let sink = StatsSink(plans: other.plans, comparesConnections: true)
    let driver = other.driver(other.statsEngine(sink))
    let errors = other.lead(driver)
    model.errors += errors.map(ReportReading.words)
    return (sink.figures(other, driver), sink.compared, other.conclude(driver, errors, output, summary: false))
  }

  /// An engine that forgets the same in both readings.
  private func engine(_ run: Run, _ needs: EngineOptions.Needs, _ sink: any EngineSink) -> Engine {
    run.engine(needs, cost: ReportReading.cost, sink: sink)
  }

  /// Reads the capture once more for the ladders of the worst connections, and for the connections of sessions.
  private func readAgain(_ worst: [UInt32], _ sink: ReportSink, _ model: inout ReportModel) {
    let sessions = sink.sessions.lanes(LaneSink.maximumLanes)
    guard !worst.isEmpty || !sessions.isEmpty else { return }
    var plans: [UInt32: LadderPlan] = [:]
    for (i, serial) in worst.enumerated() {
      var plan = LadderPlan()
      plan.from = sink.troubleAt[serial]
      plan.limit = i < 4 ? 500 : 90
      plans[serial] = plan
    }
    // Without a connection with problems none is drawn.
    if plans.isEmpty { plans[0] = LadderPlan() }
    let ladders = LadderSink(plans: run.plans, wanted: plans)
    let lanes = LaneSink(sessions)
    let again = run.again(over: run.input)
    // As before, so that messages, connections and sessions have the same numbers. What is wrong with the input has been told.
    _ = again.lead(again.driver(engine(again, LadderSink.needs, PairSink(ladders, lanes))))
    model.ladders = worst.compactMap { ladders.collectors[$0]?.ladder }
    model.laddersLeftOut = sink.troubledCount - min(sink.troubledCount, UInt64(model.ladders.count))
    model.lanes = lanes.lanes(sessions) { session, bars in
      sink.sessions.name(of: session) ?? bars.first.map { "#\($0.serial)" } ?? "–"
    }
    model.lanesLeftOut = sink.sessions.count - min(sink.sessions.count, UInt64(sessions.count))
  }
}
