/// Wireless LAN as a monitor, an access point's controller or a sniffer's tunnel has it.
extension PacketParser {
  /// A frame after the header of a capturing driver.
  ///
  ///      0         1     2        4         8
  ///     +---------+-----+--------+---------+----------------------------------+
  ///     | version | pad | length | present | more present words; fields, packed|  an IEEE 802.11 frame
  ///     +---------+-----+--------+---------+----------------------------------+
  ///
  /// All little endian. Of the fields only the flags matter: whether padding follows the frame's header.
  /// Source: https://www.radiotap.org.
  mutating func radiotap(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 8, bytes.u8(start) == 0 else { return .skipped(.linkHeader) }
    let length = Int(bytes.u16(start + 2).byteSwapped)
    guard length >= 8, end - start >= length else { return .skipped(.linkHeader) }
    let present = bytes.u32(start + 4).byteSwapped
    var field = start + 4
    // The highest bit says that another word follows.
    while bytes.u32(field).byteSwapped >> 31 != 0 {
      field += 4
      guard start + length - field >= 4 else { return .skipped(.linkHeader) }
    }
    field += 4
    // Bit 0 is a time of eight bytes, aligned to eight; bit 1 the flags.
    if present & 1 != 0 { field = start + (field - start + 7) & ~7 + 8 }
    let flags = present & 2 != 0 && field < start + length ? bytes.u8(field) : 0
    return wireless(bytes, start + length, end, isPadded: flags & 0x20 != 0, into: &segment)
  }

  /// A frame after the header of an older driver, which has its length as 32 bits at `offset`.
  mutating func driverHeader(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, lengthAt offset: Int, isBig: Bool, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= offset + 4 else { return .skipped(.linkHeader) }
    let word = bytes.u32(start + offset)
    let length = Int(isBig ? word : word.byteSwapped)
    guard length >= offset + 4, end - start >= length else { return .skipped(.linkHeader) }
    return wireless(bytes, start + length, end, isPadded: false, into: &segment)
  }

  /// An IEEE 802.11 frame.
  ///
  ///      0         1       2          4    10   16   22        24       24 or 30
  ///     +---------+-------+----------+----+----+----+---------+--------+---------+-----------+
  ///     | ver,type| flags | duration | address 1-3  | sequence| addr. 4| QoS, HT | LLC, SNAP |
  ///     +---------+-------+----------+----+----+----+---------+--------+---------+-----------+
  ///
  /// Only data frames carry packets. One that is protected is read where a driver has deciphered it in place.
  mutating func wireless(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, isPadded: Bool, into segment: inout Segment
  ) -> Outcome {
    guard end - start >= 24 else {
      return .skipped(end - start >= 2 && bytes.u8(start) & 0x0c != 8 ? .notIP : .linkHeader)
    }
    let kind = bytes.u8(start), flags = bytes.u8(start + 1)
    // Version 0, type 2; a subtype with 4 in it carries nothing.
    guard kind & 0x0f == 0x08, kind & 0x40 == 0 else { return skip(.notIP, .wirelessControl) }
    let hasQoS = kind & 0x80 != 0
    var header = flags & 3 == 3 ? 30 : 24
    var isAggregate = false
    guard end - start >= header + (hasQoS ? 2 : 0) else { return .skipped(.linkHeader) }
    if hasQoS {
      isAggregate = bytes.u8(start + header) & 0x80 != 0
      header += flags & 0x80 != 0 ? 6 : 2
    }
    for address in [4, 10, 16] + (flags & 3 == 3 ? [24] : []) {
      layers?.pointee.headers.append(.address(start + address..<start + address + 6))
    }
    let isFragment = flags & 0x04 != 0 || bytes.u8(start + 22) & 0x0f != 0
    var position = start + (isPadded ? (header + 3) & ~3 : header)
    if isAggregate {
      // Frames in one: two addresses, the length, LLC. More than one would be several packets.
      guard end - position >= 14 else { return .skipped(.linkHeader) }
      let length = Int(bytes.u16(position + 12))
      let next = position + (14 + length + 3) & ~3
      if flags & 0x40 == 0 || isSNAP(bytes, position + 14, end) {
        guard next + 14 > end else { return skip(.notIP, .aggregate) }
        layers?.pointee.headers.append(.address(position..<position + 6))
        layers?.pointee.headers.append(.address(position + 6..<position + 12))
      }
      position += 14
    }
    guard isSNAP(bytes, position, end) else {
      if flags & 0x40 != 0 { return skip(.notIP, .wirelessEncrypted) }
      return .skipped(end - position < 8 ? .linkHeader : .notIP)
    }
    guard !isFragment else { return .skipped(.fragmentDropped) }
    return etherType(bytes, bytes.u16(position + 6), position + 8, end, into: &segment)
  }

  /// Whether an LLC header with SNAP begins at `position`: AA AA 03, three zero bytes, an Ethernet type.
  func isSNAP(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    end - position >= 8 && bytes.u64(position) >> 16 == 0xaaaa_0300_0000
  }
}
