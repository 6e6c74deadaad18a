package import IMEngine
import IMFields
package import IMMetrics
package import IMOTLP
import IMOutput
package import IMWire

/// Turns what the engine tells into ECS documents.
///
/// It is an `EngineSink`, or a part of one that passes every call on. It wants the needs of `needs` and nothing of the
/// engine itself: connections, sessions and servers of exchanges are learned from the frames. Documents stand in buffers
/// and are handed to `flush` as whole lines, now and then and at the end:
///
///     let sink = ECSSink(context: context, plans: plans, options: options) { dataset, lines in write(lines) }
///     engine.process(bytes, records)     // those of one minute
///     sink.figures = ...                 // what the capture has counted, when a minute's packets have been processed
///     sink.advance(to: now)              // live only: minutes end although nothing comes
///     engine.finish()
///     sink.finish(at: nil)
///
/// The first line is always the document of the capture's start.
package final class ECSSink: EngineSink {
  /// What it must be told by an engine.
  package static let needs: EngineOptions.Needs = [.frames, .resolved, .issues, .connections, .progress]

  /// What it keeps of a connection that a plan decodes, in bytes.
  package static let costPerConnection = 1_536

  /// What the capture has counted so far; whoever owns the capture brings it up to date when the packets
  /// of a minute have been processed, so that documents do not depend on how packets come.
  package var figures = CaptureMetrics()
  /// Says whether a message whose fate was decided gets a document, where not all of the log do.
  package var chooses: ((Exchange) -> Bool)?
  /// Documents written.
  package var documentCount: UInt64 { output.written }
  /// Messages left out because their session is not in the sample.
  package var sampledOutCount: UInt64 { output.sampledOut }
  /// Documents left out because they were longer than a line may be.
  package var refusedCount: UInt64 { buffers.refused }

  // One thread calls a sink, and no call is made within another: what follows is not guarded against it at every access.

  let writer: ECSWriter
  let options: ECSOptions
  /// Makes telemetry instead of documents; `nil` where documents are written.
  let otlp: OTLPWriter?
  /// Whether frames of each plan carry their session.
  @exclusivity(unchecked) private(set) var hasSession: [Bool]
  /// Whether each plan's clients have names that are not to be shown.
  @exclusivity(unchecked) private(set) var hidesIdentity: [Bool]
  @exclusivity(unchecked) var output = ECSWriter.OutputCounts()
  @exclusivity(unchecked) var connections = ConnectionRegistry()
  @exclusivity(unchecked) var exchanges = ExchangeRegistry()
  @exclusivity(unchecked) var facts = MessageFactsStore()
  var servers: ServerRegistry
  @exclusivity(unchecked) var periods: PeriodTable
  /// The statuses that answers gave.
  @exclusivity(unchecked) var statuses = StatusRegistry()
  @exclusivity(unchecked) var clock = PeriodClock()
  @exclusivity(unchecked) private(set) var roles: RoleTable
  /// Exchanges that were resolved before the frame of their first transmission was reported, which comes next.
  @exclusivity(unchecked) var early: [Exchange] = []
  /// The interval before the heartbeat whose frame is told next, and how much it differs from the one before it.
  @exclusivity(unchecked) var beat: (interval: Nanoseconds, change: Nanoseconds?)?
  /// The serial number of the last frame's connection, and the frame's number: orphaned answers that are adopted are told
  /// behind their message.
  @exclusivity(unchecked) var last: (serial: UInt32, sequence: UInt64) = (0, 0)
  /// The serial numbers of connections on which orphaned answers wait, and how many wait there.
  @exclusivity(unchecked) var orphaned: Set<UInt32> = []
  @exclusivity(unchecked) var orphanCount = 0
  /// The bits of types that name the client.
  let naming = FrameKind.Flags.opensSession.rawValue | FrameKind.Flags.assignsIdentity.rawValue
  /// When the capture began, as far as its start was written, and the figures of its last document and when that was.
  @exclusivity(unchecked) private var begunAt: Timestamp?
  /// Told when a minute is over and all its documents are made: with its beginning, and the time that has come.
  package var minuteEnded: (_ start: Timestamp, _ now: Timestamp) -> Void = { _, _ in }
  /// Documents of what happened to the interface.
  private var incidents: UInt64 = 0
  private var captureReport: (at: Timestamp, figures: CaptureMetrics)?
  /// What of named fields is logged, by profile, once a message of it has come; `nil` where nothing is.
  @exclusivity(unchecked) private var logged: [LoggedFields?]
  /// Whether messages of a profile may have named fields to log: of those that have not come yet, that is not known.
  @exclusivity(unchecked) var mayLogFields: [Bool]
  @exclusivity(unchecked) private var book = FieldReaderCache()
  private let loggedBudget = LoggedFields.Budget()
  let buffers: LineBuffers

  /// A sink that hands lines to `flush`: with the dataset that they belong to when `options` separate them, else with
  /// `.message` for all. The bytes are borrowed for the call. Separated datasets begin with no bytes for `.capture`, and get
  /// no document of the capture's start: `startLine` gives it for each file. With `options.otlp` lines of OpenTelemetry's JSON go
  /// to `flushOTLP` instead.
  package init(
    context: ECSContext, plans: [ProtocolPlan], options: ECSOptions,
    flush: @escaping (ECSDataset, UnsafeRawBufferPointer) -> Void,
    flushOTLP: @escaping (OTLPSignal, UnsafeRawBufferPointer) -> Void = { _, _ in }
  ) {
    hasSession = plans.map(\.hasSession)
    hidesIdentity = plans.map(\.hidesIdentity)
    logged = plans.map { _ in nil }
    mayLogFields = plans.map { options.messageLog != .off && $0.hasFields }
    self.options = options
    let writer = ECSWriter(context: context, options: options, plans: plans)
    self.writer = writer
    otlp = options.otlp.map { OTLPWriter(writer, $0, handOn: flushOTLP) }
    servers = ServerRegistry(maximumCount: options.maximumEndpoints)
    periods = PeriodTable()
    roles = RoleTable(plans: plans)
    buffers = LineBuffers(separate: options.separatesDatasets, flushSize: options.flushSize, flush: flush)
  }

  /// What was taken from the profiles is taken again.
  package func reloaded(_ plans: [ProtocolPlan]) {
    hasSession = plans.map(\.hasSession)
    hidesIdentity = plans.map(\.hidesIdentity)
    logged = plans.map { _ in nil }
    mayLogFields = plans.map { options.messageLog != .off && $0.hasFields }
    roles = RoleTable(plans: plans)
    writer.reload(plans)
  }

  // MARK: The run

  /// Writes the document of the capture's start, unless it has been written: before the first packet, or with its time.
  package func begin(at time: Timestamp) {
    guard begunAt == nil else { return }
    begunAt = time
    _ = clock.advance(to: time)
    captureReport = (time, figures)
    if let otlp {
      otlp.metrics.begunAt = time
      return
    }
    // A file of its own begins with this document by itself.
    if options.separatesDatasets {
      output.written += 1
      return buffers.handOn(.capture, UnsafeRawBufferPointer(start: nil, count: 0))
    }
    write(.capture) { writer, lines in
      writer.capture(.start, from: time, to: time, self.figures, since: nil, self.output, &lines)
    }
  }

  /// The document of the capture's start as the first line of the file named `file`; `nil` before the capture has begun.
  ///
  /// It is the same document in every file, but for the file's name, which stands at its beginning: who knows a file by its
  /// first bytes can tell it from all others.
  package func startLine(file: String) -> String? {
    guard let begunAt else { return nil }
    var lines = JSONLines()
    _ = writer.capture(
      .start, from: begunAt, to: begunAt, CaptureMetrics(), since: nil, ECSWriter.OutputCounts(), file: file, &lines)
    return lines.writer.text
  }

  /// Moves the clock on when no packet does. Live only: it makes the documents depend on when it is called.
  package func advance(to time: Timestamp) { tick(time) }

  /// Writes a document of what happened to the interface. Live only.
  package func report(_ incident: CaptureIncident, at time: Timestamp) {
    begin(at: time)
    guard otlp == nil else { return }
    incidents += 1
    write(.capture) { writer, lines in
      writer.capture(
        .incident(incident, self.incidents), from: time, to: time, self.figures, since: self.captureReport?.figures,
        self.output, &lines)
    }
  }

  /// Writes the last summaries and the document of the capture's end, and hands everything on. After the engine's
  /// `finish`; `time` is for a capture without packets.
  package func finish(at time: Timestamp? = nil) {
    if let time, begunAt == nil { begin(at: time) }
    if let period = clock.finish() {
      summarise(period)
      let start = captureReport?.at ?? period.start
      let end = max(period.end, time ?? period.end)
      if otlp != nil { count(from: start, to: end) }
      write(.capture) { writer, lines in
        writer.capture(
          .end, from: start, to: end, self.figures, since: self.captureReport?.figures, self.output, &lines)
      }
    }
    flush()
  }

  /// Hands on what is buffered.
  package func flush() {
    buffers.flush()
    otlp?.lines.flush()
  }

  // MARK: Time

  /// Packet time has come to `time`: the capture has begun, and perhaps a minute is over.
  @inline(__always)
  func tick(_ time: Timestamp) {
    if begunAt == nil { begin(at: time) }
    if let period = clock.advance(to: time) { close(period, time) }
  }

  @inline(never)
  private func close(_ period: Period, _ now: Timestamp) {
    summarise(period)
    let start = captureReport?.at ?? period.start
    if otlp != nil { count(from: start, to: period.end) }
    write(.capture) { writer, lines in
      writer.capture(
        .period(period.boundary), from: start, to: period.end, self.figures, since: self.captureReport?.figures,
        self.output, &lines)
    }
    captureReport = (period.end, figures)
    minuteEnded(period.start, now)
  }

  /// Writes the points of the capture's packets since those before.
  private func count(from start: Timestamp, to end: Timestamp) {
    guard let otlp, otlp.options.signals.contains(.metrics) else { return }
    var points = OTLPPoints()
    otlp.capture(figures, since: captureReport?.figures, from: start, to: end, &points)
    otlp.write(&points)
  }

  private func summarise(_ period: Period) {
    if let otlp {
      var points = OTLPPoints()
      periods.close { index, metrics in
        guard otlp.options.signals.contains(.metrics), let key = servers[index] else { return }
        otlp.summary(index, key, metrics, period, &points)
        output.written += 1
      }
      return otlp.write(&points)
    }
    let dropped = CaptureMetrics.growth(figures.dropped, captureReport?.figures.dropped) ?? 0
    let interface = CaptureMetrics.growth(figures.interfaceDropped, captureReport?.figures.interfaceDropped) ?? 0
    let loss = ECSWriter.CaptureLoss(
      ratio: figures.lossRatio(since: captureReport?.figures), isLossy: dropped + interface > 0)
    periods.close { index, metrics in
      guard let key = servers[index] else { return }
      let metrics = copy metrics
      write(.summary) { writer, lines in writer.summary(key, metrics, period, loss, &lines) }
    }
  }

  /// The named fields of a frame that its message's document has, if it is the first copy of one that is logged.
  @inline(never)
  func loggedFields(
    _ frame: Frame, _ isLogged: Bool, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ body: RawSpan
  ) -> LoggedFields.Text? {
    let index = Int(connection.plan)
    let plan = writer.plans[index]
    if logged[index] == nil { logged[index] = LoggedFields(plan, names: options.loggedFields) }
    guard let logged = logged[index] else {
      mayLogFields[index] = false
      return nil
    }
    // One frame may tell what the next ones mean.
    guard isLogged || plan.fields?.remembers == true else { return nil }
    let fields = book.fields(frame, connection, direction, plan, bytes: bytes, body: body)
    return isLogged ? fields.flatMap { logged.text($0, options.identities, loggedBudget) } : nil
  }

  // MARK: Writing

  /// Lets `body` write a log record, where telemetry is written and logs are a part of it. Gives whether telemetry is written.
  @inline(__always)
  func log(_ dataset: ECSDataset, _ body: (OTLPWriter, Timestamp) -> Void) -> Bool {
    guard let otlp else { return false }
    guard otlp.options.signals.contains(.logs), options.datasets.contains(dataset) else { return true }
    body(otlp, clock.now ?? .distantPast)
    output.written += 1
    return true
  }

  /// Writes one document, and hands lines on when there are enough of them.
  func write(_ dataset: ECSDataset, _ body: (ECSWriter, inout JSONLines) -> Bool) {
    guard otlp == nil, options.datasets.contains(dataset) else { return }
    if buffers.write(dataset, { body(writer, &$0) }) { output.written += 1 }
  }
}
