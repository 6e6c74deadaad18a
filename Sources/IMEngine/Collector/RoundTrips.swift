package import IMWire

/// Round trips.
package struct RoundTrips: Equatable, Sendable {
  /// How many were measured.
  package private(set) var count: UInt64 = 0
  /// The shortest and the longest.
  package private(set) var least = Nanoseconds.zero, most = Nanoseconds.zero
  private var sum = 0.0

  /// None.
  package init() {}

  /// The mean; 0 when there are none.
  package var mean: Nanoseconds { count == 0 ? .zero : Nanoseconds(Int64(sum / Double(count))) }

  /// Adds one; a negative one means that the capture's clock went back, and is left out.
  mutating func add(_ time: Nanoseconds) {
    guard time >= .zero else { return }
    least = count == 0 ? time : min(least, time)
    most = max(most, time)
    // Kept below what an `Int64` holds, so that the mean of absurd times stays a number.
    sum = min(sum + Double(time.count), 9e18)
    count += 1
  }
}
