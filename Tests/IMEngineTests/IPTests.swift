import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// IP headers, options, extension headers and checksums.
@Suite struct IPTests {
  @Test(arguments: 0...40) func ipv4Options(_ count: Int) {
    var builder = PacketBuilder()
    builder.ipv4Options = [UInt8](repeating: 1, count: count)
    expectFrame(OnePacket.bytes(builder))
  }

  @Test(
    arguments: [
      [0], [60], [43], [135], [0, 60], [0, 43, 60], [60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60],
    ] as [[UInt8]])
  func ipv6Extensions(_ kinds: [UInt8]) {
    for content in [0, 6, 14, 22, 254] {
      var builder = PacketBuilder()
      builder.extensionHeaders = kinds.map {
        IPv6ExtensionHeader(kind: $0, content: [UInt8](repeating: 0, count: content))
      }
      expectFrame(OnePacket.bytes(builder, isIPv6: true))
    }
  }

  /// One byte of a sound packet is changed; what becomes of it.
  @Test(arguments: [
    ("version 5", 14, 0x55, "ip_version"), ("header of 16 bytes", 14, 0x44, "ip_header"),
    ("header of 60 bytes, a wrong sum then", 14, 0x4f, "ip_checksum"), ("wrong sum", 24, 0x77, "ip_checksum"),
    ("UDP", 23, 17, "ip_checksum"), ("TCP header of 16 bytes", 46, 0x40, "tcp_header"),
    ("TCP header of 60 bytes, more than there is", 46, 0xf0, "segment"),
  ])
  func oneByte(_ name: String, _ offset: Int, _ value: UInt8, _ expected: String) {
    var bytes = OnePacket.bytes(PacketBuilder())
    bytes[offset] = value
    let run = Run([OnePacket.timed(bytes)])
    #expect((run.skipped.first?.name ?? "segment") == expected)
    run.expectLedgerAddsUp()
  }

  @Test(arguments: [(1, "not_tcp"), (17, "not_tcp"), (59, "not_tcp"), (255, "not_tcp")])
  func otherProtocols(_ number: UInt8, _ expected: String) {
    for (source, destination) in [OnePacket.v4, OnePacket.v6] {
      var builder = PacketBuilder()
      let bytes = builder.packet(
        protocolNumber: number, [UInt8](repeating: 0, count: 64), from: source, to: destination)
      let run = Run([OnePacket.timed(bytes)])
      #expect(run.skipped.map(\.name) == [expected])
    }
  }

  /// A total length of 0 is what segmentation offload leaves behind; others are taken at their word.
  @Test func totalLength() {
    var bytes = OnePacket.bytes(PacketBuilder())
    let real = UInt16(bytes.count - 14)
    for (length, expected) in [(0, "segment"), (19, "ip_header"), (39, "tcp_header"), (real, "segment")] {
      bytes.overwrite(at: 16, big: length)
      bytes.overwrite(at: 24, big: UInt16(0))
      let run = Run([OnePacket.timed(bytes)])
      #expect((run.skipped.first?.name ?? "segment") == expected, "\(length)")
      if expected == "segment" { #expect(run.frames.map(\.bytes) == [OnePacket.frame], "\(length)") }
      run.expectLedgerAddsUp()
    }
  }

  /// Segments longer than 16 bits can say, as segmentation offload makes them: with a length of 0, and as jumbograms (RFC 2675). The sum
  /// is right with the real length, or left to the card.
  @Test(arguments: ["IPv4", "IPv6", "jumbogram"], [true, false]) func long(_ kind: String, _ isCut: Bool) {
    let isIPv6 = kind != "IPv4"
    let frames = (0..<70).map {
      TJPFrameBuilder(text: String(repeating: "x", count: 990), sequence: UInt32($0 + 1)).bytes
    }
    let payload = frames.flatMap { $0 }
    #expect(payload.count > 66_000)
    let (source, destination) = isIPv6 ? OnePacket.v6 : OnePacket.v4
    var tcp: [UInt8] = []
    tcp.append(big: UInt16(40_001))
    tcp.append(big: UInt16(8_080))
    tcp.append(big: UInt32(1_000))
    tcp += [0, 0, 0, 0, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]
    tcp += payload
    var pseudo = pseudoHeader(from: source, to: destination, protocolNumber: 6, length: 0)
    // The length has 32 bits in IPv6's, and counts as much in IPv4's.
    pseudo.append(big: UInt32(tcp.count))
    tcp.overwrite(at: 16, big: internetChecksum(pseudo + tcp))
    var ip: [UInt8] = []
    if isIPv6 {
      ip.append(big: UInt32(0x6000_0000))
      ip += [0, 0, kind == "jumbogram" ? 0 : 6, 64]
      for address in [source, destination] {
        ip.append(big: address.high)
        ip.append(big: address.low)
      }
      if kind == "jumbogram" {
        ip += [6, 0, 0xc2, 4]
        ip.append(big: UInt32(8 + tcp.count))
      }
    } else {
      ip += [0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0]
      ip.append(big: UInt32(truncatingIfNeeded: source.low))
      ip.append(big: UInt32(truncatingIfNeeded: destination.low))
      ip.overwrite(at: 10, big: internetChecksum(ip))
    }
    let type: UInt16 = isIPv6 ? 0x86dd : 0x0800
    var bytes = [UInt8](repeating: 2, count: 12)
    bytes.append(big: type)
    bytes += ip + tcp
    let run = Run([OnePacket.timed(bytes)], snapLength: isCut ? bytes.count - 10 : 262_144)
    #expect(run.skipped.isEmpty)
    #expect(run.frames.count >= (isCut ? 69 : 70))
    #expect(run.reassembly.payloadBytes == UInt64(payload.count - (isCut ? 10 : 0)))
    #expect(run.ledger.unverified == 0)
    if isCut { #expect(run.gaps.map(\.byteCount) == [10] || run.ledger.cutBytes == 10) }
  }

  // MARK: Checksums

  /// What a receiver would have done with the second packet.
  enum Second: String, CaseIterable { case right, wrong, offloaded, offloadedLong, zeroIP, wrongIP }

  /// The first packet proves that the sender's sums are right, or not.
  @Test(arguments: Second.allCases, [false, true]) func checksum(_ second: Second, _ firstIsGood: Bool) {
    var first = OnePacket.segment()
    if !firstIsGood { first.checksum = .bad }
    var builder = PacketBuilder()
    var segment = OnePacket.segment(sequence: 1_000 + UInt32(OnePacket.frame.count))
    if second == .wrong { segment.checksum = .bad }
    if second == .zeroIP { builder.ipv4Checksum = .zero }
    if second == .wrongIP { builder.ipv4Checksum = .bad }
    var bytes = OnePacket.bytes(builder, segment)
    if second == .offloaded || second == .offloadedLong {
      // The pseudo header's sum, not complemented, with the segment's length or without.
      let length = second == .offloaded ? bytes.count - 34 : 0
      let pseudo = pseudoHeader(from: OnePacket.v4.0, to: OnePacket.v4.1, protocolNumber: 6, length: length)
      bytes.overwrite(at: 50, big: ~internetChecksum(pseudo))
    }
    let run = Run(OnePacket.timed([OnePacket.bytes(PacketBuilder(), first), bytes]))
    let isDropped = second == .wrongIP || (second == .wrong && firstIsGood)
    #expect(run.frames.count == (isDropped ? 1 : 2))
    #expect(run.skipped == (second == .wrongIP ? [.ipChecksum] : isDropped ? [.tcpChecksum] : []))
    #expect(run.ledger.rejectedBytes == (isDropped && second == .wrong ? UInt64(OnePacket.frame.count) : 0))
    #expect(run.ledger.offloaded == (second == .offloaded || second == .offloadedLong ? 1 : 0))
    #expect(run.ledger.unverified == (firstIsGood ? 0 : second == .wrong ? 2 : 1))
    run.expectLedgerAddsUp()
  }

  @Test func checksumsNotWanted() {
    var builder = PacketBuilder()
    builder.ipv4Checksum = .bad
    var segment = OnePacket.segment()
    segment.checksum = .bad
    let run = Run([OnePacket.timed(OnePacket.bytes(builder, segment))]) { $0.verifiesChecksums = false }
    #expect(run.frames.count == 1)
    run.expectLedgerAddsUp()
  }

  /// The sum over every length and every alignment is RFC 1071's.
  @Test func internetSum() {
    var random = SeededRandom(1)
    let bytes = random.bytes(500)
    for offset in 0..<17 {
      for count in [0..<160, 250..<400].joined() {
        let expected = internetChecksum([UInt8](bytes[offset..<offset + count]))
        var long = InternetChecksum()
        long.addLong(Bytes(bytes.span.bytes), offset, count)
        #expect(long.isRight == (expected == 0 && long.sum != 0))
        #expect(~long.folded == expected, "\(count) at \(offset)")
        guard count % 4 == 0 else { continue }
        var short = InternetChecksum()
        short.addShort(Bytes(bytes.span.bytes), offset, count)
        #expect(~short.folded == expected, "\(count) at \(offset)")
      }
    }
  }

  private func expectFrame(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
    let run = Run([OnePacket.timed(bytes)])
    #expect(run.frames.map(\.bytes) == [OnePacket.frame], sourceLocation: sourceLocation)
    #expect(run.ledger.unverified == 0, sourceLocation: sourceLocation)
    run.expectLedgerAddsUp(sourceLocation: sourceLocation)
  }
}
