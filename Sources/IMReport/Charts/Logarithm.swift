import Glibc

/// Logarithms, which the standard library lacks.
enum Logarithm {
  /// To the base ten.
  static func ten(_ value: Double) -> Double { log10(value) }
  /// Ten to the power of `value`.
  static func power(_ value: Double) -> Double { pow(10, value) }
}
