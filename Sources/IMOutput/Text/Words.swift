import IMWire

/// Metrics in words, for pages and screens.
package enum Words {
  /// A length of time, given in microseconds: `0.4 ms`, `61.0 ms`, `3.2 s`, `12 min 5 s`.
  package static func length(_ microseconds: Int64) -> String {
    if microseconds < 0 { return "-" + length(microseconds == .min ? .max : -microseconds) }
    let seconds = microseconds / 1_000_000
    switch microseconds {
    // Below a millisecond always three digits.
    case ..<1_000:
      var out = ByteWriter(capacity: 32)
      out.milliseconds(microseconds)
      return out.text + " ms"
    case ..<10_000: return decimal(Double(microseconds) / 1_000, 3) + " ms"
    case ..<1_000_000: return decimal(Double(microseconds) / 1_000, 1) + " ms"
    case ..<600_000_000: return decimal(Double(microseconds) / 1_000_000, microseconds < 10_000_000 ? 2 : 1) + " s"
    case ..<7_200_000_000: return "\(seconds / 60) min \(seconds % 60) s"
    case ..<172_800_000_000: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    default: return "\(grouped(UInt64(seconds / 86_400))) d \(seconds / 3_600 % 24) h"
    }
  }

  /// A number with at most so many decimals, and at least one.
  package static func decimal(_ value: Double, _ decimals: Int) -> String {
    var out = ByteWriter(capacity: 32)
    out.decimal(value, decimals)
    return out.text
  }
}
