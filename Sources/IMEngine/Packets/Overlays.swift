/// Networks that are laid over another one: their frames travel after a header in UDP.
extension PacketParser {
  /// VXLAN (RFC 7348): flags, of which 8 says that the network's number counts; 4 that number; 8 an Ethernet frame.
  mutating func vxlan(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 8, bytes.u8(offset) & 8 != 0 else { return skip(.notTCP, .udp) }
    return ethernet(bytes, offset + 8, end, into: &segment)
  }

  /// Whether a datagram on any port is VXLAN: flags and reserved bytes as they have to be, and after them an Ethernet frame with an IP
  /// packet whose lengths and checksum are right.
  func looksLikeVXLAN(_ bytes: borrowing Bytes, _ offset: Int, _ end: Int) -> Bool {
    guard end - offset >= 8 + 34, Self.mayBeVXLAN(bytes, offset) else { return false }
    var position = offset + 8 + 12
    // Tags between the frame's addresses and its type.
    for _ in 0..<2 where [EtherType.vlan, EtherType.qinq].contains(bytes.u16(position)) && end - position >= 4 + 22 {
      position += 4
    }
    let ip = position + 2
    let total: Int
    switch bytes.u16(position) {
    case EtherType.ipv4: total = Int(bytes.u16(ip + 2))
    case EtherType.ipv6 where end - ip >= 40: total = Int(bytes.u16(ip + 4)) + 40
    default: return false
    }
    return total <= end - ip && isWholeIP(bytes, ip, end, wireCount: total)
  }

  /// Whether the eight bytes at `offset` are a header of VXLAN, with or without a group policy, all of whose reserved bits are 0.
  static func mayBeVXLAN(_ bytes: borrowing Bytes, _ offset: Int) -> Bool {
    let first = bytes.u32(offset)
    let isPlain = first == 0x0800_0000
    // The group policy's bit, its flags D and A, and 16 bits of the group.
    let hasPolicy = first & 0xffb7_0000 == 0x8800_0000
    return (isPlain || hasPolicy) && bytes.u8(offset + 7) == 0
  }

  /// VXLAN with other protocols than Ethernet (draft-ietf-nvo3-vxlan-gpe).
  ///
  ///      0               3      4        7
  ///     +-------+-------+------+--------+---+
  ///     | flags | 0     | next | number | 0 |   flags: 0x30 version, 8 number counts, 4 next counts, 1 for management
  ///     +-------+-------+------+--------+---+
  mutating func vxlanGPE(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 8 else { return skip(.notTCP, .udp) }
    let flags = bytes.u8(offset)
    guard flags & 0x31 == 0 else { return skip(.notTCP, .udp) }
    let next = flags & 4 != 0 ? bytes.u8(offset + 3) : 3
    return overlaid(bytes, next, offset + 8, end, into: &segment)
  }

  /// What a network service header, or VXLAN in its general form, names as its next protocol.
  private mutating func overlaid(
    _ bytes: borrowing Bytes, _ next: UInt8, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    switch next {
    case 1, 2: return anyIP(bytes, offset, end, into: &segment)
    case 3: return ethernet(bytes, offset, end, into: &segment)
    case 4: return serviceHeader(bytes, offset, end, into: &segment)
    case 5: return mpls(bytes, offset, end, into: &segment)
    default: return skip(.notTCP, .udp)
    }
  }

  /// A network service header (RFC 8300): of the first 16 bits, 2 are the version, 1 is for management, and the last 6 are its length in
  /// words; byte 3 names what follows. These nest like tunnels.
  mutating func serviceHeader(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
    depth += 1
    defer { depth -= 1 }
    guard end - offset >= 8 else { return .skipped(.linkHeader) }
    let first = bytes.u16(offset)
    let length = Int(first & 0x3f) * 4
    guard first & 0xe000 == 0, length >= 8, end - offset >= length else { return .skipped(.linkHeader) }
    return overlaid(bytes, bytes.u8(offset + 3), offset + length, end, into: &segment)
  }

  /// Generic network virtualisation (RFC 8926): version and words of options, 2 Ethernet type, 4 network number, 8 options.
  mutating func geneve(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 8 else { return skip(.notTCP, .udp) }
    let first = bytes.u8(offset)
    let payload = offset + 8 + Int(first & 0x3f) * 4
    guard first >> 6 == 0, payload <= end else { return skip(.notTCP, .udp) }
    let type = bytes.u16(offset + 2)
    if type == EtherType.bridged { return ethernet(bytes, payload, end, into: &segment) }
    return etherType(bytes, type, payload, end, into: &segment)
  }
}
