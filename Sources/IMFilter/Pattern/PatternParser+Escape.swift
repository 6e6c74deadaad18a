extension PatternParser {
  /// What follows a backslash outside a class: a unit, a shorthand class or `\b`.
  mutating func escape(from start: Int) throws(PatternError) -> PatternNode {
    if takes("b") { return .assertion(.wordBoundary) }
    if takes("B") { return .assertion(.insideOrOutside) }
    if let letter = next, let ranges = UnitClass.shorthand(letter) {
      offset += 1
      return add(UnitClass(ranges, isNegated: false))
    }
    return .unit(try escapedUnit(from: start))
  }

  /// `[…]` after its bracket. A `]` that stands first means itself; so does a `-` at either end.
  mutating func unitClass(from start: Int) throws(PatternError) -> PatternNode {
    let isNegated = takes("^")
    var ranges: [(lower: UInt32, upper: UInt32)] = []
    var isFirst = true
    while isFirst || next != UInt8(ascii: "]") {
      guard next != nil else { throw error("this \"[\" is not closed", at: start) }
      isFirst = false
      let place = offset
      if sees("[:") { throw error("classes such as [:alpha:] are not supported; write \\w, \\d, \\s or a-z") }
      if sees("\\"), offset + 1 < source.count, let shorthand = UnitClass.shorthand(source[offset + 1]) {
        offset += 2
        ranges += shorthand
        continue
      }
      let lower = try classUnit()
      guard next == UInt8(ascii: "-"), offset + 1 < source.count, source[offset + 1] != UInt8(ascii: "]") else {
        ranges.append((lower, lower))
        continue
      }
      offset += 1
      let upper = try classUnit()
      guard lower <= upper else { throw error("this range runs backwards", at: place) }
      ranges.append((lower, upper))
    }
    offset += 1
    return add(UnitClass(ranges, isNegated: isNegated))
  }

  private mutating func add(_ unitClass: UnitClass) -> PatternNode {
    classes.append(unitClass)
    return .unitClass(classes.count - 1)
  }

  /// One unit inside a class, plain or escaped.
  private mutating func classUnit() throws(PatternError) -> UInt32 {
    let start = offset
    if takes("\\") { return try escapedUnit(from: start) }
    guard next != nil else { throw error("expected the end of the range", at: start) }
    let (unit, width) = TextUnit.decode(source.span.bytes, at: offset)
    offset += width
    return unit
  }

  /// The unit that the escape stands for whose backslash is at `start`.
  private mutating func escapedUnit(from start: Int) throws(PatternError) -> UInt32 {
    guard let byte = next else { throw error("expected a character after the backslash", at: start) }
    offset += 1
    switch byte {
    case UInt8(ascii: "n"): return 0x0a
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "r"): return 0x0d
    case UInt8(ascii: "x"):
      guard let value = hex(digits: 2) else { throw error("expected two hex digits after \\x", at: start) }
      return value < 0x80 ? value : TextUnit.strayByte + value
    case UInt8(ascii: "u"):
      guard takes("{"), let value = hex(digits: nil), Unicode.Scalar(value) != nil, takes("}") else {
        throw error("expected a character's number as \\u{4e2d}", at: start)
      }
      return value
    case UInt8(ascii: "1")...UInt8(ascii: "9"):
      throw error("back-references are not supported", at: start)
    case 0x21...0x2f, 0x3a...0x40, 0x5b...0x60, 0x7b...0x7e, 0x20:
      return UInt32(byte)
    default:
      throw error(
        "unknown escape; expected \\d \\w \\s \\D \\W \\S \\b \\B \\n \\t \\r \\xNN or punctuation", at: start)
    }
  }

  /// Hex digits: exactly `digits` of them, or with `nil` one to six.
  private mutating func hex(digits: Int?) -> UInt32? {
    var value: UInt32 = 0
    var count = 0
    while count < digits ?? 6, let byte = next, let digit = HexDigit.value(byte) {
      value = value << 4 | UInt32(digit)
      offset += 1
      count += 1
    }
    return count == digits ?? max(count, 1) ? value : nil
  }
}
