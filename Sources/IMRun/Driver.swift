import CSandbox
import Glibc
package import IMCapture
package import IMDescriptors
package import IMEngine
import IMMetrics
import IMStore
import IMSystem
import IMWire

/// Leads packets from their sources through one engine.
///
/// It owns the engine, so that a sink, which the engine calls, never needs to reach back.
package final class Driver {
  /// Nanoseconds that the clock must be past a moment before it has come on a quiet line: packets of before may still stand in the
  /// kernel's buffer.
  private static let clockPatience: Int64 = 1_000_000_000

  /// Calls of the command for each batch, in addition to the engine and the features.
  struct Hooks {
    /// After each batch, and about ten times a second while a live line is quiet: write what is ready.
    var afterBatch: (Driver) -> Void = { _ in }
    /// Once, after privileges are dropped and before the first packet is read.
    var beforePackets: () -> Void = {}
    /// Whether the run should end early, because its output cannot be written.
    var isOver: () -> Bool = { false }
  }

  /// The engine that decodes the packets of the sources.
  package private(set) var engine: Engine
  /// The features that accompany the run.
  let companions: [any RunFeature]
  private let input: InputOptions
  private let stopping: SignalHandlers
  private let secrets: KeyLogs?
  private var sandbox: Sandbox?
  private(set) var source: (any PacketSource)?
  private(set) var finishedStatistics: [CaptureStatistics] = []
  /// The first link type and the interfaces' names, for documents.
  package private(set) var linkType: UInt16?
  private var left: UInt64
  /// Whether `open` has opened the interface already.
  private var isOpen = false
  /// Told what happens to an interface, in a line.
  package var tell: (String) -> Void = { logError($0) }
  /// Whether the wall clock advances packet time while a live line is quiet, even if no feature needs it.
  package var usesClock = false
  /// Whether a feature has ended the run.
  private var isEnded = false
  /// Packet time in minutes, if a feature is notified of them.
  private var minutes: PeriodClock?
  /// What is to be said of the order of files, in lines.
  private(set) var notes: [String] = []

  init(
    engine: consuming Engine, input: InputOptions, stopping: SignalHandlers, sandbox: Sandbox?,
    companions: [any RunFeature] = [], secrets: KeyLogs? = nil
  ) {
    self.secrets = secrets
    self.engine = engine
    self.input = input
    self.stopping = stopping
    self.sandbox = sandbox
    self.companions = companions
    minutes = companions.contains { $0.hearsMinutes } ? PeriodClock() : nil
    left = input.packetLimit ?? .max
  }

  /// What went wrong with the sources, once they have ended.
  package private(set) var errors: [CaptureError] = []

  /// Everything counted by all sources so far.
  package var statistics: CaptureStatistics {
    (finishedStatistics + (source.map { [$0.statistics] } ?? [])).reduce(into: CaptureStatistics()) { $0.add($1) }
  }

  /// Runs the source to its end. Errors are collected: what came before one has been processed, and the other files are
  /// still read.
  func run(_ hooks: Hooks) -> [CaptureError] {
    var errors: [CaptureError] = []
    do throws(CaptureError) {
      if !isOpen { for companion in companions { try companion.start() } }
      try runSources(hooks, &errors)
    } catch {
      errors.append(error)
    }
    for companion in companions { do throws(CaptureError) { try companion.ended() } catch { errors.append(error) } }
    secrets?.finish()
    engine.finish(at: statistics.latestFilteredOut)
    self.errors = errors
    return errors
  }

  /// Opens the interface and gives up what the run does not need, ahead of `run`, which then begins with the first packet: for a
  /// process whose other threads begin in between. False when the run was stopped while it waited for an interface.
  package func open() throws(CaptureError) -> Bool {
    guard let interface = input.interface else { return false }
    for companion in companions { try companion.start() }
    guard let source = try openLive(interface) else { return false }
    self.source = source
    for companion in companions { try companion.opened(source) }
    try confine()
    isOpen = true
    return true
  }

  private func runSources(_ hooks: Hooks, _ errors: inout [CaptureError]) throws(CaptureError) {
    if let interface = input.interface {
      defer { retire() }
      if self.source == nil { self.source = try openLive(interface) }
      guard let source else { return }
      defer { errors += CaptureError.unread(engine.unknownLinkTypes) { _ in interface } }
      return try drive(source, hooks)
    }
    if stopping.stop.isStopped || left == 0 || hooks.isOver() { return }
    let files = input.capture(stop: stopping.stop, secrets: secrets?.handler)
    source = files
    defer {
      errors += files.failures
      errors += CaptureError.unread(engine.unknownLinkTypes) { files.path(ofLinkType: $0) ?? input.files[0] }
      notes = files.notes
      retire()
    }
    if !files.isEmpty { try drive(files, hooks) }
  }

  /// Opens the interface; nil when the run was stopped while it waited for one.
  private func openLive(_ interface: String) throws(CaptureError) -> LiveCapture? {
    let options = input.live
    var isWaiting = false
    while true {
      do throws(CaptureError) {
        return try LiveCapture(device: interface, options: options, stop: stopping.stop)
      } catch {
        guard input.waitsForInterface, error.code == .noDevice else { throw error }
      }
      if !isWaiting { logError("\(interface): no such interface; waiting for it") }
      isWaiting = true
      _ = poll(nil, 0, 200)
      if stopping.stop.isStopped { return nil }
    }
  }

  /// Has the engine tell what waits to be told.
  package func tellSettlements() { engine.tellSettlements() }

  /// Has the engine report on every connection that is not over.
  package func reportOpen() { engine.reportOpen() }

  /// Ends the run with the batch that is in hand.
  package func end() { isEnded = true }

  /// Puts a profile that was read again in place of the one with its index.
  package func reload(_ plan: Int, _ fresh: ProtocolPlan) -> ReloadOutcome { engine.reload(plan, fresh) }

  private func retire() {
    if let source { finishedStatistics.append(source.statistics) }
    source = nil
  }

  private func drive(_ source: any PacketSource, _ hooks: Hooks) throws(CaptureError) {
    var failure: CaptureError?
    let hasClock = input.interface != nil && (usesClock || companions.contains { $0.wantsClock })
    if !isOpen { for companion in companions { try companion.opened(source) } }
    if isOpen || sandbox != nil {
      try confine()
      isOpen = false
      hooks.beforePackets()
    }
    let take = { (bytes: RawSpan, records: Span<PacketRecord>) in
      var records = records.extracting(first: UInt64(records.count) > self.left ? Int(self.left) : records.count)
      for companion in self.companions {
        do throws(CaptureError) {
          let kept = try companion.take(records, bytes)
          if kept < records.count { self.isEnded = true }
          records = records.extracting(first: kept)
        } catch {
          failure = failure ?? error
        }
      }
      self.left -= UInt64(records.count)
      self.secrets?.follow()
      if source.statistics.withoutTime > 0 { self.engine.lacksTimes() }
      if self.linkType == nil, records.count > 0 { self.linkType = records[0].linkType }
      self.process(bytes, records)
      if hasClock, records.count == 0 {
        self.engine.idle(until: Timestamp.wallClock.advanced(by: -Self.clockPatience))
      }
    }
    while left > 0, !hooks.isOver(), !isEnded {
      let more = try source.nextBatch(take)
      let isHangup = stopping.takeHangup()
      if let failure { throw failure }
      if isHangup { for companion in companions { try companion.hangup(self) } }
      for event in source.takeEvents() {
        tell(event.description)
        for companion in companions { companion.note(event) }
      }
      for companion in companions { try companion.afterBatch(self) }
      hooks.afterBatch(self)
      if !more { break }
    }
  }

  /// Runs a batch through the engine, minute by minute if features are notified of their ends.
  private func process(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    guard minutes != nil else { return engine.process(bytes, records) }
    var first = 0
    while first < records.count {
      let count = countOfMinute(records.extracting(droppingFirst: first))
      engine.process(bytes, records.extracting(first..<first + count))
      first += count
      if first < records.count { for companion in companions { companion.minuteEnded(self) } }
    }
  }

  /// How many of `records` belong to the minute that is running: behind them it is over.
  private func countOfMinute(_ records: Span<PacketRecord>) -> Int {
    records.indices.first { minutes?.advance(to: records[$0].timestamp) != nil } ?? records.count
  }

  /// Gives up what the run does not need from here on, once.
  private func confine() throws(CaptureError) {
    guard let sandbox else { return }
    self.sandbox = nil
    var privileges = Privileges(user: sandbox.owner)
    for companion in companions { companion.confine(&privileges) }
    if privileges.hearsHangup { stopping.hangupReopens() }
    InputFile.expect(input.files)
    if input.interface != nil { imdump_allow_capture() }
    try sandbox.enter(
      folders: privileges.folders, mayWrite: !privileges.folders.isEmpty, outputBrokers: privileges.outputBrokers,
      listener: privileges.listener,
      keepsDatabase: privileges.keepsDatabase, isInteractive: privileges.isInteractive,
      stores: privileges.stores, places: privileges.places, useStoreCalls: useDatabaseCalls)
    for companion in companions { try companion.confined() }
  }
}

extension CaptureError {
  /// Packets of a link type that is not read are an error of the capture that has them, which `subject` names.
  package static func unread(_ linkTypes: Set<UInt16>, of subject: (UInt16) -> String) -> [CaptureError] {
    linkTypes.sorted().map {
      CaptureError(
        .unsupported, subject($0), "skipping packets of link type \($0), which is not supported")
    }
  }
}
