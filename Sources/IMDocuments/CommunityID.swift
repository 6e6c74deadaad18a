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
    // What is hashed has 16 or 40 bytes, in half words: the seed, which is 0, the addresses, the protocol, the ports. It is one
    // block, with the bit behind it and its length.
    var block = InlineArray<16, UInt32>(repeating: 0)
    let addresses = low.address.isIPv6 ? 8 : 2
    func add(_ address: IPAddress, _ first: Int) {
      func add(_ word: UInt32, _ place: Int) {
        block[place] |= word &>> 16
        block[place &+ 1] |= word &<< 16
      }
      if address.isIPv6 {
        add(UInt32(truncatingIfNeeded: address.high &>> 32), first)
        add(UInt32(truncatingIfNeeded: address.high), first + 1)
        add(UInt32(truncatingIfNeeded: address.low &>> 32), first + 2)
        add(UInt32(truncatingIfNeeded: address.low), first + 3)
      } else {
        add(UInt32(truncatingIfNeeded: address.low), first)
      }
    }
    add(low.address, 0)
    add(high.address, addresses / 2)
    block[addresses] |= 6 << 8
    block[addresses + 1] = UInt32(low.port) &<< 16 | UInt32(high.port)
    block[addresses + 2] = 0x8000_0000
    block[15] = UInt32(addresses + 2) * 32
    var hash = SHA1()
    hash.absorb(block)
    return text(hash.words)
  }

  /// Whether `a` is not the greater of two endpoints.
  static func isOrdered(_ a: Endpoint, _ b: Endpoint) -> Bool {
    (a.address.high, a.address.low, a.port) <= (b.address.high, b.address.low, b.port)
  }

  /// "1:" and 20 bytes in base 64: 27 digits, of which the last one has two bits of nothing, and a `=`.
  private static func text(_ words: InlineArray<5, UInt32>) -> Text {
    var text = Text(repeating: UInt8(ascii: "="))
    text[0] = UInt8(ascii: "1")
    text[1] = UInt8(ascii: ":")
    for i in 0..<27 {
      let bit = i &* 6
      let word = UInt64(words[bit &>> 5]) &<< 32 | (i < 22 ? UInt64(words[bit &>> 5 &+ 1]) : 0)
      let digit = Int(truncatingIfNeeded: word &>> UInt64(truncatingIfNeeded: 58 &- bit & 31)) & 63
      text[i &+ 2] = digits.utf8Start[digit]
    }
    return text
  }

  /// The digits of base 64.
  private static var digits: StaticString { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" }
}
