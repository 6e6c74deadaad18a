/// Numbers that hashes multiply with.
enum GoldenRatio {
  /// 2⁶⁴ divided by the golden ratio, odd: a product with it spreads neighbours over all bits (Knuth, The Art of Computer
  /// Programming, section 6.4).
  static var of64Bits: UInt64 { 0x9E37_79B9_7F4A_7C15 }
  /// The prime below 2³² divided by the golden ratio.
  static var of32Bits: UInt32 { 0x9E37_79B1 }
}

/// The hash FNV-1a of 64 bits (Fowler, Noll, Vo).
enum FNV1a {
  /// What it begins with.
  static var basis: UInt64 { 0xCBF2_9CE4_8422_2325 }
  private static var prime: UInt64 { 0x100_0000_01B3 }

  /// The hash of bytes.
  static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(basis) { ($0 ^ UInt64($1)) &* prime }
  }
}
