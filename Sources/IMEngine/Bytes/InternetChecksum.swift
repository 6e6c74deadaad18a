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

  /// Adds `count` bytes at `offset`, behind which there is slack; the caller has proved that they are there.
  @inline(__always)
  mutating func addLong(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) {
    add(bytes.sum(offset, count) { imdump_sum($0, count) })
  }

  /// Whether the sum is that of bytes whose checksum field is right: ones in every bit when it is folded to 16.
  @inline(__always)
  var isRight: Bool { sum % 0xffff == 0 && sum != 0 }

  /// The same of bytes that are not all zeros, as no IP or TCP header with its pseudo header is.
  @inline(__always)
  var isRightNonzero: Bool { sum % 0xffff == 0 }

  /// Adds another sum.
  @inline(__always)
  mutating func add(_ other: InternetChecksum) { add(other.sum) }

  /// Adds a 16-bit number as it would stand on the wire.
  @inline(__always)
  mutating func add(_ value: UInt16) { add(UInt64(value.bigEndian)) }

  /// Adds the length of a pseudo header. Its field has 32 bits in IPv6, and counts as if it had in IPv4 where offload makes longer packets.
  @inline(__always)
  mutating func add(length: Int) { add(UInt64(UInt32(truncatingIfNeeded: length).bigEndian)) }

  /// The sum in 32 bits; equal bytes give equal sums.
  @inline(__always)
  var folded32: UInt32 {
    // The upper half of this is the sum of both halves, with the lower one's carry.
    UInt32(truncatingIfNeeded: (sum &+ (sum << 32 | sum >> 32)) >> 32)
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
