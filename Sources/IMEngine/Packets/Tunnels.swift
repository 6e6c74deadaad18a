/// IP protocols and UDP ports that carry packets of another network.
///
/// A tunnel is entered, not shown: a stream inside is known by its inner addresses. At most `maximumDepth` are entered in
/// one packet, whatever their kinds. A header that a tunnel's rules forbid, or that the packet cuts, ends the walk.
enum Tunnel {
  /// IPv4 and IPv6 in IP (RFC 2003, RFC 4213), generic routing encapsulation (RFC 2784).
  static let ipv4: UInt8 = 4
  static let ipv6: UInt8 = 41
  static let gre: UInt8 = 47
  static let udp: UInt8 = 17
  /// UDP ports (IANA).
  static let vxlan: UInt16 = 4_789
  static let geneve: UInt16 = 6_081
  static let gtpUser: UInt16 = 2_152

  /// Whether an IP protocol may be a tunnel's.
  static func carriesIP(_ ipProtocol: UInt8) -> Bool { [udp, gre, ipv4, ipv6].contains(ipProtocol) }

  /// Whether anything is read of a datagram whose first bytes are `range` of the packet: most of UDP is no tunnel.
  static func isRead(_ ipProtocol: UInt8, _ packet: borrowing Bytes, _ range: Range<Int>) -> Bool {
    guard ipProtocol == udp, range.count >= 4 else { return true }
    return [vxlan, geneve, gtpUser].contains(packet.u16(range.lowerBound + 2))
  }
}

extension PacketParser {
  /// IP protocols other than TCP, whose payload is `offset..<end`.
  @inline(never)
  mutating func other(
    _ bytes: borrowing Bytes, _ ipProtocol: UInt8, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
    depth += 1
    defer { depth -= 1 }
    switch ipProtocol {
    case Tunnel.ipv4, Tunnel.ipv6: return anyIP(bytes, offset, end, into: &segment)
    case Tunnel.gre: return gre(bytes, offset, end, into: &segment)
    case Tunnel.udp: return udp(bytes, offset, end, into: &segment)
    default: return .skipped(.notTCP)
    }
  }

  /// An Ethernet frame inside a tunnel.
  mutating func ethernet(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 14 else { return .skipped(.linkHeader) }
    layers?.pointee.headers.append(.ethernet(at: offset))
    return etherType(bytes, bytes.u16(offset + 12), offset + 14, end, into: &segment)
  }

  /// The tunnels that run over UDP, told by the port they are sent to.
  ///
  ///      0        2        4        6        8
  ///     +--------+--------+--------+--------+
  ///     | source | dest.  | length | sum    |
  ///     +--------+--------+--------+--------+
  private mutating func udp(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 16 else { return .skipped(.notTCP) }
    layers?.pointee.headers.append(.udp(at: offset))
    switch bytes.u16(offset + 2) {
    case Tunnel.vxlan:
      // 0 flags, of which 8 says that the network number counts; 4 network number; 8 Ethernet (RFC 7348).
      guard bytes.u8(offset + 8) & 8 != 0 else { return .skipped(.notTCP) }
      return ethernet(bytes, offset + 16, end, into: &segment)
    case Tunnel.geneve:
      // 0 version and words of options, 2 Ethernet type, 4 network number; 8 options (RFC 8926).
      let first = bytes.u8(offset + 8)
      let payload = offset + 16 + Int(first & 0x3f) * 4
      guard first >> 6 == 0, payload <= end else { return .skipped(.notTCP) }
      let type = bytes.u16(offset + 10)
      if type == EtherType.bridged { return ethernet(bytes, payload, end, into: &segment) }
      return etherType(bytes, type, payload, end, into: &segment)
    case Tunnel.gtpUser:
      return gtpUser(bytes, offset + 8, end, into: &segment)
    default:
      return .skipped(.notTCP)
    }
  }

  /// A packet of a mobile subscriber, eight bytes of whose GTP-U header are there (3GPP TS 29.281).
  ///
  ///      0       1      2        4          8                     12
  ///     +-------+------+--------+----------+---------------------+
  ///     | flags | type | length | endpoint | if any of E, S, PN  |
  ///     +-------+------+--------+----------+---------------------+
  private mutating func gtpUser(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    let flags = bytes.u8(offset)
    // Version 1, and 255 is the type of a packet in a tunnel.
    guard flags & 0xf0 == 0x30, bytes.u8(offset + 1) == 255 else { return .skipped(.notTCP) }
    var position = offset + 8
    if flags & 7 != 0 {
      guard end - position >= 4 else { return .skipped(.linkHeader) }
      var next = bytes.u8(position + 3)
      position += 4
      if flags & 4 == 0 { next = 0 }
      // An extension header counts its length in words, and its last byte tells the kind of the next.
      while next != 0 {
        guard end - position >= 4 else { return .skipped(.linkHeader) }
        let length = Int(bytes.u8(position)) * 4
        guard length > 0, end - position >= length else { return .skipped(.linkHeader) }
        next = bytes.u8(position + length - 1)
        position += length
      }
    }
    return anyIP(bytes, position, end, into: &segment)
  }
}
