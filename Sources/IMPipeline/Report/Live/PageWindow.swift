import IMWire

/// What the page of a live capture is asked for.
package struct PageOptions: Equatable, Sendable {
  /// The address and the port on which it is served; `nil` for a page that is only written at the end.
  package var listen: String?
  /// How long a time it covers; an hour by default.
  package var window: PeriodLength?

  /// Nothing chosen.
  package init() {}

  /// An hour.
  package static let defaultSeconds: Int64 = 3_600
}

/// The time that the page of a live capture covers: the last so many seconds of packet time, in whole slices.
///
/// Slices are whole minutes, at most 60 of them, at multiples of their length since 1970. The page has all slices of the window and
/// the one that is running, so it covers the window's length and up to a slice more.
struct PageWindow: Equatable {
  /// Seconds of a slice.
  let slice: Int64
  /// Slices before the one that is running.
  let count: Int64

  /// A window of so many seconds, a minute at least.
  init(seconds: Int64) {
    let minutes = max(1, (seconds + 59) / 60)
    let length = (minutes + 59) / 60
    slice = length * 60
    count = (minutes + length - 1) / length
  }

  /// Its length in seconds, without the slice that is running.
  var seconds: Int64 { slice * count }

  /// The slice of a moment.
  func number(of at: Timestamp) -> Int64 {
    let quotient = at.seconds / slice
    return at.seconds % slice < 0 ? quotient - 1 : quotient
  }

  /// When a slice begins.
  func begin(of number: Int64) -> Timestamp { Timestamp(seconds: number * slice, fraction: 0) }
}
