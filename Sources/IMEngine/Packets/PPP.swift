extension PacketParser {
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
