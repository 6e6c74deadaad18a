import IMTestSupport

@testable import IMEngine

/// Leads packets through an engine that tells `sink` what it needs, and gives the ledger in the end.
@discardableResult
func lead(
  _ packets: [TimedPacket], _ plans: [ProtocolPlan], needs: EngineOptions.Needs, into sink: any EngineSink
) -> Ledger {
  var options = EngineOptions(plans: plans)
  options.needs = needs
  var engine = Engine(options: options, sink: sink)
  let batch = CaptureBuilder(packets).batch(firstNumber: 1)
  engine.process(batch.bytes.span.bytes, batch.records.span)
  engine.finish()
  return engine.totals
}
