@testable import IMShip

/// What `imdump ship` reads: lines of log files, and answers of receivers.
let shippingTargets = [
  Target(name: "otlp-lines", run: telemetryLines),
  Target(name: "otlp-answer", run: telemetryAnswer),
]

/// The lines of a file as a batch. Each request holds lines of the batch, so that as many requests as there are lines end it; a
/// line that was refused is in no request.
@Sendable private func telemetryLines(_ input: UnsafeRawBufferPointer) {
  let lines = [UInt8](input).split(separator: 10, omittingEmptySubsequences: false)
  var batch = ShipBatch(form: .otlp)
  var end: UInt64 = 0
  for line in lines {
    let start = end
    end += UInt64(line.count) + 1
    batch.add(line, file: 0, start: start, end: end)
  }
  var requests = 0, sent = 0
  while let request = batch.request(limit: 4_096) {
    requests += 1
    sent += batch.sentCount
    if request.records < 0 || batch.sentCount == 0 || requests > lines.count { fail("\(requests) of \(lines.count)") }
    batch.storeSent()
  }
  if !batch.isDone { fail("lines are left") }
  let refused = batch.refused(after: { _ in 0 }).count
  if refused + sent != lines.count { fail("\(refused) refused, \(sent) sent of \(lines.count)") }
}

/// An answer. What it says of records does not depend on whether it is read once or again, and its message is bounded.
@Sendable private func telemetryAnswer(_ input: UnsafeRawBufferPointer) {
  let bytes = [UInt8](input)
  let answer = OTLPAnswer(bytes)
  if answer != OTLPAnswer(bytes) || answer.message.count > 200 { fail("\(answer)") }
}
