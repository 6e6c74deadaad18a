/// SHA-1 (FIPS 180-4), because community ids are made of it, and for names that only have to differ: it is no proof against
/// anybody.
package struct SHA1 {
  /// The hash of the blocks so far, in five words.
  package private(set) var words: InlineArray<5, UInt32> = [
    0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0,
  ]

  /// The hash of nothing yet.
  package init() {}

  /// The 20 bytes of the hash of `message`.
  package static func hash(_ message: [UInt8]) -> [UInt8] {
    var hash = SHA1()
    var bytes = message
    bytes.append(0x80)
    bytes.append(contentsOf: [UInt8](repeating: 0, count: (119 - message.count % 64) % 64))
    let bitCount = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: bitCount >> shift)) }
    var block = InlineArray<16, UInt32>(repeating: 0)
    for start in stride(from: 0, to: bytes.count, by: 64) {
      for i in 0..<64 { block[i / 4] = block[i / 4] << 8 | UInt32(bytes[start + i]) }
      hash.absorb(block)
    }
    return (0..<20).map { UInt8(truncatingIfNeeded: hash.words[$0 / 4] >> UInt32(24 - $0 % 4 * 8)) }
  }

  /// Takes a block: 64 bytes as big-endian words, the padding of the last one included.
  package mutating func absorb(_ block: InlineArray<16, UInt32>) {
    var block = block
    var (a, b, c, d, e) = (words[0], words[1], words[2], words[3], words[4])
    func turn(_ mix: UInt32, _ constant: UInt32, _ word: UInt32) {
      let next = Self.rotate(a, 5) &+ mix &+ e &+ constant &+ word
      (a, b, c, d, e) = (next, a, Self.rotate(b, 30), c, d)
    }
    func word(_ i: Int) -> UInt32 {
      let word = block[(i &+ 13) & 15] ^ block[(i &+ 8) & 15] ^ block[(i &+ 2) & 15] ^ block[i & 15]
      block[i & 15] = Self.rotate(word, 1)
      return block[i & 15]
    }
    for i in 0..<16 { turn(d ^ b & (c ^ d), 0x5a82_7999, block[i]) }
    for i in 16..<20 { turn(d ^ b & (c ^ d), 0x5a82_7999, word(i)) }
    for i in 20..<40 { turn(b ^ c ^ d, 0x6ed9_eba1, word(i)) }
    for i in 40..<60 { turn(b & c | d & (b | c), 0x8f1b_bcdc, word(i)) }
    for i in 60..<80 { turn(b ^ c ^ d, 0xca62_c1d6, word(i)) }
    words[0] &+= a
    words[1] &+= b
    words[2] &+= c
    words[3] &+= d
    words[4] &+= e
  }

  @inline(__always)
  private static func rotate(_ value: UInt32, _ bits: UInt32) -> UInt32 { value &<< bits | value &>> (32 &- bits) }
}

extension SHA1 {
  /// The first eight bytes of the hash of a text in UTF-8, as 16 hexadecimal digits: a name that is the same in every run.
  package static func shortDigest(_ text: String) -> String {
    hash(Array(text.utf8)).prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
