/// What stands in front of the IP header on a link, and the capture's name for it.
package enum LinkLayer: Sendable, Equatable {
  /// Ethernet II.
  case ethernet
  /// Ethernet II with VLAN tags, the outer one first. All but the last carry 802.1ad's type, the last 802.1Q's.
  case vlan([UInt16])
  /// Linux "cooked" capture, 16 bytes: what `any` gave for many years.
  case linuxCooked
  /// Linux "cooked" capture, version 2, 20 bytes.
  case linuxCooked2
  /// BSD loopback: a four-byte address family in the order of the host that captured, here little-endian.
  case null
  /// No header: the packet begins with the IP version.
  case raw
  /// Ethernet as a Juniper router captures it: with extensions of so many bytes, or none; without the Ethernet header when the
  /// router has taken it off.
  case juniper(extensions: Int?, isBare: Bool)

  /// The `LINKTYPE_` value that a capture file states.
  package var linkType: UInt16 {
    switch self {
    case .ethernet, .vlan: 1
    case .linuxCooked: 113
    case .linuxCooked2: 276
    case .null: 0
    case .raw: 101
    case .juniper: 178
    }
  }

  /// The header in front of an IP packet that travels from `source` to `destination`.
  func header(isIPv6: Bool, source: MACAddress, destination: MACAddress) -> [UInt8] {
    let etherType: UInt16 = isIPv6 ? 0x86dd : 0x0800
    var bytes: [UInt8] = []
    switch self {
    case .ethernet:
      bytes += destination.bytes + source.bytes
      bytes.append(big: etherType)
    case .vlan(let tags):
      bytes += destination.bytes + source.bytes
      for (index, tag) in tags.enumerated() {
        bytes.append(big: index == tags.count - 1 ? UInt16(0x8100) : 0x88a8)
        bytes.append(big: tag)
      }
      bytes.append(big: etherType)
    case .linuxCooked:
      bytes.append(big: UInt16(0))  // received by this host
      bytes.append(big: UInt16(1))  // ARPHRD_ETHER
      bytes.append(big: UInt16(6))
      bytes += source.bytes + [0, 0]
      bytes.append(big: etherType)
    case .linuxCooked2:
      bytes.append(big: etherType)
      bytes.append(big: UInt16(0))
      bytes.append(big: UInt32(2))  // interface index
      bytes.append(big: UInt16(1))
      bytes += [0, 6] + source.bytes + [0, 0]
    case .null:
      bytes.append(little: isIPv6 ? UInt32(30) : 2)
    case .raw:
      break
    case .juniper(let extensions, let isBare):
      bytes += [0x4d, 0x47, 0x43, (extensions == nil ? 0 : 0x80) | (isBare ? 2 : 0) | 1]  // 1: received
      if let extensions {
        bytes.append(big: UInt16(extensions))
        bytes += (0..<extensions).map { UInt8(truncatingIfNeeded: $0) }
      }
      if isBare {
        bytes += [isIPv6 ? 6 : 2, 0, 0, 0]
      } else {
        bytes += Self.ethernet.header(isIPv6: isIPv6, source: source, destination: destination)
      }
    }
    return bytes
  }
}

/// A six-byte Ethernet address.
package struct MACAddress: Sendable, Equatable {
  /// The six bytes, in the order they travel.
  package var bytes: [UInt8]

  /// The locally administered address `02:00:00:00:00:number`.
  package init(_ number: UInt8) { bytes = [2, 0, 0, 0, 0, number] }
}
