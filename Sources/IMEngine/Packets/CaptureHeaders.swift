/// Packets after the header of a capturing system.
extension PacketParser {
  /// A packet that the Linux packet filter logged.
  ///
  ///      0        1         2          4        6      8
  ///     +--------+---------+----------+--------+------+-------+
  ///     | family | version | resource | length | type | value | padded to 4; and so on
  ///     +--------+---------+----------+--------+------+-------+
  ///
  /// Lengths, which count themselves and the type, and types have the byte order of the host that captured. Type 9 is the packet, from IP
  /// on. Source: https://www.tcpdump.org/linktypes/LINKTYPE_NFLOG.html.
  mutating func nflog(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 8 else { return .skipped(.linkHeader) }
    guard [2, 10].contains(bytes.u8(start)), bytes.u8(start + 1) == 0 else { return .skipped(.notIP) }
    guard
      let packet = nflogPayload(bytes, start + 4, end, swapped: true)
        ?? nflogPayload(bytes, start + 4, end, swapped: false)
    else { return .skipped(.linkHeader) }
    return anyIP(bytes, packet.lowerBound, packet.upperBound, into: &segment)
  }

  /// The bytes of the packet among the values at `first`, which are little endian with `swapped`; `nil` where none are.
  private func nflogPayload(
    _ bytes: borrowing Bytes, _ first: Int, _ end: Int, swapped: Bool
  ) -> Range<Int>? {
    var position = first
    while end - position >= 4 {
      let words = (bytes.u16(position), bytes.u16(position + 2))
      let length = Int(swapped ? words.0.byteSwapped : words.0), type = swapped ? words.1.byteSwapped : words.1
      guard length >= 4 else { return nil }
      // Of a packet that was cut, as much as there is.
      if type & 0x7fff == 9 { return position + 4..<min(end, position + length) }
      position += (length + 3) & ~3
    }
    return nil
  }

  /// A packet of any link type, as Apple's systems capture it.
  ///
  ///      0        4      8           12
  ///     +--------+------+-----------+-----------------------------+
  ///     | length | next | link type | interface's name, and others|  a packet of that type
  ///     +--------+------+-----------+-----------------------------+
  ///
  /// Little endian: only such systems write it. Source: https://www.tcpdump.org/linktypes.html, LINKTYPE_PKTAP.
  mutating func pktap(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 12 else { return .skipped(.linkHeader) }
    let length = Int(bytes.u32(start).byteSwapped)
    guard length >= 12, end - start >= length else { return .skipped(.linkHeader) }
    guard bytes.u32(start + 4).byteSwapped == 1 else { return .skipped(.notIP) }
    return inner(bytes, bytes.u32(start + 8).byteSwapped, start + length, end, into: &segment)
  }

  /// A packet after the header that some wireless tools write: version, flags, length (2 bytes), link type (4), all little endian.
  mutating func perPacketInformation(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 8, bytes.u8(start) == 0 else { return .skipped(.linkHeader) }
    let length = Int(bytes.u16(start + 2).byteSwapped)
    guard length >= 8, end - start >= length else { return .skipped(.linkHeader) }
    return inner(bytes, bytes.u32(start + 4).byteSwapped, start + length, end, into: &segment)
  }

  /// A packet that OpenBSD's packet filter logged: the header's length without its padding to 4, the address family, and what follows
  /// of the header.
  mutating func pflog(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 4 else { return .skipped(.linkHeader) }
    let length = (Int(bytes.u8(start)) + 3) & ~3
    guard length >= 4, end - start >= length else { return .skipped(.linkHeader) }
    return anyIP(bytes, start + length, end, into: &segment)
  }

  /// A packet of a link type that another header names; these nest like tunnels.
  private mutating func inner(
    _ bytes: borrowing Bytes, _ linkType: UInt32, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard let linkType = UInt16(exactly: linkType) else { return .skipped(.linkType) }
    guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
    depth += 1
    defer { depth -= 1 }
    return link(bytes, linkType, start, end, into: &segment)
  }

  // MARK: Files that name the wrong link type

  /// Whether exactly one whole IP packet, or as much of it as was captured, is at `start`: its lengths fit, and so does its checksum.
  func isWholeIP(_ bytes: borrowing Bytes, _ start: Int, _ end: Int, wireCount: Int) -> Bool {
    let captured = end - start
    guard captured >= 20 else { return false }
    switch bytes.u8(start) >> 4 {
    case 4:
      let header = Int(bytes.u8(start) & 15) * 4
      guard header >= 20, captured >= header, Int(bytes.u16(start + 2)) == wireCount, wireCount >= header else {
        return false
      }
      var sum = InternetChecksum()
      sum.addShort(bytes, start, header)
      return sum.isRight
    case 6: return captured >= 40 && Int(bytes.u16(start + 4)) + 40 == wireCount
    default: return false
    }
  }

  /// Whether an Ethernet frame with one IP packet is at `start`, and padding at most.
  func isEthernetWithIP(_ bytes: borrowing Bytes, _ start: Int, _ end: Int, wireCount: Int) -> Bool {
    guard end - start >= 34 else { return false }
    let ip = start + 14
    switch bytes.u16(start + 12) {
    case EtherType.ipv4:
      let total = Int(bytes.u16(ip + 2))
      return total <= wireCount - 14 && isWholeIP(bytes, ip, end, wireCount: total)
    case EtherType.ipv6:
      guard end - ip >= 40 else { return false }
      let total = Int(bytes.u16(ip + 4)) + 40
      return total <= wireCount - 14 && isWholeIP(bytes, ip, end, wireCount: total)
    default: return false
    }
  }
}
