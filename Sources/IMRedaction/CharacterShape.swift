import IMFields

/// Stand-ins for texts: characters that keep only the length, and where digits, letters and punctuation were.
enum CharacterShape {
  /// What stands for bytes that are no text. UTF-8 never has it, and no frame of a built-in protocol begins with it.
  static let byte: UInt8 = 0xf7
  /// What stands for anything where there is no room for shapes.
  static let letter = UInt8(ascii: "x")

  /// Bytes of the character that `bytes` begin with; 1 for what is none.
  static func count(_ bytes: ArraySlice<UInt8>, _ encoding: TextEncoding) -> Int {
    guard let first = bytes.first else { return 0 }
    switch encoding {
    case .ascii, .latin1, .gsm7: return 1
    case .utf16: return 2
    case .gbk: return first < 0x81 || bytes.count < 2 ? 1 : 2
    case .utf8:
      let count = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1
      let rest = bytes.dropFirst().prefix(count - 1)
      return rest.count == count - 1 && rest.allSatisfy { $0 & 0xc0 == 0x80 } ? count : 1
    }
  }

  /// What stands for a text.
  static func text(_ bytes: [UInt8], _ encoding: TextEncoding) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var i = 0
    while i < bytes.count {
      // Most characters have one byte, in all encodings but one.
      if encoding != .utf16, bytes[i] < 0x80 {
        result.append(signs[Int(bytes[i])])
        i += 1
        continue
      }
      let count = min(count(bytes[i...], encoding), bytes.count - i)
      switch (encoding, count) {
      case (.utf16, 2):
        let isSign = bytes[i] == 0 && sign(bytes[i + 1]) != UInt8(ascii: "x")
        result += bytes[i] == 0 ? [0, isSign ? sign(bytes[i + 1]) : UInt8(ascii: "x")] : [0x65, 0x87]
      case (.utf8, 2): result += [0xc3, 0xa9]
      case (.utf8, 3): result += [0xe6, 0x96, 0x87]
      case (.utf8, 4): result += [0xf0, 0x9f, 0x98, 0x80]
      case (.gbk, 2): result += [0xce, 0xc4]
      case (.latin1, 1) where bytes[i] >= 0xa0: result.append(0xe9)
      default: result.append(bytes[i] < 0x80 ? sign(bytes[i]) : byte)
      }
      i += count
    }
    return result
  }

  private static let signs = (0..<128).map { sign(UInt8($0)) }

  private static func sign(_ byte: UInt8) -> UInt8 {
    switch byte {
    case 0x30...0x39: UInt8(ascii: "1")
    case 0x41...0x5a: UInt8(ascii: "X")
    case 0x61...0x7a: UInt8(ascii: "x")
    default: byte
    }
  }

  // MARK: In place

  /// Eight bytes of the same value.
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  /// The highest bit of each of eight bytes.
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  /// Replaces a text in UTF-8.
  static func replace(text bytes: UnsafeMutableRawBufferPointer) {
    let count = bytes.count
    var i = 0
    while count &- i >= 8 {
      let word = bytes.loadUnaligned(fromByteOffset: i, as: UInt64.self)
      guard word & highs == 0 else { return replace(rest: bytes, from: i) }
      bytes.storeBytes(of: shape(of: word), toByteOffset: i, as: UInt64.self)
      i &+= 8
    }
    while i < count {
      guard bytes[i] < 0x80 else { return replace(rest: bytes, from: i) }
      bytes[i] = UInt8(truncatingIfNeeded: shape(of: UInt64(bytes[i])))
      i &+= 1
    }
  }

  /// Replaces bytes whose meaning is unknown.
  static func replace(anything bytes: UnsafeMutableRawBufferPointer) {
    let count = bytes.count
    var i = 0
    while count &- i >= 8 {
      let word = bytes.loadUnaligned(fromByteOffset: i, as: UInt64.self)
      guard isPrintable(word) else { return replace(mixed: bytes) }
      i &+= 8
    }
    while i < count {
      guard isPrintable(UInt64(bytes[i]) | 0x2020_2020_2020_2000) else { return replace(mixed: bytes) }
      i &+= 1
    }
    replace(text: bytes)
  }

  /// The same of bytes that are not all printable characters of ASCII.
  @inline(never)
  private static func replace(mixed bytes: UnsafeMutableRawBufferPointer) {
    let isText = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f || (0x09...0x0d).contains($0) }
    guard isText, String(validating: bytes, as: UTF8.self) != nil else {
      bytes.initializeMemory(as: UInt8.self, repeating: byte)
      return
    }
    replace(text: bytes)
  }

  /// Replaces a text in UTF-8 from one of its characters on.
  @inline(never)
  private static func replace(rest bytes: UnsafeMutableRawBufferPointer, from first: Int) {
    let made = text(Array(bytes[first...]), .utf8)
    for (offset, byte) in made.prefix(bytes.count - first).enumerated() { bytes[first + offset] = byte }
  }

  /// The highest bit of each of eight bytes, all below 0x80, that are from `low` to `high`.
  @inline(__always)
  private static func within(_ word: UInt64, _ low: UInt64, _ high: UInt64) -> UInt64 {
    (word &+ ones &* (0x80 - low)) & ~(word &+ ones &* (0x7f - high)) & highs
  }

  @inline(__always)
  private static func isPrintable(_ word: UInt64) -> Bool {
    word & highs == 0 && within(word, 0x20, 0x7e) | within(word, 0x09, 0x0d) == highs
  }

  /// The replacements of eight ASCII characters.
  @inline(__always)
  private static func shape(of word: UInt64) -> UInt64 {
    let digits = (within(word, 0x30, 0x39) >> 7) &* 0xff
    let upper = (within(word, 0x41, 0x5a) >> 7) &* 0xff
    let lower = (within(word, 0x61, 0x7a) >> 7) &* 0xff
    return word & ~(digits | upper | lower) | digits & (ones &* 0x31) | upper & (ones &* 0x58)
      | lower & (ones &* 0x78)
  }

  /// What stands for bytes of which nobody knows what they are: a text for a text in UTF-8.
  static func anything(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || (0x09...0x0d).contains($0) }),
      bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil
    else { return [UInt8](repeating: byte, count: bytes.count) }
    return text(bytes, .utf8)
  }
}
