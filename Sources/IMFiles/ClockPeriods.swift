import IMSystem
import IMWire

/// Stretches of `seconds` on the local clock: with 3600, the hours of the clock on the wall.
package struct ClockPeriods {
  /// The length of one.
  package let seconds: Int64

  /// Periods that are `seconds` long.
  package init(seconds: Int64) { self.seconds = seconds }

  /// The number of the period in which `second` lies, and when, in seconds since 1970, it begins and the next one does.
  package func period(at second: Int64) -> (number: Int64, start: Int64, end: Int64) {
    let shift = Int64(LocalZone.local.offset(at: second))
    let local = second &+ shift
    let number = local >= 0 ? local / seconds : (local &+ 1) / seconds &- 1
    let start = number &* seconds &- shift
    return (number, start, start &+ seconds)
  }
}
