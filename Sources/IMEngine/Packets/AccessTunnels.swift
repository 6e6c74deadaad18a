/// Tunnels between subscribers, access points or sensors and a central device.
extension PacketParser {
  /// Layer 2 tunnelling (RFC 2661), whose data packets carry PPP.
  ///
  ///      0       2          4        6         8      10     12
  ///     +-------+----------+--------+---------+------+------+--------+---------+
  ///     | flags | length, L| tunnel | session | sent, received, S | offset, O |  PPP
  ///     +-------+----------+--------+---------+------+------+--------+---------+
  mutating func l2tp(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 6 else { return skip(.notTCP, .udp) }
    let flags = bytes.u16(offset)
    // Control packets, and version 3, whose payload only its own control packets name.
    guard flags & 0x8000 == 0, flags & 15 == 2 else { return skip(.notTCP, .udp) }
    var position = offset + 2
    var end = end
    if flags & 0x4000 != 0 {
      let length = Int(bytes.u16(position))
      guard length >= 8 else { return .skipped(.linkHeader) }
      end = min(end, offset + length)
      position += 2
    }
    position += 4
    if flags & 0x0800 != 0 { position += 4 }
    if flags & 0x0200 != 0 {
      guard end - position >= 2 else { return .skipped(.linkHeader) }
      position += 2 + Int(bytes.u16(position))
    }
    return ppp(bytes, position, end, into: &segment)
  }

  /// Wireless termination points (RFC 5415).
  ///
  ///      0              1                                  4          6            8
  ///     +--------------+----------------------------------+----------+------------+--------------------+
  ///     | version,type | length 5, radio 5, binding 5 bits,| fragment | its offset | radio, wireless... |
  ///     |              | T F L W M K, 3 bits               |          |            | as flags M, W say  |
  ///     +--------------+----------------------------------+----------+------------+--------------------+
  ///
  /// The length counts words of the whole header. With T the payload is a frame of the binding, of which 1 is IEEE 802.11; else Ethernet.
  mutating func capwap(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 8 else { return skip(.notTCP, .udp) }
    let word = bytes.u32(offset)
    // Type 1 is a header of DTLS.
    if word >> 24 == 1 { return skip(.notTCP, .dtls) }
    guard word >> 24 == 0, word & 0x08 == 0 else { return skip(.notTCP, .udp) }
    let length = Int(word >> 19 & 0x1f) * 4
    guard length >= 8, end - offset >= length else { return skip(.notTCP, .udp) }
    guard word & 0x80 == 0 else { return .skipped(.fragmentDropped) }
    let payload = offset + length
    guard word & 0x100 != 0 else { return ethernet(bytes, payload, end, into: &segment) }
    guard word >> 9 & 0x1f == 1 else { return skip(.notTCP, .udp) }
    return wireless(bytes, payload, end, isPadded: false, into: &segment)
  }

  /// Frames that a sensor has sniffed (TZSP).
  ///
  ///      0         1      2          4
  ///     +---------+------+----------+-----------------------------------+
  ///     | version | type | protocol | tag, length, value; ... until 1   |  a frame of that protocol
  ///     +---------+------+----------+-----------------------------------+
  ///
  /// Tag 0 is padding and has no length, tag 1 ends them. Protocol 1 is Ethernet, 18 IEEE 802.11.
  mutating func tzsp(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    // Type 0 is a frame that was received, 1 one that is to be sent.
    guard end - offset >= 5, bytes.u8(offset) == 1, bytes.u8(offset + 1) <= 1 else { return skip(.notTCP, .udp) }
    var position = offset + 4
    while true {
      guard position < end else { return .skipped(.linkHeader) }
      let tag = bytes.u8(position)
      position += 1
      if tag == 1 { break }
      guard tag != 0 else { continue }
      guard position < end else { return .skipped(.linkHeader) }
      position += 1 + Int(bytes.u8(position))
    }
    switch bytes.u16(offset + 2) {
    case 1: return ethernet(bytes, position, end, into: &segment)
    case 18: return wireless(bytes, position, end, isPadded: false, into: &segment)
    default: return skip(.notTCP, .udp)
    }
  }

  /// A packet of a mobile subscriber, eight bytes of whose GTP-U header are there (3GPP TS 29.281).
  ///
  ///      0       1      2        4          8                     12
  ///     +-------+------+--------+----------+---------------------+
  ///     | flags | type | length | endpoint | if any of E, S, PN  |
  ///     +-------+------+--------+----------+---------------------+
  mutating func gtpUser(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - offset >= 8 else { return skip(.notTCP, .udp) }
    let flags = bytes.u8(offset)
    // Version 1, and 255 is the type of a packet in a tunnel.
    guard flags & 0xf0 == 0x30, bytes.u8(offset + 1) == 255 else { return skip(.notTCP, .udp) }
    var position = offset + 8
    if flags & 7 != 0 {
      guard end - position >= 4 else { return .skipped(.linkHeader) }
      var next = bytes.u8(position + 3)
      position += 4
      if flags & 4 == 0 { next = 0 }
      // An extension header counts its length in words, and its last byte tells the kind of the next.
      while next != 0 {
        guard end - position >= 4 else { return .skipped(.linkHeader) }
        let length = Int(bytes.u8(position)) * 4
        guard length > 0, end - position >= length else { return .skipped(.linkHeader) }
        next = bytes.u8(position + length - 1)
        position += length
      }
    }
    return anyIP(bytes, position, end, into: &segment)
  }
}
