import IMAlerts
package import IMDelivery
import IMDocuments
import IMEngine
package import IMOutput
package import IMRun
package import IMSystem

/// Holds rules against a capture: `imdump check`. The status is 2 when an alert fired; without one, a capture that is damaged
/// or dropped packets is a failure, because nothing is known.
package func runCheck(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, alerts options: AlertOptions, format: OutputFormat,
  documents: DocumentOptions, style: TextStyle
) throws(UsageError) -> ExitStatus {
  let run = try Run(input: input, decode: decode, report: report)
  var choices = RunChoices(alerts: options, documents: nil, metrics: MetricsOptions())
  choices.sensor = documents.sensor
  let output = Output.standard()
  let dispatcher = AlertDispatcher()
  let context = documentContext(input, decode, documents, options)
  guard
    let alerts = try Alerts(
      RunContext(run: run, choices: choices, identity: context.run, output: output, dispatcher: dispatcher))
  else {
    throw UsageError(message: "give a rules file with --rules")
  }
  var lines = JSONLines()
  var text = AlertTextWriter(style: style)
  let json = AlertJSONWriter(sensor: documents.sensor)
  let documents = AlertDocuments(context: context, plans: run.plans)
  dispatcher.hear { event in
    switch format {
    case .text: text.write(event, to: &lines.writer)
    case .json: json.write(event, to: &lines)
    case .ecs, .otlp: documents.write(event, to: &lines)
    }
    output.drain(&lines.writer)
  }
  let driver = run.driver(run.engine(companions: [alerts]), [alerts])
  let errors = run.lead(driver, hidesProgress: output.isTerminal, isOver: { output.error != nil })
  let status = run.conclude(driver, errors, output)
  guard status == .success || status == .failure else { return status }
  // One of an earlier run that goes on fires, too.
  if alerts.monitor.figures.fired > 0 || options.state != nil && !alerts.monitor.firing.isEmpty { return .fired }
  return alerts.monitor.figures.held > 0 ? .failure : status
}
