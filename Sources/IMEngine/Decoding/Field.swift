/// A number in a header: one eight-byte load, a byte swap, a shift and a mask, whatever its width and place.
///
/// The load may reach past the header; every buffer has slack behind it.
package struct Field: Sendable, BitwiseCopyable {
  /// Bits that count after the shift; 0 where the protocol has no such field.
  package var mask: UInt64 = 0
  /// Where the load begins, from the header's first byte.
  package var offset: Int32 = 0
  /// How far the loaded number moves right.
  package var shift: UInt8 = 0
  /// Whether the least significant byte comes first.
  package var littleEndian = false

  /// The absent field; it reads as 0.
  package init() {}

  /// A field of `byteCount` (1 to 8) bytes at `offset`, of which the `bits` bits from `lowBit` on count (all by default).
  package init(offset: Int, byteCount: Int, littleEndian: Bool = false, lowBit: Int = 0, bits: Int? = nil) {
    let width = bits ?? byteCount * 8 - lowBit
    mask = width >= 64 ? .max : (1 << UInt64(width)) - 1
    self.offset = Int32(truncatingIfNeeded: offset)
    self.littleEndian = littleEndian
    shift = UInt8(truncatingIfNeeded: (littleEndian ? 0 : 64 - byteCount * 8) + lowBit)
  }

  /// Whether the protocol has this field.
  package var isPresent: Bool { mask != 0 }

  /// The bytes that contain its bits, from the header's first byte; empty for the absent field.
  package var byteRange: Range<Int> {
    let first = Int(offset)
    guard isPresent else { return first..<first }
    let (low, high) = (Int(shift), min(64, Int(shift) + 64 - mask.leadingZeroBitCount))
    return littleEndian
      ? first + low / 8..<first + (high + 7) / 8 : first + (64 - high) / 8..<first + (64 - low + 7) / 8
  }

  /// Whether it is the same part of a header as `other`, read in the same way.
  package func isSame(_ other: Field) -> Bool {
    mask == other.mask && offset == other.offset && shift == other.shift && littleEndian == other.littleEndian
  }

  /// The field's bits in the eight bytes that `read` loads, as the machine holds them.
  var rawMask: UInt64 {
    let bits = mask << UInt64(shift)
    return littleEndian ? UInt64(littleEndian: bits) : UInt64(bigEndian: bits)
  }

  @inline(__always)
  func read(_ bytes: borrowing Bytes, _ base: Int) -> UInt64 {
    value(bytes.load(base &+ Int(offset), as: UInt64.self))
  }

  /// The number in the eight bytes that were loaded, as the machine holds them.
  @inline(__always)
  func value(_ raw: UInt64) -> UInt64 {
    ((littleEndian ? UInt64(littleEndian: raw) : UInt64(bigEndian: raw)) &>> UInt64(shift)) & mask
  }
}
