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
  /// Wireless LAN: bare, and after the headers of drivers.
  package static let wireless: UInt16 = 105, prism: UInt16 = 119, radiotap: UInt16 = 127, avs: UInt16 = 163
  /// After a header that names another link type: that of wireless tools, and Apple's.
  package static let perPacketInformation: UInt16 = 192, pktap: UInt16 = 258
  /// What packet filters log: OpenBSD's and Linux's.
  package static let pflog: UInt16 = 117, nflog: UInt16 = 239
  /// What OpenBSD's IPsec interface has: 12 bytes in front of IP.
  package static let ipsecInterface: UInt16 = 109
  /// LLC and SNAP, as ATM carries them (RFC 2684).
  package static let llcOverATM: UInt16 = 100

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
    case wireless: "IEEE802_11"
    case prism: "PRISM_HEADER"
    case radiotap: "IEEE802_11_RADIO"
    case avs: "IEEE802_11_RADIO_AVS"
    case perPacketInformation: "PPI"
    case pktap: "PKTAP"
    case pflog: "PFLOG"
    case nflog: "NFLOG"
    case ipsecInterface: "ENC"
    case llcOverATM: "ATM_RFC1483"
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
  /// A backbone's tag (IEEE 802.1ah), in front of a whole frame.
  static let backbone: UInt16 = 0x88e7
  /// Cisco's metadata with a security group tag, tags of virtual network interfaces and of bridge port extensions (IEEE 802.1BR).
  static let metadata: UInt16 = 0x8909, virtualTag: UInt16 = 0x8926, extensionTag: UInt16 = 0x893f
  /// Integrity or encryption of frames (IEEE 802.1AE).
  static let macSec: UInt16 = 0x88e5
  /// A network service header (RFC 8300).
  static let serviceHeader: UInt16 = 0x894f
  static let mpls: UInt16 = 0x8847, mplsMulticast: UInt16 = 0x8848
  static let pppoeSession: UInt16 = 0x8864
  /// Ethernet, as tunnels name it.
  static let bridged: UInt16 = 0x6558

  /// Whether something of that type is walked down to IP.
  static func carriesIP(_ type: UInt16) -> Bool {
    [
      ipv4, ipv6, vlan, qinq, oldQinq, mpls, mplsMulticast, pppoeSession, backbone, metadata, virtualTag, extensionTag,
      macSec, serviceHeader,
    ].contains(type)
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
      let outcome = ethernet(bytes, start, end, into: &segment)
      // Some writers have IP without a link layer, and say Ethernet.
      guard case .skipped(let reason) = outcome, reason != .fragmentHeld, reason != .tooDeep,
        isWholeIP(bytes, start, end, wireCount: end - start + cutTail)
      else { return outcome }
      layers?.pointee.headers.removeAll()
      unreadKind = nil
      return anyIP(bytes, start, end, into: &segment)
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
      let outcome = anyIP(bytes, start, end, into: &segment)
      // And the other way round.
      guard case .skipped(let reason) = outcome, [.ipVersion, .ipHeader, .ipChecksum].contains(reason),
        isEthernetWithIP(bytes, start, end, wireCount: end - start + cutTail)
      else { return outcome }
      layers?.pointee.headers.removeAll()
      unreadKind = nil
      return ethernet(bytes, start, end, into: &segment)
    case LinkType.juniperEthernet:
      return juniper(bytes, start, end, into: &segment)
    case LinkType.wireless:
      return wireless(bytes, start, end, isPadded: false, into: &segment)
    case LinkType.radiotap:
      return radiotap(bytes, start, end, into: &segment)
    case LinkType.prism:
      // A driver may call the newer header by the older one's type: its magic number tells.
      let isNew = end - start >= 4 && bytes.u32(start) >> 12 == 0x80211
      return driverHeader(bytes, start, end, lengthAt: 4, isBig: isNew, into: &segment)
    case LinkType.avs:
      return driverHeader(bytes, start, end, lengthAt: 4, isBig: true, into: &segment)
    case LinkType.perPacketInformation:
      return perPacketInformation(bytes, start, end, into: &segment)
    case LinkType.pktap:
      return pktap(bytes, start, end, into: &segment)
    case LinkType.nflog:
      return nflog(bytes, start, end, into: &segment)
    case LinkType.pflog:
      return pflog(bytes, start, end, into: &segment)
    case LinkType.ipsecInterface:
      guard end - start >= 12 else { return .skipped(.linkHeader) }
      return anyIP(bytes, start + 12, end, into: &segment)
    case LinkType.llcOverATM:
      guard end - start >= 8 else { return .skipped(.linkHeader) }
      return etherType(bytes, 0, start, end, into: &segment)
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
      case EtherType.metadata, EtherType.virtualTag, EtherType.extensionTag, EtherType.macSec:
        guard let next = tag(bytes, type, position, end) else { return tagOutcome(type, position, end) }
        (type, position) = next
      case EtherType.backbone:
        return backbone(bytes, position, end, into: &segment)
      case EtherType.serviceHeader:
        return serviceHeader(bytes, position, end, into: &segment)
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
