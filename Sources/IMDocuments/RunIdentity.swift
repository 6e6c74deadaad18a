import IMWire

/// The name of a run in every document: 26 characters of Crockford's base 32, as a ULID has.
package struct RunIdentity: Hashable, Sendable {
  /// The 26 characters.
  package let text: String

  /// The name of a live run: 128 bits of the caller's choice, random ones.
  package init(random high: UInt64, _ low: UInt64) { text = Self.text(high, low) }

  /// The name of a run over files: a hash of what they are and of the options, in words. The same parts in the same order
  /// give the same name, so a second run writes the same documents.
  package init(hashing parts: [String]) {
    var bytes: [UInt8] = []
    for part in parts {
      // The length in front keeps ("ab", "c") from ("a", "bc").
      bytes += Array("\(part.utf8.count):".utf8) + Array(part.utf8)
    }
    let hash = SHA1.hash(bytes)
    func word(_ range: Range<Int>) -> UInt64 { hash[range].reduce(0) { $0 << 8 | UInt64($1) } }
    text = Self.text(word(0..<8), word(8..<16))
  }

  private static func text(_ high: UInt64, _ low: UInt64) -> String {
    let digits = digits(high, low)
    return String(decoding: digits.indices.map { digits[$0] }, as: UTF8.self)
  }

  /// 128 bits as 26 digits of Crockford's base 32.
  static func digits(_ high: UInt64, _ low: UInt64) -> InlineArray<26, UInt8> {
    let digits: StaticString = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    let bits = UInt128(high) << 64 | UInt128(low)
    return InlineArray { digits.utf8Start[Int(truncatingIfNeeded: bits >> UInt128(125 - 5 * $0)) & 31] }
  }
}
