import IMCapture
package import IMDescriptors
package import IMEngine
package import IMFilter
package import IMMetrics
package import IMOutput
package import IMOwners
import IMProfile
package import IMSystem
import IMYAML
package import IMWire

/// What every command that reads a capture does alike.
package struct Run {
  /// The source of packets.
  package let input: InputOptions
  /// The profiles, compiled.
  package let plans: [ProtocolPlan]
  /// The decoding options.
  package let decode: DecodeOptions
  /// The messages to print in addition to the output.
  package let report: ReportOptions
  /// The handlers of signals.
  package let stopping: SignalHandlers
  private let told = ToldEvictions()
  /// The size of the files before privileges were dropped.
  private let share: FileShare
  /// The privileges to drop before the first packet is read.
  package let sandbox: Sandbox
  /// Who has the ends of connections on this host; `nil` but live.
  package let owners: ConnectionOwners?

  /// `rewrites`: frames are rewritten in place, so protocols of which that is not possible are left out; to ask for one is an error.
  package init(
    input: InputOptions, decode: DecodeOptions, report: ReportOptions, rewrites: Bool = false
  ) throws(UsageError) {
    self.input = input
    share = FileShare(input.files)
    settleZone(isUTC: report.isUTC)
    stopping = SignalHandlers()
    var decode = decode
    decode.profiles = profileNames(decode.profiles)
    if let path = decode.hashKeyFile { decode.identities = try readHashKey(path) }
    decode.secrets = try KeyLogs.of(decode, input, isQuiet: report.isQuiet)
    self.decode = decode
    self.report = report
    sandbox = try Sandbox(input.sandbox, isLive: input.interface != nil)
    owners = input.interface == nil ? nil : ConnectionOwners()
    let all: [ProtocolPlan]
    do throws(ProfileError) { all = try loadProfiles(decode.profiles) } catch {
      throw UsageError(message: error.description)
    }
    plans = rewrites ? all.filter(\.isRewritable) : all
    let left = all.filter { !$0.isRewritable }.map(\.name)
    if rewrites, !left.isEmpty, decode.profiles != profileNames([]) {
      throw UsageError(
        message:
          "--redact cannot rewrite connections that \(left.joined(separator: ", ")) decodes; without --profile, all of their bytes are replaced"
      )
    }
  }

  /// A run inside of a process that is to stay as it is: it gives up nothing, and hears no signal.
  package init(embedded input: InputOptions, plans: [ProtocolPlan], decode: DecodeOptions, report: ReportOptions) {
    self.input = input
    share = FileShare(input.files)
    self.plans = plans
    self.decode = decode
    self.report = report
    stopping = .ignoresSignals
    sandbox = .none
    owners = nil
  }

  /// A live run inside a process with a terminal, which handles the signals: it ends when its stop switch does, and drops privileges like any other.
  package init(
    watched input: InputOptions, plans: [ProtocolPlan], decode: DecodeOptions, report: ReportOptions,
    sandbox: Sandbox
  ) {
    self.input = input
    share = FileShare(input.files)
    self.plans = plans
    self.decode = decode
    self.report = report
    self.sandbox = sandbox
    stopping = .ignoresSignals
    owners = nil
  }

  /// The same run over another input, after privileges were dropped.
  package func again(over input: InputOptions) -> Run { Run(again: input, self) }

  private init(again input: InputOptions, _ other: Run) {
    self.input = input
    share = input.files == other.input.files ? other.share : FileShare(input.files)
    (plans, decode, report, stopping) = (other.plans, other.decode, other.report, other.stopping)
    sandbox = .none
    owners = nil
  }

  /// An engine for these options that notifies the features, and then `sink`.
  ///
  /// `cost` is what the sink keeps, in bytes, of each connection that is decoded, of each exchange and of each server.
  package func engine(
    _ needs: EngineOptions.Needs = [], exchangeCapacity: Int? = nil,
    cost: (connection: Int, exchange: Int, server: Int) = (0, 0, 0), sink: (any EngineSink)? = nil,
    companions: [any RunFeature] = []
  ) -> Engine {
    var options = EngineOptions(plans: plans)
    options.needs = needs
    options.ports = decode.ports
    options.expectsOnlyPlan = decode.profiles.count == 1 && plans.count == 1
    options.verifiesChecksums = decode.verifiesChecksums
    options.reassembly.overlap = decode.overlap
    if let exchangeCapacity { options.exchangeCapacity = exchangeCapacity }
    options.memory = decode.memory
    options.identities = decode.identities
    options.sinkCost = cost
    for (limit, value) in decode.limits { limit.apply(value, to: &options) }
    options.seed = .random(in: .min ... .max)
    var sink = sink
    for companion in companions.reversed() {
      options.needs.formUnion(companion.needs)
      let cost = companion.cost
      options.sinkCost.connection += cost.connection
      options.sinkCost.exchange += cost.exchange
      options.sinkCost.server += cost.server
      sink = companion.makeSink(before: sink)
    }
    return Engine(options: options, sink: sink ?? NoSink(), keys: decode.secrets?.table)
  }

  /// A driver of the engine for these options, that has not started.
  package func driver(_ engine: consuming Engine, _ companions: [any RunFeature] = []) -> Driver {
    Driver(
      engine: engine, input: input, stopping: stopping, sandbox: sandbox, companions: companions,
      secrets: decode.secrets)
  }

  /// Whether the input can be read twice: files, no interface and no pipe.
  package var isReadTwice: Bool { !isLive && input.readOnce == nil }

  /// Whether packets come from an interface.
  package var isLive: Bool { input.interface != nil }

  /// When the first packet of the files came; `nil` where there is none, or where they can be read only once.
  func firstPacketTime() -> Timestamp? {
    guard isReadTwice else { return nil }
    let again = again(over: input)
    let driver = again.driver(again.engine())
    _ = again.lead(driver, hidesProgress: true, isOver: { driver.engine.totals.packets > 0 })
    return driver.engine.totals.firstAt
  }

  /// A driver of an engine that hands on each message that `choice` and `filter` let through, and the sink that does.
  /// `costPerServer` is what is kept of each server besides, in bytes; `showing` says what is kept of each message besides what the
  /// filter asks for.
  package func messages(
    _ choice: MessageChoice, _ filter: String?, costPerServer: Int = 0,
    showing: ShownDetails? = nil,
    take: @escaping (MessageRecord, Exchange) -> Void
  ) throws(UsageError) -> (driver: Driver, sink: MessageSink) {
    let selection = try selection(choice, filter)
    let sink = MessageSink(
      plans: plans, selection: selection, isLive: isLive, owners: owners, showing: showing, take: take)
    let engine = engine(
      MessageSink.needs(hearsDecided: isLive), exchangeCapacity: 1 << 18,
      cost: (0, MessageStore.costPerMessage, costPerServer),
      sink: sink)
    let driver = driver(engine)
    // The fate of a message is reported when its time has come, even if no other packet comes.
    driver.usesClock = true
    return (driver, sink)
  }

  /// Runs the whole input through a driver and its features, and shows the progress if the user requests it. Returns the
  /// errors. `hidesProgress` is for commands that print lines meanwhile.
  package func lead(
    _ driver: Driver, hidesProgress: Bool = false, isOver: @escaping () -> Bool = { false },
    beforePackets: @escaping () -> Void = {}, afterBatch: @escaping () -> Void = {}
  ) -> [CaptureError] {
    let progress = Progress(isWanted: report.showsProgress && !report.isQuiet && !hidesProgress, input: input)
    defer { progress.end() }
    let watch = LiveWatch(run: self)
    let errors = driver.run(
      Driver.Hooks(
        afterBatch: { driver in
          afterBatch()
          owners?.advance()
          watch.update(driver)
          progress.update(driver)
          noteEvictions(driver)
        },
        beforePackets: {
          beforePackets()
          for companion in driver.companions { companion.beforePackets(self, driver.companions) }
        }, isOver: isOver))
    for companion in driver.companions { companion.finish(driver) }
    return errors
  }

  /// Messages by `choice` and by a filter.
  package func selection(_ choice: MessageChoice, _ filter: String?) throws(UsageError) -> MessageSelection {
    let scope = choice.scope
    let times = try readRange(self, from: scope.from, to: scope.to, of: scope.connections)
    return MessageSelection(choice, try self.filter(filter), times: times)
  }

  /// A filter over messages, and what it needs besides them.
  package struct MessageFilter {
    /// The condition; `nil` lets all messages through.
    package var filter: Filter?
    /// The named fields of protocols, where it names some: those of a message's first copy.
    package var names: NamedFilterFields?

    /// A filter that lets all messages through.
    package init() {}

    fileprivate init(filter: Filter?, names: NamedFilterFields?) { (self.filter, self.names) = (filter, names) }
  }

  /// Compiles a filter over messages. What only single frames have is refused, and it is said which command knows it.
  package func filter(_ text: String?) throws(UsageError) -> MessageFilter {
    guard let text else { return MessageFilter() }
    let (filter, names) = try compile(text)
    for field in [MessageField.ack, .ackOf] where filter.fieldsUsed.contains(field.rawValue) {
      throw UsageError(
        message: "filter: '\(field.field.name)' is a field of answers, which are frames: imdump FILE -Y ...")
    }
    return MessageFilter(filter: filter, names: names)
  }

  /// The moment near which times of day in the filter `text` are: when the first packet came, or now where the capture is live; `nil`
  /// where its packets can be read only once, and where the filter can have no such time.
  package func begin(of text: String) -> Timestamp? {
    // Only what is in quotes may be a time of day.
    guard text.contains("\""), text.contains(":") else { return nil }
    return isLive ? .wallClock : firstPacketTime()
  }

  private func compile(_ text: String) throws(UsageError) -> (filter: Filter, names: NamedFilterFields?) {
    let compiled: (filter: Filter, names: NamedFilterFields?)
    do throws(FilterError) { compiled = try FilterCompiler(plans: plans, begin: begin(of: text)).compile(text) } catch {
      throw UsageError(error, in: text)
    }
    guard isLive || !compiled.filter.fieldsUsed.contains(MessageField.owner.rawValue) else {
      throw UsageError(message: "filter: 'owner' needs a live capture on the host of the sockets: imdump -i ... -Y ...")
    }
    return compiled
  }

  /// A filter over frames, and what it needs besides them.
  package struct FrameFilter {
    /// The condition; `nil` lets all frames through.
    package var filter: Filter?
    /// The named fields of protocols, where it names some.
    package var names: NamedFilterFields?
    /// What became of messages, where it asks for that: filled before the first frame comes.
    package var outcomes: MessageOutcomes?

    /// A filter that lets all frames through.
    package init() {}
  }

  /// Compiles a filter over frames. What becomes of a message is known of files only, which are read twice for it.
  package func frameFilter(_ text: String?) throws(UsageError) -> FrameFilter {
    guard let text else { return FrameFilter() }
    var result = FrameFilter()
    let (filter, names) = try compile(text)
    (result.filter, result.names) = (filter, names)
    guard let first = result.filter?.fieldsUsed.first(where: MessageOutcomes.fields.contains) else {
      return result
    }
    guard isReadTwice else {
      let name = FilterCompiler(plans: plans).schema.fields[first].name
      let command = isLive ? "imdump messages -i \(input.interface ?? "") -Y ..." : "imdump messages -Y ..."
      throw UsageError(
        message: "filter: '\(name)' is not known yet when a frame comes: use \(command), or read a capture file")
    }
    result.outcomes = MessageOutcomes()
    return result
  }

  /// Reads the whole input for `sink`, before it is read for the features: messages have the same numbers both times.
  package func learn(_ needs: EngineOptions.Needs, _ sink: any EngineSink, like companions: [any RunFeature]) {
    let cost = companions.reduce((connection: 0, exchange: 0, server: 0)) { sum, companion in
      let cost = companion.cost
      return (sum.connection + cost.connection, sum.exchange + cost.exchange, sum.server + cost.server)
    }
    let run = again(over: input)
    // What is wrong with the input is told when it is read for its frames.
    _ = run.lead(run.driver(run.engine(needs, cost: cost, sink: sink)))
  }

  /// Says how the run went and, with `summary`, what it counted; gives its exit status.
  package func conclude(
    _ driver: Driver, _ errors: [CaptureError], _ output: Output, summary: Bool = true
  ) -> ExitStatus {
    var status = tell(driver, errors, output, summary)
    for companion in driver.companions.reversed() { status = companion.conclude(status) }
    return status
  }

  /// Whether no capture could be read at all: metrics of nothing would look like those of a capture in which nothing happened.
  package func hasReadNothing(_ driver: Driver, _ errors: [CaptureError]) -> Bool {
    !errors.isEmpty && driver.engine.totals.packets == 0
  }

  /// How far the files were read when a signal came before their end; `nil` where none did.
  package func interruption(_ driver: Driver) -> Interruption? {
    guard input.interface == nil, stopping.stop.isStopped else { return nil }
    return Interruption(
      packets: driver.engine.totals.packets, share: share.read(driver.statistics))
  }

  private func tell(
    _ driver: Driver, _ errors: [CaptureError], _ output: Output, _ saysSummary: Bool
  ) -> ExitStatus {
    var status = ExitStatus.success
    for error in errors where !error.isBrokenPipe {
      logError(error.subject == "-" ? "standard input: \(error.message)" : error.description)
      let this = ExitStatus(error)
      status = max(status, this)
    }
    if let interruption = interruption(driver) {
      logError("\(interruption.text): the statistics cover what was read until then")
      status = max(status, .interrupted)
    }
    // The reader has seen enough: nothing to complain of, and nothing more to say.
    if errors.contains(where: \.isBrokenPipe) || output.error?.isBrokenPipe == true { return .success }
    if let error = output.error {
      logError(error.description)
      status = .ioError
    }
    if !report.isQuiet, saysSummary {
      if driver.engine.totals.packets > 0 || status == .success {
        let totals = driver.engine.totals
        let timeless = driver.statistics.withoutTime
        if timeless > 0 {
          logError(
            "\(count(timeless, "packet")) without a time (Simple Packet Blocks of pcapng): no round trips are measured")
        }
        if timeless < totals.packets, let first = totals.firstAt, let last = totals.lastAt {
          logFolded(capturedWhen(first, last))
        }
        for line in summary(driver).lines { logFolded(line) }
      }
      hint(driver)
    }
    if !report.isQuiet { for note in driver.notes { logFolded(note) } }
    return status
  }

  /// Prints the counts so far when SIGUSR1 has asked for them.
  func answerRequests(_ driver: Driver) {
    guard stopping.takeRequests() > 0 else { return }
    for line in summary(driver).lines { logFolded(line) }
  }

  /// Says what has been forgotten to stay within the limit on memory, once for each reason; the summary counts it.
  func noteEvictions(_ driver: Driver) {
    guard !report.isQuiet else { return }
    let evicted = driver.engine.totals.evicted
    for eviction in Eviction.allCases where evicted[eviction] > 0 {
      if told.insert(eviction) {
        logError(
          "a limit (\(eviction.option)) is reached: \(eviction.text) are being dropped; the summary counts them"
        )
      }
    }
  }

  /// The counters of the run so far.
  package func summary(_ driver: Driver) -> Summary {
    let statistics = driver.statistics
    var capture = CaptureCounts()
    // Not what the source handed out: a count given with -c may end inside a batch.
    capture.captured = driver.engine.totals.packets
    capture.received = input.interface == nil ? nil : statistics.received
    capture.afterStop = statistics.afterStop
    capture.filteredOut = statistics.filteredOut
    capture.droppedByKernel = statistics.droppedByKernel
    capture.droppedByInterface = statistics.droppedByInterface
    capture.interruption = interruption(driver)
    return Summary(
      plans: plans, ledger: driver.engine.totals, reassembly: driver.engine.reassembly, capture: capture,
      kinds: plans.indices.map { plan in (0..<65).map { driver.engine.totals(plan: plan, kind: $0) } },
      sequences: plans.indices.map { driver.engine.sequenceTotals(plan: $0) },
      checksums: driver.engine.totals.checksums)
  }
}

extension UsageError {
  /// A mistake in the filter `text`, with a mark beneath its column.
  package init(_ error: FilterError, in text: String) {
    let caret = String(repeating: " ", count: max(0, error.column - 1)) + "^"
    self.init(message: "filter: column \(error.column): \(error.message)", quote: ["  \(text)", "  \(caret)"])
  }
}

extension ExitStatus {
  /// How a run ends that met `error`.
  package init(_ error: CaptureError) {
    switch error.code {
    case .notFound, .noDevice, .emptyFile: self = .noInput
    case .noPermission: self = .noPermission
    case .badFilter: self = .usage
    case .ioError: self = .ioError
    case .notACapture, .unsupported, .truncated, .damaged, .deviceGone, .captureFailed: self = .failure
    }
  }
}

/// Hears nothing: what is counted is the engine's.
private final class NoSink: EngineSink {
  func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
}

/// The reasons of which it was said that something is forgotten.
private final class ToldEvictions {
  private var told: Set<Eviction> = []

  /// Takes note of `eviction`; whether it is new.
  func insert(_ eviction: Eviction) -> Bool { told.insert(eviction).inserted }
}
