import IMOutput
import IMWire

/// Times as the report and the verdict show them, by the clock of a zone, and names of files.
extension Words {
  /// The name of a file without its folders: a report is sent to others.
  static func baseName(_ path: String) -> String {
    path == "-" ? "standard input" : path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }

  /// `2026-11-21`.
  static func date(_ at: Timestamp, _ zone: LocalZone = .utc) -> String { String(instant(at, zone).prefix(10)) }
  /// `00:11:46`.
  static func time(_ at: Timestamp, _ zone: LocalZone = .utc) -> String {
    String(instant(at, zone).dropFirst(11).prefix(8))
  }
  /// `00:11:46.123`.
  static func milliseconds(_ at: Timestamp, _ zone: LocalZone = .utc) -> String {
    String(instant(at, zone).dropFirst(11).prefix(12))
  }

  /// `2026-11-21 00:11:46`, or the time alone where it is of the same day as `other`.
  static func moment(_ at: Timestamp, near other: Timestamp?, _ zone: LocalZone = .utc) -> String {
    other.map { date($0, zone) == date(at, zone) } == true
      ? time(at, zone) : "\(date(at, zone)) \(time(at, zone))"
  }

  private static func instant(_ at: Timestamp, _ zone: LocalZone) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(at.advanced(by: Int64(zone.offset(at: at.seconds)) * 1_000_000_000))
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
