package import IMWire

/// A minute of packet time, or the part of it that was captured.
package struct Period: Equatable, Sendable {
  /// When it begins: at a whole minute, or with the first packet.
  package let start: Timestamp
  /// When it ends: at a whole minute, or with the last packet.
  package let end: Timestamp
  /// The whole minute at whose end it would have ended, which names it.
  package let boundary: Timestamp
  /// Whether it is shorter than a minute.
  package let isPartial: Bool
}

/// Cuts packet time into minutes.
///
/// Time only goes forward: what a packet with an earlier time brings is counted in the minute that is running. Minutes
/// in which nothing happened are passed over.
package struct PeriodClock: Sendable {
  /// The length of a period, in nanoseconds.
  package static let length: Int64 = 60_000_000_000

  /// The latest time seen; `nil` before the first.
  package private(set) var now: Timestamp?
  private var start = Timestamp.distantPast
  private var boundary = Timestamp.distantFuture
  private var isFirst = true

  /// A clock that has not begun.
  package init() {}

  /// Moves to `time`. When that ends the running period, gives it; the next one has begun.
  @inline(__always)
  package mutating func advance(to time: Timestamp) -> Period? {
    guard let last = now else {
      begin(at: time)
      return nil
    }
    if time <= last { return nil }
    now = time
    return time < boundary ? nil : next(time)
  }

  /// The running period as the last one: it ends with the last packet.
  package func finish() -> Period? {
    guard let now else { return nil }
    return Period(start: start, end: max(start, now), boundary: boundary, isPartial: true)
  }

  @inline(never)
  private mutating func next(_ time: Timestamp) -> Period {
    let period = Period(start: start, end: boundary, boundary: boundary, isPartial: isFirst && !Self.isWhole(start))
    isFirst = false
    start = Self.floor(time)
    boundary = start.advanced(by: Self.length)
    return period
  }

  private mutating func begin(at time: Timestamp) {
    now = time
    start = time
    boundary = Self.floor(time).advanced(by: Self.length)
  }

  private static func isWhole(_ time: Timestamp) -> Bool { floor(time) == time }

  private static func floor(_ time: Timestamp) -> Timestamp {
    let rest = time.nanoseconds % length
    return time.advanced(by: -(rest < 0 ? rest + length : rest))
  }
}
