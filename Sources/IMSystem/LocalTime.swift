import Glibc
import IMOutput
package import IMWire

extension LocalZone {
  /// The zone of this process: TZ, or the system's.
  package static let local = LocalZone { second in
    var time = time_t(second)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return (0, "UTC") }
    return (parts.tm_gmtoff, String(cString: parts.tm_zone))
  }
}

/// Reads what the local zone is, before files cannot be opened any more; with `isUTC`, makes it UTC for the whole process.
package func settleZone(isUTC: Bool) {
  if isUTC { setenv("TZ", "UTC0", 1) }
  tzset()
}

/// When the first packet of a capture came and when the last one did, by the local clock, with the name of its zone:
/// `captured 2026-11-21 08:11:46 to 08:15:02 (CST, UTC+08:00)`.
package func capturedWhen(_ first: Timestamp, _ last: Timestamp) -> String {
  let zone = LocalZone.local
  func parts(_ at: Timestamp) -> (date: String, time: String) {
    var out = ByteWriter(capacity: 64)
    out.instant(at.advanced(by: Int64(zone.offset(at: at.seconds)) * 1_000_000_000))
    let text = out.text
    return (String(text.prefix(10)), String(text.dropFirst(11).prefix(8)))
  }
  let (from, to) = (parts(first), parts(last))
  let end = from.date == to.date ? to.time : "\(to.date) \(to.time)"
  return "captured \(from.date) \(from.time) to \(end) (\(zone.name(at: first.seconds)))"
}
