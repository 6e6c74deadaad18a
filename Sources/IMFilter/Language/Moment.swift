package import IMWire

/// Reads a moment as filters do: seconds since 1970 with up to nine digits of fraction, or `2026-11-21T00:11:46.123`, with `Z`
/// or an offset behind it, else by the clocks of `zone`. `nil` for other text.
package func readMoment(_ text: String, zone: LocalZone) -> Timestamp? {
  (TimeLiteral.seconds(text) ?? TimeLiteral.calendar(text, zone)).flatMap { Int64(exactly: $0) }
    .map { Timestamp(nanoseconds: $0) }
}
