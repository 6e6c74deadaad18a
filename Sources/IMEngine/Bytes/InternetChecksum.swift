/// The ones' complement sum of RFC 1071, kept unfolded in 64 bits and in the byte order of the machine.
///
/// The sum of big-endian words and of little-endian words are byte swaps of one another, so eight bytes are added at a
/// time and the swap is made once, in `folded`.
@usableFromInline
struct InternetChecksum {
  var sum: UInt64 = 0

  /// Adds `count` bytes at `offset`; the caller has proved that they are there. Pieces before the last are even.
  @inline(__always)
  mutating func add(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) {
    var low: UInt64 = 0
    var high: UInt64 = 0
    var position = offset
    let end = offset &+ count
    while end &- position >= 16 {
      let a = bytes.load(position, as: UInt64.self)
      let b = bytes.load(position &+ 8, as: UInt64.self)
      low &+= (a & 0xffff_ffff) &+ (b & 0xffff_ffff)
      high &+= (a >> 32) &+ (b >> 32)
      position &+= 16
    }
    while end &- position >= 4 {
      low &+= UInt64(bytes.load(position, as: UInt32.self))
      position &+= 4
    }
    if end &- position >= 2 {
      low &+= UInt64(bytes.load(position, as: UInt16.self))
      position &+= 2
    }
    if position < end { low &+= UInt64(bytes.u8(position)) }
    sum &+= low &+ high
  }

  /// Adds a 16-bit number as it would stand on the wire.
  @inline(__always)
  mutating func add(_ value: UInt16) { sum &+= UInt64(value.bigEndian) }

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
