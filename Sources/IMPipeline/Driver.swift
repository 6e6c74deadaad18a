import Glibc
import IMCapture
import IMEngine
import IMWire

/// Leads packets from their sources through one engine.
///
/// It owns the engine, so that a sink, which the engine calls, never needs to reach back.
final class Driver {
  /// What becomes of a batch beside the engine.
  struct Hooks {
    /// After each batch, and about ten times a second while a live line is quiet: write what is ready.
    var afterBatch: (Driver) -> Void = { _ in }
    /// Whether the run should end early, because its output cannot be written.
    var isOver: () -> Bool = { false }
    /// Something happened to the interface; it has been told on standard error.
    var onEvent: (CaptureEvent) -> Void = { _ in }
  }

  private(set) var engine: Engine
  private let input: InputOptions
  private let stopping: Stopping
  private var confinement: Confinement?
  private let opener: FileOpener?
  private let logOpener: FileOpener?
  private var output: CaptureOutput?
  private var lastFlush = LiveWatch.clock()
  private(set) var source: (any PacketSource)?
  private(set) var finishedStatistics: [CaptureStatistics] = []
  /// The rules of the run: their evidence is taken from the packets, and its folder is written in.
  var alerts: Alerts?
  /// The documents of the run, where there are any: their folder is written in.
  var documents: Documents?
  /// The metrics of the run: their folder is written in, and their server answers once rights are given up.
  var metrics: Metrics?
  /// The profiles that SIGHUP reads again, in a live run that has some from files.
  var profiles: ProfileReload?
  /// Whether nothing is said but errors.
  var isQuiet = false
  /// The first link type and the interfaces' names, for documents.
  private(set) var linkType: UInt16?
  private var left: UInt64
  /// Link types of which it was told that they are not read.
  private var toldLinkTypes: Set<UInt16> = []

  init(
    engine: consuming Engine, input: InputOptions, stopping: Stopping, confinement: Confinement?,
    opener: FileOpener? = nil, logOpener: FileOpener? = nil
  ) {
    self.engine = engine
    self.input = input
    self.stopping = stopping
    self.confinement = confinement
    self.opener = opener
    self.logOpener = logOpener
    left = input.packetLimit ?? .max
  }

  /// Everything counted by all sources so far.
  var statistics: CaptureStatistics {
    var sum = CaptureStatistics()
    for s in finishedStatistics + (source.map { [$0.statistics] } ?? []) {
      sum.delivered += s.delivered
      sum.deliveredBytes += s.deliveredBytes
      sum.truncated += s.truncated
      sum.withoutTime += s.withoutTime
      sum.afterStop += s.afterStop
      sum.received = sum.received.flatMap { a in s.received.map { a + $0 } }
      sum.filteredOut = sum.filteredOut.flatMap { a in s.filteredOut.map { a + $0 } }
      if let dropped = s.droppedByKernel { sum.droppedByKernel = (sum.droppedByKernel ?? 0) + dropped }
      if let dropped = s.droppedByInterface { sum.droppedByInterface = (sum.droppedByInterface ?? 0) + dropped }
    }
    return sum
  }

  /// Runs all sources to their end. Errors are collected: what came before one has been processed, and the next file is
  /// still read.
  func run(_ hooks: Hooks) -> [CaptureError] {
    var errors: [CaptureError] = []
    do throws(CaptureError) {
      if let path = input.writePath { output = try CaptureOutput(path: path, rotation: input.rotation) }
      try runSources(hooks, &errors)
    } catch {
      errors.append(error)
    }
    do throws(CaptureError) { try output?.close() } catch { errors.append(error) }
    opener?.end()
    engine.finish()
    return errors
  }

  private func runSources(_ hooks: Hooks, _ errors: inout [CaptureError]) throws(CaptureError) {
    if let interface = input.interface {
      defer { retire() }
      guard let source = try openLive(interface) else { return }
      self.source = source
      defer { noteLinkTypes(interface, &errors) }
      return try drive(source, hooks)
    }
    for file in input.files {
      if stopping.stop.isStopped || left == 0 || hooks.isOver() { break }
      do throws(CaptureError) {
        let source = try CaptureFile(
          path: file, filter: input.captureFilter, stop: stopping.stop, steps: input.steps)
        self.source = source
        try drive(source, hooks)
      } catch {
        errors.append(error)
      }
      noteLinkTypes(file, &errors)
      retire()
    }
  }

  /// Packets of a link type that is not read are an error of the capture that holds them.
  private func noteLinkTypes(_ subject: String, _ errors: inout [CaptureError]) {
    errors += CaptureError.unread(engine.unknownLinkTypes.subtracting(toldLinkTypes), of: subject)
    toldLinkTypes = engine.unknownLinkTypes
  }

  /// Opens the interface; nil when the run was stopped while it waited for one.
  private func openLive(_ interface: String) throws(CaptureError) -> LiveCapture? {
    var options = LiveOptions()
    options.filter = input.captureFilter
    if let length = input.snapLength { options.snapLength = Int32(clamping: length == 0 ? 262_144 : length) }
    if let size = input.bufferKiB { options.bufferSize = Int32(clamping: size * 1_024) }
    options.isPromiscuous = input.isPromiscuous
    options.waitsForInterface = input.waitsForInterface
    var isWaiting = false
    while true {
      do throws(CaptureError) {
        return try LiveCapture(device: interface, options: options, stop: stopping.stop)
      } catch {
        guard input.waitsForInterface, error.code == .noDevice else { throw error }
      }
      if !isWaiting { complain("\(interface): there is no such interface; waiting for it") }
      isWaiting = true
      _ = poll(nil, 0, 200)
      if stopping.stop.isStopped { return nil }
    }
  }

  /// Has the engine tell what waits to be told.
  func tellSettlements() { engine.tellSettlements() }

  private func retire() {
    if let source { finishedStatistics.append(source.statistics) }
    source = nil
  }

  private func drive(_ source: any PacketSource, _ hooks: Hooks) throws(CaptureError) {
    var failure: CaptureError?
    var isOver = false
    // Before the first packet: what cannot be written is said at once, and a quiet line leaves a capture of no packets.
    if let output, let interface = source.interfaces.first, input.interface != nil || !output.needsTime {
      try output.open(interface.linkType, at: .wallClock)
    }
    try confine()
    let take = { (bytes: RawSpan, records: Span<PacketRecord>) in
      var records = records.extracting(first: UInt64(records.count) > self.left ? Int(self.left) : records.count)
      if let output = self.output, failure == nil {
        do throws(CaptureError) {
          let kept = try output.write(records, bytes)
          isOver = kept < records.count
          records = records.extracting(first: kept)
        } catch {
          failure = error
        }
      }
      self.left -= UInt64(records.count)
      self.alerts?.evidence?.keep(bytes, records)
      if self.linkType == nil, records.count > 0 { self.linkType = records[0].linkType }
      self.process(bytes, records)
    }
    while left > 0, !hooks.isOver(), !isOver {
      let more = try source.nextBatch(take)
      let isAsked = stopping.takeHangup()
      if isAsked {
        documents?.turn()
        profiles?.read(isQuiet: isQuiet) { engine.reload($0, $1) }
        metrics?.reload()
      }
      if let output, failure == nil, !isOver {
        do throws(CaptureError) { isOver = try !tend(output, reopens: isAsked) } catch { failure = error }
      }
      if let failure {
        output?.abandon()
        throw failure
      }
      for event in source.takeEvents() {
        complain(event.description)
        hooks.onEvent(event)
      }
      hooks.afterBatch(self)
      if !more { break }
    }
  }

  /// Leads a batch through the engine, minute by minute where documents want to know what each has brought.
  private func process(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    var first = 0
    while let documents, first < records.count {
      let count = documents.countOfMinute(records.extracting(droppingFirst: first))
      engine.process(bytes, records.extracting(first..<first + count))
      first += count
      if first < records.count { documents.minuteEnds(self) }
    }
    if documents == nil { engine.process(bytes, records) }
  }

  /// Gives up what the run does not need from here on, once.
  private func confine() throws(CaptureError) {
    guard let confinement else { return }
    self.confinement = nil
    if let output {
      if let user = confinement.user { output.give(to: user) }
      if output.canReopen { stopping.hangupReopens() }
      if let opener { output.use(opener) }
    }
    if profiles != nil { stopping.hangupReopens() }
    let logs = documents?.folder
    if let logs {
      if let user = confinement.user { logs.give(to: user) }
      stopping.hangupReopens()
      if let logOpener { logs.use(logOpener) }
    }
    if let user = confinement.user { alerts?.evidence?.give(to: user) }
    if output?.opener == nil { opener?.end() }
    if logs?.usedOpener == nil { logOpener?.end() }
    let folders = [output?.ownFolder, alerts?.evidence?.folder, logs?.ownFolder, metrics?.file?.folder].compactMap {
      $0
    }
    let openers = [output?.opener, logs?.usedOpener].compactMap { $0 }
    try confinement.enter(
      folders: folders, mayWrite: !folders.isEmpty, openers: openers, listener: metrics?.server?.descriptor)
    try output?.checkRights()
    try alerts?.evidence?.checkRights()
    try logs?.checkRights()
    try metrics?.begin()
  }

  /// What the capture file needs between batches. Returns whether the run goes on.
  private func tend(_ output: CaptureOutput, reopens: Bool) throws(CaptureError) -> Bool {
    if reopens { try output.reopen() }
    if input.isUnbuffered { try output.flush() }
    guard input.interface != nil else { return true }
    let now = LiveWatch.clock()
    if now - lastFlush >= CaptureOutput.flushTime {
      lastFlush = now
      try output.flush()
    }
    return try output.advance(to: .wallClock)
  }
}

extension CaptureError {
  /// What is told of a capture with packets of link types that are not read.
  static func unread(_ linkTypes: Set<UInt16>, of subject: String) -> [CaptureError] {
    linkTypes.sorted().map {
      CaptureError(.unsupported, subject, "packets of link type \($0) are passed over: imdump does not read it")
    }
  }
}

extension Timestamp {
  /// The clock on the wall.
  static var wallClock: Timestamp {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Timestamp(seconds: Int64(now.tv_sec), fraction: Int64(now.tv_nsec))
  }
}
