package import IMWire

/// Reads a moment as filters do: seconds since 1970 with up to nine digits of fraction, or `2026-11-21T00:11:46.123`, with `Z`
/// or an offset behind it, else by the clocks of `zone`. `nil` for other text.
package func readMoment(_ text: String, zone: LocalZone) -> Timestamp? {
  (TimeLiteral.seconds(text) ?? TimeLiteral.calendar(text, zone)).flatMap { Int64(exactly: $0) }
    .map { Timestamp(nanoseconds: $0) }
}

/// Reads a time of day as text shows it, `00:11:46.123` or `00:11`: on the day of `begin` by the clocks of `zone`, or on the next one where
/// all that it may mean would be before `begin`. `nil` for other text.
package func readTimeOfDay(_ text: String, near begin: Timestamp, zone: LocalZone) -> Timestamp? {
  for day: Int64 in [0, 1] {
    let local = begin.seconds + Int64(zone.offset(at: begin.seconds)) + day * 86_400
    guard let time = TimeLiteral.timeOfDay(text, onDay: local, zone).flatMap({ Int64(exactly: $0) }) else { return nil }
    let found = Timestamp(nanoseconds: time)
    if lastNanosecond(of: found, readFrom: text) >= begin { return found }
  }
  return nil
}

/// The last nanosecond that a moment may mean that was read of `text`: a time of day to the second means all of that second.
package func lastNanosecond(of moment: Timestamp, readFrom text: String) -> Timestamp {
  moment.advanced(by: TimeLiteral.precision(text) - 1)
}
