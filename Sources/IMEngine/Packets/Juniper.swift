extension PacketParser {
  /// A packet as a Juniper router's Ethernet interface captures it.
  ///
  ///      0        3       4        6
  ///     +--------+-------+--------+------------+
  ///     | 4D47 43| flags | length | extensions |  an Ethernet frame; or 4 bytes of family, and what that says
  ///     +--------+-------+--------+------------+
  ///
  /// The length, big endian, and the extensions are there when flag 0x80 is set. With flag 0x02 the router has taken the
  /// Ethernet header off. The family's first byte is the router's number for the protocol; where it is none of a lower layer,
  /// the IP version decides, as in tcpdump, since routers differ in their byte order.
  /// Source: https://www.tcpdump.org/linktypes.html, LINKTYPE_JUNIPER_ETHER; what tcpdump 4.99.3 and tshark 4.0.17 read.
  mutating func juniper(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 4 else { return .skipped(.linkHeader) }
    let word = bytes.u32(start)
    guard word >> 8 == 0x4d4743 else { return .skipped(.notIP) }
    var position = start + 4
    if word & 0x80 != 0 {
      guard end - position >= 2 else { return .skipped(.linkHeader) }
      position += 2 + Int(bytes.u16(position))
    }
    guard word & 0x02 != 0 else { return link(bytes, LinkType.ethernet, position, end, into: &segment) }
    guard end - position >= 4 else { return .skipped(.linkHeader) }
    let family = bytes.u8(position)
    position += 4
    switch family {
    case 5: return mpls(bytes, position, end, into: &segment)
    case 200: return ppp(bytes, position, end, into: &segment)
    case 204: return link(bytes, LinkType.ethernet, position, end, into: &segment)
    default: return anyIP(bytes, position, end, into: &segment)
    }
  }
}
