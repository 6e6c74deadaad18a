/// What a packet is that is no TCP and therefore not read.
package enum UnreadKind: UInt8, CaseIterable, Sendable {
  /// UDP that is none of the following.
  case udp
  /// QUIC, in UDP: encrypted.
  case quic
  /// TLS over datagrams.
  case dtls
  /// A WireGuard tunnel, in UDP: encrypted.
  case wireGuard
  /// The stream control transmission protocol.
  case sctp
  /// IPsec's encrypted payload.
  case esp
  /// The internet control message protocol of either version, and group management.
  case control
  /// Any other IP protocol, or a tunnel that is not entered.
  case otherIP
  /// Ethernet whose payload is encrypted (IEEE 802.1AE).
  case macSec
  /// Wireless data that is encrypted.
  case wirelessEncrypted
  /// Several wireless frames in one.
  case aggregate
  /// Wireless frames that carry no data.
  case wirelessControl
  /// The address resolution protocol and others below IP.
  case belowIP

  /// The words for it.
  package var text: String {
    switch self {
    case .udp: "UDP"
    case .quic: "QUIC (encrypted)"
    case .dtls: "DTLS (encrypted)"
    case .wireGuard: "WireGuard (encrypted)"
    case .sctp: "SCTP"
    case .esp: "IPsec ESP (encrypted)"
    case .control: "ICMP"
    case .otherIP: "other IP protocols"
    case .macSec: "MACsec (encrypted)"
    case .wirelessEncrypted: "encrypted 802.11"
    case .aggregate: "aggregated 802.11 frames"
    case .wirelessControl: "802.11 management"
    case .belowIP: "not IP (ARP, LLDP, ...)"
    }
  }

  /// Whether a network has such packets whatever its applications do: they are no reason to look for more.
  package var isHousekeeping: Bool { [.control, .wirelessControl, .belowIP].contains(self) }
}

/// Packets that are no TCP, by what they are; UDP by its ports, others by their IP protocol.
struct UnreadTraffic: ~Copyable {
  private var packets: InlineArray<16, UInt64> = InlineArray(repeating: 0)
  /// Packets of each lower port of UDP; allocated with the first one.
  private var ports: UnsafeMutablePointer<UInt32>?
  /// Packets of each IP protocol that has no kind of its own; empty before the first one.
  private var protocols: [UInt64] = []

  init() {}

  deinit { ports?.deallocate() }

  /// Counts a packet of an IP protocol that has no kind of its own.
  mutating func add(ipProtocol: UInt8) {
    if protocols.isEmpty { protocols = Array(repeating: 0, count: 256) }
    protocols[Int(ipProtocol)] &+= 1
  }

  /// The IP protocols without a kind of their own that have the most packets, busiest first.
  func busiestProtocols(_ count: Int) -> [(ipProtocol: UInt8, packets: UInt64)] {
    let found = protocols.indices.filter { protocols[$0] > 0 }.sorted { (protocols[$1], $0) < (protocols[$0], $1) }
    return found.prefix(count).map { (UInt8($0), protocols[$0]) }
  }

  /// Counts a packet.
  mutating func add(_ kind: UnreadKind, port: UInt16?) {
    packets[Int(kind.rawValue)] &+= 1
    guard let port, kind == .udp else { return }
    let counts = ports ?? .allocate(capacity: 65_536)
    if ports == nil {
      counts.initialize(repeating: 0, count: 65_536)
      ports = counts
    }
    // SAFETY: a port is below the 65,536 places that were initialized.
    if counts[Int(port)] < .max { counts[Int(port)] += 1 }
  }

  /// Packets of `kind`.
  func count(_ kind: UnreadKind) -> UInt64 { packets[Int(kind.rawValue)] }

  /// The ports with the most packets of UDP, busiest first.
  func busiestPorts(_ count: Int) -> [(port: UInt16, packets: UInt64)] {
    guard let ports else { return [] }
    var best: [(port: UInt16, packets: UInt64)] = []
    for port in 0..<65_536 {
      // SAFETY: as above.
      let packets = UInt64(ports[port])
      guard packets > 0, best.count < count || packets > best[best.count - 1].packets else { continue }
      if best.count == count { best.removeLast() }
      let place = best.firstIndex { $0.packets < packets } ?? best.count
      best.insert((UInt16(port), packets), at: place)
    }
    return best
  }
}

extension PacketParser {
  /// Skips a packet that is `kind`.
  @inline(never)
  mutating func skip(_ reason: SkipReason, _ kind: UnreadKind) -> Outcome {
    unreadKind = kind
    return .skipped(reason)
  }

  /// Takes note of what a skipped packet was.
  mutating func noteSkipped(_ reason: SkipReason) {
    guard reason == .notTCP || reason == .notIP else { return }
    let kind = unreadKind ?? (reason == .notIP ? .belowIP : .otherIP)
    unread.add(kind, port: kind == .udp ? udpPort : nil)
    if kind == .otherIP, let unreadProtocol { unread.add(ipProtocol: unreadProtocol) }
  }

  /// What the payload of a datagram is whose ports say nothing, as far as its first bytes tell.
  func datagramKind(_ bytes: borrowing Bytes, _ offset: Int, _ end: Int, port: UInt16) -> UnreadKind {
    let count = end - offset
    guard count >= 4 else { return .udp }
    let first = bytes.u8(offset), word = bytes.u32(offset)
    // A long header with a version that exists (RFC 9000, 9369; drafts), whose connection identifier is not too long.
    if first & 0xc0 == 0xc0, count >= 7 {
      let version = bytes.u32(offset + 1)
      let isKnown = version == 1 || version == 0x6b33_43cf || version >> 8 == 0xff00_00 || version >> 24 == 0x51
      if isKnown, bytes.u8(offset + 5) <= 20 { return .quic }
    }
    if first & 0xc0 == 0x40, port == 443, count >= 21 { return .quic }
    // Content types 20 to 26 with a version of DTLS.
    if (20...26).contains(first), [0xfeff, 0xfefd].contains(bytes.u16(offset + 1)) { return .dtls }
    switch (word, count) {
    case (0x0100_0000, 148), (0x0200_0000, 92), (0x0300_0000, 64): return .wireGuard
    case (0x0400_0000, 32...) where count % 16 == 0: return .wireGuard
    default: return .udp
    }
  }
}
