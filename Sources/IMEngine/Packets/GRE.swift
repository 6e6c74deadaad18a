/// Kinds of payload that only generic routing encapsulation names.
private enum GREPayload {
  /// Mirrored Ethernet: ERSPAN types I and II, and type III.
  static let mirror: UInt16 = 0x88be
  static let mirror3: UInt16 = 0x22eb
  /// PPP, of a PPTP tunnel.
  static let ppp: UInt16 = 0x880b
}

extension PacketParser {
  /// Generic routing encapsulation (RFC 2784, RFC 2890; version 1 of it RFC 2637).
  ///
  ///      0       2      4                  8                12
  ///     +-------+------+------------------+----------------+-----------------+
  ///     | flags | type | sum, if C        | key, if K      | sequence, if S  | acknowledgment, if A
  ///     +-------+------+------------------+----------------+-----------------+
  mutating func gre(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 4 else { return .skipped(.linkHeader) }
    let flags = bytes.u16(offset)
    let type = bytes.u16(offset + 2)
    let version = flags & 7
    // Source routes (0x4000) went out of use with RFC 2784.
    guard flags & 0x4000 == 0, version <= 1 else { return .skipped(.notTCP) }
    let hasSequence = flags & 0x1000 != 0
    var position = offset + 4
    if flags & 0x8000 != 0 {
      layers?.pointee.headers.append(.gre(at: offset))
      position += 4
    }
    if flags & 0x2000 != 0 { position += 4 }
    if hasSequence { position += 4 }
    if version == 1, flags & 0x80 != 0 { position += 4 }
    guard position < end else { return .skipped(.notTCP) }
    switch type {
    case EtherType.bridged: return ethernet(bytes, position, end, into: &segment)
    case GREPayload.ppp: return ppp(bytes, position, end, into: &segment)
    case GREPayload.mirror:
      // Type II has a sequence number and 8 bytes of its own; type I has neither.
      return ethernet(bytes, hasSequence ? position + 8 : position, end, into: &segment)
    case GREPayload.mirror3:
      guard end - position >= 12 else { return .skipped(.linkHeader) }
      // The last bit of its 12 bytes says that 8 more follow.
      let length = bytes.u8(position + 11) & 1 == 0 ? 12 : 20
      return ethernet(bytes, position + length, end, into: &segment)
    default: return etherType(bytes, type, position, end, into: &segment)
    }
  }
}
