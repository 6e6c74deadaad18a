import IMCapture
import IMEngine
package import IMMetrics
import IMOutput

/// Compares what two captures came to: `imdump diff`. The status is 2 where one of `conditions` holds.
package func runDiff(
  old: String, new: String, input: InputOptions, decode: DecodeOptions, report: ReportOptions,
  conditions: [FailCondition], isJSON: Bool
) throws(UsageError) -> ExitStatus {
  guard old != "-" || new != "-" else { throw UsageError(message: "both captures cannot be standard input") }
  var input = input
  input.files = [old]
  let first = try Run(input: input, decode: decode, report: report)
  input.files = [new]
  let second = first.again(over: input)
  let output = Output.standard()
  let (before, earlier) = measure(first, output)
  let (after, later) = measure(second, output)
  var status = max(earlier, later)
  // Figures of a capture that cannot be read would be those of nothing.
  if status == .noInput || status == .noPermission || status == .interrupted { return status }

  let all = ComparedFigure.all(before.total, after.total)
  var groups: [ComparisonWriter.Group] = [(nil, all)]
  let common = before.endpoints.compactMap { endpoint in
    after.endpoints.first { $0.key.endpoint == endpoint.key.endpoint && $0.key.plan == endpoint.key.plan }
      .map { (endpoint.key, endpoint.metrics, $0.metrics) }
  }
  if before.endpoints.count > 1 || after.endpoints.count > 1 {
    groups += common.prefix(maximumServers).map { key, one, other in
      ("\(key.endpoint) \(first.plans[Int(key.plan)].name)", ComparedFigure.all(one, other))
    }
  }
  let failed = conditions.filter { condition in all.contains { $0.name == condition.name && condition.holds($0) } }
  var out = ByteWriter()
  if isJSON {
    ComparisonWriter().json(groups, failed: failed.map(\.text), to: &out)
  } else {
    ComparisonWriter().table(groups, width: output.terminalWidth, to: &out)
  }
  output.drain(&out)
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    complain(error.description)
    return .ioError
  }
  for condition in failed { complain("--fail-on \(condition.text) holds") }
  if !failed.isEmpty, status == .success { status = .fired }
  return status
}

/// At most so many servers have tables of their own.
private let maximumServers = 50

/// What a capture came to, and how reading it ended.
private func measure(_ run: Run, _ output: Output) -> (RunFigures, ExitStatus) {
  let sink = StatsSink(plans: run.plans)
  let driver = run.driver(run.statsEngine(sink))
  let errors = run.lead(driver)
  let status = run.conclude(driver, errors, output, summary: false)
  return (sink.figures(run, driver), status)
}
