import IMEngine
import IMOutput
package import IMRun
package import IMSystem
import IMWire

/// Decodes captures with one profile and says what fits and what does not: `imdump profile test`. The status is
/// `failure` where nothing was decoded, or something in the frames speaks against the profile.
///
/// Each problem is told with its packet, its place in the stream, what of the profile refused, and the bytes there; with `walks`
/// all of them, each with a walk through the frame.
package func testProfile(_ name: String, input: InputOptions, walks: Bool = false) throws(UsageError) -> ExitStatus {
  var decode = DecodeOptions()
  decode.profiles = [name]
  var report = ReportOptions()
  report.isQuiet = true
  let run = try Run(input: input, decode: decode, report: report)
  let output = Output.standard()
  let plan = run.plans[0]
  let sink = ProfileTestSink(plan: plan, walks: walks)
  let driver = run.driver(run.engine([.frames, .issues], sink: sink))
  let errors = run.lead(driver, isOver: { output.error != nil })
  var out = ByteWriter()
  sink.fetchBytes(run)
  sink.write(to: &out)
  let ledger = driver.engine.totals
  let kinds = (0...64).map { driver.engine.totals(plan: 0, kind: $0) }
  let frames = kinds.reduce(0) { $0 + $1.frames[0] + $1.frames[1] }
  let connections = ledger.decodedConnections == 1 ? "connection" : "connections"
  out.text(
    "\(plan.name): \(grouped(frames)) frames on \(grouped(UInt64(ledger.decodedConnections))) \(connections)"
      + " of \(grouped(UInt64(ledger.connections)))\n")
  types(plan, kinds, to: &out)
  let doubts = doubts(ledger)
  let answers = answerNotes(plan, kinds, sink)
  for note in answers { out.text(note.text + "\n") }
  let isAnswered = !answers.contains(where: \.isEvidence)
  if frames == 0 { out.literal("nothing fits\n") }
  if !doubts.isEmpty {
    var table = TextTable(["what does not fit", "count"])
    for (name, count) in doubts { table.add([name, grouped(count)]) }
    table.write(to: &out, width: output.terminalWidth)
  } else if frames > 0 {
    out.text(isAnswered ? "all of it fits\n" : "all frames fit, but few answers were recognized\n")
  }
  output.drain(&out)
  let status = run.conclude(driver, errors, output)
  return status == .success && (frames == 0 || !doubts.isEmpty || !isAnswered) ? .failure : status
}

private func types(_ plan: ProtocolPlan, _ kinds: [KindTotals], to out: inout ByteWriter) {
  guard kinds.contains(where: { $0.frames[0] + $0.frames[1] > 0 }) else { return }
  var table = TextTable(["type", "c2s", "s2c", "body bytes", "expecting", "answered"])
  for (k, kind) in kinds.enumerated() where kind.frames[0] + kind.frames[1] > 0 {
    let units = UInt64(kind.fates[0].units) + UInt64(kind.fates[1].units)
    table.add([
      k < plan.typeNames.count ? plan.typeNames[k] : "not in the profile", grouped(kind.frames[0]),
      grouped(kind.frames[1]), grouped(kind.bodyBytes[0] + kind.bodyBytes[1]), units > 0 ? grouped(units) : "",
      units > 0 ? grouped(kind.answered) : "",
    ])
  }
  table.write(to: &out)
}

/// Types of which few frames are answered, and answers without a number. They are evidence against the profile if acknowledgments came that answer
/// nothing or have no number: then the profile has the wrong position of their numbers.
private func answerNotes(
  _ plan: ProtocolPlan, _ kinds: [KindTotals], _ sink: ProfileTestSink
) -> [(text: String, isEvidence: Bool)] {
  var notes: [(String, Bool)] = []
  let answered = kinds.reduce(UInt64(0)) { $0 &+ $1.answered }
  let spare = sink.acknowledgments > answered ? sink.acknowledgments - answered : 0
  for (k, kind) in kinds.enumerated() where k < plan.typeNames.count {
    let name = plan.typeNames[k]
    var known: UInt64 = 0
    var units: UInt64 = 0
    for way in 0...1 {
      units &+= UInt64(kind.fates[way].units)
      // A frame whose answer may be among missing bytes is no evidence.
      known &+= UInt64(kind.fates[way].units &- min(kind.fates[way].units, kind.fates[way].unknown))
    }
    if known >= 3, kind.answered &* 2 < known {
      let missing = known - kind.answered
      let share = "\(name): \(grouped(kind.answered)) of \(grouped(known)) answered"
      if spare &* 2 >= missing {
        let left = count(spare, "acknowledgment")
        notes.append(("\(share), but \(left) answered nothing: is their number where the profile says?", true))
      } else {
        notes.append(("\(share): the capture has no acknowledgments for the others", false))
      }
    } else if sink.expecting[k] >= 3, units == 0, spare >= 3 {
      let frames = count(sink.expecting[k], "frame")
      notes.append(("\(name): none of \(frames) has a number: is 'sequence' where the profile says?", true))
    }
    let (all, numberless) = sink.answers[k]
    if all >= 3, numberless == all {
      notes.append(
        ("\(name): none of \(count(all, "answer")) has a number: are they 'in-order', or is it in another place?", true)
      )
    }
  }
  return notes
}

/// What speaks against the profile, or against the capture.
private func doubts(_ ledger: Ledger) -> [(String, UInt64)] {
  var found = ProfileTestSink.kinds.map { ($0.name, ledger.issues[Int($0.rawValue)]) }
  found.append(("bytes in damaged frames", ledger.damagedBytes))
  found.append(("bytes that are not a frame", ledger.strayBytes - ledger.carrierBytes))
  return found.filter { $0.1 > 0 }
}
