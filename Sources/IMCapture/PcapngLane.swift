import IMWire

/// What a packet block needs of its interface.
struct PcapngLane {
  /// The interface's index in the whole capture.
  let index: UInt16
  /// Its stored link type.
  let linkType: UInt16
  /// The most bytes kept of a packet; 0 means no limit.
  let snapLength: UInt32
  /// From its ticks to time.
  let converter: TickConverter
  /// The filter's program for its link type; nil without a filter, or when the filter does not compile for it.
  let program: PacketFilter.Program?

  /// Reads an interface description block, proved to have at least 20 bytes.  `index` is below 65,536.
  static func read(
    _ block: UnsafeRawPointer, _ byteCount: Int, swapped: Bool, index: Int, filter: PacketFilter?
  ) -> (PcapngLane, CaptureInterface) {
    var name: String?
    var resolution = TimestampResolution.microseconds
    var offsetSeconds: Int64 = 0
    var options = PcapngOptions(block, from: 16, to: byteCount - 4, swapped: swapped)
    while let option = options.next() {
      let value = block + option.offset
      switch (option.code, option.length) {
      case (2, 1...):
        // A name is cut at 256 bytes, so that a hostile file cannot fill the memory with names.
        name = String(decoding: UnsafeRawBufferPointer(start: value, count: min(option.length, 256)), as: UTF8.self)
      case (9, 1...): resolution = TimestampResolution(option: value.load(as: UInt8.self))
      case (14, 8...): offsetSeconds = Int64(bitPattern: value.u64(0, swapped: swapped))
      default: break
      }
    }
    let linkType = LinkType.normalized(block.u16(8, swapped: swapped))
    let snapLength = block.u32(12, swapped: swapped)
    let lane = PcapngLane(
      index: UInt16(truncatingIfNeeded: index), linkType: linkType, snapLength: snapLength,
      converter: TickConverter(resolution: resolution, offsetSeconds: offsetSeconds),
      program: filter.flatMap { try? $0.program(linkType: linkType) })
    let interface = CaptureInterface(
      index: index, name: name, linkType: linkType, snapLength: snapLength, resolution: resolution)
    return (lane, interface)
  }
}

/// The options of a pcapng block, one after the other.
///
///      0     2      4                (padded to 4)
///     +-----+------+----------------+
///     |code |length| value          |
///     +-----+------+----------------+
///
/// Code 0 ends them.  An option that reaches past the block ends them too: they are hints, and the packets still count.
struct PcapngOptions {
  private let block: UnsafeRawPointer
  private let end: Int
  private let isSwapped: Bool
  private var offset: Int

  /// The options at `block[from..<to]`, which the caller has proved to be there (an empty or negative room has none).
  init(_ block: UnsafeRawPointer, from: Int, to: Int, swapped: Bool) {
    self.block = block
    offset = from
    end = to
    isSwapped = swapped
  }

  /// The next option: its code, and where in the block its value stands.
  mutating func next() -> (code: UInt16, offset: Int, length: Int)? {
    guard end - offset >= 4 else { return nil }
    let code = block.u16(offset, swapped: isSwapped), length = Int(block.u16(offset + 2, swapped: isSwapped))
    guard code != 0, end - offset - 4 >= length else { return nil }
    defer { offset += 4 + (length + 3) & ~3 }
    return (code, offset + 4, length)
  }
}

/// Losses from the interface statistics blocks of a pcapng file.
struct PcapngDrops {
  private var byKernel: [UInt16: UInt64] = [:]
  private var byInterface: [UInt16: UInt64] = [:]

  /// Packets the operating system dropped, of all interfaces; nil when no block said so.
  var kernelTotal: UInt64? { Self.sum(byKernel) }
  /// Packets the interfaces dropped; nil when no block said so.
  var interfaceTotal: UInt64? { Self.sum(byInterface) }

  /// Reads a statistics block, proved to have at least 24 bytes.
  mutating func read(_ block: UnsafeRawPointer, _ byteCount: Int, swapped: Bool, interface: UInt16) {
    var options = PcapngOptions(block, from: 20, to: byteCount - 4, swapped: swapped)
    while let option = options.next() {
      switch (option.code, option.length) {
      case (5, 8): byInterface[interface] = (block + option.offset).u64(0, swapped: swapped)
      case (7, 8): byKernel[interface] = (block + option.offset).u64(0, swapped: swapped)
      default: break
      }
    }
  }

  private static func sum(_ drops: [UInt16: UInt64]) -> UInt64? {
    guard !drops.isEmpty else { return nil }
    return drops.values.reduce(0) { total, value in
      let (sum, overflow) = total.addingReportingOverflow(value)
      return overflow ? .max : sum
    }
  }
}
