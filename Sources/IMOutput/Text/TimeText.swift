import IMEngine
import IMWire

/// Ways to show a time, as tcpdump's `-t` chooses them.
package enum TimeStyle: Int, Sendable {
  /// The time of day; nothing; seconds since 1970; milliseconds since the line before; date and time.
  case timeOfDay, none, epoch, sinceLast, date

  /// The number of `-t` that ask for the style; more than four ask for the last.
  package var count: Int {
    get { rawValue }
    set { self = TimeStyle(rawValue: newValue) ?? .date }
  }
}

/// Writes the times at the beginning of lines.
struct TimeText {
  let style: TimeStyle
  private var last: Timestamp?

  init(_ style: TimeStyle) { self.style = style }

  /// Appends a time and a space, or nothing where the style wants none.
  mutating func write(_ at: Timestamp, to out: inout ByteWriter) {
    switch style {
    case .none: return
    case .timeOfDay: out.timeOfDay(at)
    case .date: out.instant(at)
    case .epoch: out.epoch(at)
    case .sinceLast:
      out.thousandths(last.map { at.nanoseconds(since: $0) / 1_000 } ?? 0)
      last = at
      out.literal(" ms")
    }
    out.literal(" ")
  }
}

extension ByteWriter {
  /// Appends seconds since 1970 with six digits behind the point.
  mutating func epoch(_ at: Timestamp) {
    number(at.seconds)
    literal(".")
    let micros = at.microseconds - at.seconds * 1_000_000
    for divisor in [100_000, 10_000, 1_000, 100, 10, 1] { byte(48 + UInt8(micros / Int64(divisor) % 10)) }
  }

  /// Appends ` #7`: the connection's number in the run.
  mutating func connection(_ info: ConnectionInfo) {
    literal("#")
    number(info.serial)
    literal(" ")
  }
}
