/// Text read one unit at a time: a unit is a Unicode scalar, or a byte that is no part of valid UTF-8.
enum TextUnit {
  /// Added to a byte that stands for itself, which puts it above all scalars.
  static let strayByte: UInt32 = 0x11_0000
  /// The largest unit.
  static let last: UInt32 = strayByte + 0xff

  /// The unit at `offset`, which must lie inside `text`, and the bytes it takes.
  ///
  /// Overlong forms, surrogates and what lies above U+10FFFF are not UTF-8 (RFC 3629, section 3): their bytes stand for
  /// themselves.
  static func decode(_ text: RawSpan, at offset: Int) -> (unit: UInt32, width: Int) {
    let first = text.byte(offset)
    if first < 0x80 { return (UInt32(first), 1) }
    let stray = (strayByte + UInt32(first), 1)
    let (width, least): (Int, UInt32)
    switch first {
    case 0xc2...0xdf: (width, least) = (2, 0x80)
    case 0xe0...0xef: (width, least) = (3, 0x800)
    case 0xf0...0xf4: (width, least) = (4, 0x1_0000)
    default: return stray
    }
    guard text.byteCount - offset >= width else { return stray }
    var unit = UInt32(first) & (0x7f >> UInt32(width))
    for index in 1..<width {
      let byte = text.byte(offset + index)
      guard byte & 0xc0 == 0x80 else { return stray }
      unit = unit << 6 | UInt32(byte & 0x3f)
    }
    guard unit >= least, unit <= 0x10_ffff, !(0xd800...0xdfff).contains(unit) else { return stray }
    return (unit, width)
  }

  /// The units that `unit` is equal to when case is ignored: itself, its lower and its upper case, as far as each is one
  /// scalar.
  static func caseVariants(_ unit: UInt32) -> (UInt32, UInt32, UInt32) {
    switch unit {
    case 0x41...0x5a: return (unit, unit + 32, unit)
    case 0x61...0x7a: return (unit, unit, unit - 32)
    case ..<0x80, strayByte...: return (unit, unit, unit)
    default:
      guard let scalar = Unicode.Scalar(unit) else { return (unit, unit, unit) }
      func single(_ mapping: String) -> UInt32 {
        let scalars = mapping.unicodeScalars
        return scalars.count == 1 ? scalars.first?.value ?? unit : unit
      }
      return (unit, single(scalar.properties.lowercaseMapping), single(scalar.properties.uppercaseMapping))
    }
  }

  /// Whether `unit` is a letter, a digit or `_` of ASCII, as `\w` and `\b` mean it; `nil` is none.
  static func isWord(_ unit: UInt32?) -> Bool {
    guard let unit else { return false }
    return switch unit {
    case 0x30...0x39, 0x41...0x5a, 0x5f, 0x61...0x7a: true
    default: false
    }
  }
}
