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
  }

  private(set) var engine: Engine
  private let input: InputOptions
  private let stop: StopSwitch
  private var writer: CaptureWriter?
  private(set) var source: (any PacketSource)?
  /// The thread that reads the source, where there is one: then nothing else may ask the source.
  private var reader: ReadingThread?
  private(set) var finishedStatistics: [CaptureStatistics] = []
  /// The first link type and the interfaces' names, for documents.
  private(set) var linkType: UInt16?
  private var left: UInt64

  init(engine: consuming Engine, input: InputOptions, stop: StopSwitch) {
    self.engine = engine
    self.input = input
    self.stop = stop
    left = input.packetLimit ?? .max
  }

  /// Everything counted by all sources so far.
  var statistics: CaptureStatistics {
    var sum = CaptureStatistics()
    for s in finishedStatistics + (current.map { [$0] } ?? []) {
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

  /// What the source has counted, as far as its packets have come here.
  private var current: CaptureStatistics? { reader?.statistics ?? source?.statistics }

  /// Runs all sources to their end. Errors are collected: what came before one has been processed, and the next file is
  /// still read.
  func run(_ hooks: Hooks) -> [CaptureError] {
    var errors: [CaptureError] = []
    if let interface = input.interface {
      if let error = run(live: interface, hooks) { errors.append(error) }
    } else {
      for file in input.files {
        if stop.isStopped || left == 0 || hooks.isOver() { break }
        do throws(CaptureError) {
          let source = try CaptureFile(path: file, filter: input.captureFilter, stop: stop)
          self.source = source
          defer { retire() }
          try drive(source, hooks)
        } catch {
          errors.append(error)
        }
      }
    }
    do throws(CaptureError) { try writer?.close() } catch { errors.append(error) }
    engine.finish()
    return errors
  }

  private func run(live interface: String, _ hooks: Hooks) -> CaptureError? {
    var options = LiveOptions()
    options.filter = input.captureFilter
    if let length = input.snapLength { options.snapLength = Int32(clamping: length == 0 ? 262_144 : length) }
    if let size = input.bufferKiB { options.bufferSize = Int32(clamping: size * 1_024) }
    options.isPromiscuous = input.isPromiscuous
    do throws(CaptureError) {
      let source = try LiveCapture(device: interface, options: options, stop: stop)
      self.source = source
      defer { retire() }
      try drive(source, hooks)
    } catch {
      return error
    }
    return nil
  }

  private func retire() {
    if let source { finishedStatistics.append(source.statistics) }
    source = nil
  }

  private func drive(_ source: any PacketSource, _ hooks: Hooks) throws(CaptureError) {
    var failure: CaptureError?
    // Before the first packet: what cannot be written is said at once, and a quiet line leaves a capture of no packets.
    if let interface = source.interfaces.first { try openWriter(interface.linkType) }
    let take = { (bytes: RawSpan, records: Span<PacketRecord>, packets: PreparedPackets?) in
      let taken = UInt64(records.count) > self.left ? Int(self.left) : records.count
      self.left -= UInt64(taken)
      let records = records.extracting(first: taken)
      if self.linkType == nil, taken > 0 { self.linkType = records[0].linkType }
      if let packets {
        self.engine.process(bytes, records, packets)
      } else {
        self.engine.process(bytes, records)
      }
      if self.input.writePath != nil, failure == nil { failure = self.keep(bytes, records) }
    }
    if input.jobs > 1, source is CaptureFile { reader = ReadingThread(source, engine.preparer) }
    defer { endReading(source) }
    while left > 0, !hooks.isOver() {
      let more =
        if let reader {
          try reader.nextBatch { take($0, $1, $2) }
        } else {
          try source.nextBatch { take($0, $1, nil) }
        }
      if let failure { throw failure }
      if reader == nil { for event in source.takeEvents() { complain(event.description) } }
      hooks.afterBatch(self)
      if !more { break }
    }
  }

  private func endReading(_ source: any PacketSource) {
    guard let reader else { return }
    if !reader.hasEnded { source.stop() }
    reader.end()
    self.reader = nil
  }

  /// Writes a batch to the capture file that was asked for.
  private func keep(_ bytes: RawSpan, _ records: Span<PacketRecord>) -> CaptureError? {
    do throws(CaptureError) {
      for i in records.indices {
        let record = records[i]
        if writer == nil { try openWriter(record.linkType) }
        try writer?.write(record, bytes)
      }
      if input.isUnbuffered { try writer?.flush() }
      return nil
    } catch {
      // Closing it would try again, and fail again.
      writer = nil
      return error
    }
  }

  /// Opens the capture file that was asked for, once.
  private func openWriter(_ linkType: UInt16) throws(CaptureError) {
    guard writer == nil, let path = input.writePath else { return }
    do throws(CaptureError) { writer = try CaptureWriter(path: path, linkType: linkType) } catch {
      // Whatever the reason, it is output that cannot be written, and no input that is not there.
      var error = error
      error.code = .ioError
      throw error
    }
  }
}
