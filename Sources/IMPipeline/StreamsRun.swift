import IMCapture
import IMEngine
import IMOutput
import IMWire

/// Collects TCP streams and prints them: `imdump streams`.
package func runStreams(
  input: InputOptions, report: ReportOptions, isJSON: Bool, folder: String?
) throws(UsageError) -> ExitStatus {
  let stopping = Stopping()
  let output = Output.standard()
  var collector = StreamCollector(options: StreamOptions())
  var status = ExitStatus.success
  var left = input.packetLimit ?? .max
  for file in input.files where left > 0 && !stopping.stop.isStopped {
    do throws(CaptureError) {
      let source = try CaptureFile(path: file, filter: input.captureFilter, stop: stopping.stop)
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
  }
  let streams = collector.finish()
  var out = ByteWriter()
  if isJSON {
    let writer = StreamJSONWriter()
    for stream in streams {
      writer.write(stream, to: &out)
      if out.count > 256 << 10 { output.drain(&out) }
    }
  } else {
    StreamTableWriter().write(streams, width: output.terminalWidth, to: &out)
  }
  output.drain(&out)
  if let folder {
    do throws(StreamFolder.Failure) {
      let folder = try StreamFolder(path: folder)
      for stream in streams { _ = try folder.write(stream) }
    } catch {
      complain(error.description)
      status = .ioError
    }
  }
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    complain(error.description)
    return .ioError
  }
  if !report.isQuiet {
    complain(
      "\(count(collector.packets, "packet")), \(grouped(collector.segments)) TCP, \(count(UInt64(streams.count), "stream"))"
        + (streams.allSatisfy(\.isComplete) ? "" : "; limits left some bytes out (see imdump(1), LIMITS)"))
  }
  return status
}

extension ExitStatus: Comparable {
  /// The graver status is the greater.
  package static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.rawValue < b.rawValue }
}
