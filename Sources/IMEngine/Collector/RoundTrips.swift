/// Round trips, in nanoseconds.
package struct RoundTrips: Equatable, Sendable {
  /// How many were measured.
  package private(set) var count: UInt64 = 0
  /// The shortest and the longest.
  package private(set) var least: Int64 = 0, most: Int64 = 0
  private var sum = 0.0

  /// None.
  package init() {}

  /// The mean; 0 when there are none.
  package var mean: Int64 { count == 0 ? 0 : Int64(sum / Double(count)) }

  /// Adds one; a negative one means that the capture's clock went back, and is left out.
  mutating func add(_ nanoseconds: Int64) {
    guard nanoseconds >= 0 else { return }
    least = count == 0 ? nanoseconds : min(least, nanoseconds)
    most = max(most, nanoseconds)
    // Kept below what an `Int64` holds, so that the mean of absurd times stays a number.
    sum = min(sum + Double(nanoseconds), 9e18)
    count += 1
  }
}
