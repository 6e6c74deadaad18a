import Glibc
package import IMDescriptors
package import IMWire

/// How much of a capture is taken at once. What comes of it is the same, however that is.
package struct ReadingSteps: Sendable {
  /// The most bytes of one read.
  package var bytes: Int
  /// The most packets of one batch, at most 4,096.
  package var packets: Int

  /// As much as there is room for.
  package init(bytes: Int = 65_536, packets: Int = 4_096) {
    self.bytes = bytes
    self.packets = packets
  }
}

/// A capture in a file, a pipe or standard input: pcap or pcapng in either byte order, plain or packed with gzip.
///
/// It reads 64 KiB at a time into one buffer and finds the packets in place, so a packet costs a few nanoseconds and no
/// allocation. The buffer grows only when a whole buffer of bytes of one record has arrived.
package final class CaptureFile: PacketSource {
  private var input: CaptureInput
  /// The name for messages.
  let path: String
  private let stopSwitch: ShutdownSignal
  /// Owns the programs that the walkers run.
  private let filter: PacketFilter?

  /// The bytes that were read and not yet used stand at [start, end) of `capacity`; `slack` more follow.
  private var buffer: UnsafeMutableRawPointer
  private var capacity: Int
  /// The most bytes that are buffered: of a longer record or block nothing is read.
  private let mostBytes: Int
  /// What the packets' numbers begin after.
  private let base: UInt64
  private var start = 0
  private var end = 0
  /// Where in the capture the byte at `start` stands.
  private var position: UInt64 = 0

  private var batch: RecordBatch
  private var pcap: PcapWalker?
  private var pcapng: PcapngWalker?
  /// Why the last walk stopped.
  private var lastEnd = Walk.End.full
  private var hasEnded = false

  /// Opens the capture at `path` (`-` is standard input), reads its header, and compiles `filter`.
  ///
  /// The packets' numbers are those of the file with the index `file`; see `PacketNumber`. A record or block of more than `mostBytes`
  /// bytes ends the reading with an error. A pipe is waited for. Throws `.notFound`, `.noPermission`, `.notACapture`, `.emptyFile`, `.unsupported`,
  /// `.truncated` (inside the header), `.badFilter`; for a pcapng file a bad filter is noticed at the first packet.
  package init(
    path: String, filter: String? = nil, stop: ShutdownSignal = ShutdownSignal(), steps: ReadingSteps = ReadingSteps(),
    opener: CaptureOpener = .system, file: Int = 0, mostBytes: Int = .max, secrets: SecretsHandler? = nil
  ) throws(CaptureError) {
    input = try CaptureInput.open(path: path, stop: stop, step: steps.bytes, opener: opener)
    base = PacketNumber.base(file: file)
    batch = RecordBatch(limit: steps.packets, base: base)
    capacity = 2 * min(max(steps.bytes, 4_096), FileInput.step)
    self.mostBytes = mostBytes
    self.path = path
    stopSwitch = stop
    let packetFilter = filter.map { PacketFilter($0, subject: path) }
    self.filter = packetFilter
    buffer = try Self.memory(capacity, path)
    guard try fill(4, "the file header") else {
      if stop.isStopped { return }
      throw CaptureError(.emptyFile, path, "is empty")
    }
    let magic = UnsafeRawPointer(buffer).u32(0, swapped: false)
    if PcapHeader.recognizes(magic) {
      guard try fill(PcapHeader.byteCount, "the file header") else { return }
      let header = try PcapHeader(buffer, available: end - start, path: path)
      guard try fill(header.length, "the file header") else { return }
      pcap = PcapWalker(header, program: try packetFilter?.program(linkType: header.linkType))
      use(header.length)
    } else if magic == PcapngWalker.sectionHeader {
      guard try fill(12, "the section header") else { return }
      pcapng = PcapngWalker(filter: packetFilter, secrets: secrets)
    } else {
      throw CaptureError(.notACapture, path, Self.explain(UnsafeRawBufferPointer(start: buffer, count: end)), offset: 0)
    }
  }

  deinit { free(buffer) }

  /// See `PacketSource.nextBatch`.
  package func nextBatch(_ body: (RawSpan, Span<PacketRecord>) -> Void) throws(CaptureError) -> Bool {
    guard try advance() else { return false }
    withBatch(0..<batch.count, body)
    return true
  }

  /// Makes the next packets the batch; false when there will be no more. What was the batch before is gone.
  func advance() throws(CaptureError) -> Bool {
    while !hasEnded, !stopSwitch.isStopped {
      switch lastEnd {
      case .full: break
      case .needs(let count, let element):
        // The walk has asked for more than there is; one read may not be enough, and then it asks again.
        guard try fillMore(count, element) else { return false }
      case .damaged(let code, let element, let reason):
        hasEnded = true
        throw CaptureError(code, path, "\(element) at offset \(position) \(reason)", offset: position)
      case .failed(let error):
        hasEnded = true
        throw error
      }
      walk()
      if batch.count > 0 { return true }
    }
    batch.count = 0
    return false
  }

  /// Hands packets of the batch to `body`.
  func withBatch(_ range: Range<Int>, _ body: (RawSpan, Span<PacketRecord>) -> Void) {
    // SAFETY: the buffer has `slack` bytes after `end`, and lives as long as self; `range` is one of the batch's records.
    let bytes = RawSpan(_unsafeStart: UnsafeRawPointer(buffer), byteCount: end &+ PacketRecord.slack)
    let records = UnsafePointer(batch.records + range.lowerBound)
    body(bytes, Span(_unsafeStart: records, count: range.count))
  }

  /// The packets of the batch; they are in `bytes`. Both are valid until `advance` is called.
  var records: UnsafePointer<PacketRecord> { UnsafePointer(batch.records) }
  /// How many there are.
  var recordCount: Int { batch.count }
  /// The memory that the records' offsets count in.
  var bytes: UnsafeRawPointer { UnsafeRawPointer(buffer) }

  /// Whether it is a regular file.
  var isRegular: Bool { input.isRegular }

  /// See `FileInput.closesBetweenReads`.
  func closesBetweenReads() { input.closesBetweenReads() }

  /// Gives the interfaces of the batch's packets other indices: those that `indices` has in the places of their own.
  func renumberInterfaces(_ indices: [UInt16]) {
    for i in 0..<batch.count where Int(batch.records[i].interface) < indices.count {
      batch.records[i].interface = indices[Int(batch.records[i].interface)]
    }
  }

  /// See `PacketSource.batchOffset`. It holds while `body` runs: the batch has been stepped over by then.
  package var batchOffset: UInt64? { position &- UInt64(start) }

  /// Counts so far.
  package var statistics: CaptureStatistics {
    var statistics = batch.statistics
    statistics.received = batch.number &- base
    statistics.filteredOut = batch.number &- base &- statistics.delivered
    statistics.droppedByKernel = pcapng?.drops.kernelTotal
    statistics.droppedByInterface = pcapng?.drops.interfaceTotal
    return statistics
  }

  /// The interfaces that the file has told of so far.
  package var interfaces: [CaptureInterface] {
    guard let header = pcap?.header else { return pcapng?.interfaces ?? [] }
    return [
      CaptureInterface(
        index: 0, name: nil, linkType: header.linkType, snapLength: header.snapLength,
        resolution: header.nanosecondsPerUnit == 1 ? .nanoseconds : .microseconds)
    ]
  }

  /// A file has none.
  package func takeEvents() -> [CaptureEvent] { [] }

  /// Ends the reading at the next batch.
  package func stop() { stopSwitch.stop() }

  /// Finds the records in the buffered bytes and makes them the batch.
  private func walk() {
    batch.count = 0
    let bytes = UnsafeRawPointer(buffer)
    guard let walked = pcap?.walk(bytes, start..<end, into: &batch) ?? pcapng?.walk(bytes, start..<end, into: &batch)
    else { return }
    batch.statistics.delivered &+= UInt64(batch.count)
    use(walked.next &- start)
    lastEnd = walked.end
  }

  /// Steps over `count` buffered bytes.
  private func use(_ count: Int) {
    start &+= count
    position &+= UInt64(count)
  }

  /// Reads until `count` bytes are buffered; false at a clean end before the first of them, or at a stop.
  private func fill(_ count: Int, _ element: StaticString) throws(CaptureError) -> Bool {
    while end - start < count {
      guard try fillMore(count, element) else { return false }
    }
    return true
  }

  /// Reads once, behind the bytes that are left.  Returns false at the end or a stop; throws `.truncated` when the
  /// capture ends inside `element`, which needs `count` bytes.
  private func fillMore(_ count: Int, _ element: StaticString) throws(CaptureError) -> Bool {
    let left = end - start
    if start > 0 {
      memmove(buffer, buffer + start, left)
      start = 0
      end = left
    }
    if end == capacity {
      guard capacity < mostBytes else {
        hasEnded = true
        throw CaptureError(
          .unsupported, path,
          "\(element) at offset \(position) exceeds the \(mostBytes >> 20) MiB that are buffered for each of several files; read this file alone, or with --in-order",
          offset: position, wanted: UInt64(count), available: UInt64(left))
      }
      try grow()
    }
    let room = UnsafeMutableRawBufferPointer(start: buffer + end, count: capacity - end)
    let received: Int
    do throws(CaptureError) {
      received = try input.read(into: room)
    } catch {
      hasEnded = true
      throw error
    }
    end += received
    guard received == 0 else { return true }
    hasEnded = true
    guard left > 0, !stopSwitch.isStopped else { return false }
    throw .cut(path, in: "\(element)", at: position, wanted: count, available: left)
  }

  /// Doubles the buffer, which is full of one record's bytes.
  private func grow() throws(CaptureError) {
    let larger = try Self.memory(2 * capacity, path)
    memcpy(larger, buffer, end)
    free(buffer)
    buffer = larger
    capacity *= 2
  }

  /// Zeroed memory for `count` bytes and the slack.
  private static func memory(_ count: Int, _ path: String) throws(CaptureError) -> UnsafeMutableRawPointer {
    guard let memory = calloc(count + PacketRecord.slack, 1) else { throw .system(path, "read", ENOMEM) }
    return memory
  }

  /// Says what a file is that is no capture, where its first bytes tell.
  private static func explain(_ bytes: UnsafeRawBufferPointer) -> String {
    let known: [(start: [UInt8], name: String)] = [
      ([0x28, 0xb5, 0x2f, 0xfd], "zstd"), ([0xfd, 0x37, 0x7a, 0x58], "xz"), ([0x04, 0x22, 0x4d, 0x18], "lz4"),
      ([0x42, 0x5a, 0x68], "bzip2"),
    ]
    for packer in known where bytes.starts(with: packer.start) {
      return "is compressed with \(packer.name); only gzip is supported"
    }
    return "is not a pcap or pcapng capture"
  }
}
