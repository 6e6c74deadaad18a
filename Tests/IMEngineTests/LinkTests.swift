import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// From the link layer to the TCP payload.
@Suite struct LinkTests {
  static let links: [LinkLayer] =
    [.ethernet, .linuxCooked, .linuxCooked2, .null, .raw] + (1...8).map { .vlan([UInt16](1...UInt16($0))) }
    + [nil, 0, 1, 39].flatMap { [.juniper(extensions: $0, isBare: false), .juniper(extensions: $0, isBare: true)] }

  /// Every link with either IP, with padding behind the packet that is never payload.
  @Test(arguments: links, [false, true]) func link(_ link: LinkLayer, _ isIPv6: Bool) {
    for trailer in [[], [0], [UInt8](repeating: 0xde, count: 18)] {
      var builder = PacketBuilder(link: link)
      builder.trailer = trailer
      let run = Run([OnePacket.timed(OnePacket.bytes(builder, isIPv6: isIPv6), linkType: link.linkType)])
      #expect(run.frames.map(\.bytes) == [OnePacket.frame], "\(link), trailer \(trailer.count)")
      #expect(run.reassembly.payloadBytes == UInt64(OnePacket.frame.count), "\(link), trailer \(trailer.count)")
      #expect(run.ledger.unverified == 0)
      run.expectLedgerAddsUp()
    }
  }

  /// An empty segment with padding carries nothing.
  @Test func paddingIsNoPayload() {
    var builder = PacketBuilder()
    builder.trailer = [UInt8](repeating: 0, count: 6)
    let run = Run([OnePacket.timed(OnePacket.bytes(builder, OnePacket.segment([])))])
    #expect(run.ledger.segments == 1)
    #expect(run.reassembly.payloadBytes == 0)
  }

  /// The same packet under numbers that other systems use, and families as they write them.
  @Test(arguments: [
    (12, "", "segment"), (14, "", "segment"), (101, "", "segment"), (228, "", "segment"),
    (0, "02000000", "segment"), (0, "00000002", "segment"), (108, "00000002", "segment"), (0, "1e000000", "segment"),
    (0, "1c000000", "segment"), (0, "0000000a", "segment"), (0, "07000000", "not_ip"), (0, "ffffffff", "not_ip"),
    (1, "020000000001 020000000002 0806", "not_ip"), (1, "020000000001 020000000002 88cc", "not_ip"),
    (1, "020000000001 020000000002 0026", "not_ip"), (1, "020000000001 020000000002 86dd", "ip_version"),
    (113, "0000 0001 0006 020000000001 0000 0806", "not_ip"),
    (276, "0806 0000 00000002 0001 00 06 0200000000010000", "not_ip"),
    (1, "020000000001 020000000002 9100 0001 0800", "segment"),
    (1, "020000000001 020000000002 0060 aaaa03 000000 0800", "segment"),
    (1, "020000000001 020000000002 8100 0007 0060 aaaa03 000000 0800", "segment"),
    (1, "020000000001 020000000002 0060 aaaa03 00000c 2000", "not_ip"),
    (9, "ff03 0021", "segment"), (9, "0021", "segment"), (9, "21", "segment"), (9, "ff03 c021", "not_ip"),
    (50, "ff03 0021", "segment"), (50, "0f00 0800", "segment"), (50, "8f00 8035", "not_ip"),
    (51, "11 00 0001 00ff 0021", "segment"), (51, "11 09 0000 0004", "not_ip"),
    (104, "0f00 0800", "segment"), (104, "0f00 2000", "not_ip"),
    (166, "00 03 0021", "segment"), (166, "01 03 0021", "segment"), (166, "0021", "segment"),
    (204, "01 ff03 0021", "segment"), (204, "00 0021", "segment"), (219, "00010140", "segment"),
    (219, "00010040 00011140", "segment"),
    // Juniper's Ethernet, as tshark reads each of these: with the Ethernet header, whatever the other flags and extensions;
    (178, "4d4743 00 020000000001 020000000002 0800", "segment"),
    (178, "4d4743 7d 020000000001 020000000002 8100 0007 0800", "segment"),
    (178, "4d4743 80 0000 020000000001 020000000002 0800", "segment"),
    (178, "4d4743 81 0006 010100 020100 020000000001 020000000002 0800", "segment"),
    (178, "4d4743 81 0001 01 020000000001 020000000002 0806", "not_ip"),
    // without it: IP, IP under its other number, MPLS, PPP, Ethernet after all;
    (178, "4d4743 02 02000000", "segment"), (178, "4d4743 83 0003 050101 02000000", "segment"),
    (178, "4d4743 03 03000000", "segment"), (178, "4d4743 02 05000000 00010140", "segment"),
    (178, "4d4743 02 c8000000 0021", "segment"), (178, "4d4743 02 cc000000 020000000001 020000000002 0800", "segment"),
    // and as tcpdump reads it: IP by its version.
    (178, "4d4743 02 00000002", "segment"), (178, "4d4743 02 02000000 81", "ip_version"),
    // Another magic number, and extensions that reach behind the packet.
    (178, "4d4744 00 020000000001 020000000002 0800", "not_ip"), (178, "004743 02 02000000", "not_ip"),
    (178, "4d4743 80 ffff 020000000001 020000000002 0800", "link_header"),
    (178, "4d4743 82 ffff 02000000", "link_header"), (178, "4d4743 82 0400 02000000", "link_header"),
    (147, "", "link_type"), (65_535, "", "link_type"),
  ] as [(Int, String, String)])
  func linkHeader(_ linkType: UInt16, _ header: String, _ expected: String) {
    let bytes = [UInt8](hex: header) + OnePacket.bytes(PacketBuilder(link: .raw))
    let run = Run([OnePacket.timed(bytes, linkType: linkType)])
    #expect((run.skipped.first?.name ?? "segment") == expected)
    run.expectLedgerAddsUp()
  }

  @Test func nineTags() {
    let link = LinkLayer.vlan([UInt16](1...9))
    let run = Run([OnePacket.timed(OnePacket.bytes(PacketBuilder(link: link)), linkType: 1)])
    #expect(run.skipped == [.tooDeep])
    run.expectLedgerAddsUp()
  }

  /// Every truncation has its reason, by the header that it ends in; behind the TCP header the payload is cut.
  @Test(arguments: links, [false, true]) func truncations(_ link: LinkLayer, _ isIPv6: Bool) {
    let whole = OnePacket.bytes(PacketBuilder(link: link), isIPv6: isIPv6)
    let ip = whole.count - OnePacket.frame.count - 20 - (isIPv6 ? 40 : 20)
    let tcp = ip + (isIPv6 ? 40 : 20)
    for count in 0..<whole.count {
      var packet = OnePacket.timed([UInt8](whole[..<count]), linkType: link.linkType)
      packet.originalLength = UInt32(whole.count)
      let run = Run([packet])
      let what: Comment = "\(link), \(count) of \(whole.count) bytes"
      let expected: [SkipReason] =
        count < ip ? [.linkHeader] : count < tcp ? [.ipHeader] : count < tcp + 20 ? [.tcpHeader] : []
      #expect(run.skipped == expected, what)
      #expect(run.ledger.cutPackets == 1, what)
      if expected.isEmpty {
        #expect(run.reassembly.payloadBytes == UInt64(count - tcp - 20), what)
      }
      run.expectLedgerAddsUp(what)
    }
  }

  /// A snaplen that cuts payloads: the whole frames stay, the cut bytes are gaps of their own kind.
  @Test func snapLength() {
    let talk = Chat.tjp.talk(.several)
    let limit = 54 + 120
    let run = Run(talk.packets, snapLength: limit)
    var lost: [(Direction, Range<Int>)] = []
    for piece in talk.pieces where piece.range.count > 120 {
      lost.append((piece.direction, piece.range.lowerBound + 120..<piece.range.upperBound))
    }
    #expect(lost.count == 5)
    #expect(difference(run.said, talk.messages(without: lost).said) == nil)
    #expect(run.gaps.map(\.details) == lost.map { _ in .gap(.snaplen) })
    #expect(run.gaps.map(\.byteCount) == lost.map { UInt64($0.1.count) })
    #expect(run.ledger.cutPackets == UInt64(lost.count))
    run.expectLedgerAddsUp()
  }
}
