import IMCapture
import IMDescriptors
import IMWire
import Testing

@Suite struct PcapngTests {
  /// A file with every block, two sections of different byte order, and what it must give.
  static func mixed(big: Bool) -> (bytes: [UInt8], ends: [Int], packets: [Packet]) {
    var file = CaptureBytes(big: big)
    var ends: [Int] = [], packets: [Packet] = []
    func took(_ packet: Packet) {
      ends.append(file.bytes.count)
      packets.append(packet)
    }
    file.section(sectionLength: 12_345)
    file.interface(linkType: 1, snapLength: 30, name: "eth0")
    file.interface(linkType: 113, resolution: 9, offsetSeconds: -10)
    file.enhanced(packet(1, 7), ticks: 1_500_000)
    took(Packet(number: 1, nanoseconds: 1_500_000_000, bytes: packet(1, 7), original: 7))
    file.block(4) { $0.bytes += [1, 2, 3, 4, 5] }
    file.enhanced(packet(2, 20), ticks: 11_000_000_005, interface: 1, original: 99)
    took(
      Packet(
        number: 2, nanoseconds: 1_000_000_005, bytes: packet(2, 20), original: 99, linkType: 113, interface: 1))
    file.simple(packet(3, 30), original: 64)
    took(Packet(number: 3, nanoseconds: 1_000_000_005, bytes: packet(3, 30), original: 64))
    file.isBig = !big
    file.section()
    file.interface(linkType: 12, resolution: 0x80 | 10)
    // The obsolete packet block: 16 bits of interface and drop count, then as the enhanced one.
    file.block(2) {
      $0.put(UInt16(0))
      $0.put(UInt16(9))
      $0.put(ticks: 2_560)
      $0.put(UInt32(4))
      $0.put(UInt32(4))
      $0.bytes += packet(4, 4)
    }
    took(
      Packet(number: 4, nanoseconds: 2_500_000_000, bytes: packet(4, 4), original: 4, linkType: 101, interface: 2))
    file.block(5) {
      $0.put(UInt32(0))
      $0.put(UInt64(0))
      $0.option(4, [UInt8](repeating: 0, count: 8))
      var value = CaptureBytes(big: $0.isBig)
      value.put(UInt64(3))
      $0.option(5, value.bytes)
      value.bytes = []
      value.put(UInt64(8))
      $0.option(7, value.bytes)
    }
    return (file.bytes, ends, packets)
  }

  @Test(arguments: [false, true]) func mixedSections(big: Bool) {
    let (bytes, _, packets) = Self.mixed(big: big)
    let reading = read(bytes)
    #expect(reading.error == nil)
    #expect(reading.packets == packets)
    #expect(reading.statistics.withoutTime == 1)
    #expect(reading.statistics.droppedByInterface == 3)
    #expect(reading.statistics.droppedByKernel == 8)
    #expect(reading.statistics.truncated == 2)
    #expect(
      reading.interfaces == [
        CaptureInterface(index: 0, name: "eth0", linkType: 1, snapLength: 30, resolution: .microseconds),
        CaptureInterface(index: 1, name: nil, linkType: 113, snapLength: 0, resolution: .nanoseconds),
        CaptureInterface(
          index: 2, name: nil, linkType: 101, snapLength: 0, resolution: .init(exponent: 10, isBinary: true)),
      ])
  }

  /// Every prefix gives the packets before, and an error unless it ends between blocks.
  @Test(arguments: [false, true]) func everyCut(big: Bool) {
    let (bytes, ends, packets) = Self.mixed(big: big)
    var boundaries: Set<Int> = []
    var offset = 0, isBig = big
    while offset < bytes.count {
      // Block lengths, found by the byte order of the section.
      if bytes[offset..<offset + 4] == [0x0a, 0x0d, 0x0d, 0x0a] { isBig = bytes[offset + 8] == 0x1a }
      let field = bytes[offset + 4..<offset + 8]
      offset += (isBig ? [UInt8](field) : field.reversed()).reduce(0) { $0 << 8 | Int($1) }
      boundaries.insert(offset)
    }
    for count in 4..<bytes.count {
      let reading = read([UInt8](bytes.prefix(count)))
      #expect(reading.packets == [Packet](packets.prefix(ends.count { $0 <= count })), "\(count) bytes")
      if boundaries.contains(count) {
        #expect(reading.error == nil, "\(count) bytes")
      } else {
        #expect(reading.error?.code == .truncated, "\(count) bytes")
        #expect(reading.error?.offset == UInt64(boundaries.filter { $0 < count }.max() ?? 0), "\(count) bytes")
      }
    }
  }

  /// Ticks, resolution byte and offset, and the nanoseconds they mean; times outside saturate.
  @Test(
    arguments: [
      (UInt64(1_500_000), UInt8(6), Int64(0), Int64(1_500_000_000)), (7, 0, 0, 7_000_000_000),
      (1_234_567, 12, 0, 1_234), (.max, 127, 0, 0), (.max, 19, 0, 1_844_674_407), (.max, 20, 0, 184_467_440),
      (.max, 30, 0, 0), (.max, 6, 0, .max), (.max, 9, 0, .max), (3, 0x80, 0, 3_000_000_000),
      (5, 0x81, 0, 2_500_000_000),
      (1 << 32, 0xa0, 0, 1_000_000_000), (1 << 63, 0xc0, 0, 500_000_000), (.max, 0xff, 0, 0), (.max, 0x80, 0, .max),
      (0, 6, -1, -1_000_000_000), (0, 6, .min, .min), (0, 6, .max, .max), (.max, 6, .max, .max),
      (.max, 9, -1, .max - 1_000_000_000),
    ] as [(UInt64, UInt8, Int64, Int64)])
  func times(ticks: UInt64, resolution: UInt8, offset: Int64, expected: Int64) {
    var file = CaptureBytes()
    file.section()
    file.interface(resolution: resolution, offsetSeconds: offset)
    file.enhanced(packet(1, 1), ticks: ticks)
    #expect(read(file.bytes).packets.map(\.nanoseconds) == [expected])
  }
}

extension CaptureBytes {
  /// The time words of a packet block.
  fileprivate mutating func put(ticks: UInt64) {
    put(UInt32(ticks >> 32))
    put(UInt32(truncatingIfNeeded: ticks))
  }
}
