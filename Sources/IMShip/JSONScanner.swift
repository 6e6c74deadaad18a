/// Reads JSON (RFC 8259) step by step: nothing is built, nesting is bounded, and a hostile text costs its length.
///
/// Texts are ranges of the bytes between their quotes, still escaped.
struct JSONScanner {
  /// Levels of objects and lists that are read; what is deeper is no JSON here.
  private static let maximumDepth = 64

  private let bytes: [UInt8]
  private let end: Int
  private var offset: Int
  private var depth = 0

  /// A scanner of the bytes in `range`.
  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    (offset, end) = (range.lowerBound, min(range.upperBound, bytes.count))
  }

  /// A scanner of all bytes.
  init(_ bytes: [UInt8]) { self.init(bytes, 0..<bytes.count) }

  /// Whether nothing but space follows.
  var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return offset == end
    }
  }

  /// The first byte of the value that follows; `nil` at the end.
  var next: UInt8? {
    mutating get {
      skipSpace()
      return offset < end ? bytes[offset] : nil
    }
  }

  private mutating func skipSpace() {
    while offset < end, bytes[offset] == 32 || bytes[offset] == 10 || bytes[offset] == 13 || bytes[offset] == 9 {
      offset += 1
    }
  }

  private mutating func takes(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  /// Reads an object. `body` gets each key and reads or skips its value; false ends the object as malformed.
  mutating func members(_ body: (inout JSONScanner, Range<Int>) -> Bool) -> Bool {
    guard depth < Self.maximumDepth, takes(UInt8(ascii: "{")) else { return false }
    if takes(UInt8(ascii: "}")) { return true }
    depth += 1
    repeat {
      guard next == UInt8(ascii: "\""), let key = text(), takes(UInt8(ascii: ":")), body(&self, key) else {
        return false
      }
    } while takes(UInt8(ascii: ","))
    depth -= 1
    return takes(UInt8(ascii: "}"))
  }

  /// Reads a list. `body` reads or skips each element; false ends the list as malformed.
  mutating func elements(_ body: (inout JSONScanner) -> Bool) -> Bool {
    guard depth < Self.maximumDepth, takes(UInt8(ascii: "[")) else { return false }
    if takes(UInt8(ascii: "]")) { return true }
    depth += 1
    repeat {
      guard body(&self) else { return false }
    } while takes(UInt8(ascii: ","))
    depth -= 1
    return takes(UInt8(ascii: "]"))
  }

  /// Skips a value; false where there is none.
  mutating func skip() -> Bool {
    switch next {
    case UInt8(ascii: "{"): return members { scanner, _ in scanner.skip() }
    case UInt8(ascii: "["): return elements { $0.skip() }
    case UInt8(ascii: "\""): return text() != nil
    case UInt8(ascii: "t"): return word("true")
    case UInt8(ascii: "f"): return word("false")
    case UInt8(ascii: "n"): return word("null")
    default: return number() != nil
    }
  }

  /// Reads a text: the bytes between its quotes.
  mutating func text() -> Range<Int>? {
    guard takes(UInt8(ascii: "\"")) else { return nil }
    let start = offset
    while offset < end {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\"") { return start..<offset - 1 }
      if byte < 32 { return nil }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard offset < end else { return nil }
      let escaped = bytes[offset]
      offset += 1
      guard escaped == UInt8(ascii: "u") else {
        guard "\"\\/bfnrt".utf8.contains(escaped) else { return nil }
        continue
      }
      guard end - offset >= 4, bytes[offset..<offset + 4].allSatisfy({ Self.digit($0) != nil }) else { return nil }
      offset += 4
    }
    return nil
  }

  /// Reads a whole number that 63 bits hold.
  mutating func integer() -> Int? {
    guard let range = number() else { return nil }
    return Int(String(decoding: bytes[range], as: UTF8.self))
  }

  /// Reads `true` or `false`.
  mutating func flag() -> Bool? {
    if next == UInt8(ascii: "t") { return word("true") ? true : nil }
    return word("false") ? false : nil
  }

  private mutating func word(_ word: StaticString) -> Bool {
    skipSpace()
    let count = word.utf8CodeUnitCount
    guard end - offset >= count else { return false }
    let isWord = word.withUTF8Buffer { bytes[offset..<offset + count].elementsEqual($0) }
    if isWord { offset += count }
    return isWord
  }

  /// Reads a number: its bytes.
  mutating func number() -> Range<Int>? {
    skipSpace()
    let start = offset
    if offset < end, bytes[offset] == UInt8(ascii: "-") { offset += 1 }
    let first = offset
    guard digits() else { return nil }
    if bytes[first] == UInt8(ascii: "0"), offset > first + 1 { return nil }
    if offset < end, bytes[offset] == UInt8(ascii: ".") {
      offset += 1
      guard digits() else { return nil }
    }
    if offset < end, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if offset < end, bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-") { offset += 1 }
      guard digits() else { return nil }
    }
    return start..<offset
  }

  private mutating func digits() -> Bool {
    let start = offset
    while offset < end, bytes[offset] &- 0x30 < 10 { offset += 1 }
    return offset > start
  }

  /// The value of a hexadecimal digit; `nil` for any other byte.
  static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x30...0x39: UInt32(byte - 0x30)
    case 0x41...0x46: UInt32(byte - 0x37)
    case 0x61...0x66: UInt32(byte - 0x57)
    default: nil
    }
  }

  /// The bytes of `range`, as they are.
  func spelling(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// Whether the bytes of `range`, as they are, spell `name`.
  func spells(_ range: Range<Int>, _ name: StaticString) -> Bool {
    range.count == name.utf8CodeUnitCount && name.withUTF8Buffer { bytes[range].elementsEqual($0) }
  }

  /// The text between two quotes, with what was escaped; a lone surrogate becomes U+FFFD.
  func unescaped(_ range: Range<Int>) -> String {
    guard bytes[range].contains(UInt8(ascii: "\\")) else { return String(decoding: bytes[range], as: UTF8.self) }
    var result: [UInt16] = []
    var rest = Substring(String(decoding: bytes[range], as: UTF8.self)).utf16
    while let unit = rest.popFirst() {
      guard unit == 0x5c, let escaped = rest.popFirst() else {
        result.append(unit)
        continue
      }
      switch escaped {
      case 0x62: result.append(8)
      case 0x66: result.append(12)
      case 0x6e: result.append(10)
      case 0x72: result.append(13)
      case 0x74: result.append(9)
      case 0x75:
        result.append(rest.prefix(4).reduce(0) { $0 << 4 | UInt16(Self.digit(UInt8(truncatingIfNeeded: $1)) ?? 0) })
        rest = rest.dropFirst(4)
      default: result.append(escaped)
      }
    }
    return String(decoding: result, as: UTF16.self)
  }
}

/// `text` as a JSON string with its quotes; bytes that are no UTF-8 are U+FFFD.
func quotedJSON(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case _ where scalar.value < 32:
      let hex = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - hex.utf8.count) + hex
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}
