/// A moment on a clock that never goes back, such as `CLOCK_MONOTONIC` or `CLOCK_BOOTTIME`, in nanoseconds from any origin.
@frozen
public struct Instant: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Nanoseconds since the clock's origin.
  public var nanoseconds: Int64

  /// The moment `nanoseconds` after the origin.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The moment `seconds` after the origin, as tests write it.
  @inlinable public static func seconds(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5)))
  }

  /// Whether `a` is before `b`.
  @inlinable public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Nanoseconds from `earlier` to this moment, saturating.
  @inlinable public func nanoseconds(since earlier: Instant) -> Int64 {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return overflow ? (nanoseconds < earlier.nanoseconds ? .min : .max) : difference
  }

  /// This moment moved by `nanoseconds`, saturating.
  @inlinable public func advanced(byNanoseconds nanoseconds: Int64) -> Instant {
    let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
    return Instant(nanoseconds: overflow ? (nanoseconds < 0 ? .min : .max) : sum)
  }

  /// This moment moved by `duration`.
  @inlinable public func advanced(by duration: Duration) -> Instant {
    advanced(byNanoseconds: duration.wholeNanoseconds)
  }

  /// Never.
  @inlinable public static var distantFuture: Instant { Instant(nanoseconds: .max) }
}

extension Duration {
  /// This duration in nanoseconds, saturating.
  @inlinable public var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, more) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || more ? (seconds < 0 ? .min : .max) : sum
  }
}
