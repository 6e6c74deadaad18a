/// IP protocols and UDP ports that carry packets of another network.
///
/// A tunnel is entered, not shown: a stream inside is known by its inner addresses. At most `maximumDepth` are entered in
/// one packet, whatever their kinds. A header that a tunnel's rules forbid, or that the packet cuts, ends the walk.
enum Tunnel {
  /// IPv4 and IPv6 in IP (RFC 2003, RFC 4213), generic routing encapsulation (RFC 2784), Ethernet in IP (RFC 3378), MPLS in IP (RFC 4023).
  static let ipv4: UInt8 = 4
  static let ipv6: UInt8 = 41
  static let gre: UInt8 = 47
  static let ethernet: UInt8 = 97
  static let mpls: UInt8 = 137
  static let udp: UInt8 = 17
  /// UDP ports (IANA; `vxlanLinux` is the Linux kernel's default).
  static let vxlan: UInt16 = 4_789
  static let vxlanLinux: UInt16 = 8_472
  static let vxlanGPE: UInt16 = 4_790
  static let geneve: UInt16 = 6_081
  static let gtpUser: UInt16 = 2_152
  static let l2tp: UInt16 = 1_701
  static let capwapData: UInt16 = 5_247
  static let tzsp: UInt16 = 37_008
  static let mplsInUDP: UInt16 = 6_635

  /// Whether an IP protocol may be a tunnel's.
  static func carriesIP(_ ipProtocol: UInt8) -> Bool { [udp, gre, ipv4, ipv6, ethernet, mpls].contains(ipProtocol) }

  /// Whether anything is read of a datagram whose first bytes are `range` of the packet: most of UDP is no tunnel.
  static func isRead(_ ipProtocol: UInt8, _ packet: borrowing Bytes, _ range: Range<Int>) -> Bool {
    guard ipProtocol == udp, range.count >= 4 else { return true }
    let ports = (packet.u16(range.lowerBound), packet.u16(range.lowerBound + 2))
    if kind(ports.0, ports.1) != nil { return true }
    return range.count < 16 || PacketParser.mayBeVXLAN(packet, range.lowerBound + 8)
  }

  /// What is expected between two ports: where the answers of a tunnel come from its port, either one tells.
  static func kind(_ source: UInt16, _ destination: UInt16) -> UInt16? {
    switch destination {
    case vxlan, vxlanLinux, vxlanGPE, geneve, gtpUser, l2tp, capwapData, tzsp, mplsInUDP: destination
    default: source == l2tp || source == capwapData ? source : nil
    }
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
    case Tunnel.mpls: return mpls(bytes, offset, end, into: &segment)
    case Tunnel.ethernet:
      // Version 3 and twelve zero bits.
      guard end - offset >= 2, bytes.u16(offset) == 0x3000 else { return skip(.notTCP, .otherIP) }
      return ethernet(bytes, offset + 2, end, into: &segment)
    case IPProtocol.sctp: return skip(.notTCP, .sctp)
    case IPProtocol.encrypted: return skip(.notTCP, .esp)
    case IPProtocol.control, IPProtocol.groups, IPProtocol.control6: return skip(.notTCP, .control)
    default:
      unreadProtocol = ipProtocol
      return skip(.notTCP, .otherIP)
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

  /// The tunnels that run over UDP, told by the port they are sent to; VXLAN on any port.
  ///
  ///      0        2        4        6        8
  ///     +--------+--------+--------+--------+
  ///     | source | dest.  | length | sum    |
  ///     +--------+--------+--------+--------+
  private mutating func udp(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    udpPort = 0
    guard end - offset >= 8 else { return skip(.notTCP, .udp) }
    layers?.pointee.headers.append(.udp(at: offset))
    let (source, destination) = (bytes.u16(offset), bytes.u16(offset + 2))
    udpPort = min(source, destination)
    let payload = offset + 8
    switch Tunnel.kind(source, destination) {
    case Tunnel.vxlan, Tunnel.vxlanLinux: return vxlan(bytes, payload, end, into: &segment)
    case Tunnel.vxlanGPE: return vxlanGPE(bytes, payload, end, into: &segment)
    case Tunnel.geneve: return geneve(bytes, payload, end, into: &segment)
    case Tunnel.gtpUser: return gtpUser(bytes, payload, end, into: &segment)
    case Tunnel.l2tp: return l2tp(bytes, payload, end, into: &segment)
    case Tunnel.capwapData: return capwap(bytes, payload, end, into: &segment)
    case Tunnel.tzsp: return tzsp(bytes, payload, end, into: &segment)
    case Tunnel.mplsInUDP: return mpls(bytes, payload, end, into: &segment)
    default:
      if looksLikeVXLAN(bytes, payload, end) { return vxlan(bytes, payload, end, into: &segment) }
      return skip(.notTCP, datagramKind(bytes, payload, end, port: udpPort))
    }
  }
}
