import IMEngine
package import IMWire

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

/// Writes times as a person reads them: those at the beginning of lines, and others.
package struct TimeText {
  let style: TimeStyle
  private let zone: LocalZone
  private var last: Timestamp?
  /// The quarter of an hour that was asked for last, and what the zone is ahead of UTC in it. No zone changes within one.
  private var quarter = Int64.min, offset = 0

  init(_ style: TimeStyle, _ zone: LocalZone) {
    self.style = style
    self.zone = zone
  }

  /// Times as `style` has them, by the clocks of its zone.
  package init(_ style: TextStyle) { self.init(style.time, style.zone) }

  /// `at`, moved so that it reads as a clock of the zone.
  private mutating func local(_ at: Timestamp) -> Timestamp {
    let second = at.seconds
    if second / 900 != quarter {
      quarter = second / 900
      offset = zone.offset(at: second)
    }
    return at.advanced(by: Int64(offset) * 1_000_000_000)
  }

  /// Appends the time of day.
  mutating func timeOfDay(_ at: Timestamp, to out: inout ByteWriter) { out.timeOfDay(local(at)) }

  /// Appends date, time and distance from UTC.
  mutating func date(_ at: Timestamp, to out: inout ByteWriter) {
    out.instant(local(at))
    guard offset != 0 else { return }
    out.truncate(to: out.count - 1)
    out.text(LocalZone.text(of: offset))
  }

  /// Appends a time and a space, or nothing where the style wants none. A time since the line before is since the last call.
  package mutating func write(_ at: Timestamp, to out: inout ByteWriter) {
    switch style {
    case .none: return
    case .timeOfDay: timeOfDay(at, to: &out)
    case .date: date(at, to: &out)
    case .epoch: out.epoch(at)
    case .sinceLast:
      out.milliseconds(last.map { at.nanoseconds(since: $0) / 1_000 } ?? 0)
      last = at
      out.literal(" ms")
    }
    out.literal(" ")
  }
}

extension ByteWriter {
  /// Appends seconds since 1970 with six digits behind the point.
  mutating func epoch(_ at: Timestamp) {
    let micros = at.microseconds
    if micros < 0 { literal("-") }
    number(micros.magnitude / 1_000_000)
    literal(".")
    let part = micros.magnitude % 1_000_000
    for divisor: UInt64 in [100_000, 10_000, 1_000, 100, 10, 1] {
      byte(48 + UInt8(truncatingIfNeeded: part / divisor % 10))
    }
  }

  /// Appends ` #7`: the connection's number in the run.
  mutating func connection(_ info: ConnectionInfo) {
    literal("#")
    number(info.serial)
    literal(" ")
  }
}
