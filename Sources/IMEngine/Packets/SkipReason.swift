/// Why a packet did not become a TCP segment. Every captured packet is a segment or has one of these.
package enum SkipReason: UInt8, CaseIterable, Sendable {
  /// The link type is not one imdump reads.
  case linkType
  /// The packet ends inside its link-layer header, or inside a tunnel's.
  case linkHeader
  /// A link-layer payload that is not IP (ARP, LLDP, ...).
  case notIP
  /// More VLAN tags or tunnels than the limit of 8.
  case tooDeep
  /// The version field is neither 4 nor 6, or not what the link layer said.
  case ipVersion
  /// The packet ends inside its IP header, or the header's length is impossible.
  case ipHeader
  /// The IPv4 header's checksum is wrong.
  case ipChecksum
  /// An IP protocol other than TCP, or a tunnel that imdump does not enter.
  case notTCP
  /// A fragment kept until the rest of its datagram comes.
  case fragmentHeld
  /// A fragment that could not be kept: overlapping, beyond 64 KiB, or over the limit of datagrams.
  case fragmentDropped
  /// The packet ends inside the fixed part of its TCP header, or the header's length is impossible.
  case tcpHeader
  /// The TCP checksum is wrong and the sender's other packets are right: the receiver ignored it, and so does imdump.
  case tcpChecksum

  /// The name in counters and documents.
  package var name: String {
    switch self {
    case .linkType: "link_type"
    case .linkHeader: "link_header"
    case .notIP: "not_ip"
    case .tooDeep: "too_deep"
    case .ipVersion: "ip_version"
    case .ipHeader: "ip_header"
    case .ipChecksum: "ip_checksum"
    case .notTCP: "not_tcp"
    case .fragmentHeld: "fragment_held"
    case .fragmentDropped: "fragment_dropped"
    case .tcpHeader: "tcp_header"
    case .tcpChecksum: "tcp_checksum"
    }
  }
}
