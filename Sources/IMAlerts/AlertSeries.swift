import IMEngine
import IMMetrics
import IMWire

/// What one rule knows of one server, profile or connection, or of the capture, and of round trips in one direction: its window, and where its state is.
final class AlertSeries {
  /// What it is about; what the scope does not tell apart is `nil`.
  struct Subject {
    var plan: UInt8?
    var server: Endpoint?
    var connection: ConnectionInfo?
    var owner: String?
    /// The group of a rule with `by`.
    var group: AlertGroup?
    /// The direction of the messages whose round trips it takes; `nil` where the metric is not of one direction.
    var direction: Direction?
  }

  /// What tells the series of a rule apart.
  struct Key: Hashable {
    /// A profile's index, a server's, a connection's number, or an owner's place and a profile's index, by the rule's scope.
    let subject: UInt32
    /// The direction of round trips.
    var direction: Direction?
    /// The group of a rule with `by`.
    var group: AlertGroup?

    // By hand, because most rules have no groups, and keys are compared for each sample.

    func hash(into hasher: inout Hasher) {
      hasher.combine(UInt64(subject) << 8 | UInt64(direction.map { $0.rawValue &+ 1 } ?? 0))
      if let group { hasher.combine(group) }
    }

    static func == (a: Key, b: Key) -> Bool {
      guard a.subject == b.subject, a.direction == b.direction else { return false }
      if a.group == nil, b.group == nil { return true }
      return a.group == b.group
    }
  }

  /// Connections whose packets are remembered as evidence, at most.
  static let maximumContributors = 4_096
  /// Open messages that are waited with, at most.
  static let maximumOpen = 4_096

  /// Its number under its rule: series are looked at in this order.
  let number: Int
  /// What tells it apart: until a connection of this run belongs to it, a series of an earlier run has a number of its own.
  var key: Key
  var subject: Subject
  /// When it was first heard of.
  let knownSince: Timestamp
  @exclusivity(unchecked) var window: SlidingWindow
  var state = AlertState()
  /// Whether something may change at the next evaluation, so that it must be looked at.
  @exclusivity(unchecked) var isActive = false
  /// Whether its connection is over.
  var isOver = false
  /// Whether its alert was not told, so that its end is not told either.
  var isMuted = false
  /// Whether it was told that it is held.
  var isHeldTold = false
  /// How often it has fired.
  var count: UInt64 = 0
  /// The moment at which it fired last, or at which it was held.
  var episode: Timestamp?
  /// The messages that wait for an answer, in the order in which they were sent; for `unacked_age` only.
  @exclusivity(unchecked) var open: [(id: UInt32, at: Timestamp, connection: ConnectionInfo)] = []
  /// The connections with samples, and when the last one came; only where evidence is wanted.
  @exclusivity(unchecked) var contributors: [UInt32: (connection: ConnectionInfo, at: Timestamp)] = [:]

  init(number: Int, key: Key, rule: AlertRule, subject: Subject, knownSince: Timestamp) {
    self.number = number
    self.key = key
    self.subject = subject
    self.knownSince = knownSince
    window = SlidingWindow(step: rule.step, count: rule.window / rule.step)
  }

  /// What an evaluation finds: the counts of the window, and what they come to.
  struct Reading {
    var counts: SlidingWindow.Counts
    /// The rule's value; `nil` without enough samples.
    var value: Double?
  }

  /// Reads the window that ends at `boundary`.
  func read(_ rule: AlertRule, at boundary: Timestamp, isOpen: (UInt32) -> Bool) -> Reading {
    var counts = window.counts(before: boundary)
    if rule.metric.samples == .ages {
      open.removeAll { !isOpen($0.id) }
      if let oldest = open.first(where: { $0.at < boundary }) {
        let age = Double(boundary.nanoseconds(since: oldest.at)) / 1e6
        let isTooOld = rule.comparison.holds(age, rule.threshold)
        counts.add(
          age, affected: isTooOld ? SlidingWindow.Affected(connection: oldest.connection, at: oldest.at) : nil)
      }
    }
    return Reading(counts: counts, value: Self.value(rule, counts))
  }

  private static func value(_ rule: AlertRule, _ counts: SlidingWindow.Counts) -> Double? {
    // None of these is a number to go by, where an event can be none.
    if rule.isCounting { return Double(counts.samples) }
    let least = rule.seesZero && rule.minimumSamples <= 1 ? 0 : max(1, rule.minimumSamples)
    guard counts.samples >= least else { return nil }
    return rule.metric.samples.value(counts)
  }

  /// Whether what the capture missed could turn what the rule says of a reading: messages whose fate is unknown may all have
  /// been answered, or none of them; and so many of those without an answer as packets were dropped may have had one.
  func isDoubtful(_ rule: AlertRule, _ counts: SlidingWindow.Counts, dropped: UInt64) -> Bool {
    let explained = min(counts.affected, dropped)
    guard counts.unknown + explained > 0 else { return false }
    let all = counts.samples + counts.unknown
    guard all >= max(1, rule.minimumSamples) else { return false }
    func isWrong(_ affected: UInt64) -> Bool {
      let ratio = Double(affected) / Double(all)
      return rule.comparison.holds(rule.metric.samples == .fates(.success) ? 1 - ratio : ratio, rule.threshold)
    }
    return isWrong(counts.affected - explained) != isWrong(counts.affected + counts.unknown)
  }

  /// What the rule says of a reading.
  func verdict(_ rule: AlertRule, _ reading: Reading, at boundary: Timestamp) -> AlertState.Verdict {
    if isOver, window.isEmpty { return .over }
    if rule.comparison == .absent {
      if reading.counts.samples > 0 { return .right }
      return boundary.nanoseconds(since: knownSince) >= rule.window ? .wrong : .noData
    }
    guard let value = reading.value else { return .noData }
    if rule.comparison.holds(value, rule.threshold) { return .wrong }
    return rule.comparison.holds(value, rule.clear) ? .between : .right
  }

  /// When it has to be looked at again after `boundary`, though nothing comes; `nil` when nothing would change. `heldUntil` is
  /// when the packets that the capture dropped are out of the window.
  func wake(_ rule: AlertRule, after boundary: Timestamp, heldUntil: Timestamp) -> Timestamp? {
    let next = boundary.advanced(by: rule.step)
    guard let first = window.nextBoundary(after: boundary) else {
      return isOver ? next : quietWake(rule, after: boundary, heldUntil: heldUntil)
    }
    if first <= next { return next }
    // Only what a packet with a time far ahead has left: until then it is as quiet as without it.
    return quietWake(rule, after: boundary, heldUntil: heldUntil).map { min($0, first) } ?? first
  }

  /// The same while nothing is in the window.
  private func quietWake(_ rule: AlertRule, after boundary: Timestamp, heldUntil: Timestamp) -> Timestamp? {
    let next = boundary.advanced(by: rule.step)
    if rule.seesZero, case .pending(let since) = state.phase {
      let due = since.advanced(by: rule.patience)
      return due <= next ? next : SlidingWindow.boundary(after: due.advanced(by: -1), step: rule.step)
    }
    if let oldest = open.first { return wake(rule, after: boundary, openSince: oldest.at, heldUntil: heldUntil) }
    guard rule.comparison == .absent, !state.isFiring else { return nil }
    let due =
      switch state.phase {
      case .pending(let since): since.advanced(by: rule.patience)
      case .inactive, .firing: knownSince.advanced(by: rule.window)
      }
    return due <= next ? next : SlidingWindow.boundary(after: due.advanced(by: -1), step: rule.step)
  }

  /// The same where messages have been open since `begun` and nothing else is there: their age passes the threshold and
  /// `clear` at known times, and the state changes at known times behind that, however long the silence is.
  private func wake(
    _ rule: AlertRule, after boundary: Timestamp, openSince begun: Timestamp, heldUntil: Timestamp
  ) -> Timestamp? {
    var times = [heldUntil]
    for milliseconds in [rule.threshold, rule.clear] {
      // A little earlier, as the age is compared as a fraction; then the step behind.
      let crossing = begun.advanced(by: Int64(clamping: milliseconds * 1e6) - 1_000)
      let first = SlidingWindow.boundary(after: crossing, step: rule.step)
      times += [first, first.advanced(by: rule.step)]
    }
    switch state.phase {
    case .pending(let since): times.append(since.advanced(by: rule.patience))
    case .firing(_, let right?): times.append(right.advanced(by: rule.keepFiring))
    case .firing, .inactive: break
    }
    return times.filter { $0 > boundary }.min().map {
      SlidingWindow.boundary(after: $0.advanced(by: -1), step: rule.step)
    }
  }
}

extension Int64 {
  /// The nearest number that there is; 0 for what is none.
  fileprivate init(clamping value: Double) {
    self = value.isNaN ? 0 : Int64(exactly: value.rounded()) ?? (value < 0 ? .min / 2 : .max / 2)
  }
}
