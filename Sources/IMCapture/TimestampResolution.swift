import IMWire

/// The unit a capture counts time in: a second divided by a power of ten or of two.
package struct TimestampResolution: Hashable, Sendable {
  /// The power: 6 with `isBinary` false is the microsecond.
  package var exponent: UInt8
  /// Whether the unit is 2⁻ᵉ of a second instead of 10⁻ᵉ.
  package var isBinary: Bool

  /// The unit 10⁻ᵉ or 2⁻ᵉ of a second.
  package init(exponent: UInt8, isBinary: Bool = false) {
    self.exponent = exponent
    self.isBinary = isBinary
  }

  /// The unit of the option `if_tsresol`: the highest bit chooses two, the other seven are the power.
  init(option byte: UInt8) { self.init(exponent: byte & 0x7f, isBinary: byte & 0x80 != 0) }

  /// 10⁻⁶ s.
  package static var microseconds: TimestampResolution { .init(exponent: 6) }
  /// 10⁻⁹ s.
  package static var nanoseconds: TimestampResolution { .init(exponent: 9) }
}

/// Turns the 64-bit time of a pcapng packet into a `Timestamp`, by the resolution and offset of its interface.
struct TickConverter {
  private enum Rule {
    case multiply(UInt64)
    case divide(UInt64)
    case binary(UInt64)
  }

  private let rule: Rule
  private let offset: Int64

  /// A converter for `resolution`, adding `offsetSeconds` (the option `if_tsoffset`).
  init(resolution: TimestampResolution, offsetSeconds: Int64) {
    let exponent = Int(resolution.exponent)
    if resolution.isBinary {
      rule = .binary(UInt64(exponent))
    } else if exponent <= 9 {
      rule = .multiply(Self.powerOfTen(9 - exponent))
    } else if exponent <= 28 {
      rule = .divide(Self.powerOfTen(exponent - 9))
    } else {
      // 2⁶⁴ of these units are no nanosecond.
      rule = .binary(128)
    }
    offset = Timestamp(seconds: offsetSeconds, fraction: 0).nanoseconds
  }

  /// 10ᵉ; `exponent` is at most 19.
  private static func powerOfTen(_ exponent: Int) -> UInt64 { (0..<exponent).reduce(1) { value, _ in value &* 10 } }

  /// The moment `ticks` units after the epoch, saturating at both ends.
  @inline(__always) func timestamp(_ ticks: UInt64) -> Timestamp {
    let value: UInt64
    switch rule {
    case .multiply(let factor):
      let (product, overflow) = ticks.multipliedReportingOverflow(by: factor)
      value = overflow ? .max : product
    case .divide(let divisor):
      value = ticks / divisor
    case .binary(let shift):
      // ticks × 10⁹ has 94 bits, so a shift of 94 or more leaves nothing; Swift's >> and << take any amount.
      let product = ticks.multipliedFullWidth(by: 1_000_000_000)
      if shift < 64 {
        value = product.high >> shift != 0 ? .max : product.high << (64 - shift) | product.low >> shift
      } else {
        value = product.high >> (shift - 64)
      }
    }
    return Timestamp(nanoseconds: Int64(clamping: value)).advanced(by: offset)
  }
}
