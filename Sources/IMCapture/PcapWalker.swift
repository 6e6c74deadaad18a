import IMDescriptors
import IMWire

/// Finds the records of a pcap file in the buffered bytes.
///
///      0        4        8        12       16       (modified: 24)
///     +--------+--------+--------+--------+--------
///     | seconds| unit   |captured|original| packet
///     +--------+--------+--------+--------+--------
///
/// The modified form has eight more bytes (interface, protocol, packet type) before the packet; they are stepped over.
struct PcapWalker {
  /// The file's header.
  let header: PcapHeader
  private let limit: UInt32
  private let program: PacketFilter.Program?

  /// A walker for the records after `header`; `program` decides which of them stay.
  init(_ header: PcapHeader, program: PacketFilter.Program?) {
    self.header = header
    self.program = program
    limit = header.recordLimit
  }

  /// Appends the records that stand whole in `bytes[range]` to `batch`.
  func walk(_ bytes: UnsafeRawPointer, _ range: Range<Int>, into batch: inout RecordBatch) -> Walk {
    // Loops made from one text, so that the common one has no test for what is rare.
    if header.isSwapped { return walk(swapped: true, isPlain: false, bytes, range, into: &batch) }
    let isPlain = program == nil && header.lengthOrder == .capturedFirst
    return isPlain
      ? walk(swapped: false, isPlain: true, bytes, range, into: &batch)
      : walk(swapped: false, isPlain: false, bytes, range, into: &batch)
  }

  /// `isPlain` tells that nothing is filtered out and that the lengths stand in the usual order.
  @inline(__always)
  private func walk(
    swapped: Bool, isPlain: Bool, _ bytes: UnsafeRawPointer, _ range: Range<Int>, into batch: inout RecordBatch
  ) -> Walk {
    let headerLength = header.recordHeaderLength, unit = header.nanosecondsPerUnit
    let linkType = header.linkType, limit = limit
    let isReordered = header.lengthOrder != .capturedFirst
    // What changes with each record stays in registers.
    var number = batch.number
    var latest = batch.statistics.latestFilteredOut ?? .distantPast
    var appender = batch.appender
    defer {
      batch.number = number
      if latest != .distantPast { batch.statistics.latestFilteredOut = latest }
      batch.take(appender)
    }
    var offset = range.lowerBound
    while appender.hasRoom {
      let room = range.upperBound &- offset
      guard room >= headerLength else { return Walk(next: offset, end: .needs(headerLength, "a packet record")) }
      let record = bytes + offset
      var captured = record.u32(8, swapped: swapped)
      var original = record.u32(12, swapped: swapped)
      if !isPlain, isReordered, header.lengthOrder == .originalFirst || captured > original {
        swap(&captured, &original)
      }
      guard captured <= limit else {
        return Walk(
          next: offset,
          end: .damaged(.damaged, "a packet record", "claims \(captured) bytes, more than the \(limit) possible"))
      }
      // At most 24 + 128 MiB.
      let length = headerLength &+ Int(captured)
      guard length <= room else { return Walk(next: offset, end: .needs(length, "a packet record")) }
      // Both words have 32 bits: the sum stays below 2³² × (10⁹ + 10³), which 63 bits hold.
      let time = Timestamp(
        nanoseconds: Int64(record.u32(0, swapped: swapped)) &* 1_000_000_000
          &+ Int64(record.u32(4, swapped: swapped)) &* unit)
      number &+= 1
      let packet = offset &+ headerLength
      offset &+= length
      if !isPlain, let program, !program.accepts(bytes + packet, captured: captured, original: original) {
        batch.leaveOut(bytes + packet, captured: captured, original: original, linkType: linkType, program)
        latest = max(latest, time)
        continue
      }
      appender.append(
        PacketRecord(
          timestamp: time, number: number, offset: UInt32(truncatingIfNeeded: packet), capturedLength: captured,
          originalLength: original, linkType: linkType, interface: 0))
    }
    return Walk(next: offset, end: .full)
  }
}
