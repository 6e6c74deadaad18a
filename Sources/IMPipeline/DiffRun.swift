import IMCapture
import IMDelivery
import IMDescriptors
import IMDocuments
import IMEngine
package import IMMetrics
import IMOutput
package import IMRun
package import IMSystem
import IMWire

/// Compares what two captures came to: `imdump diff`. The status is 2 where one of `conditions` holds.
package func runDiff(
  old: String, new: String, input: InputOptions, decode: DecodeOptions, report: ReportOptions,
  conditions: [FailCondition], format: OutputFormat
) throws(UsageError) -> ExitStatus {
  guard old != "-" || new != "-" else { throw UsageError(message: "only one of the captures can be standard input") }
  var input = input
  // Named before anything is given up: it looks into both files.
  input.files = [old, new]
  InputFile.expect(input.files)
  let context = documentContext(input, decode, DocumentOptions(), AlertOptions())
  input.files = [old]
  let first = try Run(input: input, decode: decode, report: report)
  input.files = [new]
  let second = first.again(over: input)
  let output = Output.standard()
  let (before, old, earlier) = measure(first, output)
  let (after, new, later) = measure(second, output)
  let status = max(earlier, later)
  // The metrics of a capture that cannot be read would be empty.
  if status == .noInput || status == .noPermission || status == .interrupted { return status }

  let all = ComparedMetric.all(before.total, after.total, (old.all, new.all))
  func figures(_ one: (Int, EndpointMetrics), _ other: (Int, EndpointMetrics)) -> [ComparedMetric] {
    let groups = old.server(one.0).flatMap { old in new.server(other.0).map { (old, $0) } }
    return ComparedMetric.all(one.1, other.1, groups)
  }
  var servers: [(key: EndpointKey, figures: [ComparedMetric])] = []
  let common = before.endpoints.indices.compactMap { i in
    let endpoint = before.endpoints[i]
    return after.endpoints.firstIndex { $0.key.endpoint == endpoint.key.endpoint && $0.key.plan == endpoint.key.plan }
      .map { (endpoint.key, (i, endpoint.metrics), ($0, after.endpoints[$0].metrics)) }
  }
  if before.endpoints.count > 1 || after.endpoints.count > 1 {
    servers = common.prefix(maximumServers).map { key, one, other in (key, figures(one, other)) }
  }
  let failed = conditions.filter { !$0.failures(in: all).isEmpty }
  let groups: [ComparisonWriter.Group] =
    [(nil, all)] + servers.map { ("\($0.key.endpoint) \(first.plans[Int($0.key.plan)].name)", $0.figures) }
  var out = ByteWriter()
  switch format {
  case .text: ComparisonWriter().table(groups, width: output.terminalWidth, to: &out)
  case .json: ComparisonWriter().json(groups, failed: failed.map(\.text), to: &out)
  case .ecs, .otlp:
    var lines = JSONLines()
    // Of two captures without packets there is nothing to tell.
    if let span = after.span ?? before.span {
      let documents = ComparisonDocuments(context: context, plans: first.plans, span: span)
      let failures = failed.flatMap { condition in condition.failures(in: all).map { ($0.name, condition.text) } }
      documents.write(all, server: nil, failed: failures, to: &lines)
      for server in servers { documents.write(server.figures, server: server.key, failed: [], to: &lines) }
    }
    output.drain(&lines.writer)
  }
  output.drain(&out)
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    logError(error.description)
    return .ioError
  }
  return conclude(
    conditions, of: all, isDecoded: after.run.summary.ledger.decodedConnections > 0, status)
}

/// At most so many servers have tables of their own.
private let maximumServers = 50

extension RunMetrics {
  /// The times of the first and of the last packet; `nil` where there is none.
  fileprivate var span: (start: Timestamp, end: Timestamp)? {
    let ledger = run.summary.ledger
    return ledger.firstAt.flatMap { first in ledger.lastAt.map { (first, $0) } }
  }
}

/// What a capture and its connections came to, and how reading it ended.
private func measure(_ run: Run, _ output: Output) -> (RunMetrics, ComparedConnections, ExitStatus) {
  let sink = StatsSink(plans: run.plans, comparesConnections: true)
  let driver = run.driver(run.statsEngine(sink))
  let errors = run.lead(driver)
  let status = run.conclude(driver, errors, output, summary: false)
  return (sink.figures(run, driver), sink.compared ?? ComparedConnections(), status)
}
