import IMFields
import IMWire

/// Pseudonyms of names and numbers that were asked for not long ago: the same ones occur in frame after frame, and each takes many
/// rounds of a hash.
struct PseudonymCache {
  private struct Number {
    let value: UInt64, maximum: UInt64, pseudonym: UInt64
  }

  private struct Text {
    let bytes: [UInt8], encoding: TextEncoding, pseudonym: [UInt8]
  }

  private static let numberCount = 16_384, textCount = 4_096
  /// Longer texts come once.
  private static let longestText = 64

  private let names: Pseudonyms
  private var numbers: [Number?]
  private var texts: [Text?]
  /// Pseudonyms of numbers of 16 bits; 0 for one that was not asked for. Sessions often have such numbers.
  private var shortNumbers: [UInt16] = []

  init(_ names: Pseudonyms) {
    self.names = names
    numbers = Array(repeating: nil, count: Self.numberCount)
    texts = Array(repeating: nil, count: Self.textCount)
  }

  /// See `Pseudonyms.number`.
  mutating func number(_ value: UInt64, maximum: UInt64) -> UInt64 {
    if maximum == UInt64(UInt16.max), value <= maximum { return shortNumber(value) }
    let place = Int(truncatingIfNeeded: (value &* 0x9e37_79b9_7f4a_7c15) >> 40) & (Self.numberCount - 1)
    if let known = numbers[place], known.value == value, known.maximum == maximum { return known.pseudonym }
    let made = names.number(value, maximum: maximum)
    numbers[place] = Number(value: value, maximum: maximum, pseudonym: made)
    return made
  }

  private mutating func shortNumber(_ value: UInt64) -> UInt64 {
    if shortNumbers.isEmpty { shortNumbers = [UInt16](repeating: 0, count: 1 << 16) }
    let known = shortNumbers[Int(value)]
    if known > 0 { return UInt64(known) }
    let made = names.number(value, maximum: UInt64(UInt16.max))
    shortNumbers[Int(value)] = UInt16(truncatingIfNeeded: made)
    return made
  }

  /// See `Pseudonyms.text`.
  mutating func text(_ bytes: [UInt8], _ encoding: TextEncoding) -> [UInt8] {
    guard bytes.count <= Self.longestText else { return names.text(bytes, encoding) }
    let place = Int(truncatingIfNeeded: fnv1a(bytes)) & (Self.textCount - 1)
    if let known = texts[place], known.bytes == bytes, known.encoding == encoding { return known.pseudonym }
    let made = names.text(bytes, encoding)
    texts[place] = Text(bytes: bytes, encoding: encoding, pseudonym: made)
    return made
  }
}
