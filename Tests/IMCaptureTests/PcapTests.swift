import IMCapture
import IMDescriptors
import IMWire
import Testing

/// One form of pcap file: its magic, and what a fraction of 5 means in nanoseconds.
struct Form: Sendable, CustomStringConvertible {
  var name: String
  var magic: UInt32
  var isBig: Bool
  var unit: Int64
  var extra = 0
  /// Bytes behind the common header.
  var more: [UInt8] = []
  var description: String { name }

  static let all = [
    Form(name: "us little", magic: 0xa1b2_c3d4, isBig: false, unit: 1_000),
    Form(name: "us big", magic: 0xa1b2_c3d4, isBig: true, unit: 1_000),
    Form(name: "ns little", magic: 0xa1b2_3c4d, isBig: false, unit: 1),
    Form(name: "ns big", magic: 0xa1b2_3c4d, isBig: true, unit: 1),
    Form(name: "modified little", magic: 0xa1b2_cd34, isBig: false, unit: 1_000, extra: 8),
    Form(name: "modified big", magic: 0xa1b2_cd34, isBig: true, unit: 1_000, extra: 8),
    Form(name: "IXIA hardware little", magic: 0x1c00_01ac, isBig: false, unit: 1_000, more: [0, 0, 0, 9]),
    Form(name: "IXIA hardware big", magic: 0x1c00_01ac, isBig: true, unit: 1_000, more: [0, 0, 0, 9]),
    Form(name: "IXIA software little", magic: 0x1c00_01ab, isBig: false, unit: 1_000, more: [0, 0, 0, 9]),
    Form(name: "IXIA software big", magic: 0x1c00_01ab, isBig: true, unit: 1_000, more: [0, 0, 0, 9]),
  ]

  /// Three packets of 0, 5 and 40 bytes, the last cut from 60.
  var file: [UInt8] {
    var file = CaptureBytes.pcap(magic: magic, big: isBig)
    file.bytes += more
    file.record([], seconds: 0, fraction: 0, extra: extra)
    file.record(packet(2, 5), seconds: 1_700_000_000, fraction: 5, extra: extra)
    file.record(packet(3, 40), seconds: .max, fraction: .max, original: 60, extra: extra)
    return file.bytes
  }

  var packets: [Packet] {
    [
      Packet(number: 1, nanoseconds: 0, bytes: [], original: 0),
      Packet(number: 2, nanoseconds: 1_700_000_000_000_000_000 + 5 * unit, bytes: packet(2, 5), original: 5),
      Packet(
        number: 3, nanoseconds: 4_294_967_295_000_000_000 + 4_294_967_295 * unit, bytes: packet(3, 40), original: 60),
    ]
  }
}

@Suite struct PcapTests {
  @Test(arguments: Form.all) func forms(form: Form) {
    let reading = read(form.file)
    #expect(reading.error == nil)
    #expect(reading.packets == form.packets)
    #expect(reading.statistics.delivered == 3)
    #expect(reading.statistics.deliveredBytes == 45)
    #expect(reading.statistics.truncated == 1)
    #expect(reading.statistics.received == 3)
    #expect(reading.statistics.filteredOut == 0)
    #expect(reading.statistics.droppedByKernel == nil)
    #expect(reading.interfaces.map(\.resolution) == [form.unit == 1 ? .nanoseconds : .microseconds])
  }

  /// A first fraction that is no microsecond of a second tells that IXIA's clock counted nanoseconds.
  @Test(arguments: [0x1c00_01ac, 0x1c00_01ab] as [UInt32], [false, true]) func ixiaNanoseconds(
    _ magic: UInt32, _ big: Bool
  ) {
    var file = CaptureBytes.pcap(magic: magic, big: big)
    file.put(UInt32(0))
    file.record(packet(1, 5), seconds: 7, fraction: 999_999_999)
    file.record(packet(2, 5), seconds: 8, fraction: 5)
    #expect(read(file.bytes).packets.map(\.nanoseconds) == [7_999_999_999, 8_000_000_005])
  }

  /// Every prefix gives the packets that are whole, and names the offset of the one that is not.
  @Test(arguments: Form.all) func everyCut(form: Form) {
    let file = form.file, header = 16 + form.extra, first = 24 + form.more.count
    let starts = [first, first + header, first + 2 * header + 5, file.count]
    for count in 0..<file.count {
      let reading = read([UInt8](file.prefix(count)))
      let whole = starts.dropFirst().count { $0 <= count }
      #expect(reading.packets == [Packet](form.packets.prefix(whole)), "\(count) bytes")
      let expected: CaptureError?
      if count == 0 {
        expected = CaptureError(.emptyFile, "FILE", "is empty")
      } else if count < first {
        let wanted = count < 4 ? 4 : count < 24 ? 24 : first
        expected = CaptureError(
          .truncated, "FILE", "cut in the file header at offset 0: \(wanted) bytes expected, \(count) available",
          offset: 0, wanted: UInt64(wanted), available: UInt64(count))
      } else if starts.contains(count) {
        expected = nil
      } else {
        let start = starts[whole], left = count - start
        let wanted = left < header ? header : starts[whole + 1] - start
        expected = CaptureError(
          .truncated, "FILE",
          "cut in a packet record at offset \(start): \(wanted) bytes expected, \(left) available",
          offset: UInt64(start), wanted: UInt64(wanted), available: UInt64(left))
      }
      #expect(reading.error == expected, "\(count) bytes")
    }
  }

  @Test(arguments: [
    (UInt32(1), UInt16(1)), (101, 101), (12, 101), (14, 101), (113, 113), (276, 276), (0x5400_0001, 1),
  ])
  func linkTypes(network: UInt32, expected: UInt16) {
    var file = CaptureBytes.pcap(network: network)
    file.record(packet(1, 20))
    #expect(read(file.bytes).packets.map(\.linkType) == [expected])
  }

  @Test func unknownLinkType() {
    let error = CaptureError(.unsupported, "FILE", "link type 70000 is not supported", offset: 20)
    #expect(read(CaptureBytes.pcap(network: 70_000).bytes).error == error)
  }

  @Test(arguments: [
    (UInt16(1), UInt16(4), false), (2, 0, true), (2, 3, true), (2, 4, true), (2, 9, true), (3, 0, false),
    (543, 0, true),
  ])
  func versions(major: UInt16, minor: UInt16, isRead: Bool) {
    var file = CaptureBytes.pcap(version: (major, minor))
    // Versions before 2.3 and 543.0 have the original length first.
    let isSwapped = major == 543 || major == 2 && minor < 3
    file.record(packet(1, 20), original: isSwapped ? 20 : 30, claimed: isSwapped ? 30 : 20)
    let reading = read(file.bytes)
    #expect(reading.packets.map(\.original) == (isRead ? [30] : []))
    #expect(
      reading.error
        == (isRead
          ? nil : CaptureError(.unsupported, "FILE", "pcap version \(major).\(minor) is not supported", offset: 4)))
  }

  /// Lengths that lie end the capture at their offset, after the packet before; none makes the reader allocate.
  @Test(arguments: [
    (UInt32(262_144), UInt32(262_145), "claims 262145 bytes, more than the 262144 possible"),
    (0, .max, "claims 4294967295 bytes, more than the 262144 possible"),
    (65_535, 300_000, "claims 300000 bytes, more than the 262144 possible"),
    (.max, .max, "claims 4294967295 bytes, more than the 134217728 possible"),
    (300_000, 300_001, "claims 300001 bytes, more than the 300000 possible"),
  ])
  func hostileLength(snapLength: UInt32, claimed: UInt32, message: String) {
    var file = CaptureBytes.pcap(snapLength: snapLength)
    file.record(packet(1, 20))
    file.record(packet(2, 20), claimed: claimed)
    let reading = read(file.bytes)
    #expect(reading.packets.count == 1)
    #expect(reading.error == CaptureError(.damaged, "FILE", "a packet record at offset 60 \(message)", offset: 60))
  }

  /// A record of 128 MiB that ends after a few bytes is only a cut record.
  @Test func hugeButPossible() {
    var file = CaptureBytes.pcap(snapLength: .max)
    file.record(packet(1, 20), claimed: 134_217_728)
    #expect(
      read(file.bytes).error
        == CaptureError(
          .truncated, "FILE", "cut in a packet record at offset 24: 134217744 bytes expected, 36 available",
          offset: 24, wanted: 134_217_744, available: 36))
  }

  /// Records larger than the buffer, beside many that are smaller.
  @Test func largeRecords() {
    var file = CaptureBytes.pcap()
    let sizes = [10, 262_144, 0, 131_072, 131_056, 200_000, 65_536, 1]
    for (index, size) in sizes.enumerated() { file.record(packet(index, size)) }
    let reading = read(file.bytes)
    #expect(reading.error == nil)
    #expect(reading.packets.map(\.bytes) == sizes.enumerated().map { packet($0, $1) })
  }

  /// More records in one read than a batch has room for.
  @Test func manyEmptyRecords() {
    var file = CaptureBytes.pcap()
    for _ in 0..<20_000 { file.record([]) }
    let reading = read(file.bytes)
    #expect(reading.error == nil)
    #expect(reading.packets.map(\.number) == (1...20_000).map { UInt64($0) })
  }

  @Test(
    arguments: [
      ([0x28, 0xb5, 0x2f, 0xfd, 0, 0], "is compressed with zstd; only gzip is supported"),
      ([0xfd, 0x37, 0x7a, 0x58, 0x5a], "is compressed with xz; only gzip is supported"),
      ([UInt8]("hello world, this is text".utf8), "is not a pcap or pcapng capture"),
      ([0, 0, 0, 0], "is not a pcap or pcapng capture"),
    ] as [([UInt8], String)])
  func notACapture(bytes: [UInt8], message: String) {
    #expect(read(bytes).error == CaptureError(.notACapture, "FILE", message, offset: 0))
  }

  @Test func pathsThatAreNoFiles() {
    #expect(
      readFile("/nonexistent/x.pcap").error
        == CaptureError(.notFound, "/nonexistent/x.pcap", "open: no such file or directory", errno: 2))
    #expect(
      readFile("/tmp").error == CaptureError(.notACapture, "/tmp", "is a directory, not a capture", errno: 21))
    #expect(readFile("/dev/null").error == CaptureError(.emptyFile, "/dev/null", "is empty"))
  }
}
