import IMWire

/// Link types as capture files number them (https://www.tcpdump.org/linktypes.html).
package enum LinkType {
  /// BSD loopback: four bytes of address family in the capturing machine's order.
  package static let null: UInt16 = 0
  /// Ethernet.
  package static let ethernet: UInt16 = 1
  /// OpenBSD loopback: as `null`, big endian.
  package static let loop: UInt16 = 108
  /// IP without a link layer.
  package static let raw: UInt16 = 101
  /// IP without a link layer, as some systems' own numbers leak into files.
  package static let rawBSD: UInt16 = 12, rawOpenBSD: UInt16 = 14
  /// Linux cooked capture, versions 1 and 2.
  package static let linuxSLL: UInt16 = 113, linuxSLL2: UInt16 = 276
  /// PPP in HDLC-like framing; the same, or Cisco's HDLC, told by the first byte; a PPPoE session.
  package static let ppp: UInt16 = 9, pppSerial: UInt16 = 50, pppEthernet: UInt16 = 51
  /// PPP behind a byte that tells the direction: in the place of its address, and in front of it.
  package static let pppDaemon: UInt16 = 166, pppDirected: UInt16 = 204
  /// Cisco's HDLC.
  package static let hdlc: UInt16 = 104
  /// A stack of MPLS labels.
  package static let mpls: UInt16 = 219
  /// Ethernet behind the header of a Juniper router.
  package static let juniperEthernet: UInt16 = 178
  /// IPv4 or IPv6 without a link layer.
  package static let ipv4: UInt16 = 228, ipv6: UInt16 = 229

  /// Whether it is one of the links that `PacketParser.pointToPoint` reads.
  static func isPointToPoint(_ value: UInt16) -> Bool {
    [ppp, pppSerial, pppEthernet, pppDaemon, pppDirected, hdlc, mpls].contains(value)
  }

  /// The name that tcpdump prints, or the number.
  package static func name(_ value: UInt16) -> String {
    switch value {
    case null: "NULL"
    case ethernet: "EN10MB"
    case loop: "LOOP"
    case raw, rawBSD, rawOpenBSD: "RAW"
    case ppp: "PPP"
    case pppSerial: "PPP_SERIAL"
    case pppEthernet: "PPP_ETHER"
    case pppDaemon: "PPP_PPPD"
    case pppDirected: "PPP_WITH_DIR"
    case hdlc: "C_HDLC"
    case mpls: "MPLS"
    case linuxSLL: "LINUX_SLL"
    case linuxSLL2: "LINUX_SLL2"
    case juniperEthernet: "JUNIPER_ETHER"
    case ipv4: "IPV4"
    case ipv6: "IPV6"
    default: "\(value)"
    }
  }
}

/// Ethernet types (IEEE 802 numbers).
enum EtherType {
  /// Up to here it is no type but the length of an IEEE 802.3 frame.
  static let longest: UInt16 = 1_500
  static let ipv4: UInt16 = 0x0800
  static let ipv6: UInt16 = 0x86dd
  static let vlan: UInt16 = 0x8100
  static let qinq: UInt16 = 0x88a8
  static let oldQinq: UInt16 = 0x9100
  static let mpls: UInt16 = 0x8847, mplsMulticast: UInt16 = 0x8848
  static let pppoeSession: UInt16 = 0x8864
  /// Ethernet, as tunnels name it.
  static let bridged: UInt16 = 0x6558

  /// Whether something of that type is walked down to IP.
  static func carriesIP(_ type: UInt16) -> Bool {
    [ipv4, ipv6, vlan, qinq, oldQinq, mpls, mplsMulticast, pppoeSession].contains(type)
  }
}

extension PacketParser {
  /// Parses from the link layer on.
  @inline(never)
  mutating func link(
    _ bytes: borrowing Bytes, _ linkType: UInt16, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    switch linkType {
    case LinkType.ethernet:
      guard end - start >= 14 else { return .skipped(.linkHeader) }
      layers?.pointee.headers.append(.ethernet(at: start))
      return etherType(bytes, bytes.u16(start + 12), start + 14, end, into: &segment)
    case LinkType.linuxSLL:
      // 0 packet type, 2 ARPHRD, 4 address length, 6 address (8 bytes), 14 protocol.
      guard end - start >= 16 else { return .skipped(.linkHeader) }
      layers?.pointee.headers.append(.address(start + 6..<start + 14))
      return etherType(bytes, bytes.u16(start + 14), start + 16, end, into: &segment)
    case LinkType.linuxSLL2:
      // 0 protocol, 2 reserved, 4 interface index, 8 ARPHRD, 10 packet type, 11 address length, 12 address (8 bytes).
      guard end - start >= 20 else { return .skipped(.linkHeader) }
      layers?.pointee.headers.append(.address(start + 12..<start + 20))
      return etherType(bytes, bytes.u16(start), start + 20, end, into: &segment)
    case LinkType.null, LinkType.loop:
      // The family's number depends on the system and its byte order; the IP version says as much and cannot differ.
      guard end - start >= 4 else { return .skipped(.linkHeader) }
      return family(bytes, start, end, into: &segment)
    case LinkType.raw, LinkType.rawBSD, LinkType.rawOpenBSD, LinkType.ipv4, LinkType.ipv6:
      return anyIP(bytes, start, end, into: &segment)
    case LinkType.juniperEthernet:
      return juniper(bytes, start, end, into: &segment)
    default:
      return pointToPoint(bytes, linkType, start, end, into: &segment)
    }
  }

  /// The four-byte address family of loopback captures: AF_INET is 2 everywhere, AF_INET6 is 10, 24, 28 or 30.
  private mutating func family(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    let value = bytes.u32(start)
    switch value > 0xffff ? value.byteSwapped : value {
    case 2, 10, 24, 28, 30: return anyIP(bytes, start + 4, end, into: &segment)
    default: return .skipped(.notIP)
    }
  }

  /// Walks VLAN tags, then IP or what carries it.
  mutating func etherType(
    _ bytes: borrowing Bytes, _ first: UInt16, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    var type = first
    var position = offset
    for _ in 0...Self.maximumDepth {
      switch type {
      case EtherType.ipv4:
        guard end - position >= 20 else { return .skipped(.ipHeader) }
        return ipv4(bytes, position, end, into: &segment)
      case EtherType.ipv6:
        return ipv6(bytes, position, end, into: &segment)
      case EtherType.vlan, EtherType.qinq, EtherType.oldQinq:
        guard end - position >= 4 else { return .skipped(.linkHeader) }
        type = bytes.u16(position + 2)
        position += 4
      case EtherType.mpls, EtherType.mplsMulticast:
        return mpls(bytes, position, end, into: &segment)
      case EtherType.pppoeSession:
        return pppoe(bytes, position, end, into: &segment)
      case ...EtherType.longest:
        // A length: the type stands behind a SNAP header (IEEE 802.2): AA AA 03, three zero bytes.
        guard end - position >= 8, bytes.u64(position) >> 16 == 0xaaaa_0300_0000 else { return .skipped(.notIP) }
        type = bytes.u16(position + 6)
        position += 8
      default:
        return .skipped(.notIP)
      }
    }
    return .skipped(.tooDeep)
  }

  /// IP whose version only its first byte tells.
  mutating func anyIP(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end > offset else { return .skipped(.ipHeader) }
    switch bytes.u8(offset) >> 4 {
    case 4:
      guard end - offset >= 20 else { return .skipped(.ipHeader) }
      return ipv4(bytes, offset, end, into: &segment)
    case 6: return ipv6(bytes, offset, end, into: &segment)
    default: return .skipped(.ipVersion)
    }
  }
}
