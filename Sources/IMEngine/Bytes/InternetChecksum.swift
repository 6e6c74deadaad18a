import CMachine

/// The ones' complement sum of RFC 1071, kept unfolded in 64 bits and in the byte order of the machine.
///
/// The sum of big-endian words and of little-endian words are byte swaps of one another, so eight bytes are added at a
/// time and the swap is made once, in `folded`.
@usableFromInline
struct InternetChecksum {
  var sum: UInt64 = 0

  /// The sum of nothing.
  @inline(__always)
  init() {}

  /// Adds eight bytes with the carry that a ones' complement sum takes around.
  @inline(__always)
  mutating func add(_ word: UInt64) {
    let (value, carry) = sum.addingReportingOverflow(word)
    sum = value &+ (carry ? 1 : 0)
  }

  /// Adds the `count` bytes of a header at `offset`, a multiple of four; the caller has proved that they are there.
  @inline(__always)
  mutating func addShort(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) {
    var position = offset
    let end = offset &+ count
    while end &- position >= 8 {
      add(bytes.load(position, as: UInt64.self))
      position &+= 8
    }
    if position < end { add(UInt64(bytes.load(position, as: UInt32.self))) }
  }

  /// Adds `count` bytes at `offset`, of which nothing but slack follows in the sum; the caller has proved that they are
  /// there. At most 2³² bytes, so that no lane overflows.
  @inline(__always)
  mutating func addLong(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) {
    var position = offset
    let end = offset &+ count
    if count >= Self.blocksPay { position &+= addBlocks(bytes, offset, count) }
    var lanes = SIMD2<UInt64>.zero
    let low = SIMD2<UInt64>(repeating: 0xffff_ffff)
    while end &- position >= 16 {
      let words = bytes.load(position, as: SIMD2<UInt64>.self)
      lanes &+= words & low
      lanes &+= words &>> 32
      position &+= 16
    }
    // What is left is loaded with the slack behind it, which is masked off.
    if position < end {
      let left = SIMD16<Int8>(repeating: Int8(truncatingIfNeeded: end &- position))
      let kept = bytes.load(position, as: SIMD16<Int8>.self).replacing(with: 0, where: Self.places .>= left)
      let words = unsafeBitCast(kept, to: SIMD2<UInt64>.self)
      lanes &+= words & low
      lanes &+= words &>> 32
    }
    add(lanes[0] &+ lanes[1])
  }

  /// Adds as many blocks of 64 bytes as there are; gives the number of bytes.
  @inline(never)
  private mutating func addBlocks(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> Int {
    let blocks = count / 64
    add(bytes.span.withUnsafeBytes { raw in raw.baseAddress.map { imdump_sum_blocks($0 + offset, blocks) } ?? 0 })
    return blocks &* 64
  }

  /// From so many bytes on, calling C for wider registers is worth it.
  @inline(__always)
  private static var blocksPay: Int { 256 }

  @inline(__always)
  private static var places: SIMD16<Int8> { SIMD16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) }

  /// Whether the sum is that of bytes whose checksum field is right: ones in every bit when it is folded to 16.
  @inline(__always)
  var isRight: Bool { sum % 0xffff == 0 && sum != 0 }

  /// Adds another sum.
  @inline(__always)
  mutating func add(_ other: InternetChecksum) { add(other.sum) }

  /// Adds a 16-bit number as it would stand on the wire.
  @inline(__always)
  mutating func add(_ value: UInt16) { add(UInt64(value.bigEndian)) }

  /// The sum in 32 bits; equal bytes give equal sums.
  @inline(__always)
  var folded32: UInt32 {
    let s = (sum >> 32) &+ (sum & 0xffff_ffff)
    return UInt32(truncatingIfNeeded: (s >> 32) &+ s)
  }

  /// The sum in 16 bits, as a big-endian word; `0xffff` over a header or segment whose checksum field is right.
  @inline(__always)
  var folded: UInt16 {
    var s = (sum >> 32) &+ (sum & 0xffff_ffff)
    s = (s >> 32) &+ (s & 0xffff_ffff)
    s = (s >> 16) &+ (s & 0xffff)
    s = (s >> 16) &+ (s & 0xffff)
    s = (s >> 16) &+ (s & 0xffff)
    return UInt16(truncatingIfNeeded: s).bigEndian
  }
}
