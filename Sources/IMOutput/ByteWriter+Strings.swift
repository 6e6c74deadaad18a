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
    // Nearly all text is plain, and stands as it is.
    let plain = bytes.firstIndex { $0 < 0x20 || $0 >= 0x7f || $0 == 0x22 || $0 == 0x5c } ?? bytes.count
    raw(UnsafeRawBufferPointer(rebasing: bytes[..<plain]))
    if plain < bytes.count { escaped(UnsafeRawBufferPointer(rebasing: bytes[plain...])) }
    byte(UInt8(ascii: "\""))
  }

  private mutating func escaped(_ bytes: UnsafeRawBufferPointer) {
    // What stands as it is goes out in one piece.
    var piece = 0
    forEachScalar(bytes) { writer, scalar, i, count in
      if let scalar, Self.standsAsItIs(scalar) { return }
      writer.raw(UnsafeRawBufferPointer(rebasing: bytes[piece..<i]))
      piece = i + count
      switch scalar {
      case nil: writer.literal("\u{FFFD}")
      case 0x22: writer.literal("\\\"")
      case 0x5c: writer.literal("\\\\")
      case 0x0a: writer.literal("\\n")
      case 0x0d: writer.literal("\\r")
      case 0x09: writer.literal("\\t")
      case .some(let value):
        writer.literal("\\u")
        writer.hex(UInt64(value), width: 4)
      }
    }
    raw(UnsafeRawBufferPointer(rebasing: bytes[piece...]))
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
      let first = bytes[i]
      let length: Int
      var value: UInt32
      let least: UInt32
      switch first {
      case 0..<0x80: (length, value, least) = (1, UInt32(first), 0)
      case 0xc2..<0xe0: (length, value, least) = (2, UInt32(first & 0x1f), 0x80)
      case 0xe0..<0xf0: (length, value, least) = (3, UInt32(first & 0x0f), 0x800)
      case 0xf0..<0xf5: (length, value, least) = (4, UInt32(first & 0x07), 0x10000)
      default: (length, value, least) = (0, 0, 0)
      }
      var isValid = length > 0 && i + length <= bytes.count
      if isValid {
        for j in 1..<max(1, length) {
          if bytes[i + j] & 0xc0 != 0x80 { isValid = false }
          value = value << 6 | UInt32(bytes[i + j] & 0x3f)
        }
      }
      if isValid, value >= least, value <= 0x10ffff, !(0xd800...0xdfff).contains(value) {
        body(&self, value, i, length)
        i += length
      } else {
        body(&self, nil, i, 1)
        i += 1
      }
    }
  }
}
