import IMCapture
import IMDescriptors
import IMRun
import IMSystem
import IMWire

/// Copies the packets that an export includes, in their order, up to one and then on from there.
final class PacketCopier {
  private let file: ExportFile
  private let selection: ExportSelection
  /// The replacements of packets; `nil` where they are copied as they are.
  private let redaction: ExportRedaction?
  private let range: TimeRange?
  /// The comment on a packet; `nil` where nothing is of any.
  private let comment: ((PacketRecord) -> String?)?
  private let source: MergedCapture
  @exclusivity(unchecked) private var isOver = false
  @exclusivity(unchecked) private var left: UInt64
  @exclusivity(unchecked) private var latest: PacketRecord?
  @exclusivity(unchecked) private var lastWritten: Timestamp?
  @exclusivity(unchecked) private var failure: CaptureError?
  /// The interface of the last packet of the batch, and its name; less than 0 where there was none.
  @exclusivity(unchecked) private var interface: (index: Int, name: String?) = (-1, nil)
  /// Packets that were read.
  @exclusivity(unchecked) private(set) var total: UInt64 = 0

  /// Nothing is read yet. `comment` gives what is to be said of a packet.
  init(
    _ run: Run, to file: ExportFile, _ selection: ExportSelection, _ redaction: ExportRedaction?, _ range: TimeRange?,
    comment: ((PacketRecord) -> String?)?
  ) {
    (self.file, self.selection, self.redaction, self.range) = (file, selection, redaction, range)
    self.comment = comment
    left = run.input.packetLimit ?? .max
    source = run.input.capture(stop: run.stopping.stop)
  }

  /// Copies packets until so many have been read, or some more: all of a batch.
  func copy(upTo end: UInt64) throws(CaptureError) {
    while total < end, failure == nil, left > 0, !isOver { isOver = try !source.nextBatch { take($1, $0) } }
    if let failure { throw failure }
    // What is wrong with the files was told when they were read for what is chosen; what precedes it counts.
    guard isOver, let error = source.failures.first(where: { $0.code != .damaged && $0.code != .truncated }) else {
      return
    }
    throw error
  }

  private func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) {
    interface = (-1, nil)
    let records = records.extracting(first: Int(min(UInt64(records.count), left)))
    do throws(CaptureError) {
      if let redaction { try rewrite(records, bytes, redaction) } else { try copy(records, bytes) }
    } catch {
      failure = error
      return
    }
    left -= UInt64(records.count)
  }

  private func copy(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) {
    for i in records.indices {
      note(records[i])
      if selection.includes(records[i], bytes) { try write(records[i], bytes) }
    }
  }

  private func rewrite(
    _ records: Span<PacketRecord>, _ bytes: RawSpan, _ redaction: ExportRedaction
  ) throws(CaptureError) {
    var first = 0
    while first < records.count {
      let chunk = records.extracting(first..<min(records.count, first + ExportRedaction.chunkCount))
      redaction.prepare(chunk, bytes)
      for i in chunk.indices {
        note(chunk[i])
        guard let record = redaction.rewrite(i, chunk[i], bytes) else { continue }
        try write(record, redaction.packet.span.bytes)
      }
      first += chunk.count
    }
  }

  /// Takes note of a packet that was read.
  private func note(_ record: PacketRecord) {
    total += 1
    if latest.map({ $0.timestamp < record.timestamp }) ?? true { latest = record }
  }

  private func write(_ record: PacketRecord, _ bytes: RawSpan) throws(CaptureError) {
    lastWritten = max(lastWritten ?? .distantPast, record.timestamp)
    if interface.index != Int(record.interface) {
      let interfaces = source.interfaces, index = Int(record.interface)
      interface = (index, index < interfaces.count ? interfaces[index].name : nil)
    }
    try file.write(record, bytes, interface: interface.name, comment: comment?(record))
  }

  /// Writes a packet without bytes at the time to which the capture goes, where other connections took it there: an answer that
  /// never came is known by the time that went by.
  func end() throws(CaptureError) {
    guard let latest, let lastWritten, latest.timestamp > lastWritten, range.map({ latest.timestamp <= $0.to }) ?? true
    else { return }
    var record = latest
    record.offset = 0
    record.capturedLength = 0
    record.linkType = file.linkType ?? record.linkType
    let none: [UInt8] = []
    try file.write(
      record, none.span.bytes, interface: nil, comment: "imdump: not a packet, but the end of the whole capture",
      counts: false)
  }
}
