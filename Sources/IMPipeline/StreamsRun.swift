import IMCapture
import IMEngine
import IMOutput
import IMWire

/// Collects TCP streams and prints them: `imdump streams`.
package func runStreams(
  input: InputOptions, report: ReportOptions, isJSON: Bool, folder: String?, memory: Int = StreamOptions().memory,
  verifiesChecksums: Bool = true
) throws(UsageError) -> ExitStatus {
  try printStreams(
    input, Stopping(), Confinement(input.confinement, isLive: false), Output.standard(), report: report, isJSON: isJSON,
    folder: folder, memory: memory, verifiesChecksums: verifiesChecksums)
}

/// The same of a run that has begun.
func printStreams(
  _ input: InputOptions, _ stopping: Stopping, _ confinement: Confinement, _ output: Output, report: ReportOptions,
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
      let opened = try StreamFolder(path: folder)
      folders = [opened.descriptor]
      target = consume opened
    }
  } catch {
    complain(error.description)
    return .ioError
  }
  status = readStreams(input, stopping, into: &collector) { () throws(CaptureError) in
    try confinement.enter(folders: folders, mayWrite: folder != nil)
  }
  // Nothing was read: a table without rows would look like an answer.
  if status == .usage { return status }
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
    complain(failure.description)
    status = .ioError
  }
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    complain(error.description)
    return .ioError
  }
  if stopping.stop.isStopped {
    complain("interrupted: the streams are those of what was read until then")
    status = max(status, .interrupted)
  }
  if !report.isQuiet {
    complain(
      "\(IMOutput.count(collector.packets, "packet")), \(grouped(collector.segments)) TCP, \(IMOutput.count(UInt64(count), "stream"))"
        + (isComplete ? "" : "; a limit (--mem) left some bytes out (see imdump(1), LIMITS)"))
    if collector.packetsLeftOut > 0 {
      complain("\(IMOutput.count(collector.packetsLeftOut, "packet")) of further streams left out")
    }
  }
  return status
}

/// Reads the files of `input` into `collector`, and says what is wrong with them. `begin` is called when the first file is
/// open.
func readStreams(
  _ input: InputOptions, _ stopping: Stopping, into collector: inout StreamCollector,
  begin: () throws(CaptureError) -> Void
) -> ExitStatus {
  var status = ExitStatus.success
  var left = input.packetLimit ?? .max
  var hasBegun = false
  var toldLinkTypes: Set<UInt16> = []
  for file in input.files where left > 0 && !stopping.stop.isStopped {
    do throws(CaptureError) {
      let source = try CaptureFile(
        path: file, filter: input.captureFilter, stop: stopping.stop, steps: input.steps)
      if !hasBegun {
        hasBegun = true
        try begin()
      }
      while left > 0,
        try source.nextBatch({ bytes, records in
          let taken = min(UInt64(records.count), left)
          left -= taken
          collector.process(bytes, records.extracting(first: Int(taken)))
        })
      {}
    } catch {
      complain(error.description)
      status = max(status, ExitStatus(error))
    }
    for error in CaptureError.unread(collector.unknownLinkTypes.subtracting(toldLinkTypes), of: file) {
      complain(error.description)
      status = max(status, ExitStatus(error))
    }
    toldLinkTypes = collector.unknownLinkTypes
  }
  return status
}

extension ExitStatus: Comparable {
  /// The graver status is the greater.
  package static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.rawValue < b.rawValue }
}
