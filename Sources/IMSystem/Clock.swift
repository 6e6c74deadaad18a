import Glibc
package import IMWire

/// The monotonic clock, which changes of the time of day do not affect.
package enum MonotonicClock {
  /// Seconds since a moment that is the same for every process of this host.
  package static func seconds() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
  }
}

extension Timestamp {
  /// The time of day.
  package static var wallClock: Timestamp {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Timestamp(seconds: Int64(now.tv_sec), fraction: Int64(now.tv_nsec))
  }
}
