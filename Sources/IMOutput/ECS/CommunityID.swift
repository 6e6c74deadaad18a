package import IMWire

/// The name of a connection that every tool gives it: Community ID version 1, seed 0.
///
///     "1:" + base64(SHA-1(seed u16, address, address, protocol u8, 0, port u16, port u16)), the lesser end first
///
/// Source: https://github.com/corelight/community-id-spec and its baseline.
package enum CommunityID {
  /// Its characters.
  typealias Text = InlineArray<30, UInt8>

  /// The id of the TCP connection between two ends, whichever comes first; `nil` when one is IPv4 and the other IPv6.
  package static func tcp(_ a: Endpoint, _ b: Endpoint) -> String? {
    text(a, b).map { text in String(decoding: text.indices.map { text[$0] }, as: UTF8.self) }
  }

  /// The same as bytes.
  static func text(_ a: Endpoint, _ b: Endpoint) -> Text? {
    guard a.address.isIPv6 == b.address.isIPv6 else { return nil }
    let (low, high) = isOrdered(a, b) ? (a, b) : (b, a)
    // What is hashed has 16 or 40 bytes: one block, with the bit behind it and its length.
    var block = InlineArray<16, UInt32>(repeating: 0)
    var bitCount = 16
    // All is a whole number of half words.
    func add(_ value: UInt64, _ bits: Int) {
      for shift in stride(from: bits - 16, through: 0, by: -16) {
        let half = UInt32(truncatingIfNeeded: value >> UInt64(shift)) & 0xffff
        block[bitCount / 32] |= half << UInt32(bitCount % 32 == 0 ? 16 : 0)
        bitCount += 16
      }
    }
    func add(_ address: IPAddress) {
      if address.isIPv6 { add(address.high, 64) }
      add(address.low, address.isIPv6 ? 64 : 32)
    }
    add(low.address)
    add(high.address)
    add(6 << 8, 16)
    add(UInt64(low.port), 16)
    add(UInt64(high.port), 16)
    let byteCount = bitCount / 8
    add(0x8000, 16)
    block[15] = UInt32(byteCount * 8)
    var hash = SHA1()
    hash.absorb(block)
    return text(hash.words)
  }

  private static func isOrdered(_ a: Endpoint, _ b: Endpoint) -> Bool {
    (a.address.high, a.address.low, a.port) <= (b.address.high, b.address.low, b.port)
  }

  /// "1:" and 20 bytes in base 64: 27 digits, of which the last one has two bits of nothing, and a `=`.
  private static func text(_ words: InlineArray<5, UInt32>) -> Text {
    var text = Text(repeating: UInt8(ascii: "="))
    text[0] = UInt8(ascii: "1")
    text[1] = UInt8(ascii: ":")
    for i in 0..<27 {
      let bit = i * 6
      let word = UInt64(words[bit / 32]) << 32 | (bit / 32 < 4 ? UInt64(words[bit / 32 + 1]) : 0)
      text[i + 2] = digit(UInt8(truncatingIfNeeded: word >> UInt64(58 - bit % 32)) & 63)
    }
    return text
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + (value - 26)
    case 52..<62: UInt8(ascii: "0") + (value - 52)
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }
}
