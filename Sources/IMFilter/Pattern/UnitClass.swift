/// A set of units, as `[a-z_]` or `\d` describe it.
struct UnitClass: Sendable {
  private let ranges: Ranges<UInt32>
  private let isNegated: Bool

  /// The units of `ranges`, or with `isNegated` all others.
  init(_ ranges: [(lower: UInt32, upper: UInt32)], isNegated: Bool) {
    self.ranges = Ranges(ranges)
    self.isNegated = isNegated
  }

  /// Whether the class holds `unit`.
  func contains(_ unit: UInt32) -> Bool { ranges.contains(unit) != isNegated }

  /// Whether the class holds `unit` when case is ignored: any of its variants counts, and a negated class holds the units
  /// of which no variant is listed.
  func containsAnyCase(_ variants: (UInt32, UInt32, UInt32)) -> Bool {
    (ranges.contains(variants.0) || ranges.contains(variants.1) || ranges.contains(variants.2)) != isNegated
  }

  /// The ranges of `\d`, `\w`, `\s` and of their opposites in capitals; `nil` for another letter.
  static func shorthand(_ letter: UInt8) -> [(lower: UInt32, upper: UInt32)]? {
    switch letter {
    case UInt8(ascii: "d"): [(0x30, 0x39)]
    case UInt8(ascii: "w"): [(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)]
    case UInt8(ascii: "s"): [(0x09, 0x0d), (0x20, 0x20)]
    case UInt8(ascii: "D"): [(0, 0x2f), (0x3a, TextUnit.last)]
    case UInt8(ascii: "W"): [(0, 0x2f), (0x3a, 0x40), (0x5b, 0x5e), (0x60, 0x60), (0x7b, TextUnit.last)]
    case UInt8(ascii: "S"): [(0, 0x08), (0x0e, 0x1f), (0x21, TextUnit.last)]
    default: nil
    }
  }
}
