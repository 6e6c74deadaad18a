extension ByteWriter {
  /// Appends `text` as a JSON string, quotes included.
  package mutating func jsonString(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      jsonString(UnsafeRawBufferPointer(utf8))
    }
  }

  /// Appends bytes from the wire as a JSON string: valid UTF-8 as it is, control characters escaped, anything else as
  /// U+FFFD. The result is one line whatever the bytes are.
  package mutating func jsonString(_ bytes: UnsafeRawBufferPointer) {
    byte(UInt8(ascii: "\""))
    let plain = Self.plainEnd(bytes, from: 0)
    raw(UnsafeRawBufferPointer(rebasing: bytes[..<plain]))
    if plain < bytes.count { escaped(bytes, from: plain) }
    byte(UInt8(ascii: "\""))
  }

  /// Appends the bytes behind `start`, at which one may need an escape.
  private mutating func escaped(_ bytes: UnsafeRawBufferPointer, from start: Int) {
    // What stands as it is goes out in one piece.
    var (piece, i) = (start, start)
    while i < bytes.count {
      let (scalar, count) = Self.scalar(bytes, at: i)
      if let scalar, Self.standsAsItIs(scalar) {
        i = Self.plainEnd(bytes, from: i + count)
        continue
      }
      raw(UnsafeRawBufferPointer(rebasing: bytes[piece..<i]))
      switch scalar {
      case nil: literal("\u{FFFD}")
      case 0x22: literal("\\\"")
      case 0x5c: literal("\\\\")
      case 0x0a: literal("\\n")
      case 0x0d: literal("\\r")
      case 0x09: literal("\\t")
      case .some(let value):
        literal("\\u")
        hex(UInt64(value), width: 4)
      }
      piece = i + count
      i = Self.plainEnd(bytes, from: piece)
    }
    raw(UnsafeRawBufferPointer(rebasing: bytes[piece...]))
  }

  /// Where text ends that needs no escape in JSON, as far as that shows without a look at each character: ASCII, and
  /// characters of two and three bytes in the ranges that `standsAsItIs` begins with. Nearly all text is of these.
  private static func plainEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    guard let base = bytes.baseAddress else { return start }
    let end = bytes.count
    var i = start
    while i < end {
      while end - i >= 8, isPlainASCII(base.loadUnaligned(fromByteOffset: i, as: UInt64.self)) { i += 8 }
      guard i < end else { break }
      let first = base.load(fromByteOffset: i, as: UInt8.self)
      switch first {
      case 0x20...0x21, 0x23...0x5b, 0x5d...0x7e: i += 1
      case 0xc3...0xd7:
        guard end - i >= 2, base.load(fromByteOffset: i + 1, as: UInt8.self) & 0xc0 == 0x80 else { return i }
        i += 2
      case 0xe3...0xec:
        guard end - i >= 3, base.loadUnaligned(fromByteOffset: i + 1, as: UInt16.self) & 0xc0c0 == 0x8080 else {
          return i
        }
        i += 3
      default: return i
      }
    }
    return i
  }

  /// Whether none of eight bytes is a control character, a quote, a backslash, DEL or beyond ASCII.
  @inline(__always)
  private static func isPlainASCII(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let (quote, backslash, delete) = (word ^ 0x22 &* ones, word ^ 0x5c &* ones, word ^ 0x7f &* ones)
    // The upper bit of a byte is set where it is below 0x20 or equal to one of the three; a borrow spoils only bytes above
    // one that is.
    let found =
      (word &- 0x20 &* ones) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
      | (delete &- ones) & ~delete
    return (word | found) & (0x80 &* ones) == 0
  }

  /// Whether a character needs no escape in JSON.
  @inline(__always)
  private static func standsAsItIs(_ value: UInt32) -> Bool {
    // Letters of most of the world, and Chinese, Japanese and Korean ones.
    if (0x3000..<0xd800).contains(value) || (0xa0..<0x61c).contains(value) { return true }
    return value >= 0x20 && value != 0x22 && value != 0x5c && !(0x7f...0x9f).contains(value) && !isDirectional(value)
  }

  /// Appends bytes from the wire for a terminal: printable text as it is, everything else as `\xNN`; a backslash doubled,
  /// unless `keepsBackslashes`.
  package mutating func terminal(_ bytes: UnsafeRawBufferPointer, limit: Int = .max, keepsBackslashes: Bool = false) {
    var written = 0
    forEachScalar(bytes) { writer, scalar, i, count in
      let sequence = bytes[i..<i + count]
      guard written < limit else { return }
      written += 1
      if let scalar, scalar >= 0x20, !(0x7f...0x9f).contains(scalar), !Self.isDirectional(scalar),
        scalar != 0x5c || keepsBackslashes
      {
        for byte in sequence { writer.byte(byte) }
      } else if scalar == 0x5c {
        writer.literal("\\\\")
      } else {
        for byte in sequence {
          writer.literal("\\x")
          writer.hex(UInt64(byte), width: 2)
        }
      }
    }
    if written >= limit, limit != .max { literal("...") }
  }

  /// Characters that turn the direction of text or hide in it: what is shown would not be what is there.
  private static func isDirectional(_ value: UInt32) -> Bool {
    (0x200b...0x200f).contains(value) || (0x2028...0x202e).contains(value) || (0x2060...0x2069).contains(value)
      || value == 0xfeff || (0xd800...0xdfff).contains(value) || (0xfff9...0xfffb).contains(value)
      || value == 0x061c || (0xe0000...0xe0fff).contains(value)
  }

  /// Calls `body` with each scalar, where its bytes begin and how many it has; with `nil` and one byte where the bytes are
  /// not UTF-8.
  @inline(__always)
  private mutating func forEachScalar(
    _ bytes: UnsafeRawBufferPointer, _ body: (inout ByteWriter, UInt32?, Int, Int) -> Void
  ) {
    var i = 0
    while i < bytes.count {
      let (scalar, count) = Self.scalar(bytes, at: i)
      body(&self, scalar, i, count)
      i += count
    }
  }

  /// The scalar at `i`, and how many bytes it has; `nil` and 1 where the bytes are not UTF-8.
  private static func scalar(_ bytes: UnsafeRawBufferPointer, at i: Int) -> (scalar: UInt32?, count: Int) {
    let first = bytes[i]
    let length: Int
    var value: UInt32
    let least: UInt32
    switch first {
    case 0..<0x80: return (UInt32(first), 1)
    case 0xc2..<0xe0: (length, value, least) = (2, UInt32(first & 0x1f), 0x80)
    case 0xe0..<0xf0: (length, value, least) = (3, UInt32(first & 0x0f), 0x800)
    case 0xf0..<0xf5: (length, value, least) = (4, UInt32(first & 0x07), 0x10000)
    default: return (nil, 1)
    }
    guard i + length <= bytes.count else { return (nil, 1) }
    for j in 1..<length {
      guard bytes[i + j] & 0xc0 == 0x80 else { return (nil, 1) }
      value = value << 6 | UInt32(bytes[i + j] & 0x3f)
    }
    guard value >= least, value <= 0x10ffff, !(0xd800...0xdfff).contains(value) else { return (nil, 1) }
    return (value, length)
  }
}
