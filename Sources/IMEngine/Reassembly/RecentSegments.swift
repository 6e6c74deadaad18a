/// The payload sums of segments seen lately, so that a retransmission with other bytes is noticed after the first copy
/// was delivered and forgotten.
///
/// A fixed table over the whole capture: 8,192 places, each overwritten by the next segment that falls on it. It holds
/// no payload. What it misses, it misses silently; what it finds is certain but for a collision of 2⁻³².
struct RecentSegments: ~Copyable {
  private let places: UnsafeMutablePointer<UInt64>
  private static var mask: Int { 8_191 }

  init() {
    places = .allocate(capacity: Self.mask + 1)
    places.initialize(repeating: 0, count: Self.mask + 1)
  }

  deinit { places.deallocate() }

  @inline(__always)
  private func place(_ serial: UInt32, _ side: Int, _ sequence: UInt32, _ count: Int) -> (Int, UInt64) {
    let h =
      (UInt64(serial) << 33 | UInt64(UInt(bitPattern: side)) << 32 | UInt64(sequence))
      &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(UInt(bitPattern: count)) &* 0xD1B5_4A32_D192_ED03
    return (Int(truncatingIfNeeded: h >> 48) & Self.mask, h << 16 & 0xffff_ffff_0000_0000)
  }

  /// Remembers a segment by the sum of its payload.
  @inline(__always)
  func remember(_ serial: UInt32, _ side: Int, _ sequence: UInt32, _ count: Int, sum: UInt32) {
    let (i, tag) = place(serial, side, sequence, count)
    places[i] = tag | UInt64(sum)
  }

  /// The remembered sum of the same stretch, if it is still there.
  func recall(_ serial: UInt32, _ side: Int, _ sequence: UInt32, _ count: Int) -> UInt32? {
    let (i, tag) = place(serial, side, sequence, count)
    let value = places[i]
    return value != 0 && value & 0xffff_ffff_0000_0000 == tag ? UInt32(truncatingIfNeeded: value) : nil
  }
}
