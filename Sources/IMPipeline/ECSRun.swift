import Glibc
import IMCapture
package import IMDelivery
import IMDescriptors
package import IMDocuments
import IMEngine
package import IMFiles
import IMMetrics
package import IMOTLP
import IMOutput
package import IMRun
package import IMSystem
import IMWire
import IMYAML

/// How documents are written: `--format ecs`, `--format otlp` and `--log-dir`.
package struct DocumentOptions: Sendable {
  /// Which messages get a document of their own; `nil` for none, or with telemetry those that were not simply answered.
  package var messageLog: MessageLog?
  /// Messages get a document only where this filter takes them.
  package var filter: String?
  /// Messages get a document only where this choice takes them.
  var choice = MessageChoice()
  /// Whose documents are written.
  var datasets = Set(ECSDataset.allCases)
  /// Named fields that messages' documents have beside those that the profiles log.
  package var fields: [String] = []
  /// Which connections have documents while they live.
  package var connectionIntervals = ConnectionIntervals.active
  /// Whether messages' documents leave out what repeats other fields.
  package var isLean = false
  /// The sensor's name; the host's when nothing else is said.
  package var sensor: String?
  /// `data_stream.namespace`.
  package var namespace = "default"
  /// The path of a table of networks.
  package var networks: String?
  /// Where documents have files of their own; `nil` for standard output.
  package var log: LogOptions?
  /// Where the files are shipped while they are written; `nil` for nowhere.
  package var ship: ShippingOptions?
  /// OpenTelemetry's logs, metrics and traces are written instead of documents; `nil` for documents.
  package var otlp: OTLPOptions?

  /// The messages that get a document where nothing else chooses them.
  var usualLog: MessageLog { messageLog ?? (otlp == nil ? .off : .errors) }

  /// The defaults.
  package init() {}
}

/// The documents of a run, on their way to standard output or to the files of a folder.
final class Documents: ChosenFeature {
  /// Makes them.
  private let sink: ECSSink
  /// Where they have files of their own.
  private let folder: LogFolder?
  /// What writes these, where the capture must not wait for the disk.
  private let queue: LogQueue?
  /// Bytes of documents that may wait for the disk, and seconds that their end may take.
  private static let waiting = 32 << 20, patience = 10
  /// Says which messages the filter takes, where there is one.
  private let chooser: DocumentChooser?
  /// What makes further files, where this process may not.
  private let outputBroker: OutputBroker?
  /// What ships the files.
  private let shipper: Shipper?
  private let run: Run
  private let begun: Double?
  /// Whether telemetry is written, the seconds that it may wait for more of it, and when it was written last.
  private let isTelemetry: Bool
  private static let flushTime = 1.0
  private var flushedAt = 0.0

  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String? {
    choices.documents?.log == nil ? nil : "--log-dir"
  }

  /// The documents that the choices ask for. Standard output takes them where no folder does.
  init?(_ place: RunContext) throws(UsageError) {
    guard let options = place.choices.documents else { return nil }
    let (run, output) = (place.run, place.output)
    self.run = run
    outputBroker = place.outputBroker
    let isLive = run.input.interface != nil
    begun = isLive ? MonotonicClock.seconds() : nil
    isTelemetry = options.otlp != nil
    var ecs = ECSOptions()
    // Who chooses messages, or fields of them, wants their documents.
    let isChosen = options.filter != nil || !options.fields.isEmpty
    ecs.messageLog = isChosen && options.messageLog ?? .off == .off ? .all : options.usualLog
    ecs.datasets = options.datasets
    ecs.isLean = options.isLean
    ecs.connectionIntervals = options.connectionIntervals
    try checkLoggedFields(options.fields, run.plans)
    ecs.loggedFields = options.fields
    ecs.owners = run.owners
    ecs.identities = run.decode.identities
    ecs.maximumEndpoints = min(65_536, run.decode.memory >> 14)
    ecs.otlp = options.otlp
    ecs.separatesDatasets = options.log != nil
    ecs.networks = try options.networks.map { path throws(UsageError) in try loadNetworks(path) }
    let context = documentContext(run.input, run.decode, options, place.choices.alerts, run: place.identity)
    let folder = try options.log.map { log throws(UsageError) in try LogFolder(log, run: context.run.text) }
    self.folder = folder
    shipper = try options.ship.map { ship throws(UsageError) in
      try Shipper(
        ship, folder: options.log?.folder ?? "", isQuiet: run.report.isQuiet, user: run.sandbox.owner)
    }
    let queue = folder.flatMap { isLive ? LogQueue($0, limit: Self.waiting) : nil }
    self.queue = queue
    func write(_ series: LogSeries, _ lines: UnsafeRawBufferPointer) {
      if let queue {
        // It has no bytes where only a file is to begin, with the line that all begin with.
        queue.write(series, lines)
      } else if let folder {
        folder.write(series, lines)
      } else {
        output.write(lines)
      }
    }
    let sink = ECSSink(
      context: context, plans: run.plans, options: ecs, flush: { write(.dataset($0), $1) },
      flushOTLP: { write(.signal($0), $1) })
    self.sink = sink
    chooser =
      options.filter != nil || !options.choice.isEmpty
      ? try DocumentChooser(options.choice, options.filter, run) : nil
    sink.chooses = chooser.map { chooser in { chooser.includes($0) } }
    // What is kept of many connections is not taken apart at the end: the process ends too.
    _ = Unmanaged.passRetained(sink)
    place.dispatcher.hear { sink.alert($0) }
    guard let folder else { return }
    if options.otlp != nil {
      queue?.head = { _ in nil }
    } else if let queue {
      queue.head = { [unowned sink] in sink.startLine(file: $0) }
    } else {
      folder.firstLine = { [unowned sink] in sink.startLine(file: $0) }
    }
    sink.minuteEnded = { [unowned self] start, now in if folder.isTurn(from: start, to: now) { turn() } }
  }

  var needs: EngineOptions.Needs {
    chooser?.sink == nil ? ECSSink.needs : ECSSink.needs.union(MessageSink.needs(hearsDecided: false))
  }
  var cost: (connection: Int, exchange: Int, server: Int) {
    (ECSSink.costPerConnection, chooser?.sink == nil ? 0 : MessageStore.costPerMessage, 0)
  }
  var hearsMinutes: Bool { true }

  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? {
    // A message is known to the chooser before its document is made.
    let documents = other.map { PairSink(sink, $0) } ?? sink as any EngineSink
    return chooser?.sink.map { PairSink($0, documents) } ?? documents
  }

  func beforePackets(_ run: Run, _ companions: [any RunFeature]) { chooser?.learn(run, companions) }

  func confine(_ privileges: inout Privileges) {
    guard let folder else { return }
    if let user = privileges.user { folder.give(to: user) }
    privileges.hearsHangup = true
    if let outputBroker { folder.use(outputBroker) }
    if let used = folder.usedBroker { privileges.outputBrokers.append(used) } else { outputBroker?.end() }
    if let own = folder.ownFolder { privileges.folders.append(own) }
  }

  func confined() throws(CaptureError) { try folder?.checkRights() }

  /// What has been counted now is what the minute's documents tell, however its packets came.
  func minuteEnded(_ driver: Driver) { sink.figures = figures(driver) }

  /// Other files follow.
  func hangup(_ driver: Driver) throws(CaptureError) { turn() }

  /// Live, documents that are made are written.
  func afterBatch(_ driver: Driver) throws(CaptureError) {
    guard begun != nil else { return }
    sink.figures = figures(driver)
    sink.advance(to: .wallClock)
    // A line of telemetry has many records, so that what is the same in all of them is written once.
    let now = MonotonicClock.seconds()
    guard !isTelemetry || now - flushedAt >= Self.flushTime else { return }
    flushedAt = now
    sink.flush()
  }

  /// Has other files follow.
  private func turn() {
    sink.flush()
    if let queue { queue.turn() } else { folder?.turn() }
  }

  func note(_ event: CaptureEvent) {
    if let incident = event.incident { sink.report(incident, at: .wallClock) }
  }

  /// The last documents, and the end of the files.
  func finish(_ driver: Driver) {
    chooser?.sink?.end()
    sink.flush()
    // The last document tells what is lost.
    let isKeptUp = queue?.settle(within: Self.patience) ?? true
    sink.figures = figures(driver)
    sink.finish(at: begun == nil ? nil : .wallClock)
    if let queue {
      queue.turn()
      queue.finish(within: isKeptUp ? Self.patience : 0)
    } else {
      folder?.turn()
    }
    shipper?.end()
  }

  /// Output that is lost is never success.
  func conclude(_ status: ExitStatus) -> ExitStatus {
    let losses = losses
    guard losses.failed > 0 else { return status }
    logError("\(count(losses.dropped, "document")) could not be written")
    return max(status, .ioError)
  }

  private var losses: LogFolder.Losses { queue?.losses ?? folder?.losses ?? LogFolder.Losses() }

  private func figures(_ driver: Driver) -> CaptureMetrics {
    var figures = captureFigures(driver, run.input, begun: begun)
    figures.interruption = run.interruption(driver)
    guard folder != nil else { return figures }
    let losses = losses
    figures.outputFailed = losses.failed
    figures.outputDropped = losses.dropped
    return figures
  }
}

/// Writes ECS documents from a file or an interface, to standard output or into a folder: `imdump --format ecs`.
package func runDocuments(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, choices: RunChoices
) throws(UsageError) -> ExitStatus {
  try printDocuments(Run(input: input, decode: decode, report: report), Output.standard(), choices: choices)
}

/// Writes the documents of some datasets to standard output, of messages those that `choice` and `filter` take:
/// `imdump messages --format ecs` and its like.
package func runDocuments(
  of datasets: Set<ECSDataset>, input: InputOptions, decode: DecodeOptions, report: ReportOptions,
  choice: MessageChoice = MessageChoice(), filter: String? = nil
) throws(UsageError) -> ExitStatus {
  var documents = DocumentOptions()
  documents.datasets = datasets
  documents.messageLog = datasets.contains(.message) ? .all : .off
  (documents.choice, documents.filter) = (choice, filter)
  return try runDocuments(
    input: input, decode: decode, report: report,
    choices: RunChoices(alerts: AlertOptions(), documents: documents, metrics: MetricsOptions()))
}

/// The same of a run that has begun.
func printDocuments(_ run: Run, _ output: Output, choices: RunChoices) throws(UsageError) -> ExitStatus {
  let companions = try run.companions(choices, output)
  let driver = run.driver(run.engine(companions: companions), companions)
  let errors = run.lead(driver, hidesProgress: output.isTerminal, isOver: { output.error != nil })
  let status = run.conclude(driver, errors, output)
  // Whoever reads documents keeps them. One that is gone has lost some, other than one who reads lines.
  guard let error = output.error, error.isBrokenPipe else { return status }
  logError("\(error.description): documents are lost")
  return max(status, .ioError)
}

/// Reads a table of networks; errors name file and line.
private func loadNetworks(_ path: String) throws(UsageError) -> Networks {
  do throws(SourceError) {
    let text = try readSource(path, subject: "table of networks", maximumBytes: Networks.maximumBytes)
    return try Networks(text, source: path)
  } catch {
    throw UsageError(message: error.description)
  }
}

/// The name of a run: a live one is named at random, one over files by what it reads and how.
func runIdentity(
  _ input: InputOptions, _ decode: DecodeOptions, _ documents: DocumentOptions, _ alerts: AlertOptions
) -> RunIdentity {
  var random = SystemRandomNumberGenerator()
  return input.interface != nil
    ? RunIdentity(random: random.next(), random.next())
    : RunIdentity(hashing: identity(input, decode, documents, alerts))
}

/// What all documents of a run say. `run` is its name, where it has one already.
func documentContext(
  _ input: InputOptions, _ decode: DecodeOptions, _ documents: DocumentOptions, _ alerts: AlertOptions,
  run: RunIdentity? = nil
) -> ECSContext {
  let isLive = input.interface != nil
  return ECSContext(
    run: run ?? runIdentity(input, decode, documents, alerts), sensor: documents.sensor ?? hostName(),
    mode: isLive ? .live : .offline, interface: input.interface,
    version: imdumpVersion, namespace: documents.namespace)
}

/// What the capture has counted, for its documents. What depends on the machine's state is left out offline, so that the
/// same file gives the same bytes.
private func captureFigures(_ driver: Driver, _ input: InputOptions, begun: Double?) -> CaptureMetrics {
  let statistics = driver.statistics
  let totals = driver.engine.totals
  let reassembly = driver.engine.reassembly
  var figures = CaptureMetrics()
  figures.received = input.interface == nil ? nil : statistics.received
  figures.dropped = statistics.droppedByKernel
  figures.interfaceDropped = statistics.droppedByInterface
  figures.processed = totals.packets
  figures.skipped = totals.packets - totals.segments
  figures.truncated = totals.cutPackets
  figures.capturedTwice = reassembly.copies
  figures.processedBytes = totals.packetBytes
  figures.gaps = reassembly.gaps[0] + reassembly.gaps[1] + reassembly.gaps[2]
  figures.gapBytes = reassembly.gapBytes[0] + reassembly.gapBytes[1] + reassembly.gapBytes[2]
  figures.evictions = totals.evicted
  figures.heldBytes = UInt64(driver.engine.heldBytes)
  figures.connections = UInt64(driver.engine.connectionCount)
  figures.filter = input.captureFilter
  figures.linkType = driver.linkType.map { LinkType.name($0) }
  if let begun {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
    figures.cpuMilliseconds = seconds * 1_000 + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000
    figures.residentBytes = UInt64(max(0, usage.ru_maxrss)) * 1_024
    figures.uptimeSeconds = UInt64(max(0, MonotonicClock.seconds() - begun))
    figures.snaplen = input.snapLength.map { UInt64(max(0, $0)) }
  }
  return figures
}

extension CaptureEvent {
  /// The document's word for it; nil for what has none.
  fileprivate var incident: CaptureIncident? {
    switch self {
    case .interfaceDown: .interfaceDown
    case .interfaceUp: .interfaceUp
    case .interfaceGone: .interfaceGone
    case .interfaceBack: .interfaceBack
    case .warning: nil
    }
  }
}

/// What makes a run over files the same run: the files' sizes and first bytes, and the options.
private func identity(
  _ input: InputOptions, _ decode: DecodeOptions, _ documents: DocumentOptions, _ alerts: AlertOptions
) -> [String] {
  var parts = [
    imdumpVersion, input.captureFilter ?? "", "\(input.packetLimit ?? 0)", decode.profiles.joined(separator: ","),
    "\(decode.ports)", "\(decode.verifiesChecksums)", decode.overlap.rawValue, "\(documents.usualLog)",
    documents.sensor ?? "", documents.namespace,
  ]
  if documents.isLean { parts.append("lean") }
  if !documents.fields.isEmpty { parts.append("fields \(documents.fields.joined(separator: ","))") }
  if let filter = documents.filter { parts.append("filter \(filter)") }
  if !documents.choice.isEmpty { parts.append("choice \(documents.choice)") }
  if let networks = documents.networks,
    let text = try? readSource(networks, subject: "table of networks", maximumBytes: Networks.maximumBytes)
  {
    parts.append("networks \(text)")
  }
  if let rules = alerts.rules, let text = try? readSource(rules, subject: "rules file") {
    parts.append("rules \(text)")
  }
  for file in input.files {
    // What is read of a pipe is gone.
    guard fileByteCount(file) != nil, let handle = fopen(file, "re") else {
      parts.append(file)
      continue
    }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let n = fread(&bytes, 1, bytes.count, handle)
    var info = stat()
    let size = fstat(fileno(handle), &info) == 0 ? Int64(info.st_size) : -1
    fclose(handle)
    parts.append("\(size) \(fnv1a(bytes[..<n]))")
  }
  return parts
}
