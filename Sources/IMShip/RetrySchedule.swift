/// How long to wait between requests that are refused for a while: twice as long each time, with jitter, so that many sensors
/// do not come back together; never less than the server wishes.
package struct RetrySchedule: Sendable {
  /// Seconds of the first wait and of the longest one, jitter apart.
  package static let shortest = 0.2, longest = 60.0
  private var failures = 0

  /// Nothing has failed.
  package init() {}

  /// Whether it has failed for so long that a person should know.
  package var isLong: Bool { failures > 5 }

  /// Something went well.
  package mutating func succeed() { failures = 0 }

  /// The seconds to wait after a failure. `random` is in 0..<1; `share` is how much of a request failed: the wait is as much
  /// shorter as the engine has done.
  package mutating func fail(retryAfter: Double? = nil, share: Double = 1, random: Double) -> Double {
    let delay = min(Self.longest, Self.shortest * Double(1 << min(failures, 12)))
    failures = min(failures + 1, 1_000)
    let jittered = delay * (0.5 + random) * min(1, max(0.05, share))
    guard let retryAfter else { return jittered }
    // Spread after the time that the server named.
    return max(jittered, retryAfter + min(1, Self.shortest + retryAfter / 10) * random)
  }
}
