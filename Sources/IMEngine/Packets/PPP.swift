extension PacketParser {
  /// The links between two ends only.
  mutating func pointToPoint(
    _ bytes: borrowing Bytes, _ linkType: UInt16, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 4 else {
      return .skipped(LinkType.isPointToPoint(linkType) ? .linkHeader : .linkType)
    }
    switch linkType {
    case LinkType.ppp: return ppp(bytes, start, end, into: &segment)
    case LinkType.pppSerial:
      // Cisco's address is 0x0f, to one, or 0x8f, to all.
      guard bytes.u8(start) & 0x7f == 0x0f else { return ppp(bytes, start, end, into: &segment) }
      return etherType(bytes, bytes.u16(start + 2), start + 4, end, into: &segment)
    case LinkType.hdlc: return etherType(bytes, bytes.u16(start + 2), start + 4, end, into: &segment)
    case LinkType.pppEthernet: return pppoe(bytes, start, end, into: &segment)
    case LinkType.pppDaemon:
      // 0 or 1, received or sent; then the control byte that belongs to the address.
      let hasControl = bytes.u8(start) <= 1 && bytes.u8(start + 1) == 3
      return ppp(bytes, hasControl ? start + 2 : start, end, into: &segment)
    case LinkType.pppDirected: return ppp(bytes, start + 1, end, into: &segment)
    case LinkType.mpls: return mpls(bytes, start, end, into: &segment)
    default: return .skipped(.linkType)
    }
  }

  /// A PPPoE session packet (RFC 2516).
  ///
  ///      0              1      2         4        6
  ///     +--------------+------+---------+--------+
  ///     | version,type | code | session | length |  PPP
  ///     +--------------+------+---------+--------+
  mutating func pppoe(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 6 else { return .skipped(.linkHeader) }
    guard bytes.u8(offset) == 0x11, bytes.u8(offset + 1) == 0 else { return .skipped(.notIP) }
    let payload = offset + 6
    return ppp(bytes, payload, min(end, payload + Int(bytes.u16(offset + 4))), into: &segment)
  }

  /// A PPP packet from its address or its protocol number on (RFC 1661): 0x0021 is IPv4, 0x0057 IPv6. The number's first
  /// byte may be left out when it is 0.
  mutating func ppp(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    var position = offset
    guard end - position >= 4 else { return .skipped(.linkHeader) }
    if bytes.u16(position) == 0xff03 { position += 2 }
    var number = UInt16(bytes.u8(position))
    position += 1
    if number & 1 == 0 {
      number = number << 8 | UInt16(bytes.u8(position))
      position += 1
    }
    switch number {
    case 0x21, 0x57: return anyIP(bytes, position, end, into: &segment)
    default: return .skipped(.notIP)
    }
  }
}
