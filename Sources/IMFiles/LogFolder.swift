import CSandbox
import Glibc
package import IMDescriptors
package import IMDocuments
package import IMOTLP
import IMOutput
package import IMSystem
package import IMWire

/// What the files of a log folder hold.
package enum LogFormat: String, CaseIterable, Sendable {
  /// Documents of the Elastic Common Schema, a dataset a file.
  case ecs
  /// OpenTelemetry's JSON, a signal a file.
  case otlp
}

/// What the files of one name hold, one after another: a dataset, or a signal of OpenTelemetry.
package enum LogSeries: CaseIterable, Sendable {
  case dataset(ECSDataset), signal(OTLPSignal)

  /// The series of documents, and those of telemetry.
  package static let allCases = ECSDataset.allCases.map(Self.dataset) + OTLPSignal.allCases.map(Self.signal)

  /// Its place in `allCases`.
  var index: Int {
    switch self {
    case .dataset(let dataset): dataset.rawValue
    case .signal(let signal): ECSDataset.allCases.count + signal.rawValue
    }
  }

  /// The beginning of the files' names.
  var name: String {
    switch self {
    case .dataset(let dataset): dataset.name
    case .signal(let signal): "imdump.otlp-\(signal.name)"
    }
  }
}

/// Where documents go that have files of their own: `--log-dir` and its limits.
package struct LogOptions: Equatable, Sendable {
  /// The folder.
  package var folder: String
  /// A file that would have more bytes than these is followed by another.
  package var byteCount: UInt64 = 100 << 20
  /// Minutes of the clock on the wall, by packet time, after which other files begin; `nil` for no such limit.
  package var minutes: Int64?
  /// Files of one dataset that are kept of this run; `nil` for all.
  package var fileCount: Int?
  /// Bytes that all files of this run may take; `nil` for no such limit. The open files are never removed for it.
  package var totalByteCount: UInt64?

  /// Files in `folder`.
  package init(folder: String) { self.folder = folder }
}

/// The files of documents, one after another for each dataset: `imdump.DATASET.RUN-N.ndjson`; those of OpenTelemetry's JSON for
/// each signal: `imdump.otlp-SIGNAL.RUN-N.ndjson`.
///
/// A name is used once, and nothing is renamed or truncated: a reader that follows the files sees each grow, and then the next one. If this process
/// may not create files, an output broker does. A file is created with its first document.
package final class LogFolder {
  /// One dataset's file.
  private struct Series {
    var file: LogFile?
    /// The number of the last file made, 0 before the first.
    var number = 0
    /// Bytes of the open file's first line.
    var headCount: UInt64 = 0
    /// Lines in the open file, but for its first line.
    var documents: UInt64 = 0
  }

  private let options: LogOptions
  private let run: String
  private let handle: Int32
  private let isMade: Bool
  private var outputBroker: OutputBroker?
  /// By `LogSeries.index`.
  private var series = [Series](repeating: Series(), count: LogSeries.allCases.count)
  private var kept = KeptLogFiles()
  /// Gives the first line of a file.
  package var firstLine: (String) -> String? = { _ in nil }
  /// Documents that are lost, and times when something could not be written.
  package struct Losses: Sendable {
    /// The numbers of dropped documents and of failed writes.
    package var dropped: UInt64 = 0, failed: UInt64 = 0

    /// The given numbers; 0 by default.
    package init(dropped: UInt64 = 0, failed: UInt64 = 0) { (self.dropped, self.failed) = (dropped, failed) }
  }

  /// What is lost so far.
  package private(set) var losses = Losses()
  private var hasComplained = false

  /// Files of the run named `run`, in a folder that is made where there is none.
  package init(_ options: LogOptions, run: String) throws(UsageError) {
    self.options = options
    self.run = run
    isMade = mkdir(options.folder, 0o755) == 0
    if !isMade, errno != EEXIST {
      throw UsageError(message: "--log-dir \(options.folder): \(systemText(errno))")
    }
    handle = imdump_open_folder(options.folder)
    guard handle >= 0 else { throw UsageError(message: "--log-dir \(options.folder): \(systemText(-handle))") }
  }

  deinit { Glibc.close(handle) }

  /// The socket of the process that makes the files, where there is one.
  package var usedBroker: OutputBroker? { outputBroker }
  /// The folder, where this process makes the files itself.
  package var ownFolder: Int32? { outputBroker == nil ? handle : nil }

  /// Gives a folder that was made here to the user that the run becomes, whose files will stand in it.
  package func give(to user: Sandbox.User) {
    if isMade { user.own(folder: handle) }
  }

  /// Lets `outputBroker` create files if the user that the run switches to may not.
  package func use(_ outputBroker: OutputBroker) {
    let formats = LogSeries.allCases.map { "\($0.name).\(run)-" }
    if outputBroker.begin(folder: handle, formats: formats, suffix: ".ndjson", digits: 1, count: .max) {
      self.outputBroker = outputBroker
    }
  }

  /// Throws if neither this process nor an output broker may create files.
  package func checkRights() throws(CaptureError) {
    guard outputBroker == nil else { return }
    try requireMayMakeFiles(in: handle, options.folder, "documents cannot be written")
  }

  /// Appends whole lines to the file of `dataset`, and makes one where there is none.
  package func write(_ dataset: LogSeries, _ lines: UnsafeRawBufferPointer) {
    var rest = lines[...]
    repeat {
      guard let file = series[dataset.index].file ?? open(dataset) else {
        losses.dropped += LogFile.count(rest)
        return
      }
      let room = part(of: rest, file, series[dataset.index].headCount)
      let bytes = UnsafeRawBufferPointer(rebasing: rest[rest.startIndex..<rest.startIndex + room])
      rest = rest[(rest.startIndex + room)...]
      let outcome = file.append(bytes)
      series[dataset.index].documents += LogFile.count(bytes[...]) - outcome.dropped
      note(outcome, dataset)
      keepTotal()
      if !rest.isEmpty { close(dataset) }
    } while !rest.isEmpty
  }

  /// Whether other files follow after a minute that began at `start`, now that the time is `now`: it lies in another period.
  package func isTurn(from start: Timestamp, to now: Timestamp) -> Bool {
    guard let minutes = options.minutes else { return false }
    let periods = ClockPeriods(seconds: minutes * 60)
    return periods.period(at: start.seconds).number != periods.period(at: now.seconds).number
  }

  /// Ends all files; others follow when there is something to write.
  package func turn() {
    for dataset in LogSeries.allCases { close(dataset) }
  }

  // MARK: Parts

  /// How many bytes of `lines` the open file has room for, up to the end of a line; all where nothing else would be in it.
  private func part(of lines: Slice<UnsafeRawBufferPointer>, _ file: LogFile, _ headCount: UInt64) -> Int {
    let room = options.byteCount > file.byteCount ? Int(clamping: options.byteCount - file.byteCount) : 0
    if lines.count <= room { return lines.count }
    if let end = lines.prefix(room).lastIndex(of: 10) { return end + 1 - lines.startIndex }
    if file.byteCount > headCount { return 0 }
    // A line that fits in no file has one to itself.
    return (lines.firstIndex(of: 10) ?? lines.endIndex - 1) + 1 - lines.startIndex
  }

  /// Makes the next file of a dataset; nil where that cannot be.
  private func open(_ dataset: LogSeries) -> LogFile? {
    let number = series[dataset.index].number + 1
    let name = name(dataset, number)
    let descriptor =
      outputBroker?.ask(.replace, format: dataset.index, number, at: 0) ?? imdump_replace_file(handle, name)
    guard descriptor >= 0 else {
      fail(name, openingError(-descriptor, isAsked: outputBroker != nil))
      return nil
    }
    let file = LogFile(descriptor: descriptor)
    var line = firstLine(name) ?? ""
    let outcome = line.withUTF8 { file.append(UnsafeRawBufferPointer($0)) }
    // A file whose first line cannot be written is none. Other files have that line too, so it is no document that is lost.
    guard outcome.errno == 0 else {
      fail(name, systemText(outcome.errno))
      _ = file.close()
      remove(dataset, number)
      return nil
    }
    series[dataset.index] = Series(file: file, number: number, headCount: file.byteCount)
    if let count = options.fileCount, number > count {
      remove(dataset, number - count)
      if let file = kept.remove(dataset.index, number - count) {
        removed(Self.name(file, run), file, ShippedFiles(in: handle), for: "--log-files")
      }
    }
    return file
  }

  /// Removes files until all of them together have no more bytes than they may: those that `imdump ship` has sent first.
  private func keepTotal() {
    guard let limit = options.totalByteCount else { return }
    let open = series.reduce(0) { $0 + ($1.file?.byteCount ?? 0) }
    guard !kept.isEmpty, kept.byteCount + open > limit else { return }
    let shipped = ShippedFiles(in: handle)
    while kept.byteCount + open > limit,
      let file = kept.removeFirst(isShipped: { shipped?.hasAll(of: Self.name($0, run), $0.byteCount) ?? false })
    {
      let dataset = LogSeries.allCases[file.series]
      remove(dataset, file.number)
      removed(Self.name(file, run), file, shipped, for: "--log-total")
    }
  }

  /// Reports a file that was removed before `imdump ship` had sent all of it, and counts what is lost with it.
  private func removed(_ name: String, _ file: KeptLogFiles.File, _ shipped: ShippedFiles?, for option: String) {
    guard let shipped, !shipped.hasAll(of: name, file.byteCount) else { return }
    let unsent = shipped.unsent(of: name, file)
    guard unsent > 0 else { return }
    losses.dropped += unsent
    logError(
      "\(options.folder)/\(name): removed for \(option) before imdump ship had sent it; \(grouped(unsent)) of \(grouped(file.documents)) documents are lost"
    )
  }

  private func close(_ dataset: LogSeries) {
    guard let file = series[dataset.index].file else { return }
    note(file.close(), dataset)
    kept.add(
      KeptLogFiles.File(
        series: dataset.index, number: series[dataset.index].number, byteCount: file.byteCount,
        documents: series[dataset.index].documents, hasHead: series[dataset.index].headCount > 0))
    series[dataset.index].file = nil
  }

  private func remove(_ dataset: LogSeries, _ number: Int) {
    if let outputBroker {
      _ = outputBroker.ask(.remove, format: dataset.index, number, at: 0)
    } else {
      _ = imdump_remove_file(handle, name(dataset, number))
    }
  }

  private func name(_ dataset: LogSeries, _ number: Int) -> String { "\(dataset.name).\(run)-\(number).ndjson" }

  private static func name(_ file: KeptLogFiles.File, _ run: String) -> String {
    "\(LogSeries.allCases[file.series].name).\(run)-\(file.number).ndjson"
  }

  private func note(_ outcome: LogFile.Outcome, _ dataset: LogSeries) {
    losses.dropped += outcome.dropped
    if outcome.errno != 0 { fail(name(dataset, series[dataset.index].number), systemText(outcome.errno)) }
  }

  /// Counts a failure, and tells the first one.
  private func fail(_ name: String, _ reason: String) {
    losses.failed += 1
    if !hasComplained { logError("\(options.folder)/\(name): \(reason); documents are lost until there is space") }
    hasComplained = true
  }
}
