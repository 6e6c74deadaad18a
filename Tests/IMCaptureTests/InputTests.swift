import Glibc
import IMCapture
import IMDescriptors
import IMTestSupport
import IMWire
import Testing

/// The ways bytes arrive: in pieces, packed, through a filter.
@Suite struct InputTests {
  static let file = Form.all[0].file
  static let packets = Form.all[0].packets

  /// A pipe that gives `bytes` in pieces of `size`, one per read(2), and then ends unless it `staysOpen`.
  static func pipe<T>(
    _ bytes: [UInt8], by size: Int, staysOpen: Bool = false, _ body: (Int32) throws -> T
  ) rethrows -> T {
    var ends: [Int32] = [0, 0]
    // With O_DIRECT every write is a packet of its own to the reader; F_SETPIPE_SZ makes room for 256 of them. Both
    // are GNU names that the module map does not show.
    #if arch(arm64)
      let direct: Int32 = 0o200_000
    #else
      let direct: Int32 = 0o40_000
    #endif
    precondition(Glibc.pipe(&ends) == 0)
    precondition(fcntl(ends[1], F_SETFL, direct) == 0 && fcntl(ends[1], 1_031, 1_048_576) > 0)
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = [UInt8](bytes[start..<min(start + size, bytes.count)])
      precondition(write(ends[1], piece, piece.count) == piece.count)
    }
    if !staysOpen { close(ends[1]) }
    defer {
      close(ends[0])
      if staysOpen { close(ends[1]) }
    }
    return try body(ends[0])
  }

  @Test(arguments: [file, PcapngTests.mixed(big: true).bytes, gzipped(file)])
  func everyPieceSize(bytes: [UInt8]) {
    let whole = read(bytes)
    #expect(whole.error == nil && !whole.packets.isEmpty)
    for size in (bytes.count / 250 + 1)...bytes.count {
      let pieces = Self.pipe(bytes, by: size) { readFile("/dev/fd/\($0)") }
      #expect(pieces == whole, "pieces of \(size) bytes")
    }
  }

  /// However little a read gives and a batch takes, the records are the same.
  @Test(arguments: try Samples.captures()) func everyStep(_ name: String) {
    let whole = readFile(Samples.path(name))
    #expect(whole.error == nil && !whole.packets.isEmpty)
    for steps in [
      ReadingSteps(bytes: 1), ReadingSteps(bytes: 7), ReadingSteps(bytes: 4_096), ReadingSteps(packets: 1),
      ReadingSteps(bytes: 499, packets: 7),
    ] {
      #expect(readFile(Samples.path(name), steps: steps) == whole, "\(steps)")
    }
  }

  /// What an interface lost is known with the first packet behind the block that tells it, however the file is read.
  @Test func lossesAtTheirPlace() throws {
    var file = CaptureBytes(big: false)
    file.section()
    file.interface(linkType: 1)
    for lost in 1...4 {
      for number in 1...lost { file.enhanced(packet(number, 20), ticks: UInt64(lost)) }
      file.block(5) {
        $0.put(UInt32(0))
        $0.put(UInt64(0))
        var value = CaptureBytes(big: false)
        value.put(UInt64(lost))
        $0.option(7, value.bytes)
      }
    }
    let bytes = file.bytes
    func told(_ steps: ReadingSteps) throws -> [UInt64?] {
      try withFile(bytes) { path in
        let source = try CaptureFile(path: path, steps: steps)
        var told: [UInt64?] = []
        var isMore = true
        while isMore {
          var count = 0
          isMore = try source.nextBatch { count = $1.count }
          told += [UInt64?](repeating: source.statistics.droppedByKernel, count: count)
        }
        return told
      }
    }
    let single = try told(ReadingSteps(packets: 1))
    #expect(single == [nil, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    for size in [1, 7, 100, 65_536] { #expect(try told(ReadingSteps(bytes: size)) == single) }
  }

  @Test func standardInput() {
    let reading = Self.pipe(Self.file, by: 7) { end in
      let saved = dup(0)
      dup2(end, 0)
      defer {
        dup2(saved, 0)
        close(saved)
      }
      return readFile("-")
    }
    #expect(reading.error == nil)
    #expect(reading.packets == Self.packets)
  }

  /// A stop ends a source that waits for a pipe, without an error for the half record it has.
  @Test func stopWhileWaiting() throws {
    try Self.pipe([UInt8](Self.file.prefix(50)), by: 50, staysOpen: true) { end in
      let source = try CaptureFile(path: "/dev/fd/\(end)")
      var count = 0
      #expect(try source.nextBatch { count += $1.count })
      #expect(count == 1)
      source.stop()
      #expect(try !source.nextBatch { _, _ in })
    }
  }

  /// gzip members whose data is stored, not packed: the form that needs no packer in a test.
  static func gzipped(_ bytes: [UInt8]) -> [UInt8] {
    var crc = UInt32.max
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xedb8_8320) }
    }
    var out = CaptureBytes()
    out.bytes = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1]
    out.put(UInt16(bytes.count))
    out.put(~UInt16(bytes.count))
    out.bytes += bytes
    out.put(~crc)
    out.put(UInt32(bytes.count))
    return out.bytes
  }

  /// `file` as `gzip -9` packs it.
  static let packed: [UInt8] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xbb, 0x72, 0x78, 0xd3, 0x42, 0x26, 0x06, 0x16,
    0x06, 0x04, 0x60, 0x61, 0x60, 0x64, 0xc0, 0x02, 0x3e, 0x06, 0xa7, 0xb2, 0x02, 0x29, 0x18, 0xb6, 0xb3, 0x77,
    0x70, 0x74, 0xfa, 0x0f, 0x05, 0x1a, 0x40, 0x01, 0x1b, 0x20, 0x8e, 0x8d, 0x8b, 0x4f, 0x48, 0x4c, 0x4a, 0x4e,
    0x49, 0x4d, 0x4b, 0xcf, 0xc8, 0xcc, 0xca, 0xce, 0xc9, 0xcd, 0xcb, 0x2f, 0x28, 0x2c, 0x2a, 0x2e, 0x29, 0x2d,
    0x2b, 0xaf, 0xa8, 0xac, 0xaa, 0xae, 0xa9, 0xad, 0xab, 0x6f, 0x68, 0x6c, 0x6a, 0x6e, 0x01, 0x00, 0x44, 0x31,
    0x2f, 0xe4, 0x75, 0x00, 0x00, 0x00,
  ]

  @Test(arguments: [
    packed, gzipped(file), gzipped([UInt8](file[..<30])) + gzipped([UInt8](file[30...])),
    gzipped(file) + gzipped([]) + [0, 0, 0], gzipped([UInt8](file[..<1])) + gzipped([UInt8](file[1...])),
  ])
  func gzipMembers(bytes: [UInt8]) {
    let reading = read(bytes)
    #expect(reading.error == nil)
    #expect(reading.packets == Self.packets)
  }

  /// A packed file that is cut gives what can be unpacked, and an error with the offset of the cut.
  @Test func everyGzipCut() {
    for bytes in [Self.packed, Self.gzipped(Self.file)] {
      for count in 19..<bytes.count {
        let reading = read([UInt8](bytes.prefix(count)))
        #expect(reading.packets == [Packet](Self.packets.prefix(reading.packets.count)))
        #expect(reading.error?.code == .truncated, "\(count) bytes")
        let message = "gzip data cut at offset \(count) of the compressed file"
        #expect(reading.error == CaptureError(.truncated, "FILE", message, offset: UInt64(count)), "\(count) bytes")
      }
    }
    // The checksum comes after the data, so all packets were there.
    #expect(read([UInt8](Self.packed.dropLast())).packets == Self.packets)
  }

  @Test func gzipDamage() {
    var wrong = Self.gzipped(Self.file)
    wrong[wrong.count - 6] ^= 1
    let reading = read(wrong)
    #expect(reading.packets == Self.packets)
    #expect(reading.error?.code == .damaged)
    let trailing = read(Self.packed + [7, 7])
    #expect(trailing.packets == Self.packets)
    let offset = Self.packed.count
    #expect(
      trailing.error
        == CaptureError(
          .damaged, "FILE", "bytes that are not a gzip member at offset \(offset) of the compressed file",
          offset: UInt64(offset)))
  }

  /// An Ethernet frame with an IPv4 header of the given protocol.
  static func frame(_ proto: UInt8) -> [UInt8] {
    [UInt8](repeating: 2, count: 12) + [8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, proto] + [UInt8](repeating: 9, count: 18)
  }

  @Test func filterKeepsNumbers() {
    var file = CaptureBytes.pcap()
    for proto in [6, 17, 6, 17, 1] as [UInt8] { file.record(Self.frame(proto)) }
    let reading = read(file.bytes, filter: "udp or icmp")
    #expect(reading.error == nil)
    #expect(reading.packets.map(\.number) == [2, 4, 5])
    #expect(reading.statistics.received == 5)
    #expect(reading.statistics.filteredOut == 2)
    #expect(reading.statistics.delivered == 3)
  }

  /// Each link type has its own program: the same IP packet behind Ethernet and bare.
  @Test func filterPerLinkType() {
    var file = CaptureBytes()
    file.section()
    file.interface(linkType: 1)
    file.interface(linkType: 101)
    for proto in [6, 17] as [UInt8] {
      file.enhanced(Self.frame(proto), ticks: 1)
      file.enhanced([UInt8](Self.frame(proto).dropFirst(14)), ticks: 1, interface: 1)
    }
    let reading = read(file.bytes, filter: "tcp")
    #expect(reading.error == nil)
    #expect(reading.packets.map(\.number) == [1, 2])
  }

  @Test func badFilter() {
    let pcap = read(Self.file, filter: "tcp prot 5")
    #expect(pcap.packets.isEmpty)
    #expect(pcap.error?.code == .badFilter)
    #expect(pcap.error?.description.hasPrefix("FILE: filter \"tcp prot 5\": ") == true)
    let pcapng = read(PcapngTests.mixed(big: false).bytes, filter: "tcp prot 5")
    #expect(pcapng.packets.isEmpty)
    #expect(pcapng.error?.message == pcap.error?.message)
  }

  /// Any byte of a capture changed to anything ends in packets and at most one error; a trap would end the test.
  @Test func everyByteChanged() {
    for bytes in [Self.file, PcapngTests.mixed(big: false).bytes, Self.packed] {
      for index in bytes.indices {
        for value in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] {
          var changed = bytes
          changed[index] = value
          #expect(read(changed).packets.count < 5)
        }
      }
    }
  }
}
