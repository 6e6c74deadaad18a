import IMDescriptors
import IMWire

/// Finds the packets of a pcapng file in the buffered bytes.
///
///      0        4        8                      n-4      n
///     +--------+--------+----------------------+--------+
///     | type   | n      | body                 | n      |
///     +--------+--------+----------------------+--------+
///
/// A section header sets the byte order and forgets the interfaces before it; here each section's interfaces get
/// indices of their own in one list. Blocks that hold no packets are stepped over, options that are not needed too.
/// Source: draft-ietf-opsawg-pcapng.
struct PcapngWalker {
  /// The most bytes of one block: the 128 MiB of the largest packet and room for options.
  static var mostBytes: UInt32 { 134_217_728 + 1_048_576 }
  /// The type of a section header, the same in both byte orders.
  static var sectionHeader: UInt32 { 0x0a0d_0d0a }

  /// The interfaces of all sections.
  private(set) var interfaces: [CaptureInterface] = []
  /// Packets the capturing system lost, from the last statistics block of each interface.
  private(set) var drops = PcapngDrops()

  private let filter: PacketFilter?
  private let secrets: SecretsHandler?
  private var isSwapped = false
  /// The interfaces of this section, as the packets need them.
  private var lanes: [PcapngLane] = []

  /// A walker at the start of a file; `filter` decides which packets stay, and `secrets` gets what decryption secrets blocks hold.
  init(filter: PacketFilter?, secrets: SecretsHandler? = nil) {
    self.filter = filter
    self.secrets = secrets
  }

  /// Appends the packets whose blocks stand whole in `bytes[range]` to `batch`.
  mutating func walk(_ bytes: UnsafeRawPointer, _ range: Range<Int>, into batch: inout RecordBatch) -> Walk {
    var offset = range.lowerBound
    while batch.count < batch.limit {
      let room = range.upperBound &- offset
      guard room >= 12 else { return Walk(next: offset, end: .needs(12, "a block")) }
      let block = bytes + offset
      var order = isSwapped
      let type = block.u32(0, swapped: order)
      if type == Self.sectionHeader {
        switch block.u32(8, swapped: false) {
        case 0x1a2b_3c4d: order = false
        case 0x4d3c_2b1a: order = true
        default: return Walk(next: offset, end: .damaged(.damaged, "a section header", "has no byte order mark"))
        }
      }
      let length = block.u32(4, swapped: order)
      guard length >= 12, length & 3 == 0, length <= Self.mostBytes else {
        return Walk(next: offset, end: .damaged(.damaged, "a block", "has the impossible length \(length)"))
      }
      let byteCount = Int(length)
      guard byteCount <= room else { return Walk(next: offset, end: .needs(byteCount, "a block")) }
      let trailer = block.u32(byteCount &- 4, swapped: order)
      guard trailer == length else {
        return Walk(
          next: offset, end: .damaged(.damaged, "a block", "of \(length) bytes has the length \(trailer) at its end"))
      }
      if type == Self.sectionHeader { isSwapped = order }
      // What was lost is told before the packets behind are taken, and not before those in front are.
      if type == 5 || (type == 10 && secrets != nil), batch.count > 0 { return Walk(next: offset, end: .full) }
      if let end = take(type, block, byteCount, at: offset, into: &batch) { return Walk(next: offset, end: end) }
      offset &+= byteCount
    }
    return Walk(next: offset, end: .full)
  }

  /// Uses one block, whose length and trailer were proved; gives the reason when it cannot.
  private mutating func take(
    _ type: UInt32, _ block: UnsafeRawPointer, _ byteCount: Int, at offset: Int, into batch: inout RecordBatch
  ) -> Walk.End? {
    let least: Int
    switch type {
    case 6, 2: least = 32
    case 3: least = 16
    case 1: least = 20
    case 5: least = 24
    case 10 where secrets != nil: least = 20
    case Self.sectionHeader: least = 28
    default: return nil
    }
    guard byteCount >= least else {
      return .damaged(.damaged, "a block", "of type \(type) has \(byteCount) bytes, fewer than \(least)")
    }
    switch type {
    case 6: return packet(block, byteCount, block.u32(8, swapped: isSwapped), at: offset, into: &batch)
    case 2: return packet(block, byteCount, UInt32(block.u16(8, swapped: isSwapped)), at: offset, into: &batch)
    case 3: return simplePacket(block, byteCount, at: offset, into: &batch)
    case 1: return interface(block, byteCount)
    case 5: statistics(block, byteCount)
    case 10: return secrets(block, byteCount)
    default: return section(block)
    }
    return nil
  }

  /// A section header: byte order mark at 8, version at 12, length of the section (not needed) at 16.
  private mutating func section(_ block: UnsafeRawPointer) -> Walk.End? {
    let version = (block.u16(12, swapped: isSwapped), block.u16(14, swapped: isSwapped))
    guard version == (1, 0) || version == (1, 2) else {
      return .damaged(.unsupported, "a section header", "has the unknown version \(version.0).\(version.1)")
    }
    lanes.removeAll(keepingCapacity: true)
    return nil
  }

  /// An interface description: link type at 8, snapshot length at 12, options from 16.
  private mutating func interface(_ block: UnsafeRawPointer, _ byteCount: Int) -> Walk.End? {
    guard interfaces.count <= Int(UInt16.max) else {
      return .damaged(.unsupported, "an interface description", "is the 65,537th")
    }
    let (lane, interface) = PcapngLane.read(
      block, byteCount, swapped: isSwapped, index: interfaces.count, filter: filter)
    interfaces.append(interface)
    lanes.append(lane)
    return nil
  }

  /// Interface statistics: interface at 8, options from 20. They count from the capture's start, so the last one holds.
  private mutating func statistics(_ block: UnsafeRawPointer, _ byteCount: Int) {
    let index = Int(block.u32(8, swapped: isSwapped))
    guard index < lanes.count else { return }
    drops.read(block, byteCount, swapped: isSwapped, interface: lanes[index].index)
  }

  /// A decryption secrets block: type of the secrets at 8, their length at 12, the secrets at 16. Those of TLS
  /// (`TLSK`) are the lines of a key log.
  private func secrets(_ block: UnsafeRawPointer, _ byteCount: Int) -> Walk.End? {
    let length = block.u32(12, swapped: isSwapped)
    guard Int(length) <= byteCount &- 20 else {
      return .damaged(.damaged, "a decryption secrets block", "of \(byteCount) bytes claims secrets of \(length)")
    }
    if block.u32(8, swapped: isSwapped) == 0x544c_534b {
      secrets?.take(UnsafeRawBufferPointer(start: block + 16, count: Int(length)))
    }
    return nil
  }

  /// An enhanced packet (interface at 8) or an obsolete packet block (interface at 8, drop count at 10); both have the
  /// time's upper and lower half at 12, the captured length at 20, the original at 24, the packet at 28.
  @inline(__always)
  private func packet(
    _ block: UnsafeRawPointer, _ byteCount: Int, _ interface: UInt32, at offset: Int, into batch: inout RecordBatch
  ) -> Walk.End? {
    guard Int(interface) < lanes.count else {
      return .damaged(.damaged, "a packet block", "refers to the undescribed interface \(interface)")
    }
    let captured = block.u32(20, swapped: isSwapped), original = block.u32(24, swapped: isSwapped)
    guard Int(captured) <= byteCount &- 32 else {
      return .damaged(.damaged, "a packet block", "of \(byteCount) bytes claims a packet of \(captured)")
    }
    let ticks =
      UInt64(block.u32(12, swapped: isSwapped)) << 32 | UInt64(block.u32(16, swapped: isSwapped))
    let time = lanes[Int(interface)].converter.timestamp(ticks)
    return append(at: offset &+ 28, block + 28, time, captured, original, lane: Int(interface), into: &batch)
  }

  /// A simple packet: original length at 8, the packet at 12; of the first interface, cut at its snapshot length, and
  /// without a time, so it gets that of the packet before.
  private func simplePacket(
    _ block: UnsafeRawPointer, _ byteCount: Int, at offset: Int, into batch: inout RecordBatch
  ) -> Walk.End? {
    guard let lane = lanes.first else {
      return .damaged(.damaged, "a simple packet block", "comes before any interface description")
    }
    let original = block.u32(8, swapped: isSwapped)
    let captured = min(original, lane.snapLength == 0 ? .max : lane.snapLength)
    guard Int(captured) <= byteCount &- 16 else {
      return .damaged(.damaged, "a simple packet block", "of \(byteCount) bytes claims a packet of \(captured)")
    }
    let count = batch.count
    let end = append(at: offset &+ 12, block + 12, batch.time, captured, original, lane: 0, into: &batch)
    if batch.count > count { batch.statistics.withoutTime &+= 1 }
    return end
  }

  /// Counts a packet and appends it when the filter lets it pass.  `lane` was proved.
  @inline(__always)
  private func append(
    at offset: Int, _ packet: UnsafeRawPointer, _ time: Timestamp, _ captured: UInt32, _ original: UInt32, lane: Int,
    into batch: inout RecordBatch
  ) -> Walk.End? {
    if let filter {
      guard let program = lanes[lane].program else { return failure(filter, lanes[lane].linkType) }
      guard program.accepts(packet, captured: captured, original: original) else {
        batch.number &+= 1
        batch.time = time
        batch.leaveOut(packet, captured: captured, original: original, linkType: lanes[lane].linkType, program)
        batch.statistics.latestFilteredOut = max(batch.statistics.latestFilteredOut ?? time, time)
        return nil
      }
    }
    batch.number &+= 1
    batch.time = time
    batch.append(
      at: offset, time: time, captured: captured, original: original, linkType: lanes[lane].linkType,
      interface: lanes[lane].index)
    return nil
  }

  /// Why the filter has no program for `linkType`.
  @inline(never)
  private func failure(_ filter: PacketFilter, _ linkType: UInt16) -> Walk.End? {
    do throws(CaptureError) {
      _ = try filter.program(linkType: linkType)
      return nil
    } catch {
      return .failed(error)
    }
  }
}
