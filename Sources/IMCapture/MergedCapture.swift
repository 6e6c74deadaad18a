import Glibc
package import IMDescriptors
package import IMWire

/// The capture files of a run as one source: merged by the times of their packets, or one after the other.
///
/// Files are opened when their turn comes, so those whose times do not overlap are open one at a time; their first packets are read
/// beforehand to learn when that is, but not before the first batch is asked for: until then no packet is read, and one file's header at
/// most, so that a run can give up its privileges. A pipe or standard input cannot be read twice: it is opened at the beginning and read
/// when the first packet is due. Batches of one file are handed on as they are; where files alternate, their packets are copied into one
/// buffer.
///
/// A file that cannot be opened or is damaged does not end the source: `failures` has the reason, and the other files are read on.
package final class MergedCapture: PacketSource {
  /// Runs of at least this many packets of one file are handed on without a copy.
  private static let directRun = 32
  /// Packets longer than this, too.
  private static let directBytes: UInt32 = 65_536
  /// Files that stay open between reads at the same time, at most. Further ones are opened for each read.
  private var mostHeld = 128
  /// The most bytes buffered of one file where several are merged: its longest record or block.
  private static let mostBytes = 16 << 20

  private struct Input {
    let path: String
    /// The open file; `nil` before its turn and after its end.
    var file: CaptureFile?
    /// The index of the next record in its batch.
    var next = 0
    /// Its place when the files are sorted by their beginnings.
    var rank = 0
    /// Its interfaces' indices in the run's list.
    var interfaces: [UInt16] = []
    /// Whether these are the same as in the file.
    var keepsInterfaces = true
    /// Whether its descriptor stays open between reads.
    var isHeld = false
    var times = FileTimes()
  }

  private let order: MergeOrder
  private let filter: String?
  private let stopSwitch: ShutdownSignal
  private let steps: ReadingSteps
  private let opener: CaptureOpener
  private let secrets: SecretsHandler?
  private var inputs: [Input]
  private var queue = MergeQueue()
  private var output: MergedBatch
  private var hasOpened = false
  /// Whether it is known when each file's turn is.
  private var isPrepared = false
  private var heldCount = 0
  private var activeCount = 0
  private var ended = CaptureStatistics()
  private var failuresByFile: [(file: Int, error: CaptureError)] = []
  private var interfaceTable = InterfaceTable()
  /// The file whose batch is handed out; `nil` for packets of several.
  private var direct: Int?
  /// Link types, each with the first file that has an interface of it.
  private var linkTypes: [UInt16: Int] = [:]

  /// Makes a source of the files at `paths`, `-` for standard input, and opens the first one that can be.
  ///
  /// See `CaptureFile.init` for the parameters. It does not throw: `failures` says what could not be opened, and `isEmpty` whether
  /// anything could.
  package init(
    paths: [String], order: MergeOrder = .time, filter: String? = nil, stop: ShutdownSignal = ShutdownSignal(),
    steps: ReadingSteps = ReadingSteps(), opener: CaptureOpener = .system,
    secrets: SecretsHandler? = nil
  ) {
    self.order = order
    self.secrets = secrets
    self.filter = filter
    stopSwitch = stop
    self.steps = steps
    self.opener = opener
    inputs = paths.map { Input(path: $0) }
    output = MergedBatch(limit: steps.packets, capacity: paths.count > 1 && order == .time ? MergedBatch.capacity : 0)
    openFirst()
  }

  /// Whether no file could be opened.
  package var isEmpty: Bool { !hasOpened }

  /// What could not be opened or read to its end, in the order of the files.
  package var failures: [CaptureError] {
    failuresByFile.sorted { $0.file < $1.file }.map(\.error)
  }

  /// The path of the first file that has packets of a link type.
  package func path(ofLinkType linkType: UInt16) -> String? { linkTypes[linkType].map { inputs[$0].path } }

  /// What is to be said of the files' order, in lines.
  package var notes: [String] {
    FileTimes.notes(inputs.map { ($0.path, $0.times) }, order: order)
  }

  // MARK: PacketSource

  /// See `PacketSource.nextBatch`.
  package func nextBatch(_ body: (RawSpan, Span<PacketRecord>) -> Void) throws(CaptureError) -> Bool {
    if !isPrepared { prepare() }
    output.clear()
    direct = nil
    while !stopSwitch.isStopped, let turn = queue.first {
      let index = turn.file
      guard let file = inputs[index].file, inputs[index].next < file.recordCount else {
        // A pipe may have nothing for long: what is there goes first.
        if output.count > 0, inputs[index].file?.isRegular == false { break }
        refill(index)
        continue
      }
      let first = inputs[index].next, records = file.records
      let end = runEnd(records, from: first, file: index)
      if end - first >= Self.directRun || records[first].capturedLength > Self.directBytes || output.isUnused {
        if output.count > 0 { break }
        advance(index, to: end, in: records)
        direct = index
        file.withBatch(first..<end, body)
        return true
      }
      let copied = output.append(records, first..<end, file)
      advance(index, to: first + copied, in: records)
      if copied < end - first || output.isFull { break }
    }
    guard output.count > 0 else { return false }
    output.withBatch(body)
    return true
  }

  /// See `PacketSource.batchOffset`: `nil` where packets of several files were copied.
  package var batchOffset: UInt64? { direct.flatMap { inputs[$0].file?.batchOffset } }

  /// See `PacketSource.packetOffsets`.
  package var packetOffsets: [UInt64] { direct == nil ? output.offsets : [] }

  /// The sums over all files.
  package var statistics: CaptureStatistics {
    inputs.reduce(into: ended) { sum, input in
      if let file = input.file { sum.add(file.statistics) }
    }
  }

  /// The interfaces of all files so far; equal ones of several files are one.
  package var interfaces: [CaptureInterface] { interfaceTable.interfaces }

  /// Files have none.
  package func takeEvents() -> [CaptureEvent] { [] }

  /// Ends the reading at the next batch.
  package func stop() { stopSwitch.stop() }

  // MARK: Files

  /// Opens the first file that can be, and reads no packet.
  private func openFirst() {
    for index in inputs.indices where !stopSwitch.isStopped {
      do throws(CaptureError) {
        return take(try open(index), index)
      } catch {
        fail(index, error)
        // No file can be read with it.
        if error.code == .badFilter { return isPrepared = true }
      }
    }
  }

  /// Learns when each file's turn is, and opens the one whose turn is first.
  private func prepare() {
    isPrepared = true
    var keys: [MergeKey] = []
    let failed = Set(failuresByFile.map(\.file))
    for index in inputs.indices where !stopSwitch.isStopped && !failed.contains(index) {
      guard order == .time, inputs.count > 1 else {
        keys.append(MergeKey(time: .distantPast, rank: index, file: index))
        continue
      }
      do throws(CaptureError) {
        if let time = try firstTime(index) {
          keys.append(MergeKey(time: time, rank: index, file: index))
        } else {
          close(index)
        }
      } catch {
        fail(index, error)
        close(index)
        // No file can be read with it.
        if error.code == .badFilter { return }
      }
    }
    keys.sort()
    for (rank, key) in keys.enumerated() {
      inputs[key.file].rank = rank
      queue.insert(MergeKey(time: key.time, rank: rank, file: key.file))
    }
    while let turn = queue.first, inputs[turn.file].file == nil { openFile(turn.file) }
  }

  /// The time of a file's first packet, whether the filter lets it pass or not; `nil` where there is none. A pipe stays open: its time is
  /// not known yet, so its turn comes first.
  private func firstTime(_ index: Int) throws(CaptureError) -> Timestamp? {
    let path = inputs[index].path
    guard path != "-", !InputFile.isPipe(path) else {
      if inputs[index].file == nil { take(try open(index), index) }
      return .distantPast
    }
    let small = ReadingSteps(bytes: 4_096, packets: 1)
    let file = try CaptureFile(path: path, stop: stopSwitch, steps: small, opener: opener, mostBytes: Self.mostBytes)
    hasOpened = true
    guard file.isRegular else { throw CaptureError(.ioError, path, "is no longer a file") }
    let hasPacket = try file.advance()
    for interface in file.interfaces { note(interface, of: index) }
    return hasPacket ? file.records[0].timestamp : nil
  }

  private func open(_ index: Int) throws(CaptureError) -> CaptureFile {
    while true {
      do throws(CaptureError) {
        return try CaptureFile(
          path: inputs[index].path, filter: filter, stop: stopSwitch, steps: stepsForNext, opener: opener, file: index,
          mostBytes: inputs.count > 1 && order == .time ? Self.mostBytes : .max, secrets: secrets)
      } catch {
        // This process may have fewer files open than expected.
        guard error.errno == EMFILE || error.errno == ENFILE, releaseHeld() else { throw error }
      }
    }
  }

  /// Has half of the files that stay open between reads opened for each read from now on; false where there are none.
  private func releaseHeld() -> Bool {
    let held = inputs.indices.filter { inputs[$0].isHeld }
    for index in held.prefix((held.count + 1) / 2) {
      inputs[index].file?.closesBetweenReads()
      inputs[index].isHeld = false
      heldCount -= 1
    }
    mostHeld = heldCount
    return !held.isEmpty
  }

  /// Opens the file whose turn it is.
  private func openFile(_ index: Int) {
    do throws(CaptureError) {
      take(try open(index), index)
    } catch {
      queue.removeFirst()
      fail(index, error)
      if error.code == .badFilter { queue = MergeQueue() }
    }
  }

  /// Takes the open file of `index`.
  private func take(_ file: CaptureFile, _ index: Int) {
    hasOpened = true
    activeCount += 1
    if file.isRegular {
      if heldCount < mostHeld {
        heldCount += 1
        inputs[index].isHeld = true
      } else {
        file.closesBetweenReads()
      }
    }
    inputs[index].file = file
    noteInterfaces(index)
  }

  /// How much of the next file is taken at once: the more are open, the less.
  private var stepsForNext: ReadingSteps {
    switch activeCount {
    case ..<16: steps
    case ..<256: ReadingSteps(bytes: min(steps.bytes, 16_384), packets: min(steps.packets, 256))
    default: ReadingSteps(bytes: min(steps.bytes, 4_096), packets: min(steps.packets, 64))
    }
  }

  /// Has the file whose turn it is read its next batch; opens it first where that is due.
  private func refill(_ index: Int) {
    guard let file = inputs[index].file else { return openFile(index) }
    do throws(CaptureError) {
      inputs[index].next = 0
      if try file.advance() {
        noteInterfaces(index)
        if !inputs[index].keepsInterfaces { file.renumberInterfaces(inputs[index].interfaces) }
        if order == .time { queue.moveFirst(to: file.records[0].timestamp) }
        return
      }
    } catch {
      fail(index, error)
      if error.code == .badFilter {
        close(index)
        queue = MergeQueue()
        return
      }
    }
    close(index)
    queue.removeFirst()
  }

  private func close(_ index: Int) {
    guard let file = inputs[index].file else { return }
    ended.add(file.statistics)
    inputs[index].file = nil
    activeCount -= 1
    if inputs[index].isHeld { heldCount -= 1 }
    inputs[index].isHeld = false
  }

  private func fail(_ index: Int, _ error: CaptureError) { failuresByFile.append((index, error)) }

  /// Gives the interfaces of a file that were described since the last call their indices in the run's list.
  private func noteInterfaces(_ index: Int) {
    guard let file = inputs[index].file else { return }
    let interfaces = file.interfaces
    for i in inputs[index].interfaces.count..<max(inputs[index].interfaces.count, interfaces.count) {
      let place = note(interfaces[i], of: index)
      if Int(place) != i { inputs[index].keepsInterfaces = false }
      inputs[index].interfaces.append(place)
    }
  }

  /// Takes note of an interface of a file; gives its index in the run's list.
  @discardableResult
  private func note(_ interface: CaptureInterface, of index: Int) -> UInt16 {
    if linkTypes[interface.linkType] == nil { linkTypes[interface.linkType] = index }
    return interfaceTable.index(of: interface)
  }

  // MARK: Turns

  /// The end of the run of records that come before the next file's turn.
  private func runEnd(_ records: UnsafePointer<PacketRecord>, from first: Int, file index: Int) -> Int {
    guard let file = inputs[index].file else { return first }
    let count = file.recordCount
    guard order == .time, let limit = queue.second else { return count }
    let rank = inputs[index].rank
    var end = first + 1
    while end < count, MergeKey(time: records[end].timestamp, rank: rank, file: index) < limit { end += 1 }
    return end
  }

  /// Moves a file past the record before `end`.
  private func advance(_ index: Int, to end: Int, in records: UnsafePointer<PacketRecord>) {
    let first = inputs[index].next
    inputs[index].next = end
    guard inputs.count > 1 else { return }
    inputs[index].times.add(records, first..<end)
    guard order == .time else { return }
    // Of a batch that is used up, the next time is not known: the file has to be read first.
    let isUsedUp = end == inputs[index].file?.recordCount ?? end
    queue.moveFirst(to: isUsedUp ? .distantPast : records[end].timestamp)
  }
}

extension CaptureStatistics {
  /// Adds the counts of another source.
  package mutating func add(_ other: CaptureStatistics) {
    delivered &+= other.delivered
    deliveredBytes &+= other.deliveredBytes
    truncated &+= other.truncated
    withoutTime &+= other.withoutTime
    afterStop &+= other.afterStop
    hidden.add(other.hidden)
    if let latest = other.latestFilteredOut { latestFilteredOut = max(latestFilteredOut ?? latest, latest) }
    received = received.flatMap { a in other.received.map { a &+ $0 } }
    filteredOut = filteredOut.flatMap { a in other.filteredOut.map { a &+ $0 } }
    if let dropped = other.droppedByKernel { droppedByKernel = Self.sum(droppedByKernel ?? 0, dropped) }
    if let dropped = other.droppedByInterface { droppedByInterface = Self.sum(droppedByInterface ?? 0, dropped) }
  }

  /// The sum, saturating: a file may claim any number.
  private static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? .max : sum
  }
}
