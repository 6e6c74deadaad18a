import Glibc
import IMOutput
package import IMRun
import IMStore
package import IMSystem

/// Looks at what a capture needs of this machine, and says what is missing: `imdump doctor`. The status is that with which a
/// capture would end at once: 0 where it would not.
package func runDoctor(_ input: InputOptions, isJSON: Bool) -> ExitStatus {
  settleZone(isUTC: false)
  let output = Output.standard()
  var findings = [
    Finding.ok("version", "imdump \(imdumpVersion), \(captureVersion), SQLite \(databaseVersion)")
  ]
  findings.append(rightsFinding())
  let (capture, status) = captureFindings(input)
  findings += capture
  let others = [
    confinementFinding(), ownersFinding(), memoryFinding(), deliveryFinding(), localeFinding(), zoneFinding(),
    terminalFinding(output), widthFinding(),
  ]
  findings += others.compactMap { $0 }

  var out = ByteWriter()
  if isJSON {
    findings.write(json: &out)
  } else {
    for line in findings.lines(width: output.terminalWidth) { out.text(line + "\n") }
  }
  output.drain(&out)
  guard let error = output.error else { return status }
  guard !error.isBrokenPipe else { return .success }
  logError(error.description)
  return .ioError
}
