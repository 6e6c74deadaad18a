import IMEndpoint
import IMMetrics
import IMWire

/// What all clients of a load have come to.
struct LoadTally {
  var sent: UInt64 = 0
  var delivered: UInt64 = 0
  var failed: UInt64 = 0
  var echoed: UInt64 = 0
  var echoedTwice: UInt64 = 0
  var refused: UInt64 = 0
  var damaged: UInt64 = 0
  /// Delivered within 5, 10 and 30 seconds.
  var within = [UInt64](repeating: 0, count: LoadTally.limits.count)
  var latency = RTTHistogram()
  var connecting = RTTHistogram()
  var reconnecting = RTTHistogram()

  /// Messages of the backlogs that were delivered.
  var backlogDelivered: UInt64 = 0
  /// Connections and processes that were killed.
  var connectionKills: UInt64 = 0
  var processKills: UInt64 = 0

  /// Seconds.
  static let limits: [Int64] = [5, 10, 30]

  /// Messages whose fate is open.
  var open: UInt64 { sent - delivered - failed }

  mutating func delivered(after nanoseconds: Int64) {
    delivered += 1
    latency.record(microseconds: nanoseconds / 1_000)
    for (place, limit) in Self.limits.enumerated() where nanoseconds <= limit * 1_000_000_000 { within[place] += 1 }
  }
}
