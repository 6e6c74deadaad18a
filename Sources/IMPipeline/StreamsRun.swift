import IMCapture
import IMEngine
import IMOutput
import IMWire

/// Collects TCP streams and prints them: `imdump streams`.
package func runStreams(
  input: InputOptions, report: ReportOptions, isJSON: Bool, folder: String?
) throws(UsageError) -> ExitStatus {
  let stopping = Stopping()
  let confinement = try Confinement(input.confinement, isLive: false)
  let output = Output.standard()
  var collector = StreamCollector(options: StreamOptions())
  var status = ExitStatus.success
  var left = input.packetLimit ?? .max
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
  var isConfined = false
  for file in input.files where left > 0 && !stopping.stop.isStopped {
    do throws(CaptureError) {
      let source = try CaptureFile(path: file, filter: input.captureFilter, stop: stopping.stop)
      if !isConfined {
        isConfined = true
        try confinement.enter(folders: folders, mayWrite: folder != nil)
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
  do throws(StreamFolder.Failure) {
    if let target = consume target {
      for stream in streams { _ = try target.write(stream) }
    }
  } catch {
    complain(error.description)
    status = .ioError
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
