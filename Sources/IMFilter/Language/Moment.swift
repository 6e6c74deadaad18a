package import IMWire

/// Reads a moment as filters do: seconds since 1970 with up to nine digits of fraction, or `2026-11-21T00:11:46.123`, with `Z`
/// or an offset behind it, else by the clocks of `zone`. `nil` for other text.
package func readMoment(_ text: String, zone: LocalZone) -> Timestamp? {
  (TimeLiteral.seconds(text) ?? TimeLiteral.calendar(text, zone)).flatMap { Int64(exactly: $0) }
    .map { Timestamp(nanoseconds: $0) }
}

/// Reads a time of day as text shows it, `00:11:46.123` or `00:11`, by the clocks of the zone behind it, as in `00:11:46 UTC`, or else of
/// `zone`: the first one that is not wholly before `begin`. `nil` for other text.
package func readTimeOfDay(_ text: String, near begin: Timestamp, zone: LocalZone) -> Timestamp? {
  let today = begin.seconds / 86_400
  // Dates of two zones are up to two days apart, and days before 1970 are rounded up.
  for day in today - 3...today + 2 {
    guard let time = TimeLiteral.timeOfDay(text, onDay: day, zone).flatMap({ Int64(exactly: $0) }) else { return nil }
    let found = Timestamp(nanoseconds: time)
    if lastNanosecond(of: found, readFrom: text) >= begin { return found }
  }
  return nil
}

/// The last nanosecond of `moment` as `text` says it: a time to the second lasts for all of that second.
package func lastNanosecond(of moment: Timestamp, readFrom text: String) -> Timestamp {
  moment.advanced(by: TimeLiteral.precision(text) - 1)
}
