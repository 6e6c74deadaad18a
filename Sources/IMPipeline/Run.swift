import IMCapture
import IMEngine
import IMFilter
import IMOutput
import IMProfile
import IMYAML
import IMWire

/// What every command that reads a capture does alike.
struct Run {
  let input: InputOptions
  let plans: [ProtocolPlan]
  let decode: DecodeOptions
  let report: ReportOptions
  let stopping: Stopping
  private let told = ToldEvictions()
  let confinement: Confinement
  /// Made first, while there is nothing that it could share.
  private let opener: FileOpener?
  private let logOpener: FileOpener?

  init(
    input: InputOptions, decode: DecodeOptions, report: ReportOptions, hasLogs: Bool = false
  ) throws(UsageError) {
    self.input = input
    stopping = Stopping()
    var decode = decode
    decode.profiles = profileNames(decode.profiles)
    if let path = decode.hashKeyFile { decode.identities = try readHashKey(path) }
    self.decode = decode
    self.report = report
    confinement = try Confinement(input.confinement, isLive: input.interface != nil)
    do throws(ProfileError) { plans = try loadProfiles(decode.profiles) } catch {
      throw UsageError(message: error.description)
    }
    let writesFiles = input.writePath.map { $0 != "-" } ?? false
    opener = writesFiles ? confinement.makeOpener("-w") : nil
    logOpener = hasLogs ? confinement.makeOpener("--log-dir") : nil
  }

  /// A run inside of a process that is to stay as it is: it gives up nothing, and hears no signal.
  init(guest input: InputOptions, plans: [ProtocolPlan], decode: DecodeOptions, report: ReportOptions) {
    self.input = input
    self.plans = plans
    self.decode = decode
    self.report = report
    stopping = .deaf
    confinement = .none
    opener = nil
    logOpener = nil
  }

  /// An engine for these options that tells `sink`.
  ///
  /// `cost` is what the sink keeps, in bytes, of each connection that is decoded, of each exchange and of each server.
  /// The rules of `alerts` and the counts of `metrics` are told the same.
  func engine(
    _ needs: EngineOptions.Needs, exchangeCapacity: Int? = nil,
    cost: (connection: Int, exchange: Int, server: Int) = (0, 0, 0), sink: any EngineSink, alerts: Alerts? = nil,
    metrics: Metrics? = nil
  ) -> Engine {
    var options = EngineOptions(plans: plans)
    options.needs = needs
    if alerts != nil { options.needs.formUnion(AlertMonitor.needs) }
    if metrics != nil { options.needs.formUnion(MetricsSink.needs) }
    options.ports = decode.ports
    options.verifiesChecksums = decode.verifiesChecksums
    options.reassembly.overlap = decode.overlap
    if let exchangeCapacity { options.exchangeCapacity = exchangeCapacity }
    options.memory = decode.memory
    options.identities = decode.identities
    options.sinkCost = cost
    if alerts != nil { options.sinkCost.connection += AlertMonitor.costPerConnection }
    for (limit, value) in decode.limits { limit.apply(value, to: &options) }
    options.seed = .random(in: .min ... .max)
    var sink = sink
    if let metrics { sink = PairSink(metrics.sink, sink) }
    if let alerts { sink = PairSink(alerts.monitor, sink) }
    return Engine(options: options, sink: sink)
  }

  /// A driver of the engine for these options, that has not started.
  func driver(_ engine: consuming Engine) -> Driver {
    let driver = Driver(
      engine: engine, input: input, stopping: stopping, confinement: confinement, opener: opener, logOpener: logOpener)
    if input.interface != nil { driver.profiles = ProfileReload(decode.profiles, plans: plans) }
    driver.isQuiet = report.isQuiet
    return driver
  }

  /// An engine and a driver that hand on each message that `choice` and `filter` let through.
  func messages(
    _ choice: MessageChoice, _ filter: String?, take: @escaping (MessageRecord, Exchange) -> Void
  ) throws(UsageError) -> Driver {
    let selection = MessageSelection(choice: choice, filter: try self.filter(filter))
    let sink = MessageSink(plans: plans, selection: selection, take: take)
    return driver(
      engine(
        [.frames, .finished, .issues], exchangeCapacity: 1 << 18, cost: (0, MessageStore.costPerMessage, 0), sink: sink)
    )
  }

  /// Leads the whole input through a driver, with what it has of alerts, documents and metrics, and with the progress that the
  /// user wants to see. Gives the errors. `hidesProgress` where lines are printed meanwhile.
  func lead(
    _ driver: Driver, hidesProgress: Bool = false, isOver: @escaping () -> Bool = { false },
    afterBatch: @escaping () -> Void = {}
  ) -> [CaptureError] {
    let progress = Progress(isWanted: report.showsProgress && !report.isQuiet && !hidesProgress, input: input)
    defer { progress.end() }
    let watch = LiveWatch(run: self)
    let errors = driver.run(
      Driver.Hooks(
        afterBatch: { driver in
          driver.alerts?.afterBatch(driver)
          driver.documents?.afterBatch(driver)
          driver.metrics?.afterBatch(driver)
          afterBatch()
          watch.update(driver)
          progress.update(driver)
          noteEvictions(driver)
        },
        isOver: isOver, onEvent: { driver.documents?.note($0) }))
    // What alerts tell at the end, documents hold.
    driver.alerts?.finish(driver)
    driver.documents?.finish(driver)
    driver.metrics?.finish(driver)
    return errors
  }

  /// A filter over messages; the types' names are those of the plans.
  func filter(_ text: String?) throws(UsageError) -> Filter? {
    guard let text else { return nil }
    let schema = FilterSchema.messages.naming("type", known: plans.flatMap(\.typeNames))
    do throws(FilterError) { return try Filter(text, schema: schema) } catch {
      let caret = String(repeating: " ", count: max(0, error.column - 1)) + "^"
      throw UsageError(
        message: "filter: column \(error.column): \(error.message)", quote: ["  \(text)", "  \(caret)"])
    }
  }

  /// Says how the run went and what it counted; gives its exit status.
  func conclude(_ driver: Driver, _ errors: [CaptureError], _ output: Output) -> ExitStatus {
    let own = tell(driver, errors, output)
    let documented = driver.documents?.conclude(own, report) ?? own
    let status = driver.metrics?.conclude(documented) ?? documented
    let isLost = driver.alerts.map { $0.conclude(self) } ?? false
    return isLost ? max(status, .ioError) : status
  }

  private func tell(_ driver: Driver, _ errors: [CaptureError], _ output: Output) -> ExitStatus {
    var status = ExitStatus.success
    for error in errors where !error.isBrokenPipe {
      complain(error.subject == "-" ? "standard input: \(error.message)" : error.description)
      let this = ExitStatus(error)
      status = max(status, this)
    }
    // The reader has seen enough: nothing to complain of, and nothing more to say.
    if errors.contains(where: \.isBrokenPipe) || output.error?.isBrokenPipe == true { return .success }
    if let error = output.error {
      complain(error.description)
      status = .ioError
    }
    if !report.isQuiet {
      if driver.engine.totals.packets > 0 || status == .success {
        for line in summary(driver).lines { complain(line) }
      }
      hint(driver)
    }
    return status
  }

  /// Prints the counts so far when SIGUSR1 has asked for them.
  func answerRequests(_ driver: Driver) {
    guard stopping.takeRequests() > 0 else { return }
    for line in summary(driver).lines { complain(line) }
  }

  /// Says what has been forgotten to stay within the limit on memory, once for each reason; the summary counts it.
  func noteEvictions(_ driver: Driver) {
    guard !report.isQuiet else { return }
    let evicted = driver.engine.totals.evicted
    for eviction in Eviction.allCases where evicted[eviction] > 0 {
      if told.insert(eviction) {
        complain(
          "a limit (\(eviction.option)) is reached: \(eviction.text) are being forgotten; the summary counts them"
        )
      }
    }
  }

  func summary(_ driver: Driver) -> Summary {
    let statistics = driver.statistics
    var capture = CaptureCounts()
    // Not what the source handed out: a count given with -c may end inside a batch.
    capture.captured = driver.engine.totals.packets
    capture.received = input.interface == nil ? nil : statistics.received
    capture.afterStop = statistics.afterStop
    capture.filteredOut = statistics.filteredOut
    capture.droppedByKernel = statistics.droppedByKernel
    capture.droppedByInterface = statistics.droppedByInterface
    return Summary(
      plans: plans, ledger: driver.engine.totals, reassembly: driver.engine.reassembly, capture: capture,
      kinds: plans.indices.map { plan in (0..<65).map { driver.engine.totals(plan: plan, kind: $0) } },
      sequences: plans.indices.map { driver.engine.sequenceTotals(plan: $0) },
      checksums: driver.engine.totals.checksums)
  }

  /// When nothing was decoded: what there was instead, and what to try.
  func hint(_ driver: Driver) {
    let totals = driver.engine.totals
    if totals.tlsConnections > 0 {
      let hellos = driver.engine.tls.sorted { $0.key < $1.key }.prefix(3).map { hello in
        let names = [hello.value.serverName, hello.value.protocols.first].compactMap { $0 }
        return hello.value.versionName + (names.isEmpty ? "" : " to " + names.joined(separator: ", "))
      }
      complain(
        "\(count(totals.tlsConnections, "connection")) of TLS (\(hellos.joined(separator: "; "))): imdump cannot read what is encrypted"
      )
    }
    guard totals.decodedConnections == 0, totals.unreadBytes > totals.tlsBytes else { return }
    let ports = driver.engine.busiestUndecodedPorts(3).filter { $0.bytes > 0 }.map {
      "\($0.port) (\(count($0.bytes, "byte")))"
    }
    let names = plans.map(\.name).joined(separator: ", ")
    let busiest = ports.isEmpty ? "" : "; the busiest ports are \(ports.joined(separator: ", "))"
    complain("no connection speaks \(names)\(busiest). Try --profile FILE.yaml, or --port N")
  }
}

/// The command line asks for something that cannot be.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  /// One line.
  package var message: String
  /// Lines beneath it that show what is meant.
  package var quote: [String]

  /// An error that says `message`.
  package init(message: String, quote: [String] = []) {
    self.message = message
    self.quote = quote
  }

  /// The message, and what it quotes.
  package var description: String { ([message] + quote).joined(separator: "\n") }
}

extension ExitStatus {
  /// How a run ends that met `error`.
  init(_ error: CaptureError) {
    switch error.code {
    case .notFound, .noDevice, .emptyFile: self = .noInput
    case .noPermission: self = .noPermission
    case .badFilter: self = .usage
    case .ioError: self = .ioError
    case .notACapture, .unsupported, .truncated, .damaged, .deviceGone, .captureFailed: self = .failure
    }
  }
}

/// The reasons of which it was said that something is forgotten.
private final class ToldEvictions {
  private var told: Set<Eviction> = []

  /// Takes note of `eviction`; whether it is new.
  func insert(_ eviction: Eviction) -> Bool { told.insert(eviction).inserted }
}
