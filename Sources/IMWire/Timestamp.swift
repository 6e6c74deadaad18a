/// A moment on the capture's clock: nanoseconds since 1970-01-01T00:00:00Z.
///
/// Packets bring their own time; nothing in the engine reads a clock. 64 signed bits reach from the year 1677 to 2262.
/// A time outside saturates at the nearest end, so a hostile record can neither trap nor wrap.
@frozen
public struct Timestamp: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Nanoseconds since the epoch.
  public var nanoseconds: Int64

  /// The moment `nanoseconds` after the epoch.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The moment `microseconds` after the epoch, saturating.
  @inlinable public init(microseconds: Int64) {
    let (value, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
    nanoseconds = overflow ? (microseconds < 0 ? .min : .max) : value
  }

  /// Seconds and a part of a second, as capture files store them. `fraction` is in nanoseconds and may exceed a second.
  @inlinable public init(seconds: Int64, fraction: Int64) {
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, more) = whole.addingReportingOverflow(fraction)
    nanoseconds = overflow ? (seconds < 0 ? .min : .max) : more ? (fraction < 0 ? .min : .max) : sum
  }

  /// Whole microseconds since the epoch, rounded down.
  @inlinable public var microseconds: Int64 {
    let quotient = nanoseconds / 1_000
    return nanoseconds < 0 && quotient &* 1_000 != nanoseconds ? quotient &- 1 : quotient
  }

  /// Whole seconds since the epoch, rounded down.
  @inlinable public var seconds: Int64 {
    let quotient = nanoseconds / 1_000_000_000
    return nanoseconds < 0 && quotient &* 1_000_000_000 != nanoseconds ? quotient &- 1 : quotient
  }

  /// Whether `a` is before `b`.
  @inlinable public static func < (a: Timestamp, b: Timestamp) -> Bool {
    a.nanoseconds < b.nanoseconds
  }

  /// Nanoseconds from `earlier` to this moment, saturating; negative when the clock went back.
  @inlinable public func nanoseconds(since earlier: Timestamp) -> Int64 {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return overflow ? (nanoseconds < earlier.nanoseconds ? .min : .max) : difference
  }

  /// This moment moved by `nanoseconds`, saturating.
  @inlinable public func advanced(by nanoseconds: Int64) -> Timestamp {
    let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
    return Timestamp(nanoseconds: overflow ? (nanoseconds < 0 ? .min : .max) : sum)
  }

  /// This moment moved by `duration`, saturating.
  @inlinable public func advanced(by duration: Duration) -> Timestamp { advanced(by: duration.nanoseconds) }

  /// Before any packet.
  @inlinable public static var distantPast: Timestamp { Timestamp(nanoseconds: .min) }
  /// After any packet.
  @inlinable public static var distantFuture: Timestamp { Timestamp(nanoseconds: .max) }
}

extension Duration {
  /// Whole nanoseconds, as the engine counts time. Only of durations below 292 years.
  @inlinable public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
  }
}
