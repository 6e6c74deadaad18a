import IMWire

extension PacketParser {
  /// Parses an IPv6 packet at `ip`: the fixed header, extension headers, fragments, TCP.
  ///
  ///      0        4        6      7      8                 24                40
  ///     +--------+--------+------+------+-----------------+-----------------+
  ///     | 6, ... | payload| next | hops | source          | destination     |
  ///     +--------+--------+------+------+-----------------+-----------------+
  @inline(never)
  mutating func ipv6(
    _ bytes: borrowing Bytes, _ ip: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - ip >= 40 else { return .skipped(.ipHeader) }
    guard bytes.u8(ip) >> 4 == 6 else { return .skipped(.ipVersion) }
    segment.identification = 0
    let source = IPAddress(v6High: bytes.u64(ip + 8), v6Low: bytes.u64(ip + 16))
    let destination = IPAddress(v6High: bytes.u64(ip + 24), v6Low: bytes.u64(ip + 32))
    let declared = Int(bytes.u16(ip + 4))
    let wireEnd = ip + 40 + (declared == 0 ? jumboLength(bytes, ip, end) : declared)
    layers?.pointee.headers.append(.ipv6(at: ip, end: min(end, wireEnd)))
    let payload = PayloadPlace(start: ip + 40, wireEnd: wireEnd, end: min(end, wireEnd))
    return ipv6Payload(bytes, payload, kind: bytes.u8(ip + 6), from: source, to: destination, into: &segment)
  }

  /// The payload's length where the field is 0: a jumbogram says it in an option; segmentation offload leaves it out, and then the packet
  /// is as long as it was on the wire.
  ///
  ///      0      1        2      3   4        8
  ///     +------+--------+------+---+--------+
  ///     | next | words  | 0xc2 | 4 | length |   among the hop-by-hop options (RFC 2675)
  ///     +------+--------+------+---+--------+
  @inline(never)
  private func jumboLength(_ bytes: borrowing Bytes, _ ip: Int, _ end: Int) -> Int {
    let rest = end - ip - 40 + cutTail
    guard bytes.u8(ip + 6) == IPProtocol.hopByHop, end - ip >= 48 else { return rest }
    let last = min(end, ip + 40 + (Int(bytes.u8(ip + 41)) + 1) * 8)
    var option = ip + 42
    while last - option >= 2 {
      guard bytes.u8(option) != 0 else {
        option += 1
        continue
      }
      if bytes.u8(option) == 0xc2, bytes.u8(option + 1) == 4, last - option >= 6 {
        let length = Int(bytes.u32(option + 2))
        return length > 65_535 ? length : rest
      }
      option += 2 + Int(bytes.u8(option + 1))
    }
    return rest
  }

  /// Walks the extension headers at the beginning of `payload`, the first of which is of `kind`, until TCP.
  mutating func ipv6Payload(
    _ bytes: borrowing Bytes, _ payload: PayloadPlace, kind: UInt8, from source: IPAddress, to destination: IPAddress,
    into segment: inout Segment
  ) -> Outcome {
    var next = kind
    var position = payload.start
    let end = payload.end
    // Each turn advances by at least 8 bytes, so the walk ends with the packet.
    while true {
      switch next {
      case IPProtocol.tcp:
        return tcpOverIPv6(bytes, payload.from(position), from: source, to: destination, into: &segment)
      case IPProtocol.hopByHop, IPProtocol.routing, IPProtocol.destinationOptions, IPProtocol.mobility:
        guard end - position >= 8 else { return .skipped(.ipHeader) }
        let count = (Int(bytes.u8(position + 1)) + 1) * 8
        if next == IPProtocol.routing { layers?.pointee.headers.append(.routing(position..<position + count)) }
        next = bytes.u8(position)
        position += count
      case IPProtocol.authentication:
        guard end - position >= 8 else { return .skipped(.ipHeader) }
        next = bytes.u8(position)
        position += (Int(bytes.u8(position + 1)) + 2) * 4
      case IPProtocol.fragment:
        guard end - position >= 8 else { return .skipped(.ipHeader) }
        return ipv6Fragment(bytes, payload.from(position), from: source, to: destination, into: &segment)
      default:
        return other(bytes, next, position, end, into: &segment)
      }
      guard position <= end else { return .skipped(.ipHeader) }
    }
  }

  func tcpOverIPv6(
    _ bytes: borrowing Bytes, _ payload: PayloadPlace, from source: IPAddress, to destination: IPAddress,
    into segment: inout Segment
  ) -> Outcome {
    let pseudo = InternetChecksum(tcpFrom: source, to: destination)
    guard tcp(bytes, payload, pseudo, into: &segment) else { return .skipped(.tcpHeader) }
    segment.sender = segment.key.set(
      UInt128(_low: source.low, _high: source.high), UInt128(_low: destination.low, _high: destination.high),
      ports: bytes.u32(payload.start))
    return .segment
  }
}
