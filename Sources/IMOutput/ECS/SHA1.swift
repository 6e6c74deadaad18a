/// SHA-1 (FIPS 180-4), because community ids are made of it and for nothing else: it is no proof against anybody.
enum SHA1 {
  /// The 20 bytes of the hash of `message`.
  static func hash(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
    var bytes = message
    bytes.append(0x80)
    bytes.append(contentsOf: [UInt8](repeating: 0, count: (119 - message.count % 64) % 64))
    let bitCount = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: bitCount >> shift)) }
    for start in stride(from: 0, to: bytes.count, by: 64) { absorb(bytes[start..<start + 64], into: &state) }
    return state.flatMap { word in stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) } }
  }

  private static func absorb(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    var words: [UInt32] = []
    words.reserveCapacity(80)
    for i in stride(from: block.startIndex, to: block.endIndex, by: 4) {
      words.append(block[i..<i + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }
    for i in 16..<80 { words.append(rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1)) }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for i in 0..<80 {
      let (mix, constant): (UInt32, UInt32) =
        switch i {
        case ..<20: (b & c | ~b & d, 0x5a82_7999)
        case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
        case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
      let next = rotate(a, 5) &+ mix &+ e &+ constant &+ words[i]
      (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
    }
    for (i, word) in [a, b, c, d, e].enumerated() { state[i] = state[i] &+ word }
  }

  private static func rotate(_ value: UInt32, _ bits: UInt32) -> UInt32 { value << bits | value >> (32 - bits) }
}
