/// Bytes to text, by encodings that protocols have; what is not of the encoding becomes U+FFFD.
package enum TextDecoding {
  /// The text of `bytes`.
  package static func text(_ bytes: ArraySlice<UInt8>, _ encoding: TextEncoding) -> String {
    switch encoding {
    case .utf8: String(decoding: bytes, as: UTF8.self)
    case .ascii:
      // Nearly all text is what it says.
      bytes.allSatisfy { $0 < 0x80 }
        ? String(decoding: bytes, as: UTF8.self)
        : scalars(bytes.map { $0 < 0x80 ? UInt16($0) : 0xFFFD })
    case .latin1: scalars(bytes.map { UInt16($0) })
    case .gsm7: gsm7(bytes)
    case .utf16: utf16(bytes)
    case .gbk: gbk(bytes)
    }
  }

  /// The text of UTF-16's units; a surrogate without its other half becomes U+FFFD. The standard library's own way takes ten times as
  /// long.
  private static func scalars(_ units: [UInt16]) -> String {
    String(unsafeUninitializedCapacity: 3 * units.count) { utf8 in
      var (i, count) = (0, 0)
      func add(_ byte: UInt32) {
        utf8[count] = UInt8(truncatingIfNeeded: byte)
        count += 1
      }
      while i < units.count {
        var value = UInt32(units[i])
        i += 1
        if value & 0xF800 == 0xD800 {
          if value < 0xDC00, i < units.count, units[i] & 0xFC00 == 0xDC00 {
            value = 0x10000 + ((value & 0x3FF) << 10 | UInt32(units[i] & 0x3FF))
            i += 1
          } else {
            value = 0xFFFD
          }
        }
        if value < 0x80 {
          add(value)
          continue
        }
        if value < 0x800 {
          add(0xC0 | value >> 6)
        } else {
          if value < 0x10000 {
            add(0xE0 | value >> 12)
          } else {
            add(0xF0 | value >> 18)
            add(0x80 | value >> 12 & 0x3F)
          }
          add(0x80 | value >> 6 & 0x3F)
        }
        add(0x80 | value & 0x3F)
      }
      return count
    }
  }

  /// Big endian; an odd byte in the end does not count.
  private static func utf16(_ bytes: ArraySlice<UInt8>) -> String {
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count / 2)
    var i = bytes.startIndex
    while i + 1 < bytes.endIndex {
      units.append(UInt16(bytes[i]) << 8 | UInt16(bytes[i + 1]))
      i += 2
    }
    return scalars(units)
  }

  /// The default alphabet of GSM 03.38, section 6.2.1, in the order of its codes.
  private static let alphabet = Array(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u{1B}ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
      .unicodeScalars.map { UInt16($0.value) })

  /// What an escape makes of the code behind it: the extension table, section 6.2.1.1.
  private static let extensions: [UInt8: Unicode.Scalar] = [
    0x0A: "\u{C}", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\", 0x3C: "[", 0x3D: "~", 0x3E: "]", 0x40: "|", 0x65: "€",
  ]

  /// Whether a code is the character of ASCII with its number.
  private static func isASCII(_ code: UInt8) -> Bool {
    switch code {
    case 0x20...0x23, 0x25...0x3F, 0x41...0x5A, 0x61...0x7A, 0x0A, 0x0D: true
    default: false
    }
  }

  /// One code a byte. A code that has no extension is read as it is; an escape in the end is a space.
  private static func gsm7(_ bytes: ArraySlice<UInt8>) -> String {
    if bytes.allSatisfy(isASCII) { return String(decoding: bytes, as: UTF8.self) }
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count)
    var i = bytes.startIndex
    while i < bytes.endIndex {
      var code = bytes[i]
      i += 1
      if code == 0x1B {
        guard i < bytes.endIndex else {
          units.append(0x20)
          break
        }
        code = bytes[i]
        i += 1
        if let scalar = extensions[code] {
          units.append(UInt16(scalar.value))
          continue
        }
      }
      units.append(code < 0x80 ? alphabet[Int(code)] : 0xFFFD)
    }
    return scalars(units)
  }

  /// The characters of two bytes, 190 for each first byte from 0x81 on: second bytes from 0x40 to 0xFE without 0x7F.
  private static let twoBytes = Array(GBKTable.text.unicodeScalars.lazy.filter { $0 != "\n" }.map { UInt16($0.value) })

  /// GBK. A byte that begins no character counts as one that is wrong, and the next one begins another.
  private static func gbk(_ bytes: ArraySlice<UInt8>) -> String {
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count)
    var i = bytes.startIndex
    while i < bytes.endIndex {
      let first = Int(bytes[i])
      i += 1
      guard first >= 0x80 else {
        units.append(UInt16(first))
        continue
      }
      var unit: UInt16 = 0xFFFD
      if (0x81...0xFE).contains(first), i < bytes.endIndex {
        let second = Int(bytes[i])
        if (0x40...0xFE).contains(second), second != 0x7F {
          let place = (first - 0x81) * 190 + second - (second > 0x7F ? 0x41 : 0x40)
          unit = twoBytes.indices.contains(place) ? twoBytes[place] : 0xFFFD
          if unit != 0xFFFD { i += 1 }
        }
      }
      units.append(unit)
    }
    return scalars(units)
  }
}
