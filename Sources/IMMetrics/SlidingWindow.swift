package import IMEngine
package import IMWire

/// What happened in the last so many seconds of packet time, kept in equal steps.
///
///     step      ... |  n-6 |  n-5 |  n-4 |  n-3 |  n-2 |  n-1 |  n  (running)
///     window        [------------- the window that ends with step n-1 -----]
///
/// Steps lie at whole multiples of their length since 1970, so two captures of the same packets have the same ones. What
/// comes is put where its own time belongs, also when later things came before it. A step in which nothing happened costs
/// nothing.
package struct SlidingWindow: Sendable {
  /// A connection that a sample counted against, and when.
  package struct Affected: Equatable, Sendable {
    /// Who talked on it.
    package var connection: ConnectionInfo
    /// When it happened.
    package var at: Timestamp

    /// A connection and a moment.
    package init(connection: ConnectionInfo, at: Timestamp) {
      self.connection = connection
      self.at = at
    }

    /// The same connection at the same moment.
    package static func == (a: Affected, b: Affected) -> Bool {
      a.connection.serial == b.connection.serial && a.at == b.at
    }
  }

  /// What was counted in a step, or in a whole window.
  package struct Counts: Sendable {
    /// Samples; of them, those that count against whoever made them.
    package var samples: UInt64 = 0, affected: UInt64 = 0
    /// What would have been samples, had the capture not missed what they came to.
    package var unknown: UInt64 = 0
    /// The sum and the greatest of what was measured.
    package var sum = 0.0, maximum = 0.0
    /// Round trips of messages of one direction: the code that fills the window chooses it.
    package var roundTrips = RTTHistogram(isCompact: true)
    /// The first and the last sample of those that count against.
    package var first: Affected?, last: Affected?

    /// Nothing.
    package init() {}

    /// Takes a sample; `affected` is where it counts against a connection.
    package mutating func add(_ value: Double = 0, affected: Affected? = nil) {
      samples &+= 1
      sum += value
      maximum = max(maximum, value)
      guard let affected else { return }
      self.affected &+= 1
      note(affected)
    }

    /// Takes so many samples that all count against a connection.
    package mutating func add(_ count: UInt64, affected: Affected) {
      samples &+= count
      self.affected &+= count
      note(affected)
    }

    /// Takes note of a connection that something counts against.
    mutating func note(_ affected: Affected) {
      if first.map({ affected.at < $0.at }) ?? true { first = affected }
      if last.map({ affected.at >= $0.at }) ?? true { last = affected }
    }

    mutating func add(_ other: Counts) {
      samples &+= other.samples
      affected &+= other.affected
      unknown &+= other.unknown
      sum += other.sum
      maximum = max(maximum, other.maximum)
      if other.roundTrips.count > 0 { roundTrips.add(other.roundTrips) }
      if let first = other.first { note(first) }
      if let last = other.last { note(last) }
    }
  }

  /// The length of a step, in nanoseconds.
  package let step: Int64
  /// Steps of a window.
  package let count: Int64
  /// The steps in which something happened, by number, in order.
  private var steps: [(number: Int64, counts: Counts)] = []

  /// A window of `count` steps of `step` nanoseconds.
  package init(step: Int64, count: Int64) {
    self.step = max(1, step)
    self.count = max(1, count)
  }

  /// A window that has counted before: `entries` are its steps by number, in ascending order.
  package init(step: Int64, count: Int64, entries: [(number: Int64, counts: Counts)]) {
    self.init(step: step, count: count)
    steps = entries
  }

  /// The steps in which something happened, by number, in ascending order.
  package var entries: [(number: Int64, counts: Counts)] { steps }

  /// Whether nothing is kept.
  package var isEmpty: Bool { steps.isEmpty }

  /// The step that `time` lies in. Changing it makes it one in which something happened.
  package subscript(time: Timestamp) -> Counts {
    get {
      let number = Self.number(time, step)
      return steps.last { $0.number == number }?.counts ?? Counts()
    }
    _modify {
      yield &steps[place(Self.number(time, step))].counts
    }
  }

  /// What happened in the window that ends at `boundary`, which is a whole multiple of the step. What is older is forgotten.
  package mutating func counts(before boundary: Timestamp) -> Counts {
    let end = Self.number(boundary, step)
    steps.removeAll { $0.number < end - count }
    var sum = Counts()
    for entry in steps where entry.number < end { sum.add(entry.counts) }
    return sum
  }

  /// The first boundary after `boundary` at which the window is not empty, though nothing comes; `nil` where it is empty from there on.
  /// What has a time of its own far ahead leaves the window empty until then.
  package func nextBoundary(after boundary: Timestamp) -> Timestamp? {
    let end = Self.number(boundary, step)
    guard let first = steps.first(where: { $0.number >= end - count }) else { return nil }
    if first.number < end { return boundary.advanced(by: step) }
    let (begin, isTooLate) = first.number.multipliedReportingOverflow(by: step)
    return isTooLate ? .distantFuture : Timestamp(nanoseconds: begin).advanced(by: step)
  }

  /// Takes back the last sample that counted against somebody: it turned out well after all. False where there is none.
  package mutating func forgive() -> Bool {
    guard let place = steps.lastIndex(where: { $0.counts.affected > 0 }) else { return false }
    steps[place].counts.affected -= 1
    return true
  }

  /// Takes back the last sample of which nobody knew what it came to: it is known after all.
  package mutating func learn() {
    guard let place = steps.lastIndex(where: { $0.counts.unknown > 0 }) else { return }
    steps[place].counts.unknown -= 1
  }

  /// The first whole multiple of `step` behind `time`; saturating.
  package static func boundary(after time: Timestamp, step: Int64) -> Timestamp {
    let rest = time.nanoseconds % step
    return time.advanced(by: step - (rest < 0 ? rest + step : rest))
  }

  private static func number(_ time: Timestamp, _ step: Int64) -> Int64 {
    let quotient = time.nanoseconds / step
    return time.nanoseconds % step < 0 ? quotient - 1 : quotient
  }

  private mutating func place(_ number: Int64) -> Int {
    // What comes is nearly always of the newest step.
    var place = steps.count
    while place > 0, steps[place - 1].number > number { place -= 1 }
    if place > 0, steps[place - 1].number == number { return place - 1 }
    steps.insert((number, Counts()), at: place)
    return place
  }
}
