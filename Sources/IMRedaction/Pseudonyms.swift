package import IMFields
package import IMWire

/// What stands for names, numbers and addresses in a capture that others may see.
///
/// One key gives the same value the same pseudonym wherever it stands, and two values two of them. Pseudonyms have the length and
/// the shape of what they stand for: a digit for a digit, a letter for a letter, a character for one of the same length. What two
/// names have in common at their beginnings, their pseudonyms have, too, as prefix-preserving pseudonyms of addresses do (Xu, Fan,
/// Ammar and Moon, "Prefix-preserving IP address anonymization", 2002): `site/1/a` and `site/2/a` stay two of one site.
package struct Pseudonyms: Sendable {
  /// What a pseudonym is of, so that one kind tells nothing of another.
  enum Kind: UInt64 {
    case text = 1, number, digits, bytes, v4, v6, link
  }

  let hash: NumberHash

  /// Pseudonyms by the key of `identities`.
  package init(_ identities: IdentityHash) { hash = identities.numbers(for: "redaction") }

  /// What follows from `state` and `value`.
  func next(_ state: UInt64, _ value: UInt64) -> UInt64 { hash.sipHash(state ^ hash.sipHash(value)) }

  /// One of `count` values for `value`, which is less; another value has another one.
  func permuted(_ value: UInt32, of count: UInt32, _ state: UInt64) -> UInt32 {
    guard count > 1 else { return value }
    // x -> ax + b, where a and the count have no common divisor.
    var factor = UInt32(truncatingIfNeeded: state >> 32) % count
    while factor == 0 || Self.divisor(factor, count) != 1 { factor = (factor + 1) % count }
    let sum = UInt64(value) * UInt64(factor) + (state & 0xffff_ffff)
    return UInt32(sum % UInt64(count))
  }

  private static func divisor(_ a: UInt32, _ b: UInt32) -> UInt32 { b == 0 ? a : divisor(b, a % b) }

  // MARK: Text

  /// What stands for a text: letters for letters, digits for digits; other signs stay, so that words and levels do.
  package func text(_ bytes: [UInt8], _ encoding: TextEncoding = .utf8) -> [UInt8] {
    var state = hash.sipHash(Kind.text.rawValue)
    var result = bytes
    var i = 0
    while i < bytes.count {
      let count = min(CharacterShape.count(bytes[i...], encoding), bytes.count - i)
      let character = Array(bytes[i..<i + count])
      result.replaceSubrange(i..<i + count, with: self.character(character, encoding, state))
      for byte in character { state = next(state, UInt64(byte)) }
      i += count
    }
    return result
  }

  private func character(_ bytes: [UInt8], _ encoding: TextEncoding, _ state: UInt64) -> [UInt8] {
    if encoding == .utf16, bytes.count == 2 {
      if bytes[0] == 0 { return [0, ascii(bytes[1], state)] }
      let unit = UInt32(bytes[0]) << 8 | UInt32(bytes[1])
      guard (0xd800..<0xe000).contains(unit) == false else { return bytes }
      let (first, count): (UInt32, UInt32) =
        (0x4e00..<0xa000).contains(unit) ? (0x4e00, 0x5200) : (unit & ~63, 64)
      let other = first + permuted(unit - first, of: count, state)
      return [UInt8(other >> 8), UInt8(other & 255)]
    }
    guard bytes.count > 1 || bytes[0] >= 0x80 else { return [ascii(bytes[0], state)] }
    switch (encoding, bytes.count) {
    case (.utf8, 3) where (0xe3...0xe9).contains(bytes[0]):
      let both = permuted(UInt32(bytes[1] & 63) << 6 | UInt32(bytes[2] & 63), of: 4_096, state)
      return [bytes[0], 0x80 | UInt8(both >> 6), 0x80 | UInt8(both & 63)]
    // The signs below U+00C0 are no letters, and some of them are controls.
    case (.utf8, 2...) where bytes[0] != 0xc2:
      let last = permuted(UInt32(bytes[bytes.count - 1] & 63), of: 64, state)
      return bytes.dropLast() + [0x80 | UInt8(last)]
    case (.gbk, 2) where (0xb0...0xf7).contains(bytes[0]) && (0xa1...0xfe).contains(bytes[1]):
      let lead: UInt32 = bytes[0] < 0xd7 ? 0xb0 : bytes[0] == 0xd7 ? 0xd7 : 0xd8
      let leads: UInt32 = lead == 0xb0 ? 39 : lead == 0xd7 ? 1 : 32
      let trails: UInt32 = lead == 0xd7 ? 89 : 94
      guard UInt32(bytes[1] - 0xa1) < trails else { return bytes }
      let number = permuted((UInt32(bytes[0]) - lead) * trails + UInt32(bytes[1] - 0xa1), of: leads * trails, state)
      return [UInt8(lead + number / trails), UInt8(0xa1 + number % trails)]
    case (.latin1, 1) where bytes[0] >= 0xc0:
      return [0xc0 + UInt8(permuted(UInt32(bytes[0] - 0xc0), of: 64, state))]
    default: return bytes
    }
  }

  private func ascii(_ byte: UInt8, _ state: UInt64) -> UInt8 {
    switch byte {
    case 0x30...0x39: 0x30 + UInt8(permuted(UInt32(byte - 0x30), of: 10, state))
    case 0x41...0x5a: 0x41 + UInt8(permuted(UInt32(byte - 0x41), of: 26, state))
    case 0x61...0x7a: 0x61 + UInt8(permuted(UInt32(byte - 0x61), of: 26, state))
    default: byte
    }
  }

  // MARK: Numbers and bytes

  /// What stands for a number: one of as many decimal digits that is at most `maximum`; 0 stays, since it is nobody's.
  package func number(_ value: UInt64, maximum: UInt64 = .max) -> UInt64 {
    guard value > 0, value <= maximum else { return value }
    var digits = Array(String(value).utf8)
    // A map of all numbers of so many digits onto themselves, walked until it gives one that fits: still no two give the same.
    for _ in 0..<4_096 {
      var state = hash.sipHash(Kind.number.rawValue ^ UInt64(digits.count) << 8)
      for (i, digit) in digits.enumerated() {
        let first: UInt8 = i == 0 ? 0x31 : 0x30
        digits[i] = first + UInt8(permuted(UInt32(digit - first), of: i == 0 ? 9 : 10, state))
        state = next(state, UInt64(digit))
      }
      if let found = UInt64(String(decoding: digits, as: UTF8.self)), found <= maximum { return found }
    }
    return value
  }

  /// What stands for bytes that name something.
  package func bytes(_ bytes: [UInt8]) -> [UInt8] {
    var state = hash.sipHash(Kind.bytes.rawValue)
    return bytes.map { byte in
      defer { state = next(state, UInt64(byte)) }
      return UInt8(permuted(UInt32(byte), of: 256, state))
    }
  }
}
