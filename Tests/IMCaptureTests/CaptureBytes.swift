/// Builds captures byte by byte, in either byte order.
struct CaptureBytes {
  var bytes: [UInt8] = []
  var isBig = false

  init(big: Bool = false) { isBig = big }

  mutating func put<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: isBig ? value.bigEndian : value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// A pcap header.
  static func pcap(
    magic: UInt32 = 0xa1b2_c3d4, big: Bool = false, version: (UInt16, UInt16) = (2, 4), snapLength: UInt32 = 262_144,
    network: UInt32 = 1
  ) -> CaptureBytes {
    var file = CaptureBytes(big: big)
    file.put(magic)
    file.put(version.0)
    file.put(version.1)
    file.put(UInt64(0))
    file.put(snapLength)
    file.put(network)
    return file
  }

  /// A pcap record; `claimed` lies about the captured length, `extra` lengthens the header (modified format).
  mutating func record(
    _ packet: [UInt8], seconds: UInt32 = 1, fraction: UInt32 = 0, original: UInt32? = nil, claimed: UInt32? = nil,
    extra: Int = 0
  ) {
    put(seconds)
    put(fraction)
    put(claimed ?? UInt32(packet.count))
    put(original ?? UInt32(packet.count))
    bytes += [UInt8](repeating: 0xee, count: extra)
    bytes += packet
  }

  /// A pcapng block around `body`, padded; `length` and `trailer` lie.
  mutating func block(
    _ type: UInt32, length: UInt32? = nil, trailer: UInt32? = nil, _ body: (inout CaptureBytes) -> Void
  ) {
    var inner = CaptureBytes(big: isBig)
    body(&inner)
    while inner.bytes.count % 4 != 0 { inner.bytes.append(0) }
    let total = UInt32(inner.bytes.count + 12)
    put(type)
    put(length ?? total)
    bytes += inner.bytes
    put(trailer ?? length ?? total)
  }

  mutating func section(version: (UInt16, UInt16) = (1, 0), sectionLength: UInt64 = .max) {
    block(0x0a0d_0d0a) {
      $0.put(UInt32(0x1a2b_3c4d))
      $0.put(version.0)
      $0.put(version.1)
      $0.put(sectionLength)
    }
  }

  mutating func interface(
    linkType: UInt16 = 1, snapLength: UInt32 = 0, name: String? = nil, resolution: UInt8? = nil,
    offsetSeconds: Int64? = nil
  ) {
    block(1) {
      $0.put(linkType)
      $0.put(UInt16(0))
      $0.put(snapLength)
      if let name { $0.option(2, [UInt8](name.utf8)) }
      if let resolution { $0.option(9, [resolution]) }
      if let offsetSeconds {
        var value = CaptureBytes(big: $0.isBig)
        value.put(offsetSeconds)
        $0.option(14, value.bytes)
      }
    }
  }

  mutating func option(_ code: UInt16, _ value: [UInt8]) {
    put(code)
    put(UInt16(value.count))
    bytes += value
    while bytes.count % 4 != 0 { bytes.append(0) }
  }

  mutating func enhanced(
    _ packet: [UInt8], ticks: UInt64, interface: UInt32 = 0, original: UInt32? = nil, claimed: UInt32? = nil
  ) {
    block(6) {
      $0.put(interface)
      $0.put(UInt32(ticks >> 32))
      $0.put(UInt32(truncatingIfNeeded: ticks))
      $0.put(claimed ?? UInt32(packet.count))
      $0.put(original ?? UInt32(packet.count))
      $0.bytes += packet
    }
  }

  mutating func simple(_ packet: [UInt8], original: UInt32? = nil) {
    block(3) {
      $0.put(original ?? UInt32(packet.count))
      $0.bytes += packet
    }
  }
}

/// A packet of `count` bytes that shows its number.
func packet(_ number: Int, _ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
}
