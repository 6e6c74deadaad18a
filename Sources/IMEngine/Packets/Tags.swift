/// Tags in front of an Ethernet type, other than those of VLANs.
extension PacketParser {
  /// The type after a tag of type `type` at `position`, and where its payload begins; `nil` where there is none: see `tagOutcome`.
  ///
  /// - Cisco's metadata: version, number of options, options of four bytes (the security group is one), Ethernet type.
  /// - Tags of virtual interfaces have four bytes, those of port extensions six, then the Ethernet type.
  /// - IEEE 802.1AE: see `secured`.
  func tag(_ bytes: borrowing Bytes, _ type: UInt16, _ position: Int, _ end: Int) -> (type: UInt16, position: Int)? {
    let count: Int
    switch type {
    case EtherType.metadata:
      guard end - position >= 4, bytes.u8(position) == 1 else { return nil }
      count = 2 + Int(bytes.u8(position + 1)) * 4
    case EtherType.virtualTag: count = 4
    case EtherType.extensionTag: count = 6
    default:
      guard let header = secured(bytes, position, end) else { return nil }
      count = header
    }
    guard end - position >= count + 2 else { return nil }
    return (bytes.u16(position + count), position + count + 2)
  }

  /// The length of the header of a frame whose integrity alone is protected; `nil` where it is encrypted as well.
  ///
  ///      0         1              2               6
  ///     +---------+--------------+---------------+----------------------------+
  ///     | control | short length | packet number | channel, 8 bytes, if SC    |  Ethernet type, payload, check value
  ///     +---------+--------------+---------------+----------------------------+
  ///
  /// Of the control bits 0x80 is the version, 0x20 SC, and 0x0c say that the payload was changed: it is encrypted.
  private func secured(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int? {
    guard end - position >= 6, bytes.u8(position) & 0x8c == 0 else { return nil }
    return bytes.u8(position) & 0x20 != 0 ? 14 : 6
  }

  /// What a frame is whose tag of type `type` cannot be passed.
  mutating func tagOutcome(_ type: UInt16, _ position: Int, _ end: Int) -> Outcome {
    if type == EtherType.macSec, end - position >= 6 { return skip(.notIP, .macSec) }
    return .skipped(type == EtherType.metadata && end - position >= 4 ? .notIP : .linkHeader)
  }

  /// A frame after a backbone's tag: four bytes of flags and service, then the customer's whole frame. These nest like tunnels.
  mutating func backbone(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
    depth += 1
    defer { depth -= 1 }
    guard end - position >= 4 else { return .skipped(.linkHeader) }
    return ethernet(bytes, position + 4, end, into: &segment)
  }
}
