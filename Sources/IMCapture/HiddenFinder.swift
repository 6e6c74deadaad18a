import Glibc

/// Finds out whether a packet that a capture filter has left out would have passed without its tags or its tunnel.
///
/// The filter's program looks at fixed places of a packet. So it is asked again about a copy in which the inner IP packet follows
/// the link layer's header.
struct HiddenFinder: ~Copyable {
  /// The most bytes of a packet that are copied: more than headers have.
  private static var longest: Int { 512 }
  /// The most tags, labels and tunnels that are passed.
  private static var deepest: Int { 8 }

  private let copy: UnsafeMutableRawPointer

  init() { copy = .allocate(byteCount: Self.longest + 32, alignment: 8) }

  deinit { copy.deallocate() }

  /// What hides the packet of `captured` bytes at `packet` from `program`, which has left it out; `nil` where it does not match without
  /// that either.
  mutating func kind(
    _ packet: UnsafeRawPointer, captured: UInt32, original: UInt32, linkType: UInt16, _ program: PacketFilter.Program
  ) -> HiddenKind? {
    let bytes = UnsafeRawBufferPointer(start: packet, count: Int(captured))
    let header: Int, typeAt: Int
    switch linkType {
    case 1: (header, typeAt) = (14, 12)
    case 113: (header, typeAt) = (16, 14)
    case 276: (header, typeAt) = (20, 0)
    default: return nil
    }
    guard bytes.count > header, let inner = Self.inner(bytes, header, type: bytes.big16(typeAt)) else { return nil }
    let count = min(bytes.count - inner.offset, Self.longest)
    guard count > 0 else { return nil }
    memcpy(copy, packet, header)
    copy.storeBytes(of: (inner.isIPv6 ? 0x86dd : 0x0800 as UInt16).bigEndian, toByteOffset: typeAt, as: UInt16.self)
    memcpy(copy + header, packet + inner.offset, count)
    let removed = UInt32(truncatingIfNeeded: inner.offset - header)
    return program.accepts(
      copy, captured: UInt32(truncatingIfNeeded: header + count), original: original &- min(original, removed))
      ? inner.kind : nil
  }

  /// The innermost IP packet of what begins at `start` with an Ethernet type, and what comes first before it; `nil` where nothing
  /// does.
  private static func inner(
    _ bytes: UnsafeRawBufferPointer, _ start: Int, type: UInt16
  ) -> (kind: HiddenKind, offset: Int, isIPv6: Bool)? {
    var kind: HiddenKind?
    var (offset, type) = (start, type)
    for _ in 0..<deepest {
      switch type {
      case 0x8100, 0x88a8, 0x9100:
        guard bytes.count - offset >= 4 else { return nil }
        kind = kind ?? .vlan
        type = bytes.big16(offset + 2)
        offset += 4
      case 0x8847, 0x8848:
        guard bytes.count - offset > 4 else { return nil }
        kind = kind ?? .mpls
        let isLast = bytes[offset + 2] & 1 != 0
        offset += 4
        guard isLast else { continue }
        guard let next = ipType(bytes, offset) else { return nil }
        type = next
      case 0x8864:
        guard bytes.count - offset > 8 else { return nil }
        kind = kind ?? .pppoe
        offset += 8
        guard let next = ipType(bytes, offset) else { return nil }
        type = next
      case 0x0800, 0x86dd:
        guard let next = tunnel(bytes, offset, isIPv6: type == 0x86dd) else {
          return kind.map { ($0, offset, type == 0x86dd) }
        }
        kind = kind ?? .tunnel
        (offset, type) = next
      default: return nil
      }
    }
    return nil
  }

  private static func ipType(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt16? {
    guard offset < bytes.count else { return nil }
    switch bytes[offset] >> 4 {
    case 4: return 0x0800
    case 6: return 0x86dd
    default: return nil
    }
  }

  /// What the IP packet at `offset` carries, and its Ethernet type, where it is a tunnel's.
  private static func tunnel(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, isIPv6: Bool
  ) -> (offset: Int, type: UInt16)? {
    guard bytes.count - offset >= (isIPv6 ? 40 : 20) else { return nil }
    let next = bytes[offset + (isIPv6 ? 6 : 9)]
    let payload = offset + (isIPv6 ? 40 : Int(bytes[offset] & 15) * 4)
    guard payload < bytes.count, isIPv6 || bytes.big16(offset + 6) & 0x1fff == 0 else { return nil }
    switch next {
    case 4: return (payload, 0x0800)
    case 41: return (payload, 0x86dd)
    case 47:
      guard bytes.count - payload >= 4 else { return nil }
      let flags = bytes.big16(payload), type = bytes.big16(payload + 2)
      let inner = payload + 4 + [0x8000, 0x2000, 0x1000].reduce(0) { $0 + (flags & $1 != 0 ? 4 : 0) }
      return type == 0x6558 ? frame(bytes, inner) : (inner, type)
    case 17:
      guard bytes.count - payload >= 16 else { return nil }
      switch bytes.big16(payload + 2) {
      case 4_789, 8_472: return frame(bytes, payload + 16)
      case 6_081:
        let inner = payload + 16 + Int(bytes[payload + 8] & 0x3f) * 4, type = bytes.big16(payload + 10)
        return type == 0x6558 ? frame(bytes, inner) : (inner, type)
      default: return nil
      }
    default: return nil
    }
  }

  /// What the Ethernet frame at `offset` carries.
  private static func frame(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> (offset: Int, type: UInt16)? {
    bytes.count - offset > 14 ? (offset + 14, bytes.big16(offset + 12)) : nil
  }
}

extension UnsafeRawBufferPointer {
  /// Two bytes at `offset`, big endian. The caller has proved that they are there.
  fileprivate func big16(_ offset: Int) -> UInt16 { UInt16(self[offset]) << 8 | UInt16(self[offset + 1]) }
}
