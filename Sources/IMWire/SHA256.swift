/// SHA-256 (FIPS 180-4), for keyed hashes of names.
package struct SHA256 {
  private var words: InlineArray<8, UInt32> = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]

  /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  private static let constants: InlineArray<64, UInt32> = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]

  /// The 32 bytes of the hash of `message`.
  package static func hash(_ message: [UInt8]) -> [UInt8] {
    let words = message.withUnsafeBytes { digest($0) }
    return (0..<32).map { UInt8(truncatingIfNeeded: words[$0 / 4] >> UInt32(24 - $0 % 4 * 8)) }
  }

  /// The hash of `message` as eight big-endian words, without an allocation.
  package static func digest(_ message: UnsafeRawBufferPointer) -> InlineArray<8, UInt32> {
    var hash = SHA256()
    var start = 0
    while message.count - start >= 64 {
      hash.absorb { UInt32(message[start + $0]) }
      start += 64
    }
    // What is left, the bit that ends it, and the number of bits in the last eight bytes.
    let rest = message.count - start
    let bitCount = UInt64(message.count) * 8
    let last = rest < 56 ? 0 : 1
    for block in 0...last {
      hash.absorb { place in
        let at = block * 64 + place
        if at < rest { return UInt32(message[start + at]) }
        if at == rest { return 0x80 }
        let end = at - last * 64 - 56
        return end >= 0 ? UInt32(truncatingIfNeeded: bitCount >> UInt64(56 - 8 * end)) & 0xff : 0
      }
    }
    return hash.words
  }

  /// Takes a block, whose 64 bytes `byte` gives.
  @inline(__always)
  private mutating func absorb(_ byte: (Int) -> UInt32) {
    var schedule = InlineArray<64, UInt32>(repeating: 0)
    for i in 0..<64 { schedule[i / 4] = schedule[i / 4] << 8 | byte(i) }
    mix(&schedule)
  }

  private mutating func mix(_ schedule: inout InlineArray<64, UInt32>) {
    for i in 16..<64 {
      let (a, b) = (schedule[i - 15], schedule[i - 2])
      let s0 = Self.rotate(a, 7) ^ Self.rotate(a, 18) ^ a >> 3
      let s1 = Self.rotate(b, 17) ^ Self.rotate(b, 19) ^ b >> 10
      schedule[i] = schedule[i - 16] &+ s0 &+ schedule[i - 7] &+ s1
    }
    var w = words
    for i in 0..<64 {
      let s1 = Self.rotate(w[4], 6) ^ Self.rotate(w[4], 11) ^ Self.rotate(w[4], 25)
      let choice = w[4] & w[5] ^ ~w[4] & w[6]
      let first = w[7] &+ s1 &+ choice &+ Self.constants[i] &+ schedule[i]
      let s0 = Self.rotate(w[0], 2) ^ Self.rotate(w[0], 13) ^ Self.rotate(w[0], 22)
      let majority = w[0] & w[1] ^ w[0] & w[2] ^ w[1] & w[2]
      w = [first &+ s0 &+ majority, w[0], w[1], w[2], w[3] &+ first, w[4], w[5], w[6]]
    }
    for i in 0..<8 { words[i] = words[i] &+ w[i] }
  }

  private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

  /// The 32 bytes of HMAC-SHA-256 (RFC 2104) of `message` by `key`.
  package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > 64 ? hash(key) : key
    block += [UInt8](repeating: 0, count: 64 - block.count)
    return hash(block.map { $0 ^ 0x5c } + hash(block.map { $0 ^ 0x36 } + message))
  }
}
