import CSandbox
import Glibc
import IMCapture
import IMDescriptors
import IMEngine
import IMOutput
package import IMRun
package import IMSystem
import IMWire

/// Collects TCP streams and prints them: `imdump streams`.
package func runStreams(
  input: InputOptions, report: ReportOptions, isJSON: Bool, folder: String?, memory: Int = StreamOptions().memory,
  verifiesChecksums: Bool = true
) throws(UsageError) -> ExitStatus {
  try printStreams(
    input, SignalHandlers(), Sandbox(input.sandbox, isLive: false), Output.standard(), report: report,
    isJSON: isJSON,
    folder: folder, memory: memory, verifiesChecksums: verifiesChecksums)
}

/// The same of a run that has begun.
func printStreams(
  _ input: InputOptions, _ stopping: SignalHandlers, _ sandbox: Sandbox, _ output: Output, report: ReportOptions,
  isJSON: Bool, folder: String?, memory: Int = StreamOptions().memory, verifiesChecksums: Bool = true
) -> ExitStatus {
  var options = StreamOptions()
  options.memory = memory
  options.wantsContent = folder != nil
  options.verifiesChecksums = verifiesChecksums
  options.seed = .random(in: .min ... .max)
  var collector = StreamCollector(options: options)
  var status = ExitStatus.success
  // Made before the first packet is read, because nothing outside of it can be made from then on.
  var target: StreamFolder? = nil
  var folders: [Int32] = []
  do throws(StreamFolder.Failure) {
    if let folder {
      let opened = try StreamFolder(
        path: folder, open: { imdump_open_folder($0) },
        make: { imdump_open_at($0, $1, O_WRONLY | O_CREAT | O_EXCL, 0o600) })
      folders = [opened.descriptor]
      target = consume opened
    }
  } catch {
    logError(error.description)
    return .ioError
  }
  status = readStreams(input, stopping, says: !report.isQuiet, into: &collector) { () throws(CaptureError) in
    InputFile.expect(input.files)
    try sandbox.enter(
      folders: folders, mayWrite: folder != nil, places: folders.map { Privileges.Place(folder: $0, pattern: "*.bin") })
  }
  // Nothing was read: a table without rows would look like an answer.
  if status == .usage || status != .success && collector.packets == 0 { return status }
  let count = collector.count
  let (writer, rows) = (StreamJSONWriter(), StreamTableWriter())
  var table = rows.table()
  var out = ByteWriter()
  var isComplete = collector.packetsLeftOut == 0
  var failure: StreamFolder.Failure?
  collector.finish { stream in
    isComplete = isComplete && stream.isComplete
    if isJSON {
      writer.write(stream, to: &out)
      if out.count > 256 << 10 { output.drain(&out) }
    } else {
      rows.add(stream, to: &table)
    }
    guard failure == nil, target != nil else { return }
    do throws(StreamFolder.Failure) { _ = try target?.write(stream) } catch { failure = error }
  }
  if !isJSON { table.write(to: &out, width: output.terminalWidth) }
  output.drain(&out)
  if let failure {
    logError(failure.description)
    status = .ioError
  }
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    logError(error.description)
    return .ioError
  }
  if stopping.stop.isStopped {
    logError("interrupted: the streams cover what was read until then")
    status = max(status, .interrupted)
  }
  if !report.isQuiet {
    logError(
      "\(IMOutput.count(collector.packets, "packet")), \(grouped(collector.segments)) TCP, \(IMOutput.count(UInt64(count), "stream"))"
        + (isComplete ? "" : "; a limit (--mem) left some bytes out (see imdump(1), LIMITS)"))
    if collector.packetsLeftOut > 0 {
      logError("\(IMOutput.count(collector.packetsLeftOut, "packet")) of further streams left out")
    }
  }
  return status
}

/// Reads the files of `input` into `collector`, and says what is wrong with them; with `says`, what there is to say of their order.
/// `begin` is called when the first file is open.
func readStreams(
  _ input: InputOptions, _ stopping: SignalHandlers, says: Bool = true, into collector: inout StreamCollector,
  begin: () throws(CaptureError) -> Void
) -> ExitStatus {
  var status = ExitStatus.success
  var left = input.packetLimit ?? .max
  let source = input.capture(stop: stopping.stop)
  var errors: [CaptureError] = []
  do throws(CaptureError) {
    if !source.isEmpty { try begin() }
    while left > 0,
      try source.nextBatch({ bytes, records in
        let taken = min(UInt64(records.count), left)
        left -= taken
        collector.process(bytes, records.extracting(first: Int(taken)))
      })
    {}
  } catch {
    errors.append(error)
  }
  errors += source.failures
  errors += CaptureError.unread(collector.unknownLinkTypes) { source.path(ofLinkType: $0) ?? input.files[0] }
  for error in errors {
    logError(error.description)
    status = max(status, ExitStatus(error))
  }
  if says { for note in source.notes { logError(note) } }
  return status
}
