import IMOutput
import IMWire

/// Times and lengths of time as the report shows them: UTC, the same for every reader.
package enum Words {
  /// `2026-11-21`.
  static func date(_ at: Timestamp) -> String { String(instant(at).prefix(10)) }
  /// `00:11:46`.
  static func time(_ at: Timestamp) -> String { String(instant(at).dropFirst(11).prefix(8)) }
  /// `00:11:46.123`.
  static func milliseconds(_ at: Timestamp) -> String { String(instant(at).dropFirst(11).prefix(12)) }

  /// `2026-11-21 00:11:46`, or the time alone where it is of the same day as `other`.
  static func moment(_ at: Timestamp, near other: Timestamp?) -> String {
    other.map { date($0) == date(at) } == true ? time(at) : "\(date(at)) \(time(at))"
  }

  private static func instant(_ at: Timestamp) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(at)
    return out.text
  }

  /// A length of time, given in microseconds: `0.4 ms`, `61.0 ms`, `3.2 s`, `12 min 5 s`.
  package static func length(_ microseconds: Int64) -> String {
    if microseconds < 0 { return "-" + length(microseconds == .min ? .max : -microseconds) }
    let seconds = microseconds / 1_000_000
    switch microseconds {
    case ..<10_000: return decimal(Double(microseconds) / 1_000, 3) + " ms"
    case ..<1_000_000: return decimal(Double(microseconds) / 1_000, 1) + " ms"
    case ..<600_000_000: return decimal(Double(microseconds) / 1_000_000, microseconds < 10_000_000 ? 2 : 1) + " s"
    case ..<7_200_000_000: return "\(seconds / 60) min \(seconds % 60) s"
    case ..<172_800_000_000: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    default: return "\(grouped(UInt64(seconds / 86_400))) d \(seconds / 3_600 % 24) h"
    }
  }

  /// A number with at most so many decimals, and at least one.
  static func decimal(_ value: Double, _ decimals: Int) -> String {
    var out = ByteWriter(capacity: 32)
    out.decimal(value, decimals)
    return out.text
  }

  /// `3 per second`, `0.25 per second`.
  static func rate(_ value: Double) -> String {
    if value >= 1_000 { return grouped(UInt64(min(value, 1e18).rounded())) + " per second" }
    let text = decimal(value, 2)
    return (text.hasSuffix(".0") ? String(text.dropLast(2)) : text) + " per second"
  }

  /// `a`, `a and b`, `a, b and c`.
  package static func list(_ parts: [String]) -> String {
    guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
    return parts.dropLast().joined(separator: ", ") + " and " + last
  }
}
