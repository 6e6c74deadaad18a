/// A length of time as the engine counts it: 64 bits of nanoseconds, for limits that are compared on the way of packets, and for
/// what is held of each connection. A `Duration` counts in 128 bits of attoseconds and is converted each time.
///
/// The compiler computes what is made of literals, and no operation is more than one of the processor: sums wrap, so keep what
/// comes off the wire to `Timestamp.time(since:)` and `Timestamp.advanced(by:)`, which saturate.
@frozen
public struct Nanoseconds: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// How many; negative where the clock went back.
  public var count: Int64

  /// So many nanoseconds.
  @inlinable public init(_ count: Int64) { self.count = count }

  /// Whole nanoseconds of a duration below 292 years.
  @inlinable public init(_ duration: Duration) { count = duration.nanoseconds }

  /// So many seconds.
  @inlinable public static func seconds(_ count: Int64) -> Nanoseconds { Nanoseconds(count &* 1_000_000_000) }
  /// So many milliseconds.
  @inlinable public static func milliseconds(_ count: Int64) -> Nanoseconds { Nanoseconds(count &* 1_000_000) }
  /// So many microseconds.
  @inlinable public static func microseconds(_ count: Int64) -> Nanoseconds { Nanoseconds(count &* 1_000) }

  /// None.
  @inlinable public static var zero: Nanoseconds { Nanoseconds(0) }

  /// Whole microseconds of it, towards zero.
  @inlinable public var microseconds: Int64 { count / 1_000 }
  /// Whole milliseconds of it, towards zero.
  @inlinable public var milliseconds: Int64 { count / 1_000_000 }

  /// Whether `a` is shorter than `b`.
  @inlinable public static func < (a: Nanoseconds, b: Nanoseconds) -> Bool { a.count < b.count }
  /// Both, one after the other; wraps.
  @inlinable public static func + (a: Nanoseconds, b: Nanoseconds) -> Nanoseconds { Nanoseconds(a.count &+ b.count) }
  /// So many times it; wraps.
  @inlinable public static func * (times: Int64, a: Nanoseconds) -> Nanoseconds { Nanoseconds(times &* a.count) }
}

extension Timestamp {
  /// From `earlier` to this moment, saturating; negative when the clock went back.
  @inlinable public func time(since earlier: Timestamp) -> Nanoseconds { Nanoseconds(nanoseconds(since: earlier)) }

  /// This moment moved by `time`, saturating.
  @inlinable public func advanced(by time: Nanoseconds) -> Timestamp { advanced(by: time.count) }
}
