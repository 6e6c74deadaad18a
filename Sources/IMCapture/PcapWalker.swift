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
    // Two loops made from one text, so that the common order has no test per word.
    header.isSwapped
      ? walk(swapped: true, bytes, range, into: &batch) : walk(swapped: false, bytes, range, into: &batch)
  }

  @inline(__always)
  private func walk(swapped: Bool, _ bytes: UnsafeRawPointer, _ range: Range<Int>, into batch: inout RecordBatch)
    -> Walk
  {
    let headerLength = header.recordHeaderLength
    let isReordered = header.lengthOrder != .capturedFirst
    var offset = range.lowerBound
    while batch.count < batch.limit {
      let room = range.upperBound &- offset
      guard room >= headerLength else { return Walk(next: offset, end: .needs(headerLength, "a packet record")) }
      var captured = bytes.u32(offset &+ 8, swapped: swapped)
      var original = bytes.u32(offset &+ 12, swapped: swapped)
      if isReordered, header.lengthOrder == .originalFirst || captured > original { swap(&captured, &original) }
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
        nanoseconds: Int64(bytes.u32(offset, swapped: swapped)) &* 1_000_000_000
          &+ Int64(bytes.u32(offset &+ 4, swapped: swapped)) &* header.nanosecondsPerUnit)
      batch.number &+= 1
      let packet = offset &+ headerLength
      offset &+= length
      if let program, !program.accepts(bytes + packet, captured: captured, original: original) { continue }
      batch.append(
        at: packet, time: time, captured: captured, original: original, linkType: header.linkType, interface: 0)
    }
    return Walk(next: offset, end: .full)
  }
}
