package import IMEngine
package import IMWire

/// Signs of life and their answers, over many connections. Times are microseconds.
package struct HeartbeatCounts: Sendable {
  /// Heartbeats, without copies; those answered, those whose time for an answer ran out, and those whose answer the capture
  /// may lack.
  package var sent: UInt64 = 0, answered: UInt64 = 0, missed: UInt64 = 0, unknown: UInt64 = 0
  /// Heartbeats that ask for no answer.
  package private(set) var unacknowledged: UInt64 = 0
  /// Times when none came for twice as long as usual.
  package var absent: UInt64 = 0
  /// Intervals between heartbeats of one connection, and their sum.
  package var intervals: UInt64 = 0, intervalSum: Int64 = 0
  /// Pairs of neighbouring intervals, and the sum of what the two differ by.
  package var changes: UInt64 = 0, changeSum: Int64 = 0
  /// Heartbeats of clients that promised how often one would come, and the sum of what they promised.
  package private(set) var expectations: UInt64 = 0, expectedSum: Int64 = 0
  /// Round trips.
  package var roundTrips = RTTHistogram()
  /// Of these, pings of a carrier, which are no exchanges.
  package private(set) var pings = PingCounts()
  /// The intervals between heartbeats of one connection, where the sink is told of each.
  package var spacing = RTTRecorder()

  /// All zero.
  package init() {}

  /// Whether nothing was counted.
  package var isEmpty: Bool { sent | answered | missed | unknown | unacknowledged | absent | intervals == 0 }
  /// Those that were answered, and those that were not in time.
  var decided: UInt64 { answered + missed }
  /// The mean interval; `nil` before the first.
  package var interval: Double? { intervals == 0 ? nil : Double(intervalSum) / Double(intervals) }
  /// The jitter: the mean difference of consecutive intervals, over all connections; `nil` before the second interval.
  package var jitter: Double? { changes == 0 ? nil : Double(changeSum) / Double(changes) }

  /// The mean of the promised intervals, by heartbeats; `nil` where nothing was promised.
  package var expected: Double? { expectations == 0 ? nil : Double(expectedSum) / Double(expectations) }

  /// Counts what the sender of a heartbeat has promised not to exceed.
  package mutating func expect(seconds: UInt64) {
    expectations += 1
    expectedSum &+= Int64(clamping: seconds) &* 1_000_000
  }

  /// Counts a heartbeat that came `interval` after the one before on its connection, and how much that differs from the one
  /// before it; `nil` where there is none.
  package mutating func sent(after interval: Nanoseconds?, change: Nanoseconds?) {
    sent += 1
    guard let interval else { return }
    intervals += 1
    intervalSum &+= interval.microseconds
    guard let change else { return }
    changes += 1
    changeSum &+= change.microseconds
  }

  /// Counts a settlement.
  package mutating func resolved(_ resolution: Resolution, elsewhere: Bool = false) {
    switch resolution.fate {
    case .acked, .ackedAfterRetry, .rejected:
      answered += 1
      if resolution.flags.contains(.late), !elsewhere {
        if resolution.outcome.before == .unknown {
          unknown -= unknown > 0 ? 1 : 0
        } else if resolution.outcome.before != .pending {
          missed -= missed > 0 ? 1 : 0
        }
      }
      if let roundTrip = resolution.roundTrip { roundTrips.record(roundTrip) }
    case .unanswered, .damaged: missed += 1
    case .unknown: unknown += 1
    case .unacknowledged: unacknowledged += 1
    case .pending: break
    }
  }

  /// Adds the answers that another one counted; its cadence stays where it is.
  package mutating func addAnswers(_ other: HeartbeatCounts) {
    // What became of pings is told with the cadence of their connection.
    answered += other.answered - other.pings.answered
    missed += other.missed - other.pings.missed
    unknown += other.unknown
    unacknowledged += other.unacknowledged
    roundTrips.add(other.roundTrips)
    spacing.add(other.spacing)
  }

  /// Adds all that others counted.
  package mutating func add(_ other: HeartbeatCounts) {
    sent += other.sent
    answered += other.answered
    missed += other.missed
    unknown += other.unknown
    unacknowledged += other.unacknowledged
    absent += other.absent
    intervals += other.intervals
    intervalSum &+= other.intervalSum
    changes += other.changes
    changeSum &+= other.changeSum
    expectations += other.expectations
    expectedSum &+= other.expectedSum
    roundTrips.add(other.roundTrips)
    pings.add(other.pings)
    spacing.add(other.spacing)
  }

  /// Adds what became of a carrier's pings, beside their cadence.
  package mutating func addPings(_ counts: PingCounts) {
    pings.add(counts)
    answered += counts.answered
    missed += counts.missed
  }

  /// Adds what one connection counted of its cadence; its answers are counted by `resolved`.
  package mutating func addCadence(_ figures: HeartbeatMetrics) {
    sent += UInt64(figures.sent)
    absent += UInt64(figures.absent)
    intervals += UInt64(figures.intervals)
    intervalSum &+= figures.intervalSum
    changes += UInt64(figures.changes)
    changeSum &+= figures.changeSum
  }
}
