package import IMCapture
package import IMDescriptors
package import IMEngine
package import IMFiles
import IMOutput
package import IMRun
import IMStore
package import IMSystem
package import IMWire

/// What is asked of a store that a run writes.
package struct StoreChoices: Sendable {
  /// The file.
  package var path = ""
  /// Whether what users write is kept, to be searched.
  package var keepsPayload = false
  /// Bytes of the file at which its oldest messages are removed; `nil` for no limit.
  package var maximumBytes: UInt64?
  /// The least of these that tables and a batch have room in.
  package static let leastMaximum: UInt64 = 1 << 20
  /// Whether a live run keeps its packets beside the store, where it writes them nowhere else: half of `maximumBytes` are for them.
  package var keepsPackets = false
  /// Bytes of packets that are kept where there is no limit.
  static let defaultSpill: UInt64 = 2 << 30
  /// The store that what is written is added to in the end; `nil` for none.
  package var addsTo: String?
  /// Called by the thread that writes when the store is there, and after each batch.
  package var written: (@Sendable () -> Void)?

  /// No file yet.
  package init() {}
}

/// The messages of a run in a store: `imdump index`, and `--store` of a capture.
///
/// Files wait for the disk. A live capture does not: rows that the writer has not taken wait in a batch, and behind a limit they
/// are dropped and counted.
package final class StoreKeeper: RunFeature {
  /// Exchanges that the engine of a run that only writes a store has room for at first; more open ones make it grow.
  package static let exchangeCapacity = 1 << 16

  private let run: Run
  private let choices: StoreChoices
  private let queue: StoreQueue
  private var file: StoreFile?
  private var writer: StoreWriter?
  private var thread: StoreThread?
  private let feed: StoreFeed
  /// What hears of the messages of files, and of live ones.
  private var fileSink: StoreSink?
  private var sink: MessageSink?
  /// Where `-w` has written the packets of a live run.
  private let written: WrittenPackets?
  /// The packets of a live run.
  private var spill: SpillCapture?
  /// What packets are read from.
  private var source: (any PacketSource)?
  private let isLive: Bool
  /// Live messages whose fates are final.
  @exclusivity(unchecked) private var messageCount: UInt64 = 0
  /// Whether an error of the store has ended the run, which tells it.
  private var isTold = false

  /// Writes the messages of `run` to the store of `choices`. `written` knows where `-w` writes the packets of a live run.
  package init(_ run: Run, _ choices: StoreChoices, written: WrittenPackets?) {
    self.run = run
    isLive = run.isLive
    self.written = written
    self.choices = choices
    queue = StoreQueue()
    feed = StoreFeed(queue, isLive: isLive, BatchSize(maximumBytes: choices.maximumBytes))
  }

  /// A message whose line has gone quiet is decided and stored all the same.
  package var wantsClock: Bool { isLive }
  /// Of connections, the end, and once a minute whether one side is done.
  package var needs: EngineOptions.Needs { MessageSink.needs(hearsDecided: true).union([.connections, .progress]) }
  /// What is kept of an exchange.
  package var cost: (connection: Int, exchange: Int, server: Int) {
    (0, isLive ? MessageStore.costPerMessage : StoreSink.costPerMessage, 0)
  }

  /// A sink that fills batches of rows.
  package func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? {
    let texts = StoredTexts(run.plans, includesPayload: choices.keepsPayload)
    guard isLive else {
      let sink = StoreSink(plans: run.plans, texts: texts, feed)
      fileSink = sink
      return other.map { PairSink(sink, $0) } ?? sink
    }
    let sink = MessageSink(
      plans: run.plans, selection: MessageSelection(MessageChoice(), Run.MessageFilter()), stored: texts,
      take: { [unowned self] record, exchange in takeFinal(record, exchange) })
    sink.hear = { [feed] issue, connection in
      feed.batch.add(issue, connection)
      feed.handOn()
    }
    sink.onReceipt = { [feed] receipt in
      feed.batch.add(receipt)
      feed.handOn()
    }
    sink.watch = { [feed] report, hello in
      feed.batch.add(report, hello: hello)
      feed.handOn()
    }
    // Whoever watches sees a message when it is sent; one of a file when its fate is decided, and not a minute later.
    sink.followsFromStart = true
    sink.follow = { [feed] record, exchange in
      feed.batch.addOpen(record, exchange)
      feed.handOn()
    }
    self.sink = sink
    return other.map { PairSink(sink, $0) } ?? sink
  }

  private func takeFinal(_ record: MessageRecord, _ exchange: Exchange) {
    messageCount += 1
    feed.batch.addFinal(record, exchange)
    feed.handOn()
  }

  /// The file is made when there is something to read, so a name that is mistyped costs no store that is there; and while this
  /// process may still make files in its folder.
  package func opened(_ source: any PacketSource) throws(CaptureError) {
    self.source = source
    guard file == nil else { return }
    let file = try StoreFile(choices.path)
    // Live, packets are found in what `-w` writes, if anywhere.
    let captures: [StoreOptions.Capture] =
      spills || written != nil
      ? []
      : isLive
        ? [StoreOptions.Capture(path: run.input.writePath ?? run.input.interface ?? "")]
        : run.input.files.map { StoreOptions.Capture(path: $0, byteCount: fileByteCount($0)) }
    var options = StoreOptions(
      captures: captures, writer: "imdump \(imdumpVersion)", sessionLimit: min(65_536, run.decode.memory >> 12))
    options.isLive = isLive
    options.keepsPayload = choices.keepsPayload
    options.isWatched = choices.written != nil
    options.maximumBytes = choices.maximumBytes.map { spills ? $0 / 2 : $0 }
    do throws(StoreError) {
      try spillStores(beside: file.place, called: file.path)
      writer = try StoreWriter(file.place, called: file.path, run.plans, options)
    } catch {
      throw CaptureError(error)
    }
    self.file = file
    guard spills, let link = source.interfaces.first?.linkType else { return }
    spill = SpillCapture(
      file.place, folder: file.folder, maximumBytes: choices.maximumBytes.map { $0 / 2 } ?? StoreChoices.defaultSpill,
      linkType: link, user: run.sandbox.user)
    feed.willOffer = { [unowned self] in spill?.flush() }
  }

  /// Whether packets are kept beside the store.
  private var spills: Bool { isLive && choices.keepsPackets && run.input.writePath == nil }

  /// Keeps the store and its folder.
  package func confine(_ privileges: inout Privileges) {
    guard let file else { return }
    if let user = privileges.user { file.give(to: user) }
    privileges.folders.append(file.folder)
    privileges.stores.append(file.place)
    if let target = choices.addsTo { privileges.stores.append(target) }
    privileges.keepsDatabase = true
  }

  /// A thread has the rights of the one that starts it.
  package func confined() throws(CaptureError) {
    guard let writer else { return }
    choices.written?()
    thread = try StoreThread(writer, queue, path: choices.path, written: choices.written)
    self.writer = nil
  }

  /// Notes where the packets of a batch stand; keeps those of a live run that `-w` writes nowhere.
  package func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int {
    if let written {
      sink?.places.begin(bytes, written.packets)
      sink?.capture = max(1, written.number) - 1
      noteFiles(written)
      return records.count
    }
    guard let spill else {
      if let offsets = source?.packetOffsets, !offsets.isEmpty {
        sink?.places.begin(bytes, records, at: offsets)
        fileSink?.places.begin(bytes, records, at: offsets)
      } else {
        sink?.places.begin(bytes, at: source?.batchOffset)
        fileSink?.places.begin(bytes, at: source?.batchOffset)
      }
      return records.count
    }
    if let oldest = queue.oldestCapture { spill.forget(before: UInt32(clamping: oldest)) }
    let packets = spill.write(records, bytes)
    sink?.places.begin(bytes, packets)
    sink?.capture = spill.number > 0 ? spill.number - 1 : 0
    let changes = spill.takeChanges()
    for file in changes.begun { feed.batch.begin(Int64(file.number), file.path) }
    for number in changes.gone { feed.batch.forget(Int64(number)) }
    return records.count
  }

  /// Tells the writer of files that were begun.
  private func noteFiles(_ written: WrittenPackets) {
    for file in written.takeBegun() { feed.batch.begin(Int64(file.number), file.path) }
  }

  /// Ends the run where the store cannot be written; live, hands rows on in time.
  package func afterBatch(_ driver: Driver) throws(CaptureError) {
    if let error = queue.error {
      isTold = true
      throw CaptureError(error)
    }
    guard isLive else { return }
    sink?.tellDecided()
    feed.offerInTime()
  }

  /// Hands on what is left.
  package func finish(_ driver: Driver) {
    sink?.end()
    fileSink?.end()
    spill?.close()
    if let written { noteFiles(written) }
    feed.end()
  }

  /// Waits for the writer, and says what was stored.
  package func conclude(_ status: ExitStatus) -> ExitStatus {
    guard let thread else { return status }
    let removed: UInt64
    do throws(StoreError) {
      removed = try thread.join(isWhole: status == .success && feed.dropped == 0)
    } catch {
      if !isTold { logError(error.description) }
      if choices.addsTo != nil { removeStore(choices.path) }
      return max(status, .ioError)
    }
    if let target = choices.addsTo { return add(to: target, status) }
    let dropped = feed.dropped
    let stored = messageCount + (fileSink?.messageCount ?? 0) - removed - dropped
    if !run.report.isQuiet {
      logError("\(choices.path): \(count(stored, "row")) of messages, heartbeats and control frames")
    }
    if removed > 0, !run.report.isQuiet {
      logError("\(choices.path): \(count(removed, "older message")) removed to stay within --store-max")
    }
    guard dropped > 0 else { return status }
    logError("\(choices.path): \(count(dropped, "message")) missing: the disk was too slow")
    return max(status, .ioError)
  }
}

extension StoreKeeper {
  /// Adds what was written to another store, where captures were read to their end; then it goes.
  private func add(to target: String, _ status: ExitStatus) -> ExitStatus {
    defer { removeStore(choices.path) }
    guard status == .success else {
      logError("\(target): nothing was added: the captures were not read to the end")
      return status
    }
    do throws(StoreError) {
      try spillStores(beside: target, called: target)
      let added = try StoreMerge(target, called: target).add(choices.path)
      if !run.report.isQuiet {
        logError("\(target): \(count(UInt64(clamping: added), "row")) of messages, heartbeats and control frames added")
      }
      return status
    } catch {
      logError(error.description)
      return error.kind == .badStatement ? .failure : .ioError
    }
  }
}

extension CaptureError {
  /// A store that cannot be written is output that cannot be.
  fileprivate init(_ error: StoreError) {
    let code = error.code == 0 ? "" : " (SQLite \(error.code))"
    self.init(.ioError, error.path, "\(error.attempt): \(error.text)\(code)")
  }
}
